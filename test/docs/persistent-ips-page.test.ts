import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { machineStates, meaningsOf } from './persistent-ips-tables.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}docs/guides/persistent-ips.md`, 'utf8')
const section = page.split(/^## /m).find((part) => part.startsWith('Run the programs\n')) ?? ''

test('the commands name files that exist', () => {
  const files = [...page.matchAll(/(?<= )docs\/examples\/[^\s`)]+/g)].map(([file]) => file)
  expect(files.length).toBeGreaterThan(3)
  expect(files.filter((file) => !existsSync(root + file))).toEqual([])
})

test('the command of the image builds the programs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-guide-'))
  try {
    const line = section.split('\n').find((each) => each.startsWith('npx esbuild ')) ?? ''
    await promisify(execFile)('sh', ['-c', line.replace('=image', `=${folder}`)], { cwd: root })
    const dockerfile = readFileSync(`${root}docs/examples/persistent-ip/Dockerfile`, 'utf8')
    const programs = /COPY (\S+) (\S+) \.\//.exec(dockerfile)?.slice(1) ?? []
    expect(programs).toHaveLength(2)
    for (const program of programs) {
      const file = join(folder, program)
      const ended = await promisify(execFile)(process.execPath, [file, '--none']).catch((error) => error)
      expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('--none')])
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 60_000)

/** The rows of each table of a section. */
function tablesOf(heading: string): readonly (readonly (readonly string[])[])[] {
  const part = page.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? ''
  return [...part.matchAll(/^\|.*\n\|[-|]+\n((?:\|.*\n)+)/gm)].map(([, rows = '']) =>
    rows
      .trimEnd()
      .split('\n')
      .map((row) => row.slice(2, -2).split(' | ')),
  )
}

const SUPPORT: readonly Place[] = [['Read a network', 0]]
const ROUTES: readonly Place[] = [['Configure a guest without DHCP', 1]]
const GUESTS: readonly Place[] = [['Configure a guest without DHCP', 2]]
/** A heading, and the index of a table below it. */
type Place = readonly [heading: string, table: number]

test.each([
  ['ClaimSupport', 'network/definition.ts', SUPPORT],
  ['DefaultRoute', 'guest/guest-network.ts', ROUTES],
  ['GuestProblemReason', 'guest/guest-network.ts', GUESTS],
] as const)('the table of %s has the meanings that the code says', (type, file, places) => {
  const rows = places.flatMap(([heading, table]) => tablesOf(heading)[table] ?? [])
  expect(rows).toEqual(meaningsOf(file, type).map(([name, meaning]) => [`\`${name}\``, meaning]))
})

test.each([
  ['ClaimRefusal', 'workload/claim-step.ts'],
  ['ClaimReason', 'serving/claim-plan.ts'],
  ['PodRefusalReason', 'serving/claim-plan.ts'],
] as const)('each %s has a row in the reference of the programs', (type, file) => {
  const programs = readFileSync(`${root}docs/reference/programs.md`, 'utf8')
  const [, reasons = ''] = programs.split('### Reasons: Persistent addresses\n')
  const rows = [...(reasons.split('\n### ')[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(([, reason]) => reason)
  const names = meaningsOf(file, type).map(([name]) => name)
  expect(names.length).toBeGreaterThan(3)
  expect(names.filter((name) => !rows.includes(name))).toEqual([])
})

test('the states of a machine are those that the code decides', () => {
  expect(tablesOf('Make the claims of virtual machines')[0]).toEqual(machineStates())
})
