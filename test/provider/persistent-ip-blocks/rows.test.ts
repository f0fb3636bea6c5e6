import { Pod } from 'ipam-kit/crd/core'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { isIpamError, unwrap } from 'ipam-kit/errors'
import { readNetwork } from 'ipam-kit/provider/persistent-ip'
import { networkPoolOf, persistentIPsOnBlocks } from 'ipam-kit/provider/persistent-ip-blocks'
import { describe, expect, test } from 'vitest'
import { claimOf, ovnNad, podIn, ServingWorld } from '../persistent-ip/serving-world.js'

const DUAL = { subnets: '10.0.0.0/29,fd00::/125' }
const CLAIM = 'IPAMClaim vm1.blue'
const newWorld = () => new ServingWorld({}, 'blocks')
const served = async () => {
  const world = await newWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
  return world.look()
}
/** A Pod that has an address already. */
const podWith = (name: string, networks: readonly string[], ip: string) => {
  const pod = podIn(name, networks)
  const text = JSON.stringify({ 'ns1/blue': { ip_addresses: [ip], mac_address: '0a:58:0a:00:00:05' } })
  return podIn(name, networks, { annotations: { ...pod.metadata.annotations, 'k8s.ovn.org/pod-networks': text } })
}

describe('a row', () => {
  test('is there before the claim has its address, and belongs to the claim', async () => {
    const world = await newWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    world.refuses = (effect) => effect === CLAIM
    await world.look()
    expect([await world.rows(), await world.ips('vm1.blue')]).toEqual([['10.0.0.1 ns1/vm1.blue'], []])
    // the next process continues with this row
    world.refuses = () => false
    world.restart()
    await world.look()
    expect([await world.rows(), await world.ips('vm1.blue')]).toEqual([['10.0.0.1 ns1/vm1.blue'], ['10.0.0.1/29']])
  })

  test('stays while its Pod has the address, also when no definition of the network exists', async () => {
    const world = await newWorld().put(ovnNad('blue'), podIn('p1', ['blue']))
    await (await world.look()).delete(NetworkAttachmentDefinition.info, 'blue')
    await world.look()
    expect(await world.rows()).toEqual(['10.0.0.1 ns1/p1'])
  })

  test('of a claim is removed when the last Pod that names it has ended', async () => {
    const world = await newWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    world.refuses = (effect) => effect === 'Pod p1'
    await world.look()
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    expect(await world.rows()).toEqual(['10.0.0.1 ns1/vm1.blue'])
    const { apiVersion, kind } = Pod.info
    const ref = { apiVersion, kind, namespace: 'ns1', name: 'p1' }
    unwrap(await world.store.delete(ref))
    const keys = world.planner.observe({ kind: 'absent', ref })
    expect(keys).toContain('IPBlock persistent-ips.net.lab-4-0a000000-24')
    for (let second = 0; second < 200; second++) await world.look()
    expect(await world.rows()).toEqual([])
  })

  test('is made for each address that claims and Pods have at the start, and nothing is written to them', async () => {
    const world = await newWorld().put(ovnNad('blue', DUAL))
    await world.put(
      claimOf('vm1.blue', { ips: ['10.0.0.3/29', 'fd00::3/125'] }),
      podWith('p2', ['blue'], '10.0.0.5/29'),
    )
    await world.look()
    expect((await world.rows()).toSorted()).toEqual([
      '10.0.0.3 ns1/vm1.blue',
      '10.0.0.5 ns1/p2',
      'fd00::3 ns1/vm1.blue',
    ])
    expect(await world.has('p2')).toEqual(['10.0.0.5/29'])
    expect(world.effects.filter((effect) => effect.startsWith('Pod'))).toEqual([])
  })

  test('of a Pod belongs to its interface, also where its key is long', async () => {
    const nad = 'a-network-with-a-name-that-is-longer-than-a-row-takes'
    const world = await newWorld().put(ovnNad(nad), podIn('p1', [nad, nad]))
    await world.look()
    expect((await world.rows()).toSorted()).toEqual(['10.0.0.1 ns1/p1', '10.0.0.2 ns1/p1'])
    expect(await world.has('p1')).toEqual(['10.0.0.1/29', '10.0.0.2/29'])
  })

  test('that the network does not give any more is released, if the claim has no address yet', async () => {
    const world = await newWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    world.refuses = (effect) => effect === CLAIM
    await world.look()
    world.refuses = () => false
    const { spec } = ovnNad('blue', { subnets: '10.0.1.0/29' })
    await (await world.change(NetworkAttachmentDefinition.info, 'blue', { spec: spec as never })).look()
    expect([await world.rows(), await world.has('p1')]).toEqual([['10.0.1.1 ns1/vm1.blue'], ['10.0.1.1/29']])
  })

  test('stays where the network does not give the address of a claim any more', async () => {
    const world = await served()
    const { spec } = ovnNad('blue', { subnets: '10.0.1.0/29' })
    await (await world.change(NetworkAttachmentDefinition.info, 'blue', { spec: spec as never })).look()
    expect([world.outcome(CLAIM), await world.rows()]).toEqual(['refused OutsideNetwork', ['10.0.0.1 ns1/vm1.blue']])
  })
})

