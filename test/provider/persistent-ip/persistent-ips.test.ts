import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { settle } from 'ipam-kit/run'
import type { StoreFailure } from 'ipam-kit/store'
import { describe, expect, test } from 'vitest'
import { claimOf, LEDGERS, OWN_FINALIZER, ovnNad, podIn, ServingWorld } from './serving-world.js'

const DUAL = { subnets: '10.0.0.0/29,fd00::/125' }
const CLAIM = 'IPAMClaim vm1.blue'
const specOf = (nad: string) => ovnNad(nad).spec as { readonly config: string }

describe.each(LEDGERS)('a claim and its Pods, on %s', (ledger) => {
  test('the claim gets addresses before its Pod, and keeps them', async () => {
    const world = await new ServingWorld({}, ledger).put(
      ovnNad('blue', DUAL),
      claimOf('vm1.blue'),
      podIn('p1', ['blue:vm1.blue']),
    )
    await world.look()
    expect(await world.ips('vm1.blue')).toEqual(['10.0.0.1/29', 'fd00::1/125'])
    expect(await world.has('p1')).toEqual(['10.0.0.1/29', 'fd00::1/125'])
    expect(world.effects).toEqual(['IPAMClaim vm1.blue', 'Pod p1'])
    expect(world.outcome(CLAIM)).toBe('served')
    await (await world.delete(Pod.info, 'p1')).look()
    expect(world.holders()).toEqual(['10.0.0.1/32 IPAMClaim ns1/vm1.blue', 'fd00::1/128 IPAMClaim ns1/vm1.blue'])
    await (await world.put(podIn('p2', ['blue:vm1.blue']))).look()
    expect(await world.has('p2')).toEqual(['10.0.0.1/29', 'fd00::1/125'])
  })

  test('both Pods of a migration have its addresses, and are one holder', async () => {
    const world = await new ServingWorld({}, ledger).put(
      ovnNad('blue'),
      claimOf('vm1.blue'),
      podIn('p1', ['blue:vm1.blue']),
    )
    await world.look()
    await (await world.put(podIn('p2', ['blue:vm1.blue']))).look()
    expect([await world.has('p1'), await world.has('p2')]).toEqual([['10.0.0.1/29'], ['10.0.0.1/29']])
    expect(world.holders()).toEqual(['10.0.0.1/32 IPAMClaim ns1/vm1.blue'])
  })

  test('the claim names the source of a migration until the machine runs in the target', async () => {
    const target = { labels: { 'kubevirt.io/migrationJobUID': 'm1' } }
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('z', ['blue:vm1.blue']))
    const named = async () => ((await world.status('vm1.blue')) as { ownerPod?: object }).ownerPod
    await world.look()
    await (await world.put(podIn('a', ['blue:vm1.blue'], target))).look()
    expect([await world.has('a'), await named()]).toEqual([['10.0.0.1/29'], { name: 'z' }])
    await world.change(Pod.info, 'a', { status: { phase: 'Failed' } }, 'status')
    await world.put(podIn('b', ['blue:vm1.blue'], target))
    await world.look()
    expect(await named()).toEqual({ name: 'z' })
    const runs = { annotations: { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' } }
    await (await world.change(Pod.info, 'b', { metadata: runs })).look()
    expect(await named()).toEqual({ name: 'b' })
    await (await world.delete(Pod.info, 'z')).look()
    expect(await named()).toEqual({ name: 'b' })
  })

  test('a Pod of another owner is refused', async () => {
    const owner = (uid: string) => ({
      ownerReferences: [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name: uid, uid }],
    })
    const machine = {
      ownerReferences: [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'vm1', uid: 'm' }],
    }
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), claimOf('vm1.blue', undefined, machine))
    await world.put(podIn('mine', ['blue:vm1.blue'], owner('vm1')), podIn('other', ['blue:vm1.blue'], owner('vm2')))
    await world.look()
    expect(await world.has('mine')).toEqual(['10.0.0.1/29'])
    expect(await world.has('other')).toEqual([])
    expect(world.outcome(CLAIM)).toBe('refused NotOfOwner')
    expect(world.events).toEqual(['Pod other NotOfOwner'])
  })

  test.each([
    ['label', { labels: { 'kubevirt.io/vm': 'vm1' } }],
    ['annotation', { annotations: { 'ipam-kit.dev/claim-owner': 'App.example.com/a, StatefulSet.apps/web' } }],
  ])('a claim whose owners an orphan deletion has removed serves those that its %s names', async (_, names) => {
    const owner = (name: string) => ({
      ownerReferences: [{ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name, uid: name }],
    })
    const { annotations } = podIn('mine', ['blue:vm1.blue']).metadata
    const web = { annotations: { ...annotations, 'ipam-kit.dev/claim-owner': 'StatefulSet.apps/web' } }
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), claimOf('vm1.blue', undefined, names))
    await world.put(podIn('other', ['blue:vm1.blue'], owner('vm2')), podIn('plain', ['blue:vm1.blue']))
    await world.look()
    expect(world.outcome(CLAIM)).toBe('refused NotOfOwner')
    await world.put(podIn('mine', ['blue:vm1.blue'], 'labels' in names ? owner('vm1') : web))
    await world.look()
    expect(await world.has('mine')).toEqual(['10.0.0.1/29'])
    expect([await world.has('other'), await world.has('plain')]).toEqual([[], []])
  })

  test('a Pod waits for its claim, and gets no other address', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), podIn('p1', ['blue:vm1.blue']))
    await world.look()
    expect([world.outcome(CLAIM), await world.has('p1')]).toEqual(['waiting', []])
    await (await world.put(claimOf('vm1.blue'))).look()
    expect(await world.has('p1')).toEqual(['10.0.0.1/29'])
  })

  test('a claim of another network serves no Pod', async () => {
    const world = await new ServingWorld({}, ledger).put(
      ovnNad('blue'),
      ovnNad('green', { name: 'other' }),
      claimOf('vm1.blue', undefined, {}, 'other'),
    )
    await (await world.put(podIn('p1', ['blue:vm1.blue']))).look()
    expect([world.outcome(CLAIM), await world.has('p1')]).toEqual(['refused NetworkMismatch', []])
  })
})

