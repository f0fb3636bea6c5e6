import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { claimOf, LEDGERS, ovnNad, podIn, ServingWorld } from './serving-world.js'

const [ONE, TWO] = ['10.0.0.1/29', '10.0.0.2/29']

async function edit(world: ServingWorld, claim: string, ips: readonly string[]): Promise<void> {
  await world.change(IPAMClaim.info, claim, { status: { ips } }, 'status')
}

/** Two claims with addresses. The machine of the first one is stopped. */
async function given(): Promise<ServingWorld> {
  const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
  await world.look()
  await world.put(claimOf('vm2.blue'), podIn('p2', ['blue:vm2.blue']))
  await (await world.delete(Pod.info, 'p1')).look()
  expect([await world.ips('vm1.blue'), await world.ips('vm2.blue')]).toEqual([[ONE], [TWO]])
  return world
}

describe('a status that a tenant edits', () => {
  test.each<[string, readonly string[]]>([
    ['other addresses', ['10.0.0.5/29']],
    ['no addresses', []],
    ['the address of another claim', [TWO]],
    ['another prefix length', ['10.0.0.1/24']],
    ['more addresses', [ONE, '10.0.0.5/29']],
    ['no address', ['x']],
  ])('is set back, and the edit is reported: %s', async (_, ips) => {
    const world = await given()
    await edit(world, 'vm1.blue', ips)
    await world.look()
    expect([await world.ips('vm1.blue'), await world.ips('vm2.blue')]).toEqual([[ONE], [TWO]])
    expect(world.events).toEqual(['IPAMClaim vm1.blue StatusEdited'])
    expect([world.outcome('IPAMClaim vm1.blue'), world.outcome('IPAMClaim vm2.blue')]).toEqual(['served', 'served'])
    expect(await world.status('vm2.blue')).toMatchObject({ conditions: [{ status: 'True' }] })
    await edit(world, 'vm1.blue', ips)
    await world.look()
    expect([await world.ips('vm1.blue'), world.events.length]).toEqual([[ONE], 2])
  })

  test('holds its addresses also while the store refuses to set it back', async () => {
    const world = await given()
    await edit(world, 'vm1.blue', ['10.0.0.5/29'])
    world.refuses = (effect) => effect === 'IPAMClaim vm1.blue'
    await world.look()
    await world.put(claimOf('vm3.blue'), podIn('p3', ['blue:vm3.blue']))
    world.refuses = () => false
    await edit(world, 'vm1.blue', [])
    world.refuses = (effect) => effect === 'IPAMClaim vm1.blue'
    await world.look()
    expect([await world.ips('vm3.blue'), await world.ips('vm1.blue')]).toEqual([['10.0.0.3/29'], []])
    expect(world.holders()).toContain('10.0.0.1/32 IPAMClaim ns1/vm1.blue')
    world.refuses = () => false
    await world.change(IPAMClaim.info, 'vm1.blue', { metadata: { labels: { a: 'b' } } })
    expect(await (await world.look()).ips('vm1.blue')).toEqual([ONE])
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    expect(world.holders().filter((text) => text.includes('vm1'))).toEqual([])
  })

  test('is not set back after a reset: another process may have given the addresses since', async () => {
    const world = await given()
    const { planner } = world
    await edit(world, 'vm1.blue', [])
    world.refuses = (effect) => effect === 'IPAMClaim vm1.blue'
    await world.look()
    world.refuses = () => false
    planner.reset()
    world.planner = persistentIPs()
    await (await world.put(claimOf('vm3.blue'), podIn('p3', ['blue:vm3.blue']))).look()
    expect(await world.ips('vm3.blue')).toEqual([ONE])
    world.planner = planner
    await world.look()
    expect([await world.ips('vm1.blue'), world.outcome('IPAMClaim vm1.blue')]).toEqual([[], 'pending'])
  })

  test.each([
    ['of a network that gives other addresses', ['10.9.9.9/29'], 'OutsideNetwork'],
    ['with the length 0', ['10.0.0.4/0'], 'InternalError'],
    ['with two addresses of one subnet', ['10.0.0.4/29', '10.0.0.5/29'], 'FamilyMismatch'],
    ['with an address twice', ['10.0.0.4/29', '10.0.0.4/29'], 'InternalError'],
  ])('%s counts as it is', async (_, ips, reason) => {
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue', { ips }))
    await (await world.put(podIn('p1', ['blue:vm1.blue']))).look()
    expect(world.outcome('IPAMClaim vm1.blue')).toBe(`refused ${reason}`)
    await edit(world, 'vm1.blue', [])
    await world.look()
    expect([await world.ips('vm1.blue'), await world.has('p1')]).toEqual([[ONE], [ONE]])
  })
})

