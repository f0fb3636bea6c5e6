import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { describe, expect, test } from 'vitest'
import { claimOf, LEDGERS, ovnNad, podIn, ServingWorld } from './serving-world.js'

const MOVED = claimOf('vm1.blue', { ips: ['10.0.0.5/29'] })
const TARGET = { labels: { 'kubevirt.io/migrationJobUID': 'm1' } }
const CLAIM = 'IPAMClaim vm1.blue'

describe.each(LEDGERS)('a claim that comes from another cluster, on %s', (ledger) => {
  test('keeps its address without a Pod, if the network has it free', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), MOVED)
    await world.look()
    expect(await world.status('vm1.blue')).toMatchObject({
      ips: ['10.0.0.5/29'],
      conditions: [{ type: 'IPsAllocated', status: 'True', reason: 'SuccessfulAllocation' }],
    })
    expect(world.holders()).toContain('10.0.0.5/32 IPAMClaim ns1/vm1.blue')
    await (await world.put(podIn('p1', ['blue:vm1.blue']))).look()
    expect(await world.has('p1')).toEqual(['10.0.0.5/29'])
  })

  test('has a reason if another claim has the address, and that one keeps it', async () => {
    const world = await new ServingWorld({}, ledger).put(
      ovnNad('blue'),
      claimOf('old.blue', { ips: ['10.0.0.5/29'] }),
      podIn('p0', ['blue:old.blue']),
    )
    await world.look()
    await (await world.put(MOVED)).look()
    expect(await world.status('vm1.blue')).toMatchObject({
      ips: ['10.0.0.5/29'],
      conditions: [{ status: 'False', reason: 'IPAddressConflict' }],
    })
    expect(world.outcome('IPAMClaim old.blue')).toBe('served')
    await (await world.put(podIn('p1', ['blue:vm1.blue']))).look()
    expect([await world.has('p0'), await world.has('p1')]).toEqual([['10.0.0.5/29'], []])
    for (const [info, name] of [
      [Pod.info, 'p0'],
      [IPAMClaim.info, 'old.blue'],
    ] as const)
      await world.delete(info, name)
    await world.look()
    await world.look()
    expect(await world.has('p1')).toEqual(['10.0.0.5/29'])
  })

  test('has a reason if the network does not give its address', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), claimOf('vm1.blue', { ips: ['10.9.0.5/29'] }))
    await world.look()
    expect(world.outcome(CLAIM)).toBe('refused OutsideNetwork')
  })

  test('serves no target of a migration whose source is in the other cluster', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), MOVED, podIn('p1', ['blue:vm1.blue'], TARGET))
    await world.look()
    expect([await world.has('p1'), world.outcome(CLAIM)]).toEqual([[], 'refused NotStretched'])
    expect(world.events).toEqual(['Pod p1 NotStretched'])
    const runs = { annotations: { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' } }
    await (await world.change(Pod.info, 'p1', { metadata: runs })).look()
    expect(await world.has('p1')).toEqual(['10.0.0.5/29'])
  })

  test('serves it in a stretched network, where both clusters have the address', async () => {
    const world = await new ServingWorld({ stretched: ['lab'] }, ledger).put(ovnNad('blue'), MOVED)
    await (await world.put(podIn('p1', ['blue:vm1.blue'], TARGET))).look()
    expect([await world.has('p1'), world.outcome(CLAIM)]).toEqual([['10.0.0.5/29'], 'served'])
  })

  test('serves a target whose source is in this cluster, also if no Pod is named yet', async () => {
    const has = JSON.stringify({ 'ns1/blue': { ip_addresses: ['10.0.0.5/29'] } })
    const { annotations } = podIn('p1', ['blue:vm1.blue']).metadata
    const source = podIn('p1', [], { annotations: { ...annotations, 'k8s.ovn.org/pod-networks': has } })
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), MOVED, source)
    await (await world.put(podIn('p2', ['blue:vm1.blue'], TARGET))).look()
    expect([await world.has('p2'), world.events]).toEqual([['10.0.0.5/29'], []])
  })

  test('serves the targets of its later migrations here', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), MOVED, podIn('p1', ['blue:vm1.blue']))
    await world.look()
    await world.delete(Pod.info, 'p1')
    await (await world.put(podIn('p2', ['blue:vm1.blue'], TARGET))).look()
    expect(await world.has('p2')).toEqual(['10.0.0.5/29'])
  })
})
