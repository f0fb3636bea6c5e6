import { Pod, StatefulSet } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine } from 'ipam-kit/crd/kubevirt'
import {
  persistentClaims,
  readClaimOwners,
  type WorkloadClaimsOptions,
  workloadClaims,
} from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { claimingPod, instance, machine, nad, statefulSet, UNHELD } from '../objects.js'
import { World } from './world.js'

const KINDS = [StatefulSet.info]
const FINALIZER = 'ipam-kit.dev/claim-owner'

const worldOf = (options: Partial<WorkloadClaimsOptions> = {}) =>
  new World(workloadClaims({ kinds: KINDS, ...options }))
const outcome = (world: World, claim = 'web-0.blue') => world.outcomes.get(`IPAMClaim ns1/${claim}`)
const claim = (world: World, name = 'web-0.blue') => world.get(IPAMClaim.info, name)
const uidOf = async (world: World, name = 'web') => (await world.get(StatefulSet.info, name))?.metadata.uid

describe('claims of a workload', () => {
  test('are made for its Pods, and stay while it is scaled down and up', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'))
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.put(claimingPod('web-1', 'web-1.blue', 'StatefulSet.apps/web'))
    await world.look()
    expect(await world.names()).toEqual(['web-0.blue', 'web-1.blue'])
    const before = await claim(world, 'web-1.blue')
    expect(before).toMatchObject({
      metadata: {
        finalizers: [FINALIZER],
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: await uidOf(world) }],
      },
      spec: { network: 'net-blue', interface: '' },
    })
    await world.delete(Pod.info, 'web-1')
    await world.settle()
    await world.put(claimingPod('web-1', 'web-1.blue', 'StatefulSet.apps/web'))
    await world.settle()
    expect(await claim(world, 'web-1.blue')).toEqual(before)
  })

  test.each(['Background', 'Foreground'] as const)(
    '%s deletion: the claims are deleted after the last Pod',
    async (how) => {
      const world = await worldOf().put(nad('blue'), statefulSet('web'))
      await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
      await world.look()
      await world.delete(StatefulSet.info, 'web', how)
      await world.settle()
      // the owner does not wait for its claim
      expect(await uidOf(world)).toBeUndefined()
      expect((await claim(world))?.metadata.finalizers).toEqual([FINALIZER])
      await world.delete(Pod.info, 'web-0')
      await world.settle()
      expect(await world.names()).toEqual([])
    },
  )

  test('an orphan deletion: the claim is that of the next owner of the name', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'))
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.look()
    const before = await claim(world)
    await world.delete(StatefulSet.info, 'web', 'Orphan')
    await world.settle()
    expect((await claim(world))?.metadata.ownerReferences ?? []).toEqual([])
    await world.put(statefulSet('web'))
    await world.look()
    const after = await claim(world)
    expect(after?.metadata.uid).toBe(before?.metadata.uid)
    expect(after?.metadata.ownerReferences).toMatchObject([{ uid: await uidOf(world) }])
  })

  test('T1: an owner that is made again under its name gets no claim that is being deleted', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'))
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.look()
    const first = await claim(world)
    await world.delete(StatefulSet.info, 'web')
    await world.look()
    await world.put(statefulSet('web'))
    await world.look()
    expect(outcome(world)).toMatchObject({ kind: 'refused', reasons: ['ClaimTerminating'] })
    // the Pod that has the address keeps the claim, and one that comes later does not
    await world.settle()
    expect((await claim(world))?.metadata.uid).toBe(first?.metadata.uid)
    await world.delete(Pod.info, 'web-0')
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.settle()
    const next = await claim(world)
    expect(next?.metadata.uid).not.toBe(first?.metadata.uid)
    expect(next?.metadata.ownerReferences).toMatchObject([{ uid: await uidOf(world) }])
  })

  test('several owners: the claim goes with the last', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'), statefulSet('db'))
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.look()
    await world.put(claimingPod('web-1', 'web-0.blue', 'StatefulSet.apps/web, StatefulSet.apps/db'))
    await world.look()
    expect((await claim(world))?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['web', 'db'])
    for (const pod of ['web-0', 'web-1']) await world.delete(Pod.info, pod)
    await world.delete(StatefulSet.info, 'web')
    await world.settle()
    expect((await claim(world))?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['db'])
    await world.delete(StatefulSet.info, 'db')
    await world.settle()
    expect(await world.names()).toEqual([])
  })

  test('a tenant cannot use the claim of another owner, nor a kind that is not listed', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'), statefulSet('db'))
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.look()
    const before = await claim(world)
    await world.put(claimingPod('thief', 'web-0.blue', 'StatefulSet.apps/db'))
    await world.put(claimingPod('other', 'other.blue', 'Secret/token'))
    await world.put(claimingPod('early', 'early.blue', 'StatefulSet.apps/none'))
    await world.settle()
    expect(outcome(world)).toMatchObject({ kind: 'refused', reasons: ['OwnerMismatch'] })
    expect(outcome(world, 'other.blue')).toMatchObject({ kind: 'refused', reasons: ['InvalidOwner'] })
    expect(outcome(world, 'early.blue')).toMatchObject({ kind: 'refused', reasons: ['OwnerNotFound'] })
    expect(await claim(world)).toEqual(before)
    expect(await world.names()).toEqual(['web-0.blue'])
    expect(world.events.map(({ about, reason }) => `${about.name} ${reason}`).sort()).toEqual([
      'early OwnerNotFound',
      'other InvalidOwner',
      'thief OwnerMismatch',
    ])
    await world.put(statefulSet('none'))
    await world.look()
    expect(await world.names()).toEqual(['early.blue', 'web-0.blue'])
  })

  test('claims that this planner has not made are never changed', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'))
    const { apiVersion, kind } = IPAMClaim.info
    const metadata = { namespace: 'ns1', name: 'web-0.blue' }
    await world.put({ apiVersion, kind, metadata, spec: { network: 'net-blue', interface: '' } })
    const before = await claim(world)
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.settle()
    expect(await claim(world)).toEqual(before)
    expect(outcome(world)).toMatchObject({ kind: 'refused', reasons: ['OwnerMismatch'] })
  })

  test('a network that does not exist, and names that no claim can have', async () => {
    const world = await worldOf().put(statefulSet('web'))
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.put(claimingPod('web-1', 'a/b', 'StatefulSet.apps/web'))
    await world.put(claimingPod('web-2', 'x'.repeat(300), 'StatefulSet.apps/web'))
    await world.look()
    expect(outcome(world)).toMatchObject({ kind: 'refused', reasons: ['NetworkNotReady'] })
    expect(await world.names()).toEqual([])
    await world.put(nad('blue'))
    await world.look()
    expect(await world.names()).toEqual(['web-0.blue'])
  })

  test('a Pod whose annotations cannot be read keeps the claims of its namespace', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'))
    const pod = claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web')
    await world.put(pod)
    await world.look()
    await world.patch(Pod.info, 'web-0', { metadata: { annotations: { 'k8s.v1.cni.cncf.io/networks': '[{' } } })
    await world.delete(StatefulSet.info, 'web')
    await world.settle()
    expect((await claim(world))?.metadata.finalizers).toEqual([FINALIZER])
    await world.delete(Pod.info, 'web-0')
    await world.settle()
    expect(await world.names()).toEqual([])
  })

  test('the claims that waited for a Pod whose annotations cannot be read are planned when it is deleted', () => {
    const planner = workloadClaims({ kinds: KINDS })
    const metadata = { namespace: 'ns1', name: 'web-0.blue', uid: 'c', resourceVersion: '1', finalizers: [FINALIZER] }
    const pod = claimingPod('junk', 'other', 'StatefulSet.apps/web')
    const annotations = { ...pod.metadata.annotations, 'k8s.v1.cni.cncf.io/networks': '[{' }
    planner.observe({ kind: 'present', object: { ...IPAMClaim.info, metadata } })
    const object = { ...pod, metadata: { ...pod.metadata, annotations, uid: 'p', resourceVersion: '2' } }
    planner.observe({ kind: 'present', object })
    const ref = { ...Pod.info, namespace: 'ns1', name: 'junk' }
    expect(planner.observe({ kind: 'absent', ref, uid: 'p' })).toContain('IPAMClaim ns1/web-0.blue')
  })

  test('a claim of a machine that a Pod has asked for is not a claim of KubeVirt', async () => {
    const world = new World(workloadClaims({ kinds: [VirtualMachine.info] }))
    await world.put(nad('blue'), machine('vm1', 'blue'))
    await world.put(claimingPod('p', 'p.blue', 'VirtualMachine.kubevirt.io/vm1'))
    await world.look()
    const before = await claim(world, 'p.blue')
    expect(before?.metadata.ownerReferences).toMatchObject([{ kind: 'VirtualMachine', name: 'vm1' }])
    await world.put(instance('vm1', await world.get(VirtualMachine.info, 'vm1'), 'blue'))
    world.planner = persistentClaims()
    await world.settle()
    expect(await claim(world, 'p.blue')).toEqual(before)
  })

  test('off: no claim is made, and claims are kept and released', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'))
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.look()
    world.planner = workloadClaims({ kinds: KINDS, enabled: false })
    expect(world.planner.watches.map(({ kind }) => kind)).not.toContain('NetworkAttachmentDefinition')
    await world.put(claimingPod('web-1', 'web-1.blue', 'StatefulSet.apps/web'))
    await world.settle()
    expect(await world.names()).toEqual(['web-0.blue'])
    for (const pod of ['web-0', 'web-1']) await world.delete(Pod.info, pod)
    await world.delete(StatefulSet.info, 'web')
    await world.settle()
    expect(await world.names()).toEqual([])
  })

  test('a finalizer that a tenant has removed is put back', async () => {
    const world = await worldOf().put(nad('blue'), statefulSet('web'))
    await world.put(claimingPod('web-0', 'web-0.blue', 'StatefulSet.apps/web'))
    await world.look()
    await world.patch(IPAMClaim.info, 'web-0.blue', UNHELD)
    await world.look()
    expect((await claim(world))?.metadata.finalizers).toEqual([FINALIZER])
  })
})

