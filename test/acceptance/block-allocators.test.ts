import { describe, expect, test } from 'vitest'
import { adapters } from './adapters/index.js'
import type { Adapter } from './answer.js'
import { deviations } from './deviations.js'

type Row = readonly [input: unknown, asked: unknown, got: unknown]

/** The answer of an adapter to each input, as it is, whatever is expected. */
const table = (rows: readonly Row[]) =>
  rows.map(([input, asked, got]) => [JSON.stringify(input), input, asked, got] as const)

async function ask(file: string, input: unknown, asked: unknown): Promise<unknown> {
  const answer = await (adapters[file] as Adapter)({ input, expect: asked, fields: {} })
  return answer.kind === 'answered' ? answer.got : answer
}

const block = '10.9.8.0/29'
const web = { ordinals: [1, 3], handle: 'web', seq: 7 }
const db = { ordinals: [5], handle: 'db', seq: 8, activeOwner: { pod: 'db-0' } }
const release = (...requests: readonly { readonly ip: string; readonly handle?: string; readonly seq?: number }[]) => ({
  block,
  allocations: [web, db],
  op: { release: requests },
})

describe('the blocks of Calico', () => {
  test.each(
    table([
      [
        { block, allocations: [web, db], op: { reserved: ['10.9.8.4/30', ' 10.9.8.0 ', 'x'] } },
        { empty: true, inUse: [], free: 0, reservedCount: 0 },
        { empty: false, inUse: ['10.9.8.1', '10.9.8.3', '10.9.8.5'], free: 1, reservedCount: 5 },
      ],
      [
        { block, allocations: [{ ordinals: [0, 7], handle: 'Windows-Reserved-IPAM-Handle' }] },
        { empty: false, free: 0 },
        { empty: true, free: 6 },
      ],
      [{ block, allocations: [web], op: { byHandle: 'nobody' } }, { ips: ['10.9.8.1'] }, { ips: [] }],
      [
        { block, allocations: [web, { ordinals: [2], handle: 'web' }], op: { byHandle: 'web' } },
        { ips: [] },
        { ips: ['10.9.8.1', '10.9.8.2', '10.9.8.3'] },
      ],
      [
        { block, allocations: [web, db], op: { attributesOf: '10.9.8.5' } },
        { handle: '', activeOwner: {}, alternateOwner: {}, error: true },
        { handle: 'db', activeOwner: { pod: 'db-0' }, alternateOwner: null, error: false },
      ],
      [
        { block, allocations: [db], op: { attributesOf: '10.9.8.1' } },
        { error: '' },
        { error: 'nobody holds 10.9.8.1' },
      ],
      [
        release({ ip: '10.9.8.3', handle: 'web', seq: 7 }, { ip: '10.9.8.2' }, { ip: '10.9.8.5' }),
        { skipped: [], countByHandle: {}, left: [], attributeRows: 0, freeTailSet: [5, 3], error: true },
        {
          skipped: ['10.9.8.2'],
          countByHandle: { web: 1, db: 1 },
          left: [1],
          attributeRows: 1,
          freeTailSet: [5, 3],
          error: false,
        },
      ],
      [
        release({ ip: '10.9.8.3' }, { ip: '10.9.8.5', handle: 'web' }),
        { error: true, left: [], freeTail: [4, 6] },
        { error: true, left: [1, 3, 5], freeTail: [6, 7] },
      ],
      [
        release({ ip: '10.9.8.5', seq: 7 }),
        { error: '', left: [] },
        { error: '10.9.8.5 stays with db', left: [1, 3, 5] },
      ],
      [release({ ip: '10.9.9.1' }), { error: true, skipped: [] }, { error: true, skipped: null }],
      [
        { block, allocations: [web, db], op: { releaseByHandle: { handle: 'web' } } },
        { released: 0, freeTail: [0, 0] },
        { released: 2, freeTail: [1, 3] },
      ],
      [
        {
          block,
          allocations: [web, { ordinals: [0, 2], handle: 'web', seq: 9 }],
          op: { releaseByHandle: { handle: 'web', seq: 9 } },
        },
        { released: 0, left: [] },
        { released: 2, left: [1, 3] },
      ],
      [
        { block, allocations: [web, db], op: { releaseByHandle: { handle: 'web' }, cooldownSeconds: 5 } },
        { released: 0, left: [], free: 0 },
        { released: 2, left: [1, 3, 5], free: 5 },
      ],
    ]),
  )('%s', async (_, input, asked, got) => {
    expect(await ask('whereabouts-calico-blocks', input, asked)).toEqual(got)
  })

  test.each(
    table([
      [
        {
          block,
          allocations: [{ ordinals: [0], releasedSecondsAgo: 31 }, { ordinals: [2], releasedSecondsAgo: 29 }, web],
          op: { gc: { cooldownSeconds: 30 } },
        },
        { changed: false, leftCount: 0, free: 0, attributeRows: 0 },
        { changed: true, leftCount: 3, free: 5, attributeRows: 2 },
      ],
      [
        { block, allocations: [{ ordinals: [2], releasedSecondsAgo: 29 }], op: { gc: { cooldownSeconds: 30 } } },
        { changed: true, left: [], empty: true },
        { changed: false, left: [2], empty: false },
      ],
      [
        { block, allocations: [web], op: { gc: { spuriousAttributeRows: 1 } } },
        { changed: false, attributeRows: 0 },
        { changed: true, attributeRows: 1 },
      ],
    ]),
  )('after a collection: %s', async (_, input, asked, got) => {
    expect(await ask('whereabouts-calico-blocks', input, asked)).toEqual(got)
  })

  test.each(
    table([
      [
        { pool: 'fd00::/121', reservations: ['fd00::/126', 'fd00::1', 'fd00::100/126'], blocks: ['fd00::40/122'] },
        { capacity: 0, reserved: 0, availableOutsideBlocks: 0 },
        { capacity: 128, reserved: 4, availableOutsideBlocks: 60 },
      ],
      [
        { pool: 'fd00::/64', reservations: [], blocks: ['fd00::/122'] },
        { capacity: 0, availableOutsideBlocks: 0 },
        { capacity: '18446744073709551616', availableOutsideBlocks: '18446744073709551552' },
      ],
      [{ reserved: ['10.0.0.9/30', 'fd00::9', '::/129'] }, { cidrs: [] }, { cidrs: ['10.0.0.8/30', 'fd00::9/128'] }],
      [
        { filter: ['10.0.0.0/25', '10.0.0.128/25'] },
        {
          ipsMatched: ['10.0.0.9', '10.0.1.0'],
          ipsNotMatched: ['10.0.0.9', '10.0.1.0'],
          cidrsWhollyMatched: ['10.0.0.0/24', '10.0.0.0/23'],
          cidrsNotWhollyMatched: ['10.0.0.0/23'],
        },
        {
          ipsMatched: ['10.0.0.9'],
          ipsNotMatched: ['10.0.1.0'],
          cidrsWhollyMatched: ['10.0.0.0/24'],
          cidrsNotWhollyMatched: ['10.0.0.0/23'],
        },
      ],
      [
        { cidrs: ['11.0.0.0/25', '10.0.0.128/25', '10.0.0.0/25', '11.0.0.0/24', '10.0.0.0/25'] },
        { result: [], idempotent: false },
        { result: ['10.0.0.0/25', '10.0.0.128/25', '11.0.0.0/24'], idempotent: true },
      ],
      [{ cidrs: [] }, { result: ['x'] }, { result: [] }],
      [
        { pool: '10.0.0.0/20', blockSize: 26, seed: 'host' },
        { blocks: 0, distinct: 0, allInsidePool: 0 },
        { blocks: 64, distinct: true, allInsidePool: true },
      ],
    ]),
  )('around them: %s', async (_, input, asked, got) => {
    expect(await ask('whereabouts-calico-blocks', input, asked)).toEqual(got)
  })
})