describe.each(LEDGERS)('traps, on %s', (ledger) => {
  test('T1: a claim that is being deleted gives nothing to the Pod of the next machine', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), claimOf('vm1.blue', undefined, OWN_FINALIZER))
    await (await world.put(podIn('old', ['blue:vm1.blue']))).look()
    await world.delete(IPAMClaim.info, 'vm1.blue')
    await (await world.put(podIn('next', ['blue:vm1.blue']))).look()
    expect([world.outcome(CLAIM), await world.has('next')]).toEqual(['refused ClaimTerminating', []])
    await world.delete(Pod.info, 'old')
    await world.change(IPAMClaim.info, 'vm1.blue', { metadata: { finalizers: null } })
    await (await world.put(claimOf('vm1.blue'))).look()
    expect([world.outcome(CLAIM), await world.has('next')]).toEqual(['served', await world.ips('vm1.blue')])
  })

  test('T1: a Pod that is being deleted keeps its addresses, and gives none to the next claim', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), claimOf('vm1.blue'))
    await (await world.put(podIn('old', ['blue:vm1.blue'], { finalizers: ['a.example/held'] }))).look()
    await world.delete(Pod.info, 'old')
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    await (await world.put(claimOf('vm1.blue'), podIn('next', ['blue:vm1.blue']))).look()
    expect([await world.has('old'), await world.has('next')]).toEqual([['10.0.0.1/29'], ['10.0.0.2/29']])
    expect(world.holders()).toEqual(['10.0.0.1/32 Pod ns1/old', '10.0.0.2/32 IPAMClaim ns1/vm1.blue'])
    expect(world.outcome(CLAIM)).toBe('served')
  })

  test('T1: with `serve` it gives its addresses', async () => {
    const world = new ServingWorld({ terminatingClaim: 'serve' }, ledger)
    await world.put(ovnNad('blue'), claimOf('vm1.blue', { ips: ['10.0.0.4/29'] }, OWN_FINALIZER))
    await world.delete(IPAMClaim.info, 'vm1.blue')
    await (await world.put(podIn('next', ['blue:vm1.blue']))).look()
    expect([world.outcome(CLAIM), await world.has('next')]).toEqual(['releasing', ['10.0.0.4/29']])
  })

  test('T2: two interfaces that name one claim get nothing', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), claimOf('vm1.blue'))
    await (await world.put(podIn('p1', ['blue:vm1.blue', 'blue:vm1.blue']))).look()
    expect([world.outcome(CLAIM), await world.has('p1')]).toEqual(['refused SharedByInterfaces', []])
    expect(await world.ips('vm1.blue')).toEqual([])
  })

  test('T3: an address is free when the last object that has it is gone, and is not freed again', async () => {
    const world = await new ServingWorld({}, ledger).put(
      ovnNad('blue'),
      claimOf('vm1.blue'),
      podIn('p1', ['blue:vm1.blue']),
    )
    await world.look()
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    expect(world.holders()).toEqual(['10.0.0.1/32 Pod ns1/p1'])
    await (await world.put(podIn('p2', ['blue']))).look()
    expect(await world.has('p2')).toEqual(['10.0.0.2/29'])
    await (await world.delete(Pod.info, 'p1')).look()
    await (await world.put(podIn('p3', ['blue']))).look()
    expect(await world.has('p3')).toEqual(['10.0.0.1/29'])
    // a late deletion of the first holder changes nothing: the holder is another object now
    const { apiVersion, kind } = Pod.info
    world.planner.observe({ kind: 'absent', ref: { apiVersion, kind, namespace: 'ns1', name: 'p1' } })
    await (await world.put(podIn('p4', ['blue']))).look()
    expect(await world.has('p4')).toEqual(['10.0.0.3/29'])
  })

  test('T3: a claim that is made again gets the addresses of its Pod that lives', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), podIn('p0', ['blue']))
    await (await world.look()).put(claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    await (await world.look()).delete(IPAMClaim.info, 'vm1.blue')
    await (await world.delete(Pod.info, 'p0')).look()
    await (await world.put(claimOf('vm1.blue'))).look()
    expect(await world.ips('vm1.blue')).toEqual(['10.0.0.2/29'])
    expect(world.holders()).toEqual(['10.0.0.2/32 IPAMClaim ns1/vm1.blue'])
  })

  test('T4: a Pod that cannot be written leaves the addresses with the claim', async () => {
    const world = await new ServingWorld({}, ledger).put(
      ovnNad('blue'),
      claimOf('vm1.blue'),
      podIn('p1', ['blue:vm1.blue']),
    )
    world.refuses = (effect) => effect === 'Pod p1'
    await world.look()
    expect([await world.ips('vm1.blue'), await world.has('p1')]).toEqual([['10.0.0.1/29'], []])
    await (await world.put(podIn('p2', ['blue']))).look()
    expect(await world.has('p2')).toEqual(['10.0.0.2/29'])
    world.refuses = () => false
    await world.look()
    expect(await world.has('p1')).toEqual(['10.0.0.1/29'])
  })

  test.each([
    ['without a status', undefined],
    ['with an empty one', { ips: [] }],
  ])('T4: a write of addresses that timed out cannot come late, in a claim %s', async (_, status) => {
    const world = await new ServingWorld().put(
      ovnNad('blue'),
      claimOf('vm1.blue', status),
      podIn('p1', ['blue:vm1.blue']),
    )
    world.refuses = () => true
    await world.look()
    const [effect] = world.planner.plan('IPAMClaim ns1/vm1.blue', { nowMs: 0 })!.effects
    const failure = { code: 'STORE_OUTCOME_UNKNOWN', context: { operation: 'patch', object: '', problem: 'timed out' } }
    world.refuses = () => false
    const settled = await settle(world.store, { effect: effect!, failure: failure as StoreFailure })
    expect(settled.ok && settled.value.source).toBe('written')
    expect(await world.ips('vm1.blue')).toEqual(['10.0.0.1/29'])
    const late = await settle(world.store, { effect: effect!, failure: failure as StoreFailure })
    expect(late.ok && late.value.source).toBe('read')
  })

  test('T2: an interface does not get addresses that its Pod has for another one', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.b'), podIn('p1', ['blue:vm1.b']))
    await world.look()
    const { annotations } = podIn('p1', ['blue:vm1.a', 'blue:vm1.b']).metadata
    await world.put(claimOf('vm1.a'))
    await (await world.change(Pod.info, 'p1', { metadata: { annotations: annotations as never } })).look()
    expect(await world.has('p1')).toEqual(['10.0.0.1/29'])
  })

  test('T4: an interface that is plugged during a plan does not get the addresses of another one', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    const replugged = podIn('p1', ['blue:vm1.other']).metadata.annotations as { readonly [name: string]: string }
    world.refuses = (effect) => {
      if (effect === CLAIM) void world.change(Pod.info, 'p1', { metadata: { annotations: replugged } })
      return false
    }
    await world.look()
    expect([await world.ips('vm1.blue'), await world.has('p1')]).toEqual([['10.0.0.1/29'], []])
  })

  test('T4: Pods that cannot be written do not wake each other', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue', { subnets: '10.0.0.0/30' }))
    await world.put(...['p1', 'p2', 'p3', 'p4'].map((name) => podIn(name, ['blue'])))
    world.refuses = (effect) => effect.startsWith('Pod')
    await world.look()
    // on blocks a look has several runs
    expect(world.effects.length).toBeLessThan(ledger === 'blocks' ? 40 : 20)
    world.refuses = () => false
    await world.look()
    const given = await Promise.all(['p1', 'p2', 'p3', 'p4'].map((name) => world.has(name)))
    expect(given.flat().sort()).toEqual(['10.0.0.1/30', '10.0.0.2/30'])
  })

  test('T5: a network without a free address of one family gives none of the other', async () => {
    const narrow = { subnets: '10.0.0.0/29,fd00::/127' }
    const world = await new ServingWorld({}, ledger).put(
      ovnNad('blue', narrow),
      claimOf('vm1.blue'),
      claimOf('vm2.blue'),
    )
    await (await world.put(podIn('p1', ['blue:vm1.blue']))).look()
    await (await world.put(podIn('p2', ['blue:vm2.blue']), podIn('p3', ['blue']))).look()
    expect([await world.ips('vm2.blue'), await world.has('p2'), await world.has('p3')]).toEqual([[], [], []])
    expect([world.outcome('IPAMClaim vm2.blue'), world.outcome('Pod p3')]).toEqual(
      Array.from({ length: 2 }, () => 'refused SubnetExhausted'),
    )
    expect(world.holders()).toHaveLength(2)
    await world.delete(Pod.info, 'p3')
    await (await world.delete(Pod.info, 'p1')).look()
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    expect(await world.has('p2')).toEqual(['10.0.0.1/29', 'fd00::1/127'])
  })

  test('T5: a claim holds each of its addresses, also when another holder has one of them', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue', DUAL))
    await world.put(claimOf('vm1.blue', { ips: ['10.0.0.1/29', 'fd00::1/125'] }))
    await world.put(claimOf('vm2.blue', { ips: ['10.0.0.1/29', 'fd00::2/125'] }), podIn('p2', ['blue:vm2.blue']))
    await (await world.put(podIn('p3', ['blue']))).look()
    expect(world.outcome('IPAMClaim vm2.blue')).toBe('refused IPAddressConflict')
    expect([await world.has('p2'), await world.has('p3')]).toEqual([[], ['10.0.0.2/29', 'fd00::3/125']])
  })

  test('keeps its addresses when a definition of another network with the same addresses is deleted', async () => {
    const red = { name: 'red', netAttachDefName: 'ns1/red' }
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), ovnNad('red', red), claimOf('vm1.blue'))
    await (await world.put(podIn('p1', ['blue:vm1.blue']), podIn('q1', ['red']))).look()
    await (await world.put(podIn('p2', ['blue']), podIn('q2', ['red']))).look()
    await world.delete(NetworkAttachmentDefinition.info, 'red')
    await world.look()
    world.restart()
    await world.delete(Pod.info, 'p1')
    await (await world.put(podIn('p3', ['blue:vm1.blue']), podIn('p4', ['blue']))).look()
    expect([world.outcome('IPAMClaim vm1.blue'), await world.has('p3')]).toEqual(['served', ['10.0.0.1/29']])
    expect([world.outcome('Pod p2'), await world.has('p4')]).toEqual(['served', ['10.0.0.3/29']])
  })

  test('T8: claims that are wrong stop no other', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'))
    const wrong = [['x'], ['10.9.9.9/29'], ['10.0.0.2/29', '10.0.0.2/29'], ['10.0.0.3/29', '']]
    for (const [index, ips] of wrong.entries()) await world.put(claimOf(`bad${index}`, { ips }))
    await world.put(claimOf('empty', undefined, {}, ''), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    await world.put(...wrong.map((_, index) => podIn(`w${index}`, [`blue:bad${index}`])), podIn('p2', ['blue']))
    await world.look()
    expect(await world.has('p1')).toHaveLength(1)
    expect(await world.has('p2')).toHaveLength(1)
    const given = [...(await world.has('p1')), ...(await world.has('p2'))].sort()
    expect(given).toEqual(['10.0.0.1/29', '10.0.0.4/29'])
    expect(world.outcome('IPAMClaim bad0')).toBe('refused InternalError')
    expect(world.outcome('IPAMClaim bad1')).toBe('refused OutsideNetwork')
  })
})