describe('the record of rows wins', () => {
  test('over a status that is edited: it is set back', async () => {
    const world = await served()
    await world.change(IPAMClaim.info, 'vm1.blue', { status: { ips: ['10.0.0.4/29'] } }, 'status')
    await world.look()
    expect([world.outcome(CLAIM), await world.ips('vm1.blue')]).toEqual(['served', ['10.0.0.1/29']])
  })

  test('over a status that was edited before a restart: the claim keeps its row, and is refused', async () => {
    const world = await served()
    await world.change(IPAMClaim.info, 'vm1.blue', { status: { ips: ['10.0.0.4/29'] } }, 'status')
    world.restart()
    await world.look()
    expect(world.outcome(CLAIM)).toBe('refused IPAddressConflict')
    expect([await world.rows(), await world.has('p1')]).toEqual([['10.0.0.1 ns1/vm1.blue'], ['10.0.0.1/29']])
    await world.change(IPAMClaim.info, 'vm1.blue', { status: { ips: [] } }, 'status')
    await world.look()
    expect([world.outcome(CLAIM), await world.ips('vm1.blue')]).toEqual(['served', ['10.0.0.1/29']])
  })

  test('over a status with the address of another claim: that one is served as before', async () => {
    const world = await served()
    await (await world.put(claimOf('vm2.blue', { ips: ['10.0.0.1/29'] }), podIn('p2', ['blue:vm2.blue']))).look()
    expect([world.outcome(CLAIM), world.outcome('IPAMClaim vm2.blue')]).toEqual(['served', 'refused IPAddressConflict'])
    expect([await world.rows(), await world.has('p2')]).toEqual([['10.0.0.1 ns1/vm1.blue'], []])
  })

  test('over a write to the block by another program: the next claim gets another address', async () => {
    const world = await newWorld().put(ovnNad('blue'))
    await (await world.put(podIn('p0', ['blue']))).look()
    const [block] = unwrap(await world.store.list(IPBlock.info)).items
    const rows = { 1: { owner: 'ns1/other', uid: 'u', kind: 'Gateway.example.com', sequence: 9 } }
    await world.store.patch({ ...IPBlock.info, name: block!.metadata.name }, { spec: { rows, sequence: 9e15 } })
    await (await world.put(podIn('p1', ['blue']))).look()
    expect(await world.has('p1')).toEqual(['10.0.0.2/29'])
  })
})

