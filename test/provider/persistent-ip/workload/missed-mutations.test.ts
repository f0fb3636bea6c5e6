import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { persistentClaims } from 'ipam-kit/provider/persistent-ip'
import { expect, test } from 'vitest'
import { instance, machine, nad } from '../objects.js'
import { World } from './world.js'

const NETWORKS = 'k8s.v1.cni.cncf.io/networks'
const REPORT = { missedMutations: 'report' } as const

function launcher(name: string, ...networks: readonly object[]): KubeObject {
  const annotations = { 'kubevirt.io/domain': 'vm1', [NETWORKS]: JSON.stringify(networks) }
  const metadata = { namespace: 'ns1', name, labels: { 'kubevirt.io': 'virt-launcher' }, annotations }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: {}, status: { phase: 'Running' } }
}

const NAMED = { name: 'blue', 'ipam-claim-reference': 'vm1.blue' }

async function running(options: object, ...pods: readonly KubeObject[]): Promise<World> {
  const world = await new World(options).put(nad('blue'), machine('vm1', 'blue'))
  await world.put(instance('vm1', await world.get(VirtualMachine.info, 'vm1'), 'blue'), ...pods)
  return world.settle()
}

const reasons = (world: World) => world.events.map(({ about, reason }) => `${about.kind} ${about.name} ${reason}`)

async function condition(world: World): Promise<string | undefined> {
  const { conditions = [] } = ((await world.get(IPAMClaim.info, 'vm1.blue'))?.status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
  }
  const found = conditions.find(({ type }) => type === 'MutationMissed')
  return found && `${found.status} ${found.reason}`
}

test('a Pod that the webhook did not see is reported on the Pod and on the claim, once', async () => {
  const world = await running(REPORT, launcher('p1', { name: 'blue' }))
  expect(reasons(world)).toEqual(['Pod p1 MutationMissed'])
  expect(world.events[0]?.message).toBe('Pod p1 does not name vm1.blue: its addresses do not stay')
  expect(await condition(world)).toBe('True PodWithoutClaim')
  expect((await world.get(IPAMClaim.info, 'vm1.blue'))?.status).toMatchObject({ ips: [] })
  expect(world.outcome()).toMatchObject({ kind: 'missed' })
})

test('a Pod that names its claim is not reported, and no status is written', async () => {
  const world = await running(REPORT, launcher('p1', NAMED))
  expect([reasons(world), await condition(world), world.outcome()?.kind]).toEqual([[], undefined, 'kept'])
})

test('the condition is set back when the next Pod names the claim, and keeps the addresses', async () => {
  const world = await running(REPORT, launcher('p1', { name: 'blue' }))
  const { conditions = [] } = ((await world.get(IPAMClaim.info, 'vm1.blue'))?.status ?? {}) as {
    readonly conditions?: readonly object[]
  }
  const allocated = {
    type: 'IPsAllocated',
    status: 'True',
    reason: 'SuccessfulAllocation',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const status = { ips: ['10.0.0.1/24'], conditions: [...conditions, allocated] }
  await world.patch(IPAMClaim.info, 'vm1.blue', { status: status as never }, 'status')
  await world.delete(Pod.info, 'p1')
  await (await world.put(launcher('p2', NAMED))).settle()
  expect(await condition(world)).toBe('False ClaimNamed')
  expect((await world.get(IPAMClaim.info, 'vm1.blue'))?.status).toMatchObject({
    ips: ['10.0.0.1/24'],
    conditions: [{ type: 'MutationMissed' }, { type: 'IPsAllocated', status: 'True' }],
  })
})

test('a Pod that has ended, and a network that is not in the Pod yet, are no missed mutation', async () => {
  const world = await running(REPORT, launcher('old', { name: 'blue' }), launcher('p1'))
  await world.patch(Pod.info, 'old', { status: { phase: 'Succeeded' } }, 'status')
  world.events.length = 0
  await world.settle()
  expect([reasons(world), await condition(world)]).toEqual([[], 'False ClaimNamed'])
})

test('a machine that is stopped has no missed mutation any more', async () => {
  const world = await running(REPORT, launcher('p1', { name: 'blue' }))
  await world.delete(Pod.info, 'p1')
  await world.patch(VirtualMachineInstance.info, 'vm1', { metadata: { finalizers: null } })
  await (await world.delete(VirtualMachineInstance.info, 'vm1')).settle()
  expect(await condition(world)).toBe('False ClaimNamed')
})

test.each([
  ['by default', {}],
  ['with the feature off', { ...REPORT, enabled: false }],
])('no Pod is compared %s', async (_, options) => {
  const world = await running(options, launcher('p1', { name: 'blue' }))
  expect([reasons(world), [...world.planner.watches].some(({ kind }) => kind === 'Pod')]).toEqual([[], false])
})

test('a Pod wakes its machine, also when it is deleted', () => {
  const planner = persistentClaims(REPORT)
  const pod = launcher('p1', { name: 'blue' })
  const object = { ...pod, metadata: { ...pod.metadata, uid: 'u1', resourceVersion: '1' } }
  expect(planner.observe({ kind: 'present', object })).toEqual(['VirtualMachine ns1/vm1'])
  const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'ns1', name: 'p1' }
  expect(planner.observe({ kind: 'absent', ref })).toEqual(['VirtualMachine ns1/vm1'])
})

test('a network that is ephemeral has no missed mutation', async () => {
  const world = await running({ ...REPORT, sticky: () => 'ephemeral' as const }, launcher('p1', { name: 'blue' }))
  expect(reasons(world)).toEqual([])
})