describe.each(LEDGERS)('Pods without a claim, on %s', (ledger) => {
  test('have an address until they have ended, each interface its own', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), podIn('p1', ['blue', 'blue']))
    await world.look()
    expect(await world.has('p1')).toEqual(['10.0.0.1/29', '10.0.0.2/29'])
    await world.change(Pod.info, 'p1', { status: { phase: 'Succeeded' } }, 'status')
    await (await world.put(podIn('p2', ['blue']))).look()
    expect(await world.has('p2')).toEqual(['10.0.0.1/29'])
  })

  test('get one in the primary network of their namespace, also without annotations', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('main', { role: 'primary' }), podIn('p1', []))
    await world.look()
    expect(await world.has('p1')).toEqual(['10.0.0.3/29'])
  })

  test('that wait for an address get it when one is free', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue', { subnets: '10.0.0.0/30' }))
    await (await world.put(...['a', 'b', 'c'].map((name) => podIn(name, ['blue'])))).look()
    const lacking = (await Promise.all(['a', 'b', 'c'].map((name) => world.has(name)))).filter(
      ({ length }) => length === 0,
    )
    expect([lacking.length, world.outcome('Pod c')]).toEqual([1, 'refused SubnetExhausted'])
    await (await world.delete(Pod.info, 'a')).look()
    expect(await world.has('c')).toEqual(['10.0.0.1/30'])
  })

  test('keep their address when their definition is deleted', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), ovnNad('also'), podIn('p1', ['blue']))
    await world.look()
    await (await world.delete(NetworkAttachmentDefinition.info, 'blue')).look()
    await (await world.put(podIn('p2', ['also']))).look()
    expect([await world.has('p1'), await world.has('p2')]).toEqual([['10.0.0.1/29'], ['10.0.0.2/29']])
    // also when the program reads Pods before definitions
    const lists = await Promise.all([Pod.info, NetworkAttachmentDefinition.info].map((info) => world.store.list(info)))
    world.restart()
    const objects = lists.flatMap((list) => (list.ok ? list.value.items : []))
    for (const object of objects) world.planner.observe({ kind: 'present', object })
    expect(world.holders()).toEqual(['10.0.0.1/32 Pod ns1/p1', '10.0.0.2/32 Pod ns1/p2'])
  })

  test.each([
    ['of no plugin', '{}'],
    ['of another plugin', '{"name":"other","type":"bridge"}'],
    [
      'of other subnets',
      JSON.stringify({ ...JSON.parse(specOf('blue').config), name: 'other', subnets: '10.1.0.0/29' }),
    ],
  ])('keep their address when their definition becomes one %s', async (_, config) => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), ovnNad('also'), podIn('p1', ['blue']))
    await world.look()
    await (await world.change(NetworkAttachmentDefinition.info, 'blue', { spec: { config } })).look()
    await (await world.put(podIn('p2', ['also']))).look()
    expect([await world.has('p1'), await world.has('p2')]).toEqual([['10.0.0.1/29'], ['10.0.0.2/29']])
    await (await world.delete(Pod.info, 'p1')).look()
    await (await world.put(podIn('p3', ['also']))).look()
    expect(await world.has('p3')).toEqual(['10.0.0.1/29'])
  })

  test('that find no free address are not served: refusals do not end their delays', async () => {
    const one = { subnets: '10.0.0.0/29', excludeSubnets: '10.0.0.0/30,10.0.0.4/31' }
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue', one), podIn('p1', ['blue']))
    await (await world.look()).put(podIn('p2', ['blue']))
    await world.look()
    expect(world.outcome('Pod p2')).toBe('refused SubnetExhausted')
    expect(['p1', 'p2'].map((name) => world.planner.isServed?.(`Pod ns1/${name}`))).toEqual([true, false])
    await (await world.delete(Pod.info, 'p1')).look()
    expect(world.planner.isServed?.('Pod ns1/p2')).toBe(true)
  })

  test('may have annotations that are null', () => {
    const planner = persistentIPs()
    const metadata = { ...podIn('p1', []).metadata, uid: 'p', resourceVersion: '1', annotations: null as never }
    expect(planner.observe({ kind: 'present', object: { ...podIn('p1', []), metadata } })).toEqual(['Pod ns1/p1'])
  })

  test('keep the address of their claim when the network honours claims no more', async () => {
    const world = await new ServingWorld({}, ledger).put(
      ovnNad('blue'),
      claimOf('vm1.blue'),
      podIn('p1', ['blue:vm1.blue']),
    )
    await world.look()
    const { spec } = ovnNad('blue', { allowPersistentIPs: false })
    await (await world.change(NetworkAttachmentDefinition.info, 'blue', { spec: spec as never })).look()
    expect([world.outcome('Pod p1'), await world.has('p1')]).toEqual(['served', ['10.0.0.1/29']])
    await (await world.put(podIn('p2', ['blue:vm1.blue']))).look()
    expect(await world.has('p2')).toEqual(['10.0.0.2/29'])
  })

  test('keep what their annotation has of other networks', async () => {
    const other = { default: { ip_addresses: ['10.0.0.1/24'], extra: 'x' } }
    const pod = podIn('p1', ['blue'])
    const annotations = { ...pod.metadata.annotations, 'k8s.ovn.org/pod-networks': JSON.stringify(other) }
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), podIn('p1', ['blue'], { annotations }))
    await world.look()
    expect(await world.annotation('p1')).toEqual({
      ...other,
      'ns1/blue': {
        ip_addresses: ['10.0.0.1/29'],
        mac_address: '0a:58:0a:00:00:01',
        ip_address: '10.0.0.1/29',
        role: 'secondary',
      },
    })
  })

  test('get nothing by a definition that differs from the one that decides', async () => {
    const world = await new ServingWorld({}, ledger).put(ovnNad('also', {}), ovnNad('blue', { subnets: '10.0.0.0/24' }))
    await (await world.put(podIn('p1', ['blue']), podIn('p2', ['also']))).look()
    expect([world.outcome('Pod p1'), await world.has('p1'), await world.has('p2')]).toEqual([
      'waiting',
      [],
      ['10.0.0.1/29'],
    ])
    await (await world.delete(NetworkAttachmentDefinition.info, 'also')).look()
    expect(await world.has('p1')).toEqual(['10.0.0.2/24'])
  })

  test('wait for a definition', async () => {
    const world = await new ServingWorld({}, ledger).put(podIn('p1', ['blue']))
    await world.look()
    expect(world.outcome('Pod p1')).toBe('waiting')
    await (await world.put(ovnNad('blue'))).look()
    expect(await world.has('p1')).toEqual(['10.0.0.1/29'])
  })
})