describe('an owner that does not exist', () => {
  test('T3: the row of a claim stays while a Pod has its address, and goes with the last one', async () => {
    const world = await served()
    await (await world.put(podIn('p2', ['blue:vm1.blue']))).look()
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    await (await world.delete(Pod.info, 'p1')).look()
    expect([await world.rows(), world.outcome('Pod p2')]).toEqual([['10.0.0.1 ns1/vm1.blue'], 'none'])
    await (await world.delete(Pod.info, 'p2')).look()
    expect(await world.rows()).toEqual([])
  })

  test('T3: a claim that is made again takes the row over with the address of its Pod', async () => {
    const world = await served()
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    await (await world.put(claimOf('vm1.blue'), podIn('p9', ['blue']))).look()
    expect([await world.ips('vm1.blue'), await world.has('p9')]).toEqual([['10.0.0.1/29'], ['10.0.0.2/29']])
    expect((await world.rows()).toSorted()).toEqual(['10.0.0.1 ns1/vm1.blue', '10.0.0.2 ns1/p9'])
    const [block] = unwrap(await world.store.list(IPBlock.info)).items
    const claim = unwrap(await world.store.get({ ...IPAMClaim.info, namespace: 'ns1', name: 'vm1.blue' }))
    expect(IPBlock.parse(block!).spec.rows[1]?.uid).toBe(claim.metadata.uid)
  })

  test('a claim of another name takes the row over once the first one does not exist', async () => {
    const world = await served()
    await world.put(claimOf('vm2.blue', { ips: ['10.0.0.1/29'] }))
    await (await world.delete(Pod.info, 'p1')).look()
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    expect([await world.rows(), world.outcome('IPAMClaim vm2.blue')]).toEqual([['10.0.0.1 ns1/vm2.blue'], 'served'])
  })

  test('the row of a Pod goes when the Pod has ended', async () => {
    const world = await newWorld().put(ovnNad('blue'), podIn('p1', ['blue']))
    await world.look()
    await world.change(Pod.info, 'p1', { status: { phase: 'Failed' } }, 'status')
    await world.look()
    expect(await world.rows()).toEqual([])
  })

  test('a row that is removed by hand is made again', async () => {
    const world = await (await served()).put(podIn('p2', ['blue']))
    await world.look()
    const [block] = unwrap(await world.store.list(IPBlock.info)).items
    await world.store.patch({ ...IPBlock.info, name: block!.metadata.name }, { spec: { rows: { 1: null, 2: null } } })
    await world.look()
    expect((await world.rows()).toSorted()).toEqual(['10.0.0.1 ns1/vm1.blue', '10.0.0.2 ns1/p2'])
  })
})

describe('another process', () => {
  test('has given the claim a second row: it goes, as the status has the first address', async () => {
    const world = await served()
    const [block] = unwrap(await world.store.list(IPBlock.info)).items
    const { rows, sequence } = IPBlock.parse(block!).spec
    const second = { ...rows[1]!, sequence: sequence + 1 }
    const spec = { rows: { 4: second }, sequence: sequence + 1 }
    unwrap(await world.store.patch({ ...IPBlock.info, name: block!.metadata.name }, { spec: spec as never }))
    expect(await world.rows()).toHaveLength(2)
    await world.look()
    expect(await world.rows()).toEqual(['10.0.0.1 ns1/vm1.blue'])
  })

  test('has deleted a claim: a Pod is written only if the claim is as it was read', async () => {
    const world = await served()
    const { planner } = world
    const pod = podIn('p2', ['blue:vm1.blue'], { uid: 'u2', resourceVersion: '999' })
    planner.observe({ kind: 'present', object: pod })
    const { effects = [] } = planner.plan('IPAMClaim ns1/vm1.blue', { nowMs: 9e6 }) ?? {}
    expect(effects.map((effect) => ('ref' in effect ? effect.ref.kind : effect.kind))).toEqual(['IPAMClaim', 'Pod'])
    expect(effects[0]).toMatchObject({ patch: {}, subresource: 'status', if: { uid: expect.any(String) } })
  })

  test('has a claim that this one misses: the store is asked for it before its row is removed', async () => {
    const world = await served()
    const { planner } = world
    const [block] = unwrap(await world.store.list(IPBlock.info)).items
    for (const [{ info }, name] of [
      [Pod, 'p1'],
      [IPAMClaim, 'vm1.blue'],
    ] as const) {
      const { apiVersion, kind } = info
      planner.observe({ kind: 'absent', ref: { apiVersion, kind, namespace: 'ns1', name } })
    }
    const key = `IPBlock ${block!.metadata.name}`
    expect(planner.plan(key, { nowMs: 9e6 })?.effects).toEqual([])
    const { effects = [] } = planner.plan(key, { nowMs: 9.1e6 }) ?? {}
    expect(effects.map(({ kind }) => kind)).toEqual(['absent', 'patch'])
    expect(effects[0]).toMatchObject({ ref: { kind: 'IPAMClaim', name: 'vm1.blue' }, uid: expect.any(String) })
  })
})

