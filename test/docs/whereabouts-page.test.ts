import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { COMMON_FLAGS, parseFlags } from '../../docs/examples/program/flags.js'
import { FLAGS, plannersOf } from '../../docs/examples/whereabouts-controller/flags.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}docs/guides/whereabouts.md`, 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-guide-'))
const run = promisify(execFile)

afterAll(() => rmSync(folder, { recursive: true }))

function section(heading: string): string {
  return page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
}

/** The commands of a section, line by line. */
function commandsIn(heading: string): readonly string[] {
  const blocks = [...section(heading).matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
  return blocks.flatMap(([, text = '']) => text.trimEnd().split('\n'))
}

/** The first two cells of each row of the tables of a section that begins with a flag. */
function flagsIn(heading: string): readonly (readonly string[])[] {
  const rows = [...section(heading).matchAll(/^\| `(--[a-z-]+)[^`]*` \| ([^|]+) \|/gm)]
  return rows.map(([, flag = '', value = '']) => [flag, value.trim()])
}

test('the commands of the plugin make a program that answers a runtime', async () => {
  const [install, bundle, ask, ...more] = commandsIn('Run the plugin')
  expect([install, more]).toEqual(['npm ci', []])
  const shell = (command = '') => run('sh', ['-c', command.replaceAll('image/', `${folder}/`)], { cwd: root })
  await shell(bundle)
  const { stdout } = await shell(ask)
  const { cniVersion, supportedVersions } = JSON.parse(stdout) as { cniVersion: string; supportedVersions: string[] }
  expect([cniVersion, supportedVersions.includes('1.1.0')]).toEqual(['1.1.0', true])
}, 60_000)

test('the flags of the plugin are those of its program', () => {
  const program = readFileSync(`${root}docs/examples/cni-plugin/main.ts`, 'utf8')
  const [, names = ''] = /const flags = \{(.*)\} as const/.exec(program) ?? []
  const wanted = [...names.matchAll(/(\w+): \{ type: 'string' \}/g)].map(([, name]) => `--${name}`)
  expect(wanted.length).toBeGreaterThan(2)
  expect(flagsIn('Run the plugin').map(([flag]) => flag)).toEqual(wanted)
})

test('the flags of the controllers are those of their program, with their defaults', () => {
  const flags: { readonly [name: string]: { readonly type: string; readonly default?: unknown } } = FLAGS
  const wanted = Object.entries(flags).map(([name, { default: value }]) => [
    `--${name}`,
    typeof value === 'boolean' ? (value ? 'on' : 'off') : `${value ?? 'none'}`,
  ])
  expect(flagsIn('Run the controllers')).toEqual(wanted)
})

test('the commands of the controllers name files and flags that exist', () => {
  const [install, apply = '', start = '', ...more] = commandsIn('Run the controllers')
  expect(install).toMatch(/^npm ci && npm install --no-save @kubernetes\/client-node@[\d.]+$/)
  expect(more).toEqual([])
  const [, manifest = ''] = /^kubectl apply -f (\S+)$/.exec(apply) ?? []
  const [, program = '', flags = ''] = /^node_modules\/\.bin\/tsx (\S+) (.*)$/.exec(start) ?? []
  expect([manifest, program].map((file) => [file, existsSync(root + file)])).toEqual([
    ['docs/examples/whereabouts-controller/rbac.yaml', true],
    ['docs/examples/whereabouts-controller/main.ts', true],
  ])
  const values = parseFlags({ ...COMMON_FLAGS, ...FLAGS }, flags.split(' '))
  expect(values['leader-elect']).toBe(true)
  const table = /^\| planner \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(section('Run the controllers'))?.[1] ?? ''
  expect(table.match(/whereabouts[A-Z]\w+/g)).toHaveLength(plannersOf(values, {}).length)
})