test.each(LEDGERS)(
  'the claim that a Pod names now is planned when its earlier claim is deleted, on %s',
  async (ledger) => {
    const world = new ServingWorld({}, ledger)
    await world.put(ovnNad('blue'), claimOf('c1'), claimOf('c2'), podIn('p1', ['blue:c1']))
    await world.look()
    const { annotations = {} } = podIn('p1', ['blue:c2']).metadata
    await (await world.change(Pod.info, 'p1', { metadata: { annotations } })).look()
    expect(world.outcome('IPAMClaim c2')).toBe('refused IPAddressConflict')
    const { apiVersion, kind } = IPAMClaim.info
    const keys = world.planner.observe({ kind: 'absent', ref: { apiVersion, kind, namespace: 'ns1', name: 'c1' } })
    expect(keys).toContain('IPAMClaim ns1/c2')
  },
)

describe('the program', () => {
  const has = (nad: string, ip: string) => ({
    annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify({ [`ns1/${nad}`]: { ip_addresses: [ip] } }) },
  })
  const seen = (planner: ReturnType<typeof persistentIPs>, object: KubeObject) => {
    const metadata = { uid: `uid-${object.metadata.name}`, resourceVersion: '1', ...object.metadata }
    return planner.observe({ kind: 'present', object: { ...object, metadata } })
  }

  test('plans the Pod that waits for an address when one is free', () => {
    const planner = persistentIPs()
    seen(planner, ovnNad('blue', { subnets: '10.0.0.0/30' }))
    for (const last of [1, 2]) seen(planner, podIn(`p${last}`, [], has('blue', `10.0.0.${last}/30`)))
    for (const name of ['waits', 'later']) seen(planner, podIn(name, ['blue']))
    expect(planner.plan('Pod ns1/waits', { nowMs: 0 })?.outcome.kind).toBe('refused')
    const { apiVersion, kind } = Pod.info
    const keys = planner.observe({ kind: 'absent', ref: { apiVersion, kind, namespace: 'ns1', name: 'p1' } })
    expect(keys).toEqual(['Pod ns1/p1', 'Pod ns1/waits'])
  })

  test('holds the address of a Pod in the network of its definition alone, once that is there', () => {
    const planner = persistentIPs()
    for (const nad of [ovnNad('also'), ovnNad('green', { name: 'other' })]) seen(planner, nad)
    seen(planner, podIn('p1', [], has('blue', '10.0.0.1/29')))
    seen(planner, podIn('p2', ['also']))
    const given = () => JSON.stringify(planner.plan('Pod ns1/p2', { nowMs: 0 })?.effects)
    expect(given()).toContain('10.0.0.2/29')
    seen(planner, ovnNad('blue', { name: 'other' }))
    expect(given()).toContain('10.0.0.1/29')
  })

  test('has the same holders in any order of its start', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    await (await world.put(podIn('p2', ['blue']))).look()
    const lists = await Promise.all(
      [IPAMClaim.info, Pod.info, NetworkAttachmentDefinition.info].map((info) => world.store.list(info)),
    )
    const objects = lists.flatMap((list) => (list.ok ? list.value.items : []))
    for (const order of ordersOf(objects)) {
      const planner = persistentIPs()
      for (const object of order) planner.observe({ kind: 'present', object })
      world.planner = planner
      expect(world.holders()).toEqual(['10.0.0.1/32 IPAMClaim ns1/vm1.blue', '10.0.0.2/32 Pod ns1/p2'])
      expect(planner.plan('IPAMClaim ns1/vm1.blue', { nowMs: 0 })?.effects).toEqual([])
      expect(planner.plan('Pod ns1/p2', { nowMs: 0 })?.effects).toEqual([])
    }
  })

  test('switched off writes nothing, claims hold what they have, and it continues when it is on', async () => {
    const world = await new ServingWorld().put(ovnNad('blue'), claimOf('vm1.blue'), podIn('p1', ['blue:vm1.blue']))
    await world.look()
    world.planner = persistentIPs({ enabled: false })
    await world.put(claimOf('vm2.blue'), podIn('p2', ['blue:vm2.blue']), podIn('p3', ['blue']))
    await world.look()
    expect(world.effects).toEqual([])
    expect(world.planner.watches.map(({ kind }) => kind)).toEqual(['IPAMClaim', 'Pod'])
    expect(world.holders()).toEqual(['10.0.0.1/32 IPAMClaim ns1/vm1.blue'])
    expect(world.outcome('IPAMClaim vm2.blue')).toBe('off')
    await (await world.delete(IPAMClaim.info, 'vm1.blue')).look()
    expect(world.holders()).toEqual([])
    world.planner = persistentIPs()
    await world.look()
    expect(new Set([...(await world.has('p1')), ...(await world.has('p2')), ...(await world.has('p3'))]).size).toBe(3)
  })
})

function ordersOf<T>(all: readonly T[]): readonly (readonly T[])[] {
  if (all.length <= 1) return [all]
  return all.flatMap((first, index) => ordersOf(all.toSpliced(index, 1)).map((rest) => [first, ...rest]))
}
