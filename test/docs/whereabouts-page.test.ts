import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { COMMON_FLAGS, parseFlags } from '../../docs/examples/program/flags.js'
import { readLine } from '../../docs/examples/whereabouts-admin/admin.js'
import { FLAGS, plannersOf } from '../../docs/examples/whereabouts-controller/flags.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}docs/guides/whereabouts.md`, 'utf8')

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

test('the flags of the controllers are those of their program, with their defaults', () => {
  const flags: { readonly [name: string]: { readonly type: string; readonly default?: unknown } } = FLAGS
  const wanted = Object.entries(flags).map(([name, { default: value }]) => [
    `--${name}`,
    typeof value === 'boolean' ? (value ? 'on' : 'off') : `${value ?? 'none'}`,
  ])
  expect(flagsIn('Run the controllers')).toEqual(wanted)
})

test('the commands of the controllers name files and flags that exist', () => {
  const [install, apply = '', start = '', ...image] = commandsIn('Run the controllers')
  expect(install).toMatch(/^npm ci && npm install --no-save @kubernetes\/client-node@[\d.]+$/)
  const files = image.flatMap((line) => line.match(/docs\/\S+/g) ?? [])
  expect(files.map((file) => [file, existsSync(root + file)])).toEqual(
    ['/main.ts', '/Dockerfile', ''].map((file) => [`docs/examples/whereabouts-controller${file}`, true]),
  )
  const [, manifest = ''] = /^kubectl apply -f (\S+)$/.exec(apply) ?? []
  const [, program = '', flags = ''] = /^node_modules\/\.bin\/tsx (\S+) (.*)$/.exec(start) ?? []
  expect([manifest, program].map((file) => [file, existsSync(root + file)])).toEqual([
    ['docs/examples/whereabouts-controller/rbac.yaml', true],
    ['docs/examples/whereabouts-controller/main.ts', true],
  ])
  const values = parseFlags({ ...COMMON_FLAGS, ...FLAGS }, flags.split(' '))
  expect(values['leader-elect']).toBe(true)
  const table = /^\| planner \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(section('Run the controllers'))?.[1] ?? ''
  const all = plannersOf({ ...values, blocks: true }, {})
  expect([...table.matchAll(/`(\w+[A-Z]\w+)`/g)]).toHaveLength(all.length)
})

test('the manifests of the controllers name one image, their account and flags of the program', () => {
  const folder = `${root}docs/examples/whereabouts-controller/`
  const read = (file: string) => readFileSync(folder + file, 'utf8')
  const { images } = parse(read('kustomization.yaml'))
  const { spec } = parse(read('deployment.yaml')).spec.template
  const [{ image, command, args }] = spec.containers
  expect([images[0].name, `/controller/${/COPY (\S+) \./.exec(read('Dockerfile'))?.[1]}`]).toEqual([image, command[1]])
  expect(read('rbac.yaml')).toContain(`kind: ServiceAccount\nmetadata:\n  name: ${spec.serviceAccountName}\n`)
  const values = parseFlags({ ...COMMON_FLAGS, ...FLAGS }, args)
  expect(values['leader-elect']).toBe(true)
  expect(plannersOf(values, {}).map(({ name }) => name)).toEqual(['block-networks', 'blocks', 'blocks-sweep'])
})

test('each command of the program for operators names a manifest, or a command line that it takes', () => {
  const [apply = '', ...lines] = commandsIn('Show and release addresses')
  expect(existsSync(root + apply.replace('kubectl apply -f ', ''))).toBe(true)
  const names = lines.map((line) => {
    const [, program = '', words = ''] = /^node_modules\/\.bin\/tsx (\S+) (.+)$/.exec(line) ?? []
    expect(existsSync(root + program)).toBe(true)
    return readLine(words.split(' ')).name
  })
  expect(names).toEqual(['show', 'release', 'release'])
})

test('the statuses of the program for operators are those that its header says', () => {
  const header = readFileSync(`${root}docs/examples/whereabouts-admin/main.ts`, 'utf8')
  const inHeader = [...header.matchAll(/^\/\/ {3}(\d) (?:if|for) /gm)].map(([, status]) => status)
  const inPage = [...section('Show and release addresses').matchAll(/^\| (\d) \| /gm)].map(([, status]) => status)
  expect(inPage).toEqual(inHeader)
})
