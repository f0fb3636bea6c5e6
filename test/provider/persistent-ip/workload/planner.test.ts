import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { persistentClaims } from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { instance, machine, nad, networksOf, UNHELD } from '../objects.js'
import { World } from './world.js'

const FINALIZER = 'kubevirt.io/persistent-ipam'

/** A machine that runs, with its claims. */
async function running(world: World, name = 'vm1', ...networks: readonly string[]): Promise<KubeObject> {
  const names = networks.length === 0 ? ['blue'] : networks
  await world.put(machine(name, ...names))
  const made = (await world.get(VirtualMachine.info, name)) as KubeObject
  await world.put(instance(name, made, ...names))
  await world.look()
  return made
}

/** What KubeVirt does when the Pod of an instance has ended. */
async function endInstance(world: World, name = 'vm1'): Promise<void> {
  const found = await world.get(VirtualMachineInstance.info, name)
  if (found?.metadata.deletionTimestamp === undefined) await world.delete(VirtualMachineInstance.info, name)
  await world.patch(VirtualMachineInstance.info, name, { status: { activePods: {} } })
  await world.patch(VirtualMachineInstance.info, name, UNHELD)
}

async function endMachine(world: World, name = 'vm1'): Promise<void> {
  await endInstance(world, name)
  const { finalizers = [] } = (await world.get(VirtualMachine.info, name))?.metadata ?? {}
  const left = finalizers.filter((each) => !each.startsWith('kubevirt.io/'))
  await world.patch(VirtualMachine.info, name, { metadata: { finalizers: left } })
}

const claim = (world: World, name = 'vm1.blue') => world.get(IPAMClaim.info, name)

