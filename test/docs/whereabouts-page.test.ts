import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { blockDel } from 'ipam-kit/provider/whereabouts-blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { COMMON_FLAGS, parseFlags } from '../../docs/examples/program/flags.js'
import { FLAGS, plannersOf } from '../../docs/examples/whereabouts-controller/flags.js'
import { AdminWorld, POOL } from '../examples/whereabouts-admin-world.js'

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

test('the command of the image builds the program of the controllers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-guide-'))
  try {
    const line = commandsIn('Run the controllers').find((each) => each.startsWith('npx esbuild ')) ?? ''
    expect(line).toContain('--outfile=image/whereabouts-controller.mjs')
    await promisify(execFile)('sh', ['-c', line.replace('image/', `${folder}/`)], { cwd: root })
    const program = join(folder, 'whereabouts-controller.mjs')
    const ended = await promisify(execFile)(process.execPath, [program, '--none']).catch((error) => error)
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('--none')])
  } finally {
    rmSync(folder, { recursive: true })
  }
}, 60_000)

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

/** The lines of a section that call the program for operators. */
function linesOf(heading: string): readonly string[] {
  return commandsIn(heading).flatMap((line) => (line.startsWith('admin ') ? [line.slice('admin '.length)] : []))
}

test('the commands of the program for operators are those that it takes, and release an address', async () => {
  const [apply = '', define = ''] = commandsIn('Show and release addresses')
  const [, program = ''] = /^admin\(\) \{ node_modules\/\.bin\/tsx (\S+) "\$@"; \}$/.exec(define) ?? []
  expect([apply.replace('kubectl apply -f ', ''), program].map((file) => existsSync(root + file))).toEqual([true, true])
  const world = await new AdminWorld().prepare()
  for (const name of ['web-0', 'web-1']) await world.start(name, 'pool', 'shop')
  await world.end('web-1', 'shop')
  const [show, dry, release, ...more] = linesOf('Show and release addresses')
  expect(more).toEqual([])
  for (const line of [show, dry]) expect((await world.run(line ?? '')).exit).toBe(0)
  expect((await world.rows()).pool).toHaveLength(2)
  expect((await world.run(release ?? '')).exit).toBe(0)
  expect((await world.rows()).pool).toEqual(['10.10.0.2 shop/web-0'])
})

test('the commands of the upgrade bring a pool to blocks, and roll back at each step', async () => {
  const world = await new AdminWorld().prepare()
  await world.start('web-0')
  const rows = ['10.10.0.2 ns/web-0']
  const lines = linesOf('Upgrade to blocks')
  const backs = lines.filter((line) => line.includes('roll-back'))
  expect(backs.map((line) => /--to (\S+)/.exec(line)?.[1])).toEqual(['dual-write', 'none'])
  const forth = lines.filter((line) => !backs.includes(line))
  expect(forth.map((line) => line.split(' ')[1])).toEqual([
    'plan',
    'start',
    'start',
    'copy',
    'verify',
    'cut-over',
    'finish',
  ])
  const run = async (line: string) => {
    const { exit, out, errors } = await world.run(line)
    expect([exit, line, exit === 0 ? '' : out + errors]).toEqual([0, line, ''])
  }
  const toCutOver = forth.slice(0, -1)
  // back after `start`, after `copy`, and after the cut-over
  for (const steps of [3, 4, 6]) {
    for (const line of [...toCutOver.slice(0, steps), ...backs]) await run(line)
    expect((await world.rows()).pool).toEqual(rows)
  }
  for (const line of toCutOver) await run(line)
  await world.setType('ipam-kit')
  for (const line of forth.slice(-1)) await run(line)
  expect(await world.rows()).toEqual({ pool: [], reserved: [], blocks: rows })
})

test('after a roll-back a DEL of the type ipam-kit leaves the row of the pool to the sweep', async () => {
  const world = await new AdminWorld().prepare()
  await world.start('web-0')
  for (const step of ['start', 'copy', 'cut-over']) await world.run(`upgrade ${step} --pool ${POOL}`)
  await world.setType('ipam-kit')
  const address = await world.start('web-1', 'blocks')
  await world.setType('whereabouts')
  expect((await world.run(`upgrade roll-back --to dual-write --pool ${POOL}`)).exit).toBe(0)
  const row = `${address} ns/web-1`
  expect(await world.rows()).toMatchObject({ pool: ['10.10.0.2 ns/web-0', row], blocks: ['10.10.0.2 ns/web-0', row] })

  const network = { config: world.config, pools: [] }
  const of = { podNamespace: 'ns', podName: 'web-1', containerId: 'c-web-1', ifname: 'net1' }
  await runTask(blockDel({ network, ...of }), world.store, { now: world.now })
  await world.end('web-1')
  const { pool, reserved, blocks } = await world.rows()
  expect([pool.at(-1), reserved.at(-1), blocks]).toEqual([row, row, ['10.10.0.2 ns/web-0']])
  const verified = await world.run(`upgrade verify --pool ${POOL}`)
  expect([verified.exit, verified.out]).toEqual([3, expect.stringMatching(`${address} +missing`)])
  expect(await world.start('web-2')).not.toBe(address)
  await runUntilQuiet(world.store, [whereaboutsSweep({ claims: false })], { now: world.now })
  expect((await world.rows()).pool).not.toContain(row)
  expect((await world.run(`upgrade verify --pool ${POOL}`)).exit).toBe(0)
})

test('the statuses of the program for operators are those that its header says', () => {
  const header = readFileSync(`${root}docs/examples/whereabouts-admin/main.ts`, 'utf8')
  const inHeader = [...header.matchAll(/^\/\/ {3}(\d) (?:if|for) /gm)].map(([, status]) => status)
  const inPage = [...section('Show and release addresses').matchAll(/^\| (\d) \| /gm)].map(([, status]) => status)
  expect(inPage).toEqual(inHeader)
})