describe('a network', () => {
  test('that begins to honour claims: the claim takes over the row of its Pod', async () => {
    const world = await newWorld().put(ovnNad('blue', { allowPersistentIPs: false }), podIn('p1', ['blue:vm1.blue']))
    await (await world.put(claimOf('vm1.blue'))).look()
    expect(await world.rows()).toEqual(['10.0.0.1 ns1/p1'])
    const { spec } = ovnNad('blue')
    await (await world.change(NetworkAttachmentDefinition.info, 'blue', { spec: spec as never })).look()
    expect([await world.ips('vm1.blue'), await world.rows()]).toEqual([['10.0.0.1/29'], ['10.0.0.1 ns1/vm1.blue']])
  })

  test('that is switched off and on: nothing is released while it is off', async () => {
    const world = await served()
    await world.delete(Pod.info, 'p1')
    await world.delete(IPAMClaim.info, 'vm1.blue')
    world.restart({ enabled: false })
    await world.look()
    expect(await world.rows()).toEqual(['10.0.0.1 ns1/vm1.blue'])
    world.restart({})
    await world.look()
    expect(await world.rows()).toEqual([])
  })

  test('says of which family it has no address', async () => {
    const world = await newWorld().put(ovnNad('blue', { subnets: '10.0.0.0/29,fd00::/127' }))
    await (await world.put(podIn('p1', ['blue']), podIn('p2', ['blue']))).look()
    const messages = ['p1', 'p2'].map((name) => world.outcomes.get(`Pod ns1/${name}`))
    expect(messages).toContainEqual(
      expect.objectContaining({ kind: 'refused', message: 'the network lab has no free IPv6 address' }),
    )
    expect(await world.rows()).toHaveLength(2)
  })

  test('whose name is too long for a domain gives nothing, and says so', async () => {
    const name = 'N'.repeat(120)
    const world = await newWorld().put(ovnNad('blue', { name }), claimOf('vm1.blue', undefined, {}, name))
    await (await world.put(podIn('p1', ['blue:vm1.blue']), podIn('p2', ['blue']))).look()
    expect([world.outcome(CLAIM), world.outcome('Pod p2')]).toEqual(['waiting', 'waiting'])
  })
})

describe('networkPoolOf', () => {
  const poolOf = (name: string, config: object = {}) =>
    networkPoolOf(unwrap(readNetwork(ovnNad('blue', { name, ...config }) as Parameters<typeof readNetwork>[0])))

  test('has the names of no other network', () => {
    const names = [
      'a_b',
      'a.b',
      'udn.a.b',
      'cluster_udn_b',
      'cluster_udn',
      'A_b',
      'a__b',
      'hex.41',
      'A',
      'ä',
      '\u{e4}',
      'a-b',
      'net.a',
    ]
    const domains = names.map((name) => poolOf(name).spec.domain)
    expect(new Set(domains).size).toBe(new Set(names).size)
    expect(domains.slice(0, 4)).toEqual([
      'persistent-ips.udn.a.b',
      'persistent-ips.net.a.b',
      'persistent-ips.net.udn.a.b',
      'persistent-ips.cudn.b',
    ])
  })

  test('has the addresses of both families, and reserved ones on request', () => {
    const { spec } = poolOf('lab', { ...DUAL, reservedSubnets: '10.0.0.4/30', excludeSubnets: '10.0.0.2/32' })
    expect(spec.subnets).toEqual([
      { cidr: '10.0.0.0/29', ranges: ['10.0.0.1-10.0.0.1', '10.0.0.3-10.0.0.6'], reserved: ['10.0.0.4-10.0.0.6'] },
      { cidr: 'fd00::/125', ranges: ['fd00::1-fd00::7'] },
    ])
  })
})

test('options are checked', () => {
  for (const options of [{ graceSeconds: -1 }, { graceSeconds: Number.NaN }, { grace: 1 }, { enabled: 1 }]) {
    const made = () => persistentIPsOnBlocks(options as never)
    expect(made).toThrow(expect.toSatisfy(isIpamError))
  }
})