const pool = { v4: ['10.2.0.0/23', '10.1.0.0/24'], v4Mask: 24, v6: ['fd00::/110'], v6Mask: 112 }

describe('other allocators', () => {
  test.each(
    table([
      [
        { ranges: ['10.0.1.0/29', '10.0.0.250-10.0.0.255'], reserved: ['10.0.1.7'] },
        { names: [], total: 0, count: 0, first: '', last: '', next: '', secondRelease: '', sameAddress: false },
        {
          names: ['10.0.1.0/29', '10.0.0.250-10.0.0.255'],
          total: 12,
          count: 12,
          first: '10.0.1.1',
          last: '10.0.0.255',
          next: 'error',
          secondRelease: 'error',
          sameAddress: true,
        },
      ],
      // a run has addresses of one range only
      [
        { ranges: ['10.0.0.0-10.0.0.3', '10.0.0.4-10.0.0.7'], size: 5 },
        { error: true, first: '' },
        { error: true, first: null },
      ],
      [
        { ranges: ['10.0.0.0-10.0.0.3', 'fd00::/125'], used: ['fd00::2'], size: 5 },
        { error: true, first: '', last: '', count: 0 },
        { error: false, first: 'fd00::3', last: 'fd00::7', count: 5 },
      ],
      [
        { ranges: ['10.0.0.0/31', '10.0.0.9-10.0.0.9'], ips: ['10.0.0.0', '10.0.0.1', '10.0.0.1', '10.0.0.9'] },
        { errors: [] },
        { errors: [true, false, true, false] },
      ],
      [
        { ranges: ['10.0.0.0/32'], has: '10.0.0.0' },
        { result: true, total: 1 },
        { result: false, total: 0 },
      ],
      [{ ranges: ['10.0.0.9-10.0.0.1'] }, { error: true }, { error: true }],
      [
        { ranges: ['fd00::1-fd00::3'], add: ['fd00::4', 'fd00::3'], remove: ['fd00::2', 'fd00::9'] },
        { changed: [], ranges: [], in: ['fd00::4', 'fd00::2'], out: ['fd00::4', 'fd00::2'] },
        {
          changed: [true, false, true, false],
          ranges: ['fd00::1-fd00::1', 'fd00::3-fd00::4'],
          in: ['fd00::4'],
          out: ['fd00::2'],
        },
      ],
      [
        { ranges: ['10.0.0.1-10.0.0.9'], separate: ['10.0.0.4-10.0.0.5'] },
        { ranges: [] },
        { ranges: ['10.0.0.1-10.0.0.3', '10.0.0.6-10.0.0.9'] },
      ],
      [{ prefix: '10.0.0.0/31' }, { count: '' }, { count: '2' }],
      [{ prefix: 'fd00::/126', allowLastIP: true }, { count: 0 }, { count: 3 }],
      [{ delete: 'a', pools: ['a'] }, { error: true }, { error: false }],
      [
        { delete: 'a', pools: ['b'] },
        { errorContains: ["doesn't exist", 'other'] },
        { errorContains: ["doesn't exist"] },
      ],
    ]),
  )('%s', async (_, input, asked, got) => {
    expect(await ask('whereabouts-other-allocators', input, asked)).toEqual(got)
  })

  test.each(
    table([
      // the CIDRs are used up in their order
      [
        { pool, needs: { v4: 700, v6: 1 } },
        { node: [], error: true },
        { node: ['10.2.0.0/24', '10.2.1.0/24', '10.1.0.0/24', 'fd00::/112'], error: false },
      ],
      [
        { pool, needs: { v4: 763 } },
        { node1: [], error: '' },
        {
          node1: ['10.2.0.0/24', '10.2.1.0/24', '10.1.0.0/24'],
          error: 'failed to allocate ipv4 address for node "node1" from pool "default": pool empty',
        },
      ],
      [
        { pool, node1: ['10.2.1.0/24'], ready: false, node2Needs: { v4: 1 } },
        { node1: [], node2: ['x'], error: '' },
        { node1: ['10.2.1.0/24'], node2: [], error: 'allocator not ready' },
      ],
      [
        { pool, node1Releases: ['10.2.1.0/24'], node2Claims: '10.2.1.0/24', node2Needs: { v4: 300 } },
        { node1: ['x'], node2: [], error: true },
        { node1: [], node2: ['10.2.1.0/24', '10.2.0.0/24'], error: false },
      ],
      [
        { pool, node2Claims: ['10.9.0.0/24'] },
        { error: '' },
        { error: 'unable to reuse from pool default: cidr 10.9.0.0/24 is not part of the requested pool' },
      ],
      [
        { pool: 'none', needs: { v4: 1 } },
        {
          errorContains: [
            'failed to allocate ipv4 address for node "node1" from pool "none"',
            'cannot allocate from non-existing pool: none',
            'ipv6',
          ],
        },
        {
          errorContains: [
            'failed to allocate ipv4 address for node "node1" from pool "none"',
            'cannot allocate from non-existing pool: none',
          ],
        },
      ],
      [
        { pools: { a: ['10.0.0.0/24', 'fd00::/96'], b: pool }, needsEach: { v4: 1, v6: 1 } },
        { allocated: {}, error: true },
        { allocated: { a: ['10.0.0.0/24', 'fd00::/96'], b: ['10.2.0.0/24', 'fd00::/112'] }, error: false },
      ],
      [
        { pool: { v4: ['10.0.0.0/22'], reserved: ['10.0.0.9-10.0.1.3'] }, needs: { v4: 1 } },
        { node: [] },
        { node: ['10.0.2.0/24'] },
      ],
      [
        { pool, nodes: { a: ['10.2.0.0/24'], b: ['fd00::/112'] }, op: 'remove v6' },
        { orphans: 0, stillReported: {} },
        { orphans: 1, stillReported: { a: ['10.2.0.0/24'], b: ['fd00::/112'] } },
      ],
      [
        { op: 'restore v6', node3Needs: { v6: 1 } },
        { orphans: 1, node3: [], error: true },
        { orphans: 0, node3: ['fd00:100::2:0:0/96'], error: false },
      ],
      [
        { op: 'deletePool', needs: { v4: 1 } },
        { error: '' },
        {
          error:
            'failed to allocate ipv4 address for node "node1" from pool "default": cannot allocate from non-existing pool: default',
        },
      ],
    ]),
  )('for nodes: %s', async (_, input, asked, got) => {
    expect(await ask('whereabouts-other-allocators', input, asked)).toEqual(got)
  })
})