describe('claims of a virtual machine', () => {
  test('are made when it starts, and stay while it is stopped', async () => {
    const world = await new World().put(nad('blue'))
    const vm = await running(world)
    expect(world.outcome()).toMatchObject({ kind: 'kept' })
    const made = await claim(world)
    expect(made).toMatchObject({
      metadata: {
        labels: { 'kubevirt.io/vm': 'vm1' },
        finalizers: [FINALIZER],
        ownerReferences: [{ kind: 'VirtualMachine', name: 'vm1', uid: vm.metadata.uid, controller: true }],
      },
      spec: { network: 'net-blue', interface: '' },
    })
    await endInstance(world)
    await world.settle()
    expect(world.outcome()).toEqual({ kind: 'kept', message: 'the machine is stopped' })
    expect(await claim(world)).toEqual(made)
  })

  test('are not made for a network that is ephemeral, and one that exists stays', async () => {
    const world = new World({
      sticky: ({ name }, network) => (name === 'vm1' && network === 'red' ? 'ephemeral' : 'keep'),
    })
    await world.put(nad('blue'), nad('red'))
    await running(world, 'vm1', 'blue', 'red')
    await running(world, 'vm2', 'red')
    expect(await world.names()).toEqual(['vm1.blue', 'vm2.red'])
    world.planner = persistentClaims({ sticky: () => 'ephemeral' })
    await world.settle()
    expect(await world.names()).toEqual(['vm1.blue', 'vm2.red'])
  })

  test.each(['Background', 'Foreground'] as const)('%s deletion of the machine ends without a claim', async (how) => {
    const world = await new World().put(nad('blue'))
    await running(world)
    await world.delete(VirtualMachine.info, 'vm1', how)
    await world.settle()
    // the Pod still runs
    expect((await claim(world))?.metadata.finalizers).toContain(FINALIZER)
    await endMachine(world)
    await world.settle()
    expect(await world.names()).toEqual([])
    expect(await world.get(VirtualMachine.info, 'vm1')).toBeUndefined()
  })

  test('Orphan deletion keeps them while the instance runs, which becomes their owner', async () => {
    const world = await new World().put(nad('blue'))
    await running(world)
    await world.delete(VirtualMachine.info, 'vm1', 'Orphan')
    await world.look()
    await world.patch(VirtualMachine.info, 'vm1', UNHELD)
    await world.settle()
    expect(await world.get(VirtualMachine.info, 'vm1')).toBeUndefined()
    expect(await claim(world)).toMatchObject({
      metadata: { finalizers: [FINALIZER], ownerReferences: [{ kind: 'VirtualMachineInstance', name: 'vm1' }] },
    })
    await endInstance(world)
    await world.settle()
    expect(await world.names()).toEqual([])
  })

  test('T1: a machine that is made again under its name never gets the claim of the first one', async () => {
    const world = await new World().put(nad('blue'))
    await running(world)
    const first = await claim(world)
    await world.delete(VirtualMachine.info, 'vm1')
    await endMachine(world)
    // the second machine runs before the planner has seen that the first one is deleted
    const second = machine('vm1', 'blue')
    await world.put(second)
    const made = (await world.get(VirtualMachine.info, 'vm1')) as KubeObject
    await world.put(instance('vm1', made, 'blue'))
    await world.look()
    expect((await claim(world))?.metadata.uid).toBe(first?.metadata.uid)
    expect(world.outcome()).toMatchObject({ kind: 'refused' })
    await world.settle()
    const now = await claim(world)
    expect(now?.metadata.uid).not.toBe(first?.metadata.uid)
    expect(now?.metadata.ownerReferences).toMatchObject([{ uid: made.metadata.uid }])
    expect(world.outcome()).toMatchObject({ kind: 'kept' })
  })

  test('T1: a claim that is deleted while its machine lives is reported, and stays until the machine ends', async () => {
    const world = await new World().put(nad('blue'))
    await running(world)
    await world.delete(IPAMClaim.info, 'vm1.blue')
    await world.settle()
    expect(world.outcome()).toMatchObject({ kind: 'refused', reasons: ['ClaimTerminating'] })
    expect((await claim(world))?.metadata.finalizers).toEqual([FINALIZER])
    expect(world.events.map(({ reason }) => reason)).toEqual(['ClaimTerminating'])
    await world.delete(VirtualMachine.info, 'vm1')
    await endMachine(world)
    await world.settle()
    expect(await world.names()).toEqual([])
  })

  test('T6: of two networks whose claims have one name the first has it, and the second is reported', async () => {
    const world = await new World().put(nad('blue'), nad('red'))
    await running(world, 'vm1', 'a_b=blue', 'a.b=red')
    expect(await world.names()).toEqual(['vm1.a.b'])
    expect((await claim(world, 'vm1.a.b'))?.spec).toMatchObject({ network: 'net-blue' })
    expect(world.outcome()).toMatchObject({ kind: 'refused', reasons: ['NameConflict'] })
  })

  test('T6: two machines whose claims have one name: the second waits until the first is deleted', async () => {
    const world = await new World().put(nad('net'))
    await running(world, 'vm.a', 'net')
    await running(world, 'vm', 'a.net=net')
    expect(world.outcome('vm')).toMatchObject({ kind: 'refused', reasons: ['OwnerMismatch'] })
    const first = await claim(world, 'vm.a.net')
    expect(first?.metadata.labels).toEqual({ 'kubevirt.io/vm': 'vm.a' })
    await world.delete(VirtualMachine.info, 'vm.a')
    await endMachine(world, 'vm.a')
    await world.settle()
    expect((await claim(world, 'vm.a.net'))?.metadata.labels).toEqual({ 'kubevirt.io/vm': 'vm' })
  })

  test('missing is not gone: a finalizer goes after the second look and a read of both objects by name', async () => {
    const world = await new World({ graceSeconds: 60 }).put(nad('blue'))
    await running(world)
    await world.delete(VirtualMachine.info, 'vm1')
    await endMachine(world)
    const planner = persistentClaims({ graceSeconds: 60 })
    for (const object of await world.claims()) planner.observe({ kind: 'present', object })
    const at = (seconds: number) => planner.plan('VirtualMachine ns1/vm1', { nowMs: seconds * 1000 })
    expect(at(0)).toMatchObject({ outcome: { kind: 'releasing' }, effects: [], requeueAfterSeconds: 60 })
    expect(at(59)?.effects).toEqual([])
    expect(at(60)?.effects.map((effect) => [effect.kind, 'ref' in effect ? effect.ref.kind : ''])).toEqual([
      ['absent', 'VirtualMachine'],
      ['absent', 'VirtualMachineInstance'],
      ['patch', 'IPAMClaim'],
    ])
  })

  test('a machine that cannot be read keeps its claims', async () => {
    const world = await new World().put(nad('blue'))
    await running(world)
    await endInstance(world)
    await world.patch(VirtualMachine.info, 'vm1', { spec: { template: null } })
    await world.settle()
    expect(world.outcome()).toMatchObject({ kind: 'unreadable' })
    expect(await world.names()).toEqual(['vm1.blue'])
  })

  test('a definition that does not exist or cannot be read stops its own network alone', async () => {
    const world = await new World().put(nad('blue'), nad('broken', 'no'))
    await running(world, 'vm1', 'gone', 'broken', 'blue')
    expect(await world.names()).toEqual(['vm1.blue'])
    expect(world.outcome()).toMatchObject({ kind: 'waiting' })
    await world.put(nad('gone'))
    await world.look()
    expect(await world.names()).toEqual(['vm1.blue', 'vm1.gone'])
  })

  test('hotplug makes a claim, and unplug keeps it unless the option says otherwise', async () => {
    const world = await new World().put(nad('blue'), nad('red'))
    await running(world)
    const plug = (...names: readonly string[]) =>
      world.patch(VirtualMachineInstance.info, 'vm1', { spec: { networks: networksOf(...names) } } as never)
    await plug('blue', 'red')
    await world.look()
    expect(await world.names()).toEqual(['vm1.blue', 'vm1.red'])
    await plug('blue')
    await world.settle()
    expect(await world.names()).toEqual(['vm1.blue', 'vm1.red'])
    world.planner = persistentClaims({ unplugged: 'delete' })
    await world.settle()
    expect(await world.names()).toEqual(['vm1.blue'])
    // unplugged and plugged again: another claim
    await plug('blue', 'red')
    await world.look()
    expect(await world.names()).toEqual(['vm1.blue', 'vm1.red'])
  })

  test('the claim of an unplugged interface stays while a Pod names it', async () => {
    const world = await new World({ unplugged: 'delete' }).put(nad('blue'), nad('red'))
    await running(world, 'vm1', 'blue', 'red')
    const annotations = { 'k8s.v1.cni.cncf.io/networks': '[{"name":"red","ipam-claim-reference":"vm1.red"}]' }
    const metadata = { namespace: 'ns1', name: 'p1', labels: { 'kubevirt.io': 'virt-launcher' }, annotations }
    await world.put({ apiVersion: 'v1', kind: 'Pod', metadata, spec: {} })
    const networks = networksOf('blue')
    await world.patch(VirtualMachine.info, 'vm1', { spec: { template: { spec: { networks } } } } as never)
    await world.patch(VirtualMachineInstance.info, 'vm1', { spec: { networks } } as never)
    await world.settle()
    expect(await world.names()).toEqual(['vm1.blue', 'vm1.red'])
    await world.patch({ ...VirtualMachine.info, apiVersion: 'v1', kind: 'Pod' }, 'p1', {
      metadata: { annotations: { 'k8s.v1.cni.cncf.io/networks': '[]' } },
    })
    await world.settle()
    expect(await world.names()).toEqual(['vm1.blue'])
  })

  test('a claim of another network is not taken for the interface', async () => {
    const world = await new World().put(nad('blue'))
    await running(world)
    await world.patch(NetworkAttachmentDefinition.info, 'blue', {
      spec: { config: '{"name":"other","allowPersistentIPs":true}' },
    })
    await world.look()
    expect(world.outcome()).toMatchObject({ kind: 'refused', reasons: ['NetworkMismatch'] })
    expect((await claim(world))?.spec).toMatchObject({ network: 'net-blue' })
  })

  test('a claim of a tenant with the name is never changed', async () => {
    const world = await new World().put(nad('blue'))
    const { apiVersion, kind } = IPAMClaim.info
    const mine = {
      apiVersion,
      kind,
      metadata: { namespace: 'ns1', name: 'vm1.blue' },
      spec: { network: 'x', interface: '' },
    }
    await world.put(mine)
    const before = await claim(world)
    await running(world)
    await world.settle()
    expect(world.outcome()).toMatchObject({ kind: 'refused', reasons: ['OwnerMismatch'] })
    expect(await claim(world)).toEqual(before)
    await world.delete(IPAMClaim.info, 'vm1.blue')
    await world.look()
    expect((await claim(world))?.metadata.finalizers).toEqual([FINALIZER])
  })

  test('a machine whose name is no label value has no claims, and others have theirs', async () => {
    const world = await new World().put(nad('blue'))
    const long = 'v'.repeat(64)
    await running(world, long)
    await running(world)
    expect(world.outcome(long)).toMatchObject({ kind: 'refused', reasons: ['InvalidName'] })
    expect(await world.names()).toEqual(['vm1.blue'])
  })

  test('a finalizer that a tenant has removed is put back while the machine lives', async () => {
    const world = await new World().put(nad('blue'))
    await running(world)
    await world.patch(IPAMClaim.info, 'vm1.blue', UNHELD)
    await world.look()
    expect((await claim(world))?.metadata.finalizers).toEqual([FINALIZER])
  })
})

describe('the off switch', () => {
  test('off: no definition is watched, no claim is made, and claims are kept and released', async () => {
    const world = await new World().put(nad('blue'))
    await running(world)
    world.planner = persistentClaims({ enabled: false })
    expect(world.planner.watches.map(({ kind }) => kind)).toEqual([
      'VirtualMachine',
      'VirtualMachineInstance',
      'IPAMClaim',
    ])
    await running(world, 'vm2')
    await world.settle()
    expect(await world.names()).toEqual(['vm1.blue'])
    expect(world.outcome('vm2')).toMatchObject({ kind: 'off' })
    await world.delete(VirtualMachine.info, 'vm1', 'Foreground')
    await world.look()
    await endMachine(world)
    await world.settle()
    expect(await world.names()).toEqual([])
    // on again: the machine that runs gets its claim
    world.planner = persistentClaims()
    await world.look()
    expect(await world.names()).toEqual(['vm2.blue'])
  })
})