describe('a status that was edited before a restart', () => {
  async function restarted(ips: readonly string[]): Promise<ServingWorld> {
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    await world.look()
    await edit(world, 'vm1.blue', ips)
    world.planner = persistentIPs()
    await world.put(claimOf('vm2.blue'), podIn('p2', ['blue:vm2.blue']))
    return world.look()
  }

  test('is reported: nothing is overwritten, and the address of a living Pod is given to no other', async () => {
    const world = await restarted(['10.0.0.5/29'])
    expect(world.outcome('IPAMClaim vm1.blue')).toBe('refused AddressesDiffer')
    expect(world.events).toEqual(['Pod p1 AddressesDiffer'])
    expect([await world.ips('vm1.blue'), await world.has('p1')]).toEqual([['10.0.0.5/29'], [ONE]])
    expect(await world.ips('vm2.blue')).toEqual([TWO])
    await edit(world, 'vm1.blue', [ONE])
    await world.look()
    expect(await world.ips('vm1.blue')).toEqual(['10.0.0.5/29'])
  })

  test('to the address of another claim does not get it', async () => {
    const world = await given()
    await world.put(podIn('p1', ['blue:vm1.blue']))
    await world.look()
    await edit(world, 'vm2.blue', [ONE])
    world.planner = persistentIPs()
    await world.look()
    for (const pod of ['p1', 'p2']) await world.delete(Pod.info, pod)
    await world.put(podIn('p3', ['blue:vm2.blue']), podIn('p4', ['blue:vm1.blue']))
    await world.look()
    expect(world.outcome('IPAMClaim vm2.blue')).toBe('refused IPAddressConflict')
    expect(await world.has('p3')).toEqual([])
  })

  test('with no addresses gets those of its living Pod', async () => {
    const world = await restarted([])
    expect([await world.ips('vm1.blue'), await world.ips('vm2.blue')]).toEqual([[ONE], [TWO]])
  })
})

describe.each(LEDGERS)('a network of a claim that a tenant changes, on %s', (ledger) => {
  test('does not free its addresses, which stay in the network that gave them', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), ovnNad('red', { name: 'red' }))
    await (await world.put(claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))).look()
    await world.change(IPAMClaim.info, 'vm1.blue', { spec: { network: 'red' } })
    await world.look()
    const message = 'spec.network was changed to red: the claim keeps its addresses in lab'
    expect(world.outcomes.get('IPAMClaim ns1/vm1.blue')).toMatchObject({ reasons: ['NetworkMismatch'], message })
    expect(world.events).toEqual(['IPAMClaim vm1.blue NetworkMismatch'])
    // while the Pod runs, without it, and for the next one
    await (await world.put(podIn('a', ['blue']), podIn('b', ['red']))).look()
    await (await world.delete(Pod.info, 'p1')).look()
    await (await world.put(podIn('c', ['blue']), podIn('p2', ['blue:vm1.blue']))).look()
    const has = await Promise.all(['a', 'b', 'c', 'p2'].map((pod) => world.has(pod)))
    expect(has).toEqual([[TWO], [ONE], ['10.0.0.3/29'], [ONE]])
    // a status that is edited too is set back
    await edit(world, 'vm1.blue', [TWO])
    await world.look()
    expect(await world.ips('vm1.blue')).toEqual([ONE])
    await world.change(IPAMClaim.info, 'vm1.blue', { spec: { network: 'lab' } })
    await world.look()
    expect(world.outcome('IPAMClaim vm1.blue')).toBe('served')
    expect(world.holders()).toContain('10.0.0.1/32 IPAMClaim ns1/vm1.blue')
  })

  test('is another network after a restart, in which no living Pod loses its address', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), ovnNad('red', { name: 'red' }))
    await (await world.put(claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))).look()
    await world.change(IPAMClaim.info, 'vm1.blue', { spec: { network: 'red' } })
    world.restart()
    await world.look()
    await (await world.put(podIn('a', ['blue']))).look()
    expect([world.outcome('IPAMClaim vm1.blue'), await world.has('p1'), await world.has('a')]).toEqual([
      'refused NetworkMismatch',
      [ONE],
      [TWO],
    ])
  })
})
