import { Node } from 'ipam-kit/crd/core'
import { IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { blocksWatch, KnownBlocks } from 'ipam-kit/provider/blocks'
import { type AddOutcome, cniOutcome } from 'ipam-kit/provider/whereabouts'
import { blockAdd } from 'ipam-kit/provider/whereabouts-blocks'
import { beforeEach, describe, expect, test } from 'vitest'
import { World } from './world.js'

const NET = { range: '10.0.0.0/29', gateway: '10.0.0.1' }
const DUAL = { ipRanges: [{ range: '10.0.0.0/29' }, { range: 'fd00::/125' }] }
const TWO = { ipRanges: [{ range: '10.0.0.0/29' }, { range: '10.1.0.0/30' }] }

let world: World
beforeEach(() => {
  world = new World()
})

describe('ADD', () => {
  test('gives the lowest address, in three requests', async () => {
    await world.prepare(NET)
    expect(await world.add(NET)).toEqual(['10.0.0.2/29'])
    expect(world.requests).toEqual([
      'get IPPool whereabouts.10.0.0.0-29',
      'get IPBlock whereabouts-4-0a000000-24',
      'create IPBlock whereabouts-4-0a000000-24',
    ])
    expect(await world.add(NET, { pod: 'p2' })).toEqual(['10.0.0.3/29'])
    expect(world.requests).toEqual([
      'get IPPool whereabouts.10.0.0.0-29',
      'get IPBlock whereabouts-4-0a000000-24',
      'patch IPBlock whereabouts-4-0a000000-24',
    ])
    expect(await world.rows()).toEqual([
      'whereabouts-4-0a000000-24+2 ns/p1 uid-p1 p1/net1 whereabouts.10.0.0.0-29',
      'whereabouts-4-0a000000-24+3 ns/p2 uid-p2 p2/net1 whereabouts.10.0.0.0-29',
    ])
  })

  test('costs one request in a process that knows the block', async () => {
    await world.prepare(NET)
    world.known = new KnownBlocks()
    await world.add(NET)
    expect(await world.add(NET, { pod: 'p2' })).toEqual(['10.0.0.3/29'])
    expect(world.requests).toEqual(['patch IPBlock whereabouts-4-0a000000-24'])
  })

  test('reads the Node for its labels, if the pool selects Nodes', async () => {
    const nodeSelector = { matchLabels: { zone: 'lan' } }
    await world.pool('lan', { domain: 'lan', subnets: [{ cidr: '10.0.0.0/24' }], nodeSelector })
    for (const [name, zone] of [
      ['inside', 'lan'],
      ['outside', 'wan'],
    ] as const) {
      const { apiVersion, kind } = Node.info
      unwrap(await world.store.create({ apiVersion, kind, metadata: { name, labels: { zone } } } as KubeObject))
    }
    const ipam = { pools: ['lan'] }
    expect(await world.add(ipam, { node: 'inside' })).toEqual(['10.0.0.1/24'])
    expect(world.requests.slice(0, 2)).toEqual(['get IPPool lan', 'get Node inside'])
    for (const node of ['outside', 'none']) {
      expect(await world.add(ipam, { pod: node, node })).toBe('refused: pool lan is not for this node')
    }
  })

  test('serves each range in their order, and static addresses after them', async () => {
    const ipam = { ...DUAL, addresses: [{ address: '10.9.0.5/24' }] }
    await world.prepare(ipam)
    expect(await world.add(ipam)).toEqual(['10.0.0.1/29', 'fd00::1/125', '10.9.0.5/24'])
    const turned = { ...ipam, ipRanges: [...DUAL.ipRanges].reverse() }
    expect(await world.add(turned, { pod: 'p2' })).toEqual(['fd00::2/125', '10.0.0.2/29', '10.9.0.5/24'])
  })

  test('two ranges of one family are two pools', async () => {
    await world.prepare(TWO)
    expect(await world.add(TWO)).toEqual(['10.0.0.1/29', '10.1.0.1/30'])
    expect(await world.add(TWO)).toEqual(['10.0.0.1/29', '10.1.0.1/30'])
    expect(await world.rows()).toHaveLength(2)
  })

  test('all ranges or none: the rows of the ranges before are released', async () => {
    await world.prepare(TWO)
    for (const pod of ['a', 'b']) expect(await world.add(TWO, { pod })).toHaveLength(2)
    const before = await world.rows()
    expect(await world.add(TWO, { pod: 'c' })).toMatch(/^exhausted: /)
    expect(await world.rows()).toEqual(before)
  })

  test.each([
    ['of the second range', TWO, 'create IPBlock whereabouts-4-0a010000-24'],
    ['of the second family', DUAL, `create IPBlock whereabouts-6-fd${'0'.repeat(30)}-120`],
    ['of the first family', DUAL, 'create IPBlock whereabouts-4-0a000000-24'],
  ])('a write %s that is refused leaves no row', async (_, ipam, write) => {
    await world.prepare(ipam)
    world.refuse = (request) => request === write
    expect(await world.add(ipam)).toMatch(/^denied: /)
    expect(world.requests).toContain(write)
    expect(await world.rows()).toEqual([])
  })

  test('the same Pod gets its address again in another container, and the late DEL of the first frees nothing', async () => {
    await world.prepare(NET)
    await world.add(NET, { container: 'c1' })
    expect(await world.add(NET, { container: 'c2' })).toEqual(['10.0.0.2/29'])
    expect(await world.del(NET, { container: 'c1' })).toBe('nothing')
    expect(await world.check(NET, { container: 'c2' })).toBe('present')
    expect(await world.del(NET, { container: 'c2' })).toBe('released 10.0.0.2')
  })

  test('a Pod of the same name is another owner', async () => {
    await world.prepare(NET)
    await world.add(NET, { uid: 'u1', container: 'c1' })
    expect(await world.add(NET, { uid: 'u2', container: 'c2' })).toEqual(['10.0.0.3/29'])
  })

  test('reads the Pod if its uid is not given', async () => {
    await world.prepare(NET)
    expect(await world.add(NET, { uid: undefined })).toBe('noPod: there is no Pod ns/p1')
    const uid = await world.makePod('p1')
    expect(await world.add(NET, { uid: '' })).toEqual(['10.0.0.2/29'])
    expect((await world.rows())[0]).toContain(`ns/p1 ${uid} `)
  })

  test('an address that is asked for', async () => {
    await world.prepare(DUAL)
    const asking = (...ips: readonly string[]) => ({ rest: { runtimeConfig: { ips } } })
    expect(await world.add(DUAL, asking('fd00::5', '10.0.0.4'))).toEqual(['10.0.0.4/29', 'fd00::5/125'])
    expect(await world.add(DUAL, { pod: 'p2', ...asking('10.0.0.4') })).toMatch(/^taken: 10.0.0.4 is in use by ns\/p1/)
    expect(await world.add(DUAL, { pod: 'p2', args: { IP: '10.0.0.3' } })).toEqual(['10.0.0.3/29', 'fd00::1/125'])
    expect(await world.add(DUAL, { pod: 'p3', ...asking('10.0.0.5', '10.0.0.6') })).toMatch(
      /^refused: .*no range is left for 10.0.0.6/,
    )
  })

  test('an address beyond the bounds is not given to a Pod that asks for it', async () => {
    const ipam = { range: '10.0.0.0/24', range_end: '10.0.0.99' }
    await world.prepare(ipam)
    const who = { rest: { runtimeConfig: { ips: ['10.0.0.100'] } } }
    expect(await world.add(ipam, who)).toMatch(/^refused: 10.0.0.100 is not given/)
  })

  test('pools by name give one address of each of their families', async () => {
    await world.pool('blue', { subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.0.1' }, { cidr: 'fd00::/64' }] })
    await world.pool('red', { subnets: [{ cidr: '10.1.0.0/24' }] })
    const ipam = { pools: ['red', 'blue'] }
    const outcome = await world.run<AddOutcome>(blockAdd(world.request(ipam)))
    expect(outcome).toMatchObject({ kind: 'allocated', message: 'ns/p1 has 10.1.0.1, 10.0.0.2, fd00::1' })
    expect(outcome.kind === 'allocated' && outcome.addresses[1]?.gateway).toBeDefined()
    const who = { pod: 'p2', rest: { runtimeConfig: { ips: ['10.0.0.77'] } } }
    expect(await world.add(ipam, who)).toEqual(['10.1.0.2/24', '10.0.0.77/24', 'fd00::2/64'])
    expect(await world.del(ipam, who)).toBe('released 10.0.0.77 10.1.0.2 fd00::2')
  })

  test('ranges that overlap share a domain; two names, and ranges of their own, do not', async () => {
    const wide = { range: '10.0.0.0/24' }
    const named = { ...wide, network_name: 'blue' }
    const own = { ...wide, enable_overlapping_ranges: false }
    for (const ipam of [{ range: '10.0.0.0/29' }, wide, named, own]) await world.prepare(ipam)
    expect(await world.add({ range: '10.0.0.0/29' })).toEqual(['10.0.0.1/29'])
    expect(await world.add(wide, { pod: 'p2' })).toEqual(['10.0.0.2/24'])
    expect(await world.add(named, { pod: 'p3' })).toEqual(['10.0.0.1/24'])
    expect(await world.add(own, { pod: 'p4' })).toEqual(['10.0.0.1/24'])
  })

  test('node slices: each Node takes addresses of its own block', async () => {
    const ipam = { range: '10.0.0.0/25', node_slice_size: '26' }
    await world.prepare(ipam)
    expect(await world.add(ipam)).toBe('refused: node slices need the name of the Node')
    expect(await world.add(ipam, { node: 'n1' })).toEqual(['10.0.0.1/25'])
    expect(await world.add(ipam, { pod: 'p2', node: 'n2' })).toEqual(['10.0.0.64/25'])
    expect(await world.add(ipam, { pod: 'p3', node: 'n1' })).toEqual(['10.0.0.2/25'])
    expect(await world.add(ipam, { pod: 'p4', node: 'n3' })).toMatch(/^exhausted: /)
  })

  test('a pool of one namespace serves no Pod of another', async () => {
    await world.prepare(NET, 'ns')
    expect(await world.add(NET, { namespace: 'other' })).toMatch(/^refused: .*not for this namespace/)
    expect(await world.add(NET)).toEqual(['10.0.0.2/29'])
  })

  test('a pool that does not exist, or gives more than the configuration, is not used', async () => {
    expect(await world.add(NET)).toBe('poolNotReady: there is no IPPool whereabouts.10.0.0.0-29')
    await world.prepare(NET)
    const narrower = { ...NET, exclude: ['10.0.0.2'] }
    expect(await world.add(narrower)).toBe(
      'poolNotReady: IPPool whereabouts.10.0.0.0-29 gives 10.0.0.2, which the configuration does not',
    )
    expect(await world.add({ range: '10.0.0.0/29' })).toEqual(['10.0.0.2/29'])
  })

  test('a pool that has changed since is read again before it is not used', async () => {
    await world.prepare(NET)
    world.known = new KnownBlocks()
    await world.add(NET)
    const { apiVersion, kind } = IPPool.info
    const subnets = [{ cidr: '10.0.0.0/29', gateway: '10.0.0.1', exclude: ['10.0.0.3'] }]
    unwrap(await world.store.patch({ apiVersion, kind, name: 'whereabouts.10.0.0.0-29' }, { spec: { subnets } }))
    expect(await world.add({ ...NET, exclude: ['10.0.0.3'] }, { pod: 'p2' })).toEqual(['10.0.0.4/29'])
  })

  test('a network without ranges has its static addresses', async () => {
    expect(await world.add({ addresses: [{ address: '10.9.0.5/24' }] })).toEqual(['10.9.0.5/24'])
    expect(await world.add({})).toEqual([])
    expect(world.requests).toEqual([])
  })

  test('answers CNI with the codes of whereabouts', async () => {
    await world.prepare(TWO)
    const answer = async (who: object) => {
      const request = world.request(TWO, who)
      const outcome = await world.run<AddOutcome>(blockAdd(request))
      const out = cniOutcome({ kind: 'done', outcome }, { command: 'ADD', config: request.network.config })
      return out.kind === 'failed' ? out.error.code : out.kind
    }
    expect(await answer({})).toBe('added')
    expect(await answer({ pod: 'p2', rest: { runtimeConfig: { ips: ['10.0.0.1'] } } })).toBe(100)
    expect(await answer({ pod: 'p2', uid: undefined })).toBe(100)
    await world.add(TWO, { pod: 'p3' })
    expect(await answer({ pod: 'p2' })).toBe(101)
  })

  test.each([
    { containerId: 'x'.repeat(65) },
    { ifname: 'i'.repeat(16) },
    { podUid: 'u'.repeat(37) },
    { nodeName: 'UPPER' },
  ])('%j is a mistake of the caller', (more) => {
    expect(() => blockAdd({ ...world.request(NET), ...more })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})

describe('DEL', () => {
  test('releases every row of the interface, in three requests, and twice is no failure', async () => {
    await world.prepare(NET)
    await world.add(NET)
    await world.add(NET, { ifname: 'net2' })
    expect(await world.del(NET)).toBe('released 10.0.0.2')
    expect(world.requests).toEqual([
      'get IPPool whereabouts.10.0.0.0-29',
      'list IPBlock',
      'patch IPBlock whereabouts-4-0a000000-24',
    ])
    expect(await world.del(NET)).toBe('nothing')
    expect(await world.rows()).toHaveLength(1)
  })

  test('finds rows by the container if the Pod is gone and its uid is not given', async () => {
    await world.prepare(DUAL)
    await world.add(DUAL)
    expect(await world.del(DUAL, { uid: undefined })).toBe('released 10.0.0.1 fd00::1')
    expect(await world.rows()).toEqual([])
  })

  test('finds rows under another uid of the Pod, as that of a static Pod', async () => {
    await world.prepare(NET)
    await world.add(NET, { uid: 'mirror' })
    expect(await world.del(NET, { uid: 'config-hash' })).toBe('released 10.0.0.2')
  })

  test('of a pool that is gone there is nothing to release', async () => {
    expect(await world.del(NET)).toBe('nothing')
    expect(await world.del(NET, { uid: undefined })).toBe('nothing')
    expect(await world.del({})).toBe('nothing')
  })

  test('of a pool that is gone, rows are found by its domain', async () => {
    await world.prepare(NET)
    await world.add(NET)
    const { apiVersion, kind } = IPPool.info
    const ref = { apiVersion, kind, name: 'whereabouts.10.0.0.0-29' }
    unwrap(await world.store.patch(ref, { metadata: { finalizers: null } }))
    unwrap(await world.store.delete(ref))
    expect(await world.del(NET)).toBe('released 10.0.0.2')
  })

  test('a block that cannot be read may have the row', async () => {
    await world.prepare(NET)
    await world.add(NET)
    const ref = { apiVersion: IPPool.info.apiVersion, kind: 'IPBlock', name: 'whereabouts-4-0a000000-24' }
    unwrap(await world.store.patch(ref, { spec: { cidr: '10.9.0.0/24' } }))
    expect(await world.del(NET)).toMatch(/^poolNotReady/)
    expect(await world.del(NET, { uid: undefined })).toMatch(/^poolNotReady/)
  })
})

describe('CHECK', () => {
  test('needs a row of each range, of this container and interface, with the addresses of the result', async () => {
    await world.prepare(DUAL)
    expect(await world.check(DUAL)).toBe('missing')
    await world.add(DUAL)
    expect(await world.check(DUAL)).toBe('present')
    expect(world.requests.filter((one) => one.startsWith('list'))).toHaveLength(1)
    expect(await world.check(DUAL, {}, ['10.0.0.1', 'fd00::1'])).toBe('present')
    expect(world.requests.filter((one) => one.startsWith('list'))).toEqual([])
    expect(await world.check(DUAL, {}, ['10.0.0.2', 'fd00::1'])).toBe('missing')
    expect(await world.check(DUAL, { container: 'other' })).toBe('missing')
    expect(await world.check(DUAL, { ifname: 'net2' })).toBe('missing')
    expect(await world.check({ ...DUAL, network_name: 'x' })).toBe('missing')
  })
})

describe('STATUS', () => {
  test('is ready if each pool has a free address', async () => {
    const ipam = { range: '10.1.0.0/30' }
    expect(await world.status(ipam)).toBe('notReady: there is no IPPool whereabouts.10.1.0.0-30')
    await world.prepare(ipam)
    expect(await world.status(ipam)).toBe('ready')
    for (const pod of ['a', 'b']) await world.add(ipam, { pod })
    await world.operate()
    expect(await world.status(ipam)).toBe('notReady: IPPool whereabouts.10.1.0.0-30 has no free IPv4 address')
    const { apiVersion, kind } = IPPool.info
    unwrap(await world.store.patch({ apiVersion, kind, name: 'whereabouts.10.1.0.0-30' }, { spec: { disabled: true } }))
    expect(await world.status(ipam)).toMatch(/disabled/)
  })
})

describe('GC', () => {
  const running = { spec: { nodeName: 'n1' }, status: { phase: 'Running' } }

  async function withRow(pod: object = running, metadata: object = {}): Promise<void> {
    await world.prepare(NET)
    const uid = await world.makePod('p1', pod, metadata)
    await world.add(NET, { uid })
    world.nowMs += 120_000
  }

  test('frees the row of a Pod of this Node that has ended', async () => {
    await withRow({ ...running, status: { phase: 'Succeeded' } })
    expect(await world.gc(NET, { valid: [{ containerId: 'p1', ifname: 'net1' }] })).toEqual([])
    expect(await world.gc(NET, { valid: [], nodeName: 'n2' })).toEqual([])
    expect(await world.gc(NET, { valid: [] })).toEqual(['10.0.0.2'])
    expect(await world.rows()).toEqual([])
  })

  test('keeps a row that may be of an attachment', async () => {
    await withRow()
    expect(await world.gc(NET, { valid: [] })).toEqual([])
    expect(await world.gc(NET, {})).toBe('off')
    expect(await world.gc({ ...NET, gc: false }, { valid: [] })).toBe('off')
  })

  test('keeps a row that is younger than a minute, and that of a Pod of another uid', async () => {
    await withRow({ ...running, status: { phase: 'Failed' } })
    await world.add(NET, { uid: 'later', container: 'c2' })
    expect(await world.gc(NET, { valid: [{ containerId: 'p1', ifname: 'net1' }] })).toEqual([])
    world.nowMs += 120_000
    expect(await world.gc(NET, { valid: [{ containerId: 'p1', ifname: 'net1' }] })).toEqual([])
  })

  test('keeps the row of a Pod that runs, whatever its network status says', async () => {
    const status = JSON.stringify([{ name: 'ns/lab', ips: ['10.0.0.9'] }])
    await withRow(running, { annotations: { 'k8s.v1.cni.cncf.io/network-status': status } })
    expect(await world.gc(NET, { valid: [] })).toEqual([])
  })

  test('frees a row that the record of this Node names', async () => {
    await world.prepare(NET)
    await world.add(NET)
    const addedMs = world.nowMs
    world.nowMs += 120_000
    const record = [{ containerId: 'p1', ifname: 'net1', network: 'lab', addedMs }]
    expect(await world.gc(NET, { valid: [], record: [{ ...record[0]!, network: 'other' }] })).toEqual([])
    expect(await world.gc(NET, { valid: [], record })).toEqual(['10.0.0.2'])
  })
})

test('with a watch, an ADD and a DEL are one request each', async () => {
  await world.prepare(NET)
  await world.add(NET)
  const watch = blocksWatch({ now: () => world.nowMs })
  for (const { apiVersion, kind } of [IPPool.info, { apiVersion: IPPool.info.apiVersion, kind: 'IPBlock' }]) {
    const { items } = unwrap(await world.store.list({ apiVersion, kind }))
    for (const object of items) watch.observe({ kind: 'present', object })
  }
  world.known = watch.known
  expect(await world.add(NET, { pod: 'p2' })).toEqual(['10.0.0.3/29'])
  expect(world.requests).toHaveLength(1)
  expect(await world.del(NET, { pod: 'p2' })).toBe('released 10.0.0.3')
  expect(world.requests).toHaveLength(1)
})