describe('the annotation with owners', () => {
  test.each([
    ['StatefulSet.apps/web', 'web'],
    [' StatefulSet.apps/web ,StatefulSet.apps/db', 'web db'],
    ['StatefulSet.apps/web,StatefulSet.apps/web', 'web'],
    ['', 'expected kind.group/name, got ""'],
    ['web', 'expected kind.group/name'],
    ['StatefulSet/web', 'the kind "StatefulSet" is not one of StatefulSet.apps'],
    ['statefulset.apps/web', 'the kind "statefulset.apps" is not one of StatefulSet.apps'],
    ['StatefulSet.apps/', '""'],
    ['StatefulSet.apps/other/web', '"other/web"'],
    [Array.from({ length: 9 }, (_, each) => `StatefulSet.apps/w${each}`).join(), '9 owners'],
  ])('%j', (annotation, expected) => {
    const read = readClaimOwners(annotation, KINDS)
    const got = read.ok ? read.value.map(({ name }) => name).join(' ') : read.failure.message
    expect(got).toContain(expected)
  })
})

test.each([
  ['no kind', { kinds: [] }],
  ['a cluster-scoped kind', { kinds: [{ ...StatefulSet.info, namespaced: false }] }],
  ['a negative time', { kinds: KINDS, graceSeconds: -1 }],
])('refuses options: %s', (_, options) => {
  expect(() => workloadClaims(options)).toThrow('workloadClaims')
})
