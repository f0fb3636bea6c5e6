import { Pod } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { claimOf, ovnNad, podIn, ServingWorld } from './serving-world.js'

const MAC = '02:00:00:00:00:01'

/** A Pod that asks for a MAC address, in `blue`, or in `blue:vm1.blue` with a claim. */
function asking(name: string, network = 'blue', mac = MAC, metadata: object = {}) {
  const [nad, claim] = network.split(':')
  const element = { name: nad, namespace: 'ns1', mac, ...(claim !== undefined && { 'ipam-claim-reference': claim }) }
  const { annotations = {}, ...rest } = metadata as { annotations?: object }
  const own = { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]), ...annotations }
  return podIn(name, [], { annotations: own, ...rest })
}

const ofMachine = (name: string) => ({ annotations: { 'kubevirt.io/domain': name } })

describe('static MAC addresses of a network', () => {
  test('a Pod gets none that another has, and gets it when that one has ended', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), asking('p1'))
    await world.look()
    await (await world.put(asking('p2', 'blue', '02-00-00-00-00-01'), podIn('p3', ['blue']))).look()
    expect([world.outcome('Pod p2'), await world.has('p2')]).toEqual(['refused MACAddressConflict', []])
    expect(world.outcomes.get('Pod ns1/p2')).toMatchObject({
      message: 'Pod ns1/p1 has the MAC address that is asked for',
    })
    expect([world.events, await world.has('p3')]).toEqual([['Pod p2 MACAddressConflict'], ['10.0.0.2/29']])
    await (await world.change(Pod.info, 'p1', { status: { phase: 'Succeeded' } }, 'status')).look()
    expect([world.outcome('Pod p2'), await world.has('p2')]).toEqual(['served', ['10.0.0.1/29']])
  })

  test('a Pod that has ended wakes those that ask for its MAC address', () => {
    const planner = persistentIPs()
    const see = (object: KubeObject, version: string) => {
      const metadata = { ...object.metadata, uid: object.metadata.name, resourceVersion: version }
      return planner.observe({ kind: 'present', object: { ...object, metadata } })
    }
    see(asking('p1'), '1')
    see(asking('p2'), '2')
    see(asking('p3', 'blue', '02:00:00:00:00:02'), '3')
    expect(see({ ...asking('p1'), status: { phase: 'Failed' } }, '4')).toEqual(['Pod ns1/p1', 'Pod ns1/p2'])
  })

  test('of two Pods that come together the older one has it', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), asking('b'), asking('a'))
    await world.look()
    expect([world.outcome('Pod a'), world.outcome('Pod b')].sort()).toEqual(['refused MACAddressConflict', 'served'])
  })

  test('another network has its own', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), ovnNad('green', { name: 'other' }), asking('p1'))
    await (await world.put(asking('p2', 'green'))).look()
    expect([world.outcome('Pod p1'), world.outcome('Pod p2')]).toEqual(['served', 'served'])
  })

  test('a claim without addresses reports it, and takes none', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), asking('p1'))
    await world.look()
    await (await world.put(claimOf('vm1.blue'), asking('p2', 'blue:vm1.blue'))).look()
    expect(world.outcome('IPAMClaim vm1.blue')).toBe('refused MACAddressConflict')
    expect(await world.status('vm1.blue')).toMatchObject({
      ips: [],
      conditions: [{ type: 'IPsAllocated', status: 'False', reason: 'MACAddressConflict' }],
    })
    await (await world.delete(Pod.info, 'p1')).look()
    expect([world.outcome('IPAMClaim vm1.blue'), await world.has('p2')]).toEqual(['served', ['10.0.0.1/29']])
  })

  test('a claim keeps its addresses when its next Pod is refused', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue', { ips: ['10.0.0.4/29'] }))
    await (await world.put(asking('p1'), podIn('p2', ['blue:vm1.blue']))).look()
    await (await world.put(asking('p3', 'blue:vm1.blue'))).look()
    expect(world.outcome('IPAMClaim vm1.blue')).toBe('refused MACAddressConflict')
    expect([await world.ips('vm1.blue'), await world.has('p3')]).toEqual([['10.0.0.4/29'], []])
  })

  test('both Pods of a migration have it, with a claim and without', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue'), asking('p1', 'blue:vm1.blue'))
    await world.put(asking('q1', 'blue', '02:00:00:00:00:02', ofMachine('vm2')))
    await world.look()
    await world.put(asking('p2', 'blue:vm1.blue'), asking('q2', 'blue', '02:00:00:00:00:02', ofMachine('vm2')))
    await (await world.put(asking('q3', 'blue', '02:00:00:00:00:02', ofMachine('vm3')))).look()
    expect([await world.has('p2'), (await world.has('q2')).length]).toEqual([['10.0.0.1/29'], 1])
    expect(world.outcome('Pod q3')).toBe('refused MACAddressConflict')
  })
})
