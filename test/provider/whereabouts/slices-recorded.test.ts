import { Node } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { NodeSlicePool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { definition, NetworkAttachmentDefinition, SliceWorld } from './slice-world.js'

// What whereabouts 0.9.4 was recorded to do, by the ids of the cases, and what the planner does.
// Then the bugs that were read in its source, by their letters.

const NET = { range: '10.40.0.0/24', node_slice_size: '/26' }
const FREE = ['- 10.40.0.0/26', '- 10.40.0.64/26', '- 10.40.0.128/26', '- 10.40.0.192/26']
const FIRST = ['n1 10.40.0.0/26', ...FREE.slice(1)]

describe('as upstream', () => {
  test('nodes-first: a Node that came before the definition gets the first slice', async () => {
    const world = await new SliceWorld().nodes('n1')
    await world.put(definition('kube-system/net-a', NET))
    expect(await world.slices('net-a')).toEqual(FIRST)
    const { metadata, spec } = (await world.pool('net-a'))!
    expect(spec).toEqual({ range: '10.40.0.0/24', sliceSize: '/26' })
    expect(metadata.ownerReferences).toEqual([
      {
        apiVersion: 'k8s.cni.cncf.io/v1',
        kind: 'NetworkAttachmentDefinition',
        name: 'net-a',
        uid: expect.any(String),
        controller: true,
        blockOwnerDeletion: true,
      },
    ])
  })

  test('size-without-slash: "26" is /26, and is written as it is', async () => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, node_slice_size: '26' }))
    expect(await world.slices('net-a')).toEqual(FREE)
    expect((await world.pool('net-a'))?.spec.sliceSize).toBe('26')
    await world.nodes('n1')
    expect(await world.slices('net-a')).toEqual(FIRST)
  })

  test('size-too-large: a slice larger than the range is reported, and no NodeSlicePool is made', async () => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, node_slice_size: '/23' }))
    await world.nodes('n1')
    expect(await world.pool('net-a')).toBeUndefined()
    expect(world.outcome('lab/net-a')?.kind).toBe('invalid')
    expect(world.told).toEqual(['InvalidNodeSlices net-a'])
  })

  test('host-bits: they are cleared', async () => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, range: '10.40.0.77/24' }))
    await world.nodes('n1')
    expect((await world.pool('net-a'))?.spec.range).toBe('10.40.0.0/24')
    expect(await world.slices('net-a')).toEqual(FIRST)
  })

  test('other-ipam-beside: definitions of other IPAM types, and without one, are ignored', async () => {
    const world = new SliceWorld()
    await world.put(definition('net-x', { type: 'host-local' }), definition('net-y', undefined))
    await world.put(definition('net-z', { type: 'dhcp', node_slice_size: '/26' }), definition('net-a', NET))
    await world.nodes('n1')
    expect(await world.slices('net-a')).toEqual(FIRST)
    expect(['lab/net-x', 'lab/net-y', 'lab/net-z'].map((name) => world.outcome(name)?.kind)).toEqual([
      'ignored',
      'ignored',
      'ignored',
    ])
    expect(world.told).toEqual([])
  })

  test('definition-gone: the NodeSlicePool is deleted with its definition', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.delete(NetworkAttachmentDefinition, 'lab/net-a')
    expect(await world.pool('net-a')).toBeUndefined()
  })
})