test.each([
  ['whereabouts-calico-blocks', { block, op: { paint: 'blue' } }, {}],
  ['whereabouts-calico-blocks', { block }, { colour: 'blue' }],
  ['whereabouts-other-allocators', { ranges: [] }, { colour: 'blue' }],
  ['whereabouts-other-allocators', { op: 'paintPool' }, {}],
  ['whereabouts-other-allocators', { pool }, { node1Colour: 'blue' }],
])('%s does not know %j and %j', async (file, input, asked) => {
  expect(await ask(file, input, asked)).toMatchObject({ kind: 'unsupported' })
})

describe('deviations', () => {
  const ruleOf = (id: string) => deviations.find((rule) => rule.id === id)!

  test('pool-space-is-exact is about pools that are larger than upstream counts', () => {
    const rule = ruleOf('pool-space-is-exact')
    const input = { pool: 'fd00::/64', reservations: ['fd00::/66', 'x'], blocks: ['fd00::/122'] }
    expect(rule.applies(input)).toBe(true)
    for (const other of [{ pool: 'fd00::/66' }, { pool: 'fd00::/64', blockSize: 122, seed: 'x' }, { pool: 'x' }, 1]) {
      expect(rule.applies(other)).toBe(false)
    }
    const stopped = 9223372036854775807n
    const expected = { capacity: String(stopped), reserved: Number(stopped / 2n), availableOutsideBlocks: 1 }
    expect(rule.expect(input, expected)).toEqual({
      capacity: '18446744073709551616',
      reserved: Number(stopped / 2n),
      availableOutsideBlocks: '13835058055282163712',
    })
  })

  test('child-length-may-change is about more than one length', () => {
    const rule = ruleOf('child-length-may-change')
    expect(rule.applies({ pool: 'a', v4Mask: [24, 25] })).toBe(true)
    expect(rule.applies({ pool: 'a', v6Mask: [96, 97] })).toBe(true)
    for (const other of [{ v4Mask: [24, 24] }, { v4Mask: 24 }, { pool: 'a' }, 'a'])
      expect(rule.applies(other)).toBe(false)
    expect(rule.expect({}, { error: 'no' })).toEqual({ error: false })
    expect(rule.expect({}, { node1: [] })).toEqual({ node1: [] })
  })

  test('lengths may change: what is held is not given again', async () => {
    const input = { pool: 'a', v4Mask: [24, 25, 23], v6Mask: [64, 80] }
    expect(await ask('whereabouts-other-allocators', input, { error: true })).toEqual({ error: false })
  })
})
