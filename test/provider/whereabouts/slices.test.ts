import { Prefix } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { IPPool, NodeSlicePool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { assignSlices, readSliceSize, slicesOf, whereaboutsNodeSlices } from 'ipam-kit/provider/whereabouts'
import { describe, expect, test } from 'vitest'
import { definition, NetworkAttachmentDefinition, rawDefinition, SliceWorld } from './slice-world.js'

const NET = { range: '10.40.0.0/24', node_slice_size: '/26' }

describe('readSliceSize', () => {
  test.each([
    ['10.0.0.0/8', '/10', 10],
    ['10.0.0.0/8', '10', 10],
    ['10.0.0.0/24', '/24', 24],
    ['10.0.0.0/30', '/31', 31],
    ['fd00::/64', '/77', 77],
    ['10.0.0.0/8', '21', 21],
  ])('%s in slices of %s', (range, size, length) => {
    expect(readSliceSize(Prefix.parse(range), size)).toEqual({ ok: true, value: length })
  })

  test.each([
    ['10.0.0.0/24', 'abc', /not a prefix length such as/],
    ['10.0.0.0/24', '', /not a prefix length such as/],
    ['10.0.0.0/24', '//26', /not a prefix length such as/],
    ['10.0.0.0/24', '26.0', /not a prefix length such as/],
    ['10.0.0.0/24', ' 26', /not a prefix length such as/],
    ['10.0.0.0/24', '٢٦', /not a prefix length such as/],
    ['10.0.0.0/24', '9999', /not a prefix length such as/],
    ['10.0.0.0/24', '0', /from 1 to 32/],
    ['0.0.0.0/0', '/0', /from 1 to 32/],
    ['10.0.0.0/24', '/33', /from 1 to 32/],
    ['fd00::/64', '/129', /from 1 to 128/],
    ['10.0.0.0/24', '/23', /larger than the range/],
    ['10.0.0.0/24', '/32', /one address/],
    ['fd00::/126', '/128', /one address/],
    ['10.0.0.0/8', '/22', /more than 8192 slices; the longest size is \/21/],
    ['fd00::/64', '/80', /more than 8192 slices; the longest size is \/77/],
  ])('%s has no slices of "%s"', (range, size, problem) => {
    const read = readSliceSize(Prefix.parse(range), size)
    expect(read).toMatchObject({ ok: false, failure: { code: 'INVALID_SLICE_SIZE', context: { range } } })
    expect(!read.ok && read.failure.context.problem).toMatch(problem)
    expect(slicesOf(Prefix.parse(range), size)).toEqual(read)
  })

  test('the largest NodeSlicePool of 5,000 nodes is below 1 MB', () => {
    const slices = unwrap(slicesOf(Prefix.parse('fd00:1111:2222:3333:4444:5555:6666:0/112'), '/125')).map((each) =>
      Prefix.format(each),
    )
    const nodes = Array.from({ length: 5000 }, (_, index) => `${index}`.padStart(63, 'n'))
    const { allocations } = assignSlices({ slices, nodes })
    expect(allocations).toHaveLength(8192)
    expect(JSON.stringify({ status: { allocations } }).length).toBeLessThan(1_000_000)
  })
})

describe('assignSlices', () => {
  const slices = ['10.0.0.0/26', '10.0.0.64/26', '10.0.0.128/26']
  const of = (...entries: readonly string[]) =>
    entries.map((entry) => ({ nodeName: entry.split(' ')[0] ?? '', sliceRange: entry.split(' ')[1] ?? '' }))
  const rowsIn = (...entries: readonly string[]) =>
    entries.map((entry) => {
      const [sliceRange = '', ...nodeNames] = entry.split(' ')
      return { sliceRange, nodeNames }
    })
  const read = ({ allocations }: ReturnType<typeof assignSlices>) => allocations.map(({ nodeName }) => nodeName)

  test('nodes get slices in their order', () => {
    expect(read(assignSlices({ slices, nodes: ['b', 'a'] }))).toEqual(['b', 'a', ''])
  })

  test('of two slices of a node, it keeps the first with its rows; the other one is not listed while it has rows', () => {
    const before = of('a 10.0.0.0/26', 'a 10.0.0.64/26')
    const both = { slices, before, nodes: ['a'] }
    expect(read(assignSlices(both))).toEqual(['a', '', ''])
    expect(read(assignSlices({ ...both, occupied: rowsIn('10.0.0.64/26 a') }))).toEqual(['', 'a', ''])
    const all = assignSlices({
      ...both,
      occupied: rowsIn('10.0.0.0/26 a', '10.0.0.64/26 a'),
    })
    expect(all).toMatchObject({
      allocations: of('a 10.0.0.0/26', ' 10.0.0.128/26'),
      withheld: ['10.0.0.64/26'],
      freed: of('a 10.0.0.64/26'),
    })
  })

  test('of two nodes with one slice, the one with rows keeps it', () => {
    const before = of('a 10.0.0.0/26', 'b 10.0.0.0/26')
    expect(read(assignSlices({ slices, before, nodes: ['a', 'b'] }))).toEqual(['a', 'b', ''])
    expect(read(assignSlices({ slices, before, nodes: ['a', 'b'], occupied: rowsIn('10.0.0.0/26 b') }))).toEqual([
      'b',
      'a',
      '',
    ])
  })

  test('a slice with rows of two nodes is given to no other one', () => {
    const result = assignSlices({ slices, nodes: ['c'], occupied: rowsIn('10.0.0.0/26 a b') })
    expect(result).toMatchObject({ allocations: of('c 10.0.0.64/26', ' 10.0.0.128/26'), withheld: ['10.0.0.0/26'] })
  })

  test('a slice in another text, and one that is in no division', () => {
    const before = of('a fd00:0::0/65', 'b fd01::/65')
    const result = assignSlices({ slices: ['fd00::/65', 'fd00:0:0:0:8000::/65'], before, nodes: ['b', 'a'] })
    expect(read(result)).toEqual(['a', 'b'])
    expect(result.freed).toEqual(of('b fd01::/65'))
  })

  test('a node that was moved by hand gets the slice with its rows back', () => {
    const before = of('b 10.0.0.0/26', 'a 10.0.0.64/26')
    const occupied = rowsIn('10.0.0.0/26 a', '10.0.0.64/26 b')
    expect(read(assignSlices({ slices, before, nodes: ['a', 'b'], occupied }))).toEqual(['a', 'b', ''])
    // a node that exists keeps its slice when the rows are of one that does not
    expect(read(assignSlices({ slices, before, nodes: ['b'], occupied: rowsIn('10.0.0.0/26 a') }))[0]).toBe('b')
  })

  test('a name twice is one node', () => {
    expect(assignSlices({ slices, nodes: ['a', 'a'] })).toMatchObject({ waiting: [], freed: [] })
  })
})

describe('whereaboutsNodeSlices', () => {
  test('the namespace is not empty', () => {
    expect(() => whereaboutsNodeSlices({ namespace: '' })).toThrow(/namespace/)
  })

  test('of definitions with different divisions the oldest is served, and the others are reported', async () => {
    const world = await new SliceWorld().put(definition('kube-system/b', { ...NET, network_name: 'blue' }))
    await world.put(definition('kube-system/a', { ...NET, range: '10.41.0.0/24', network_name: 'blue' }))
    await world.nodes('n1')
    expect((await world.slices('blue'))?.[0]).toBe('n1 10.40.0.0/26')
    expect(await world.owners('blue')).toEqual(['b'])
    expect(world.outcome('kube-system/a')?.kind).toBe('mismatch')
    expect(world.outcome('kube-system/b')?.kind).toBe('served')
    expect(world.told).toEqual(['NodeSliceMismatch a'])
    await world.delete(NetworkAttachmentDefinition, 'kube-system/b')
    expect(await world.owners('blue')).toEqual(['a'])
    expect((await world.slices('blue'))?.[0]).toBe('n1 10.41.0.0/26')
    expect(world.outcome('kube-system/a')?.kind).toBe('served')
  })

  test('a definition of another namespace is no owner: the garbage collector would not find it', async () => {
    const world = await new SliceWorld().put(definition('kube-system/a', { ...NET, network_name: 'blue' }))
    expect(await world.owners('blue')).toEqual(['a'])
    await world.put(definition('lab/b', { ...NET, network_name: 'blue' }))
    expect(await world.owners('blue')).toEqual([])
    await world.delete(NetworkAttachmentDefinition, 'kube-system/a')
    expect(await world.slices('blue')).toHaveLength(4)
    await world.delete(NetworkAttachmentDefinition, 'lab/b')
    expect(await world.pool('blue')).toBeUndefined()
  })

  test('an owner in another namespace, as upstream writes it, is removed; others are kept', async () => {
    const world = await new SliceWorld().put(definition('lab/net-a', NET))
    const { apiVersion, kind, metadata } = (await world.pool('net-a'))!
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u1' }
    const upstream = { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', name: 'net-a', uid: 'u2' }
    const ref = { apiVersion, kind, namespace: 'kube-system', name: metadata.name }
    unwrap(await world.store.patch(ref, { metadata: { ownerReferences: [upstream, other] } }))
    await world.run()
    expect(await world.owners('net-a')).toEqual(['x'])
  })

  test.each([
    ['no JSON', '{', 'invalid'],
    ['a list', '[]', 'invalid'],
    ['a number', 7, 'invalid'],
    ['nothing', undefined, 'ignored'],
    ['an empty text', '', 'ignored'],
    ['no plugins', '{"plugins":[]}', 'ignored'],
    [
      'two ranges',
      '{"name":"x","ipam":{"type":"whereabouts","node_slice_size":"/26","ipRanges":[{"range":"10.1.0.0/24"},{"range":"fd00::/64"}]}}',
      'invalid',
    ],
    ['no range', '{"name":"x","ipam":{"type":"whereabouts","node_slice_size":"/26"}}', 'invalid'],
    ['no name', '{"ipam":{"type":"whereabouts","node_slice_size":"/26","range":"10.1.0.0/24"}}', 'invalid'],
    [
      'a range of two',
      '{"name":"x","ipam":{"type":"whereabouts","node_slice_size":"/31","range":"10.1.0.0/31"}}',
      'invalid',
    ],
    [
      'an exclude that is none',
      '{"name":"x","ipam":{"type":"whereabouts","node_slice_size":"/26","range":"10.1.0.0/24","exclude":["x"]}}',
      'invalid',
    ],
    [
      'all excluded',
      '{"name":"x","ipam":{"type":"whereabouts","node_slice_size":"/26","range":"10.1.0.0/24","exclude":["10.1.0.0/16"]}}',
      'invalid',
    ],
    [
      'a bad range',
      '{"name":"x","ipam":{"type":"whereabouts","node_slice_size":"/26","range":"10.1.0/24"}}',
      'invalid',
    ],
    ['a bad range without slices', '{"name":"x","ipam":{"type":"whereabouts","range":"10.1.0/24"}}', 'ignored'],
    [
      'a size that is a number',
      '{"name":"x","ipam":{"type":"whereabouts","node_slice_size":26,"range":"10.1.0.0/24"}}',
      'invalid',
    ],
    [
      'a name with a capital letter',
      '{"name":"X","ipam":{"type":"whereabouts","node_slice_size":"/26","range":"10.1.0.0/24"}}',
      'invalid',
    ],
  ])('a definition with %s stops no other one', async (_, config, kind) => {
    const world = await new SliceWorld().put(rawDefinition('lab/bad', config), definition('net-a', NET))
    await world.nodes('n1')
    expect(world.outcome('lab/bad')?.kind).toBe(kind)
    expect((await world.slices('net-a'))?.[0]).toBe('n1 10.40.0.0/26')
    expect(world.told).toEqual(kind === 'invalid' ? ['InvalidNodeSlices bad'] : [])
  })

  test('a chain of plugins: the one whose IPAM is whereabouts counts', async () => {
    const plugins = [{ type: 'tuning' }, { type: 'macvlan', ipam: { type: 'whereabouts', ...NET } }]
    const world = await new SliceWorld().put(rawDefinition('lab/x', JSON.stringify({ name: 'chain', plugins })))
    expect(await world.slices('chain')).toHaveLength(4)
  })

  test('a definition that becomes invalid keeps its NodeSlicePool', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.put(rawDefinition('lab/net-a', '{'))
    expect(world.outcome('net-a')?.kind).toBe('kept')
    expect(await world.slices('net-a')).toHaveLength(4)
    await world.put(rawDefinition('lab/net-a', '{}'))
    expect(await world.pool('net-a')).toBeUndefined()
  })

  test('a NodeSlicePool without its definition is kept while a slice has rows', async () => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, network_name: 'blue' }))
    await world.nodes('n1')
    await world.rows('n1', '10.40.0.0/26', 1, 'blue')
    await world.delete(NetworkAttachmentDefinition, 'lab/net-a')
    expect(world.outcome('blue')?.kind).toBe('kept')
    await world.rows('n1', '10.40.0.0/26', 0, 'blue')
    expect(await world.pool('blue')).toBeUndefined()
  })

  test('a NodeSlicePool that cannot be read is reported, and not changed', async () => {
    const world = new SliceWorld()
    const { apiVersion, kind } = NodeSlicePool.info
    await world.put({ apiVersion, kind, metadata: { namespace: 'kube-system', name: 'net-a' }, spec: { range: 7 } })
    await world.put(definition('net-a', NET))
    expect(world.outcome('net-a')?.kind).toBe('unreadable')
    expect(world.told).toEqual(['UnreadableSlicePool net-a'])
  })

  test('names that are not escaped: rows of node `c` of network `a-b` are not rows of node `b-c` of network `a`', async () => {
    const world = await new SliceWorld().put(
      definition('x', { ...NET, range: '10.40.0.0/25', network_name: 'a' }),
      definition('y', { ...NET, range: '10.40.0.0/25', network_name: 'a-b' }),
    )
    await world.rows('c', '10.40.0.64/26', 1, 'a-b')
    await world.nodes('n1', 'n2')
    expect(await world.slices('a')).toEqual(['n1 10.40.0.0/26', 'n2 10.40.0.64/26'])
    expect(await world.slices('a-b')).toEqual(['n1 10.40.0.0/26', 'c 10.40.0.64/26'])
  })

  test('names that are not escaped: a Node decides what its pool is', async () => {
    const world = await new SliceWorld().put(
      definition('x', { ...NET, range: '10.40.0.0/25', network_name: 'a' }),
      definition('y', { ...NET, range: '10.40.0.0/25', network_name: 'a-b' }),
    )
    await world.rows('b-c', '10.40.0.64/26', 1, 'a')
    await world.nodes('b-c')
    expect((await world.slices('a'))?.[1]).toBe('b-c 10.40.0.64/26')
  })

  test('rows of another network without a name, in slices of another size, are not in the way', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.rows('n1', '10.40.0.0/26', 1)
    await world.put(definition('net-b', { ...NET, node_slice_size: '/25' }))
    expect(await world.slices('net-b')).toEqual(['n1 10.40.0.0/25', '- 10.40.0.128/25'])
  })

  test('a pool whose range cannot be read keeps the slice of its name', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    const { apiVersion, kind } = IPPool.info
    const metadata = { namespace: 'kube-system', name: 'n1-10.40.0.0-26' }
    await world.put({ apiVersion, kind, metadata, spec: { range: 'x', allocations: {} } })
    await world.delete(Node, 'n1')
    expect((await world.slices('net-a'))?.[0]).toBe('n1 10.40.0.0/26')
    await world.delete(IPPool, 'kube-system/n1-10.40.0.0-26')
    expect((await world.slices('net-a'))?.[0]).toBe('- 10.40.0.0/26')
  })

  test('rows of another node in a slice are reported', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.rows('late', '10.40.0.0/26', 1)
    expect(world.outcome('net-a')?.kind).toBe('conflict')
    expect(world.told).toEqual(['SliceConflict net-a'])
    expect((await world.slices('net-a'))?.[0]).toBe('n1 10.40.0.0/26')
  })

  test('a slice is not freed by an old cache: the Node has come back, or its pool has a row', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    const pool = (await world.pool('net-a'))!
    const planner = whereaboutsNodeSlices()
    for (const object of [
      pool,
      unwrap(await world.store.get({ ...NetworkAttachmentDefinition.info, namespace: 'lab', name: 'net-a' })),
    ]) {
      planner.observe({ kind: 'present', object })
    }
    const plan = planner.plan('NodeSlicePool kube-system/net-a', { nowMs: 0 })
    expect(plan?.effects.map((effect) => [effect.kind, 'ref' in effect ? effect.ref.name : undefined])).toEqual([
      ['absent', 'n1'],
      ['absent', 'n1-10.40.0.0-26'],
      ['patch', 'net-a'],
    ])
    expect(plan?.effects.at(-1)).toMatchObject({
      patch: [{ op: 'replace', path: '/status/allocations/0/nodeName', value: '' }],
      if: { uid: pool.metadata.uid, resourceVersion: pool.metadata.resourceVersion },
    })
  })

  test('slices of many deleted Nodes are freed in several plans', async () => {
    const world = await new SliceWorld().put(definition('net-a', { range: '10.0.0.0/16', node_slice_size: '/25' }))
    const names = Array.from({ length: 250 }, (_, index) => `n${index}`)
    await world.nodes(...names)
    for (const name of names) unwrap(await world.store.delete({ apiVersion: 'v1', kind: 'Node', name }))
    await world.run()
    expect((await world.slices('net-a'))?.every((slice) => slice.startsWith('- '))).toBe(true)
    // three plans with writes, and one that finds nothing left
    expect(world.last?.written).toBe(3)
  })

  test('a restart changes nothing', async () => {
    const world = await new SliceWorld().put(
      definition('net-a', NET),
      definition('net-b', { ...NET, range: '10.41.0.0/24' }),
    )
    await world.nodes('n1', 'n2')
    await world.rows('n2', '10.40.0.64/26', 1)
    await world.delete(Node, 'n2')
    await world.restart()
    expect(world.last?.written).toBe(0)
  })

  test('a refused write is reported about the definition, once', async () => {
    const world = new SliceWorld()
    const store = world.store
    Object.assign(world, {
      store: {
        ...store,
        get: store.get.bind(store),
        list: store.list.bind(store),
        watch: store.watch.bind(store),
        patch: store.patch.bind(store),
        delete: store.delete.bind(store),
        create: (object: { kind: string }) =>
          object.kind === 'NodeSlicePool'
            ? Promise.resolve({
                ok: false,
                failure: { code: 'STORE_INVALID', context: { object: 'x', problem: 'quota' } },
              })
            : store.create(object as never),
      },
    })
    await world.put(definition('net-a', NET))
    await world.nodes('n1')
    expect(world.outcome('net-a')?.kind).toBe('failed')
    expect(world.told).toEqual(['WriteRefused net-a'])
  })

  test('a heartbeat of a Node, and a second row in a pool, make no plan', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.rows('n1', '10.40.0.0/26', 1)
    const show = (object: object) => world.planner.observe({ kind: 'present', object: object as never })
    const node = unwrap(await world.store.get({ apiVersion: 'v1', kind: 'Node', name: 'n1' }))
    expect(show({ ...node, metadata: { ...node.metadata, resourceVersion: '900' } })).toEqual([])
    const { apiVersion, kind } = IPPool.info
    const pool = unwrap(await world.store.get({ apiVersion, kind, namespace: 'kube-system', name: 'n1-10.40.0.0-26' }))
    const row = { id: 'c', podref: 'a/b' }
    const changed = (resourceVersion: string, range: string, allocations: object) => {
      const name = `n1-${range.replace('/', '-')}`
      return show({ ...pool, metadata: { ...pool.metadata, name, resourceVersion }, spec: { range, allocations } })
    }
    expect(changed('901', '10.40.0.0/26', { 1: row, 2: row })).toEqual([])
    expect(changed('902', '10.40.0.0/26', {})).toEqual([])
    // a row in a slice that is not of the Node
    expect(changed('903', '10.40.0.64/26', { 1: row })).toEqual(['NodeSlicePool kube-system/net-a'])
    // the last row that keeps a change of the slice size from being done
    expect(changed('904', '10.40.0.0/26', { 1: row })).toEqual([])
    show({ ...definition('net-a', { ...NET, node_slice_size: '/27' }), ...versionOf('905') })
    expect(changed('906', '10.40.0.0/26', {})).toEqual(['NodeSlicePool kube-system/net-a'])
    // the same for a NodeSlicePool that could not be made
    show({ ...definition('net-b', { ...NET, network_name: 'b' }), ...versionOf('907', 'net-b') })
    expect(changed('908', '10.40.0.0/26', { 1: row })).toContain('NodeSlicePool kube-system/b')
  })
})

function versionOf(resourceVersion: string, name = 'net-a') {
  return { metadata: { namespace: 'lab', name, uid: name, resourceVersion } }
}