describe('without the defects of upstream', () => {
  test('size-32: a slice of one address has no usable address: reported', async () => {
    const world = await new SliceWorld().put(definition('net-a', { range: '10.40.0.0/30', node_slice_size: '/32' }))
    expect(await world.pool('net-a')).toBeUndefined()
    expect(world.outcome('lab/net-a')?.message).toMatch(/a slice would have one address/)
  })

  test.each([
    ['size-garbage', 'abc', /not a prefix length such as/],
    ['size-negative', '-1', /not a prefix length such as/],
    ['size /33', '/33', /not a prefix length from 1 to 32/],
    ['size 0', '0', /not a prefix length from 1 to 32/],
  ])('%s: reported, and no NodeSlicePool is made', async (_, size, problem) => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, node_slice_size: size }))
    await world.nodes('n1')
    expect(await world.pool('net-a')).toBeUndefined()
    expect(world.outcome('lab/net-a')?.message).toMatch(problem)
    expect(world.told).toEqual(['InvalidNodeSlices net-a'])
  })

  test('v6: a range of IPv6 is divided', async () => {
    const world = await new SliceWorld().nodes('n1')
    await world.put(definition('net-a', { range: 'fd00:40::/64', node_slice_size: '/66' }))
    expect(await world.slices('net-a')).toEqual([
      'n1 fd00:40::/66',
      '- fd00:40:0:0:4000::/66',
      '- fd00:40:0:0:8000::/66',
      '- fd00:40:0:0:c000::/66',
    ])
  })

  test('v6: more slices than a NodeSlicePool can list are reported with the longest size', async () => {
    const world = await new SliceWorld().put(definition('net-a', { range: 'fd00:40::/64', node_slice_size: '/80' }))
    expect(await world.pool('net-a')).toBeUndefined()
    expect(world.outcome('lab/net-a')?.message).toMatch(/more than 8192 slices; the longest size is \/77/)
  })

  test('two-unnamed: definitions without network_name do not concern each other', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.put(definition('net-b', { ...NET, range: '10.41.0.0/24' }))
    await world.nodes('n2')
    expect((await world.slices('net-a'))?.slice(0, 2)).toEqual(['n1 10.40.0.0/26', 'n2 10.40.0.64/26'])
    expect((await world.slices('net-b'))?.slice(0, 2)).toEqual(['n1 10.41.0.0/26', 'n2 10.41.0.64/26'])
    expect(world.told).toEqual([])
  })

  test('two definitions of one network_name: the second becomes an owner, and nodes are served', async () => {
    const world = await new SliceWorld().put(definition('kube-system/net-a', { ...NET, network_name: 'blue' }))
    await world.put(definition('kube-system/net-b', { ...NET, network_name: 'blue' }))
    await world.nodes('n1')
    const owners = (await world.pool('blue'))?.metadata.ownerReferences
    expect(owners?.map(({ name, kind, apiVersion, controller }) => ({ name, kind, apiVersion, controller }))).toEqual([
      { name: 'net-a', kind: 'NetworkAttachmentDefinition', apiVersion: 'k8s.cni.cncf.io/v1', controller: true },
      { name: 'net-b', kind: 'NetworkAttachmentDefinition', apiVersion: 'k8s.cni.cncf.io/v1', controller: undefined },
    ])
    expect(await world.slices('blue')).toEqual(FIRST)
  })

  test('by-hand: a NodeSlicePool that was made before its definition is adopted', async () => {
    const world = await new SliceWorld().put(slicePool('net-a', ['- 10.40.0.64/26', 'gone 10.40.0.0/26']))
    expect(world.outcome('net-a')?.kind).toBe('unused')
    await world.put(definition('kube-system/net-a', NET))
    await world.nodes('n1')
    await world.nodes('n2')
    expect(await world.slices('net-a')).toEqual(['n1 10.40.0.0/26', 'n2 10.40.0.64/26', ...FREE.slice(2)])
    expect(await world.owners('net-a')).toEqual(['net-a'])
  })

  test('a freed slice is given to a waiting Node at once', async () => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, range: '10.40.0.0/25' }))
    await world.nodes('n1', 'n2', 'n3')
    expect(world.outcome('net-a')).toMatchObject({ kind: 'waiting', nodes: ['n3'] })
    await world.delete(Node, 'n1')
    expect(await world.slices('net-a')).toEqual(['n3 10.40.0.0/26', 'n2 10.40.0.64/26'])
  })

  test('range-changed: slices are made anew when none has rows', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.put(definition('net-a', { ...NET, range: '10.43.0.0/25' }))
    expect(await world.slices('net-a')).toEqual(['n1 10.43.0.0/26', '- 10.43.0.64/26'])
    expect((await world.pool('net-a'))?.spec.range).toBe('10.43.0.0/25')
  })

  test('size-changed: slices are made anew when none has rows', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.put(definition('net-a', { ...NET, node_slice_size: '/25' }))
    expect(await world.slices('net-a')).toEqual(['n1 10.40.0.0/25', '- 10.40.0.128/25'])
    expect((await world.pool('net-a'))?.spec.sliceSize).toBe('/25')
  })

  test('size-dropped: the NodeSlicePool is deleted', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.put(definition('net-a', { range: NET.range }))
    expect(await world.pool('net-a')).toBeUndefined()
  })

  test('edited-by-hand: a status that was emptied is made again', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1', 'n2')
    await world.rows('n2', '10.40.0.64/26', 1)
    const { apiVersion, kind, metadata } = (await world.pool('net-a'))!
    const ref = { apiVersion, kind, namespace: metadata.namespace!, name: metadata.name }
    unwrap(await world.store.patch(ref, { status: { allocations: [] } }))
    await world.delete(Node, 'n1')
    await world.nodes('n0')
    // the rows say which slice n2 has had
    expect(await world.slices('net-a')).toEqual(['n0 10.40.0.0/26', 'n2 10.40.0.64/26', ...FREE.slice(2)])
  })

  test('bug e: a slice that is wholly excluded is not offered', async () => {
    const world = await new SliceWorld().nodes('n1', 'n2')
    await world.put(
      definition('net-a', { ...NET, exclude: ['10.40.0.0/26', '10.40.0.70/32'], range_end: '10.40.0.191' }),
    )
    expect(await world.slices('net-a')).toEqual(['n1 10.40.0.64/26', 'n2 10.40.0.128/26'])
  })

  test('bug e: each definition of a network has to have an address in a slice', async () => {
    const world = await new SliceWorld().put(
      definition('net-a', { ...NET, network_name: 'blue', exclude: ['10.40.0.0/26'] }),
      definition('net-b', { ...NET, network_name: 'blue', exclude: ['10.40.0.64/26'] }),
    )
    expect(await world.slices('blue')).toEqual(['- 10.40.0.128/26', '- 10.40.0.192/26'])
  })

  test('bug e: a Node keeps its slice when that is excluded later', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.put(definition('net-a', { ...NET, exclude: ['10.40.0.0/25'] }))
    expect(await world.slices('net-a')).toEqual(['n1 10.40.0.0/26', ...FREE.slice(2)])
  })

  test('bug g: a slice size that is changed under live rows is refused and reported, and done later', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.rows('n1', '10.40.0.0/26', 2)
    await world.put(definition('net-a', { ...NET, node_slice_size: '/27' }))
    expect(await world.slices('net-a')).toEqual(FIRST)
    expect((await world.pool('net-a'))?.spec.sliceSize).toBe('/26')
    expect(world.outcome('net-a')?.kind).toBe('blocked')
    expect(world.told).toEqual(['SliceChangeRefused net-a'])
    // Nodes get slices of the old division meanwhile
    await world.nodes('n2')
    expect((await world.slices('net-a'))?.[1]).toBe('n2 10.40.0.64/26')
    await world.rows('n1', '10.40.0.0/26', 0)
    expect((await world.slices('net-a'))?.slice(0, 3)).toEqual([
      'n1 10.40.0.0/27',
      'n2 10.40.0.32/27',
      '- 10.40.0.64/27',
    ])
    expect(world.told).toEqual(['SliceChangeRefused net-a'])
  })

  test('bug g: a range that is changed under live rows is refused, and slices outside of it are not given', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.rows('n1', '10.40.0.0/26', 1)
    await world.put(definition('net-a', { ...NET, range: '10.43.0.0/24' }))
    await world.nodes('n2')
    expect(await world.slices('net-a')).toEqual(['n1 10.40.0.0/26'])
    expect(world.outcome('net-a')).toMatchObject({ kind: 'blocked', nodes: ['n2'] })
  })

  test('bug g: a range may grow under live rows', async () => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, range: '10.40.0.0/25' }))
    await world.nodes('n1', 'n2')
    await world.rows('n2', '10.40.0.64/26', 1)
    await world.put(definition('net-a', NET))
    expect(await world.slices('net-a')).toEqual(['n1 10.40.0.0/26', 'n2 10.40.0.64/26', ...FREE.slice(2)])
  })

  test('bug g: a definition that is made again with another size waits for the rows of the first', async () => {
    const world = await new SliceWorld().put(definition('net-a', NET))
    await world.nodes('n1')
    await world.rows('n1', '10.40.0.0/26', 1)
    await world.delete(NetworkAttachmentDefinition, 'lab/net-a')
    expect(world.outcome('net-a')?.kind).toBe('kept')
    await world.delete(NodeSlicePool, 'kube-system/net-a')
    await world.put(definition('net-a', { ...NET, node_slice_size: '/25' }))
    expect(world.outcome('net-a')?.kind).toBe('blocked')
    expect(await world.pool('net-a')).toBeUndefined()
    await world.rows('n1', '10.40.0.0/26', 0)
    expect(await world.slices('net-a')).toEqual(['n1 10.40.0.0/25', '- 10.40.0.128/25'])
  })

  test('bug h: more Nodes than slices are reported once, with their names', async () => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, range: '10.40.0.0/25' }))
    await world.nodes('n1', 'n2', 'n3')
    await world.nodes('n4')
    expect(world.told).toEqual(['NoFreeSlice net-a'])
    expect(world.outcome('net-a')).toMatchObject({ kind: 'waiting', nodes: ['n3', 'n4'] })
    expect(world.events[0]?.message).toBe(
      'no free slice in NodeSlicePool kube-system/net-a (2 slices of /26 in 10.40.0.0/25) for 1 Node: n3',
    )
  })

  test('bugs g and h: the slice of a deleted Node is free when its last row is gone, and not before', async () => {
    const world = await new SliceWorld().put(definition('net-a', { ...NET, range: '10.40.0.0/25' }))
    await world.nodes('n1', 'n2', 'n3')
    await world.rows('n1', '10.40.0.0/26', 2)
    await world.delete(Node, 'n1')
    expect(await world.slices('net-a')).toEqual(['n1 10.40.0.0/26', 'n2 10.40.0.64/26'])
    expect(world.outcome('net-a')).toMatchObject({ rows: [{ nodeName: 'n1', sliceRange: '10.40.0.0/26' }] })
    await world.rows('n1', '10.40.0.0/26', 0)
    expect(await world.slices('net-a')).toEqual(['n3 10.40.0.0/26', 'n2 10.40.0.64/26'])
  })

  test('bug i: IPv6 with a slice size of garbage is reported', async () => {
    const world = await new SliceWorld().put(definition('net-a', { range: 'fd00:40::/64', node_slice_size: 'abc' }))
    expect(world.told).toEqual(['InvalidNodeSlices net-a'])
  })
})

/** A NodeSlicePool of 10.40.0.0/24 in slices of /26. Slices as `SliceWorld.slices` has them. */
function slicePool(name: string, slices: readonly string[]): KubeObject {
  const { apiVersion, kind } = NodeSlicePool.info
  const allocations = slices.map((entry) => {
    const [nodeName = '', sliceRange = ''] = entry.split(' ')
    return { nodeName: nodeName === '-' ? '' : nodeName, sliceRange }
  })
  const metadata = { namespace: 'kube-system', name }
  return { apiVersion, kind, metadata, spec: { range: '10.40.0.0/24', sliceSize: '/26' }, status: { allocations } }
}
