import { execFile } from 'node:child_process'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { PGlite } from '@electric-sql/pglite'
import { Prefix } from 'ipam-kit/cidr'
import { blockName, IPBlock, type IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { migratePostgres, postgresStore } from 'ipam-kit/store/postgres'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { casts, kinds, pools } from '../../docs/examples/demo/blocks/cast.js'
import { checksOf, type Evidence } from '../../docs/examples/demo/blocks/checks.js'
import { rowsOf } from '../../docs/examples/demo/blocks/stored.js'
import { runDemo } from '../../docs/examples/demo/run.js'
import type { Load } from '../../docs/examples/open-store.js'
import type { IPBlockRow } from '../../src/crd/ipam-kit/ip-block.js'
import { API_VERSION } from '../../src/crd/ipam-kit/names.js'
import { isDeep } from '../setup/depth.js'
import { emptyDatabase } from '../setup/pglite.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
let database: PGlite

beforeEach(async () => {
  database = await emptyDatabase()
})

/** A server of PostgreSQL that outlives the run, and is gone after so many queries. */
function server(queries = Number.POSITIVE_INFINITY): Load {
  let left = queries
  class Pool {
    on() {}
    async end() {}
    async query(text: string, values?: unknown[]) {
      if (left-- <= 0) throw new Error('connection terminated')
      return database.query(text, values)
    }
  }
  return async <T>() => ({ default: { Pool } }) as T
}

const KEPT = ['--store', 'postgres://host/db']

/** Runs the scenario in this process. */
async function demo(args: readonly string[] = [], load: Load = server()) {
  let [out, err] = ['', '']
  const status = await runDemo(['--scenario', 'blocks', ...args], {
    folder: root,
    stdin: Readable.from([]),
    out: (text) => (out += text),
    err: (text) => (err += text),
    isTerminal: false,
    load,
  })
  return { status, out, err }
}

async function resultOf(...args: string[]) {
  const { out, ...rest } = await demo(['-o', 'json', ...args])
  return { ...rest, ...(JSON.parse(out) as Result) }
}

interface Result {
  readonly writers: readonly { readonly adds: number; readonly dels: number; readonly conflicts: number }[]
  readonly owners: readonly { readonly name: string; readonly ipv4: string | null; readonly ipv6: string | null }[]
  readonly pools: readonly { readonly name: string; readonly ipv4: { readonly allocated: string } }[]
  readonly checks: readonly { readonly rule: string; readonly wrong: readonly string[] }[]
  readonly store: object
}

/** The rules that do not hold, with all that is wrong. */
function failedIn(checks: Result['checks']): { readonly [rule: string]: readonly string[] } {
  return Object.fromEntries(checks.filter(({ wrong }) => wrong.length > 0).map(({ rule, wrong }) => [rule, wrong]))
}

const RULES = {
  served: 'every request was served',
  once: 'no address is given twice in a domain',
  owners: 'every owner has one row of each family, and was told so',
  counts: 'the status of each pool counts what is stored',
  idle: 'a second run has nothing to write',
}

function blockOf(
  cidr: string,
  rows: { readonly [unit: string]: Partial<IPBlockRow> },
  { domain = 'demo', pool = 'demo-blue' } = {},
): IPBlock {
  const prefix = Prefix.parse(cidr)
  const full = Object.entries(rows).map(([unit, row], index) => [
    unit,
    { owner: `others/${unit}`, uid: `other-${unit}`, sequence: index, ...row },
  ])
  const allocationPrefixLength = prefix.address.family === 4 ? 32 : 128
  const spec = { cidr, domain, pool, allocationPrefixLength, sequence: 1000, rows: Object.fromEntries(full) }
  const metadata = { name: blockName(domain, prefix) }
  return IPBlock.parse({ apiVersion: API_VERSION, kind: 'IPBlock', metadata, spec })
}

describe('three writers at once', () => {
  let first: ReturnType<typeof demo> | undefined
  /** The first run in memory. */
  function once() {
    first ??= demo(['-v'])
    return first
  }

  test('come to what they are meant to', async () => {
    const { status, out, err } = await once()
    expect(err).toBe('')
    await expect(out).toMatchFileSnapshot('__snapshots__/demo-blocks.txt')
    expect(status).toBe(0)
  })

  test('look the same every time, also from a process of their own', async () => {
    if (!isDeep) return expect(await demo(['-v'])).toEqual(await once())
    const command = ['--import', 'tsx', 'docs/examples/demo/main.ts', '--scenario', 'blocks', '-v']
    const ended = await new Promise((resolve) => {
      execFile(process.execPath, command, { cwd: root }, (error, out, err) => {
        resolve({ status: error === null ? 0 : Number(error.code), out, err })
      })
    })
    expect(ended).toEqual(await once())
  })

  test('are in the way of each other, and all are served', async () => {
    const { status, writers, owners, pools: counted, checks } = await resultOf()
    expect(writers.map(({ adds, dels }) => [adds, dels])).toEqual(
      casts.map(({ pods }) => [2 * pods.length, pods.length]),
    )
    expect(writers.every(({ conflicts }) => conflicts > 0)).toBe(true)
    expect(owners.map(({ name }) => name)).toEqual(casts.flatMap(({ pods }) => pods.map(({ name }) => name)))
    expect(owners.every(({ ipv4, ipv6 }) => /^10\.0\.0\.\d+$/.test(ipv4 ?? '') && /^fd00::\w+$/.test(ipv6 ?? ''))).toBe(
      true,
    )
    expect(counted.map(({ ipv4 }) => ipv4.allocated)).toEqual(['6', '6', '6'])
    expect(checks.map(({ rule }) => rule)).toEqual(Object.values(RULES))
    expect(status).toBe(0)
  })

  test('are one document, in JSON and in YAML', async () => {
    const json = await demo(['-o', 'json'])
    const result = JSON.parse(json.out)
    expect(Object.keys(result)).toEqual(['writers', 'owners', 'blocks', 'pools', 'checks'])
    expect(parse((await demo(['-o', 'yaml'])).out)).toEqual(result)
    expect(json.err).toMatch(
      /^Warnings\n {2}IPPool demo-red: Warning: [^\n]+\n\nThis is what the scenario is meant to come to\.\n$/,
    )
  })
})

describe('in a store that lasts', () => {
  test('a second run has nothing to do', async () => {
    const first = await demo(KEPT)
    expect(first.out).toMatch(
      /\nStore postgres:\/\/host\/db\n {2}pools: 3 created, 0 changed, 0 unchanged\n {2}writers and operator: \d+ writes\n\nThis is what the scenario is meant to come to\.\n\n-v shows .*\n$/,
    )
    expect([first.status, first.err]).toEqual([0, ''])
    const second = await demo(KEPT)
    expect(second.out).toContain(
      '\nStore postgres://host/db\n  pools: 0 created, 0 changed, 3 unchanged\n  writers and operator: 0 writes\n  Nothing was to do: everything is as it should be.\n',
    )
    const state = (text: string) => text.slice(text.indexOf('Owners\n'), text.indexOf('Store '))
    expect(state(second.out)).toBe(state(first.out))
    expect(second.status).toBe(0)
  })

  test.each(isDeep ? [30, 60, 90, 150, 250] : [150])(
    'a run that was cut off after %i queries is finished by the next',
    async (queries) => {
      const { status, out, err } = await demo(KEPT, server(queries))
      expect([status, out]).toEqual([1, ''])
      expect(err).toMatch(/^postgres:\/\/host\/db: .*connection terminated/)
      const { checks, ...next } = await resultOf(...KEPT)
      expect(failedIn(checks)).toEqual({})
      expect(next.status).toBe(0)
      expect((await resultOf(...KEPT)).store).toMatchObject({ created: 0, changed: 0, unchanged: 3, written: 0 })
    },
  )

  async function stored(): Promise<Store> {
    await migratePostgres(database)
    return postgresStore(database, { now: Date.now, uid: () => crypto.randomUUID(), kinds, sleep: async () => {} })
  }

  test('others may have addresses of the pools too', async () => {
    unwrap(await (await stored()).create(blockOf('10.0.0.0/28', { 5: {}, 9: {} })))
    const { checks, out } = await resultOf(...KEPT).then(async (result) => ({
      ...result,
      ...(await demo(['-v', ...KEPT])),
    }))
    expect(failedIn(checks)).toEqual({})
    expect(out).toMatch(/^ {2}demo +10\.0\.0\.0\/28 .* [.1-3]{5}x[.1-3]{3}x[.1-3]{6}$/m)
  })

  test('an address that is given twice is found', async () => {
    const { owners } = await resultOf(...KEPT)
    const unit = Number(owners[0]?.ipv4?.slice('10.0.0.'.length))
    // on another grid than that of the domain, so that it is not one object that has both
    unwrap(await (await stored()).create(blockOf('10.0.0.0/26', { [unit]: {} })))
    const { status, out } = await demo(KEPT)
    expect(out).toContain('  FAILED  no address is given twice in a domain\n')
    expect(out).toMatch(
      new RegExp(
        `\nNot what is expected of the scenario:\n  Not so: no address is given twice in a domain\n    10\\.0\\.0\\.${unit} of domain demo is given to .*others/${unit} in demo-4-0a000000-26`,
      ),
    )
    expect(status).toBe(1)
  })

  test('an owner that has two is found', async () => {
    await resultOf(...KEPT)
    const { uid, name: owner } = casts[1]!.pods[2]!
    const pool = 'demo-green'
    const rows = { 12: { uid, owner, interface: 'eth0', pool, sequence: 1 } }
    const name = blockName('demo-other', Prefix.parse('10.0.0.0/28'))
    unwrap(await (await stored()).patch({ apiVersion: API_VERSION, kind: 'IPBlock', name }, { spec: { rows } }))
    const { status, checks } = await resultOf(...KEPT)
    const { [RULES.owners]: wrong, ...others } = failedIn(checks)
    expect(wrong).toContain(`${owner} has 2 rows of IPv4`)
    expect(others).toEqual({})
    expect(status).toBe(1)
  })

  test('a pool that has no room for all is told', async () => {
    const rows = (first: number) =>
      Object.fromEntries(Array.from({ length: 16 }, (_, unit) => [unit, { uid: `other-${first + unit}` }]))
    const where = { domain: 'demo-other', pool: 'demo-green' }
    const store = await stored()
    for (const first of [0, 16]) unwrap(await store.create(blockOf(`10.0.0.${first}/28`, rows(first), where)))
    const { status, checks, err } = await resultOf(...KEPT)
    const wrong = failedIn(checks)
    expect(wrong[RULES.served]).toContain('ADD of demo/green-1-1: exhausted: no IPv4 available in demo-green')
    expect(wrong[RULES.owners]).toContain('demo/green-1-1 has 0 rows of IPv4')
    expect(Object.keys(wrong)).toEqual([RULES.served, RULES.owners])
    expect(err).toContain(
      '\nNot what is expected of the scenario:\n  Not so: every request was served\n    ADD of demo/',
    )
    expect(status).toBe(1)
  })

  test('a pool that says it is of another domain is not made ours', async () => {
    const [blue] = pools as [IPPool]
    const other = { ...blue, spec: { ...blue.spec, domain: 'elsewhere' } }
    unwrap(await (await stored()).create(other))
    const { status, checks } = await resultOf(...KEPT)
    expect(failedIn(checks)[RULES.served]?.[0]).toMatch(/^IPPool demo-blue refused: .*spec\.domain: .*never changes$/)
    expect(status).toBe(1)
  })
})

describe('the checks', () => {
  const pod = { name: 'demo/web', pool: 'demo-green', uid: 'web', former: 'web-former' }
  const own = { uid: 'web', owner: 'demo/web' }
  const where = { domain: 'demo-other', pool: 'demo-green' }
  const told = new Map([['web', ['fd00::2', '10.0.0.2']]])
  const status = (allocated: string, free: string) => ({
    ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32, total: '22', allocated, free },
    ipv6: { blockPrefixLength: 124, allocationPrefixLength: 128, total: '22', allocated: '1', free: '21' },
  })

  function evidence(
    blocks: readonly IPBlock[],
    change: Partial<Evidence> & { readonly status?: IPPool['status'] } = {},
  ): Evidence {
    const { status: says = status('1', '21'), ...rest } = change
    const green = { ...pools.find(({ metadata }) => metadata.name === 'demo-green')!, status: says }
    return {
      pods: [pod],
      pools: ['demo-green'],
      stored: { pools: [green], blocks, rows: blocks.flatMap(rowsOf), unfit: [] },
      told: [told, told],
      surprises: [],
      again: [],
      ...rest,
    }
  }

  const v4 = blockOf('10.0.0.0/28', { 2: own }, where)
  const v6 = blockOf('fd00::/124', { 2: own }, where)
  const wrongOf = (given: Evidence) => failedIn(checksOf(given))

  test('hold where all is well, also with the same address in another domain', () => {
    expect(wrongOf(evidence([v4, v6]))).toEqual({})
    expect(wrongOf(evidence([v4, v6, blockOf('10.0.0.0/28', { 2: {} })]))).toEqual({})
  })

  test('miss nothing of what is given twice', () => {
    const two = blockOf('10.0.0.0/28', { 1: { uid: 'x', owner: 'x/y', count: 3 }, 2: own }, where)
    const { [RULES.once]: within } = wrongOf(evidence([two, v6]))
    expect(within).toEqual([
      '10.0.0.2 of domain demo-other is given to x/y in demo-other-4-0a000000-28 and to demo/web in demo-other-4-0a000000-28',
    ])
    // one that reaches over another to a third
    const wide = blockOf('10.0.0.0/28', { 1: { owner: 'x/y', count: 9 }, 4: {}, 8: {} }, where)
    expect(wrongOf(evidence([wide, v6]))[RULES.once]).toHaveLength(2)
    // what is kept for somebody is not for others either
    const kept = { state: 'held', released: '2026-01-01T00:00:00Z', until: '2099-01-01T00:00:00Z' } as const
    expect(wrongOf(evidence([v4, v6, blockOf('10.0.0.0/27', { 2: kept }, where)]))[RULES.once]).toHaveLength(1)
  })

  test('want one row of each family for each owner', () => {
    expect(wrongOf(evidence([v4]))[RULES.owners]).toEqual([
      'demo/web has 0 rows of IPv6',
      'demo/web was told 10.0.0.2 and fd00::2, and has 10.0.0.2',
    ])
    const more = blockOf('10.0.0.16/28', { 4: own }, where)
    expect(wrongOf(evidence([v4, v6, more]))[RULES.owners]?.[0]).toBe('demo/web has 2 rows of IPv4')
    const former = blockOf('10.0.0.16/28', { 4: { ...own, uid: 'web-former' } }, where)
    expect(wrongOf(evidence([v4, v6, former]))[RULES.owners]).toEqual([
      'demo/web was made anew, and still has 10.0.0.20 of before',
    ])
  })

  test('want what was told, in both runs', () => {
    const other = new Map([['web', ['10.0.0.3', 'fd00::2']]])
    const wrong = ['demo/web was told 10.0.0.3 and fd00::2, and has 10.0.0.2 and fd00::2']
    expect(wrongOf(evidence([v4, v6], { told: [other, told] }))).toEqual({ [RULES.owners]: wrong })
    expect(wrongOf(evidence([v4, v6], { told: [told, other] }))).toEqual({ [RULES.owners]: wrong })
    expect(wrongOf(evidence([v4, v6], { told: [told, new Map()] }))).toEqual({
      [RULES.owners]: ['demo/web was told nothing, and has 10.0.0.2 and fd00::2'],
    })
  })

  test.each([
    ['total', { ...status('1', '21').ipv4, total: '21' }, 'says total 21 of IPv4, and it is 22'],
    ['allocated', status('2', '21').ipv4, 'says allocated 2 of IPv4, and it is 1'],
    ['free', status('1', '20').ipv4, 'says free 20 of IPv4, and it is 21'],
    ['nothing', undefined, 'says total - of IPv4, and it is 22'],
  ])('count after the status: %s', (_, ipv4, line) => {
    const says = { ...status('1', '21'), ipv4 }
    expect(wrongOf(evidence([v4, v6], { status: says }))[RULES.counts]?.[0]).toBe(`IPPool demo-green ${line}`)
  })

  test('miss a pool that is gone', () => {
    expect(wrongOf(evidence([v4, v6], { pools: ['demo-green', 'demo-red'] }))).toEqual({
      [RULES.counts]: ['there is no IPPool demo-red'],
    })
  })

  test('pass on what else has happened', () => {
    const { stored, ...rest } = evidence([v4, v6], { surprises: ['no'], again: ['IPPool demo-red'] })
    expect(wrongOf({ ...rest, stored: { ...stored, unfit: ['IPBlock x: broken'] } })).toEqual({
      [RULES.served]: ['no', 'IPBlock x: broken'],
      [RULES.idle]: ['it has written IPPool demo-red'],
    })
  })
})

test.each([
  [
    ['--scenario', 'nope'],
    '--scenario takes in-cluster, blocks, node-ipam, floating-ip, whereabouts, persistent-ip, services, network-view, own-provider, not "nope"',
  ],
  [['-f', 'docs/examples/manifests'], '-f and --delete are for manifests: --scenario blocks takes none'],
  [['--delete', 'IPAddress/web-0'], '-f and --delete are for manifests'],
])('%j is a mistake', async (args, message) => {
  const { status, out, err } = await demo(args)
  expect(err).toContain(message)
  expect(err).toContain('Usage: npm run demo')
  expect([status, out]).toEqual([2, ''])
})

test('docs/examples/blocks/definitions.ts prints what an API server needs to know', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await import('../../docs/examples/blocks/definitions.js')
  const { items } = JSON.parse(log.mock.calls[0]?.[0] as string)
  log.mockRestore()
  expect(
    items.map(({ kind, metadata }: { kind: string; metadata: { name: string } }) => [kind, metadata.name]),
  ).toEqual(
    [...kinds.map(({ plural }) => plural), 'iphandles'].map((plural) => [
      'CustomResourceDefinition',
      `${plural}.ipam-kit.dev`,
    ]),
  )
})
