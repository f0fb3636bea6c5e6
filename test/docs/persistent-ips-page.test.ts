import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ADDRESS_FLAGS, CLAIM_FLAGS } from '../../docs/examples/persistent-ip/flags.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}docs/guides/persistent-ips.md`, 'utf8')
const section = page.split(/^## /m).find((part) => part.startsWith('Run the programs\n')) ?? ''

/** The flags of the table of a program, with their defaults. */
function flagsOf(program: string): readonly (readonly string[])[] {
  const table = section.split(`| flag of ${program} |`)[1]?.split('\n\n')[0] ?? ''
  const rows = [...table.matchAll(/^\| `(--[a-z-]+)` \| ([^|]+) \|/gm)]
  return rows.map(([, flag = '', value = '']) => [flag, value.trim()])
}

test.each([
  ['claims.ts', CLAIM_FLAGS],
  ['addresses.ts', ADDRESS_FLAGS],
])('the flags of %s are those of its program, with their defaults', (program, flags) => {
  const wanted = Object.entries(flags).map(([name, { default: value }]) => [
    `--${name}`,
    typeof value === 'boolean' ? (value ? 'on' : 'off') : value === '' ? 'none' : value,
  ])
  expect(flagsOf(program)).toEqual(wanted)
})

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
