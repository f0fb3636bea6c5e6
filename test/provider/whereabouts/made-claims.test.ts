import { StatefulSet } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { add } from 'ipam-kit/provider/whereabouts'
import { runTask } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { claim, IPAMClaim, KINDS, World } from './world.js'

const RANGE = { range: '10.0.0.0/24' }
const rest = { args: { cni: { 'ipam-claim-reference': 'web-0.lab' } } }
const OWNERS = { claimOwners: [StatefulSet.info] }
const NONE = 'noClaim: IPAMClaim ns/web-0.lab'

class ClaimWorld extends World {
  override readonly store = memoryStore({ now: () => this.nowMs, kinds: [...KINDS, StatefulSet.info] })
}

function set(metadata: object = {}): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { namespace: 'ns', name: 'web', ...metadata },
    spec: {},
  }
}

function pod(owner: string | undefined = 'StatefulSet.apps/web', name = 'web-0'): KubeObject {
  const annotations = { 'ipam-kit.dev/claim-owner': owner }
  const metadata = { namespace: 'ns', name, ...(owner !== '' && { annotations }) }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: 'n1' }, status: { phase: 'Running' } }
}

test('an ADD makes the claim with the owner of its Pod, and the next Pod has its address', async () => {
  const world = new ClaimWorld()
  await world.create(set(), pod())
  const { uid } = (await world.get(StatefulSet.info, 'web', 'ns')).metadata
  expect(await world.add(RANGE, { pod: 'web-0', rest }, OWNERS)).toEqual(['10.0.0.1/24'])
  const made = await world.get(IPAMClaim.info, 'web-0.lab', 'ns')
  expect(made.metadata.ownerReferences).toEqual([{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid }])
  expect(made.metadata.finalizers ?? []).toEqual([])
  expect(made.metadata.annotations).toEqual({ 'ipam-kit.dev/claim-owner': 'StatefulSet.apps/web' })
  expect([made.spec, made.status]).toEqual([
    { network: 'lab', interface: '' },
    { ips: ['10.0.0.1/24'], ownerPod: { name: 'web-0' } },
  ])
  expect(await world.del(RANGE, { pod: 'web-0', rest })).toBe('kept 10.0.0.1')
  await world.remove({ apiVersion: 'v1', kind: 'Pod' }, 'web-0', 'ns')
  expect(await world.add(RANGE, { pod: 'x' })).toEqual(['10.0.0.2/24'])
  await world.create(pod())
  expect(await world.add(RANGE, { pod: 'web-0', container: 'c2', rest }, OWNERS)).toEqual(['10.0.0.1/24'])
  expect(world.requests.filter((request) => request.startsWith('create IPAMClaim'))).toEqual([])
})

test('without the option no claim is made', async () => {
  const world = new ClaimWorld()
  await world.create(set(), pod())
  expect(await world.add(RANGE, { pod: 'web-0', rest })).toBe(`${NONE}: it does not exist`)
  expect(world.requests.some((request) => /Pod|StatefulSet/.test(request))).toBe(false)
})

test.each<[string, readonly KubeObject[], string]>([
  ['the Pod does not exist', [set()], 'noPod: Pod ns/web-0 does not exist any more'],
  ['the Pod names no owner', [set(), pod('')], 'Pod ns/web-0 has no annotation ipam-kit.dev/claim-owner'],
  ['the owner does not exist', [pod()], 'StatefulSet ns/web does not exist'],
  ['a kind is not allowed', [set(), pod('Secret/web')], 'the kind "Secret" is not one of StatefulSet.apps'],
  ['one owner of two does not exist', [set(), pod('StatefulSet.apps/web,StatefulSet.apps/db')], 'ns/db does not exist'],
])('%s: no claim is made, and no row', async (_, objects, sentence) => {
  const world = new ClaimWorld()
  await world.create(...objects)
  expect(await world.add(RANGE, { pod: 'web-0', rest }, OWNERS)).toContain(sentence)
  expect(await world.rows()).toEqual([])
  expect(world.requests.filter((request) => request.startsWith('create'))).toEqual([])
})

test('an owner or a Pod that is being deleted makes no claim', async () => {
  const going = new ClaimWorld()
  await going.create(set({ finalizers: ['x/y'] }), pod())
  await going.remove(StatefulSet.info, 'web', 'ns')
  expect(await going.add(RANGE, { pod: 'web-0', rest }, OWNERS)).toContain('StatefulSet ns/web is being deleted')
  const late = new ClaimWorld()
  const { metadata, ...other } = pod()
  await late.create(set(), { ...other, metadata: { ...metadata, finalizers: ['x/y'] } })
  await late.remove({ apiVersion: 'v1', kind: 'Pod' }, 'web-0', 'ns')
  expect(await late.add(RANGE, { pod: 'web-0', rest }, OWNERS)).toContain('Pod ns/web-0 is being deleted')
})

test('a late ADD of an earlier Pod makes no claim for the later one of its name', async () => {
  const world = new ClaimWorld()
  await world.create(set(), pod())
  const uid = 'earlier'
  expect(await world.add(RANGE, { pod: 'web-0', uid, rest }, OWNERS)).toBe(
    'noPod: Pod ns/web-0 does not exist any more',
  )
})

test('a claim that exists stays as it is', async () => {
  const world = new ClaimWorld()
  await world.create(set(), pod(), claim('web-0.lab', { ips: ['10.0.0.9/24'] }))
  expect(await world.add(RANGE, { pod: 'web-0', rest }, OWNERS)).toEqual(['10.0.0.9/24'])
  expect((await world.get(IPAMClaim.info, 'web-0.lab', 'ns')).metadata.ownerReferences).toBeUndefined()
})

test('of two ADDs at once one makes the claim, and its address is one', async () => {
  const world = new ClaimWorld()
  await world.create(set(), pod())
  const tasks = ['c1', 'c2'].map((container) => add(world.request(RANGE, { pod: 'web-0', container, rest }), OWNERS))
  const results = await Promise.all(tasks.map((task) => runTask(task, world.client, { now: () => world.nowMs })))
  expect(results.map(({ kind }) => kind)).toEqual(['done', 'done'])
  expect((await world.rows()).map((row) => row.split(' ')[0])).toEqual(['10.0.0.1'])
})

test('a claim that the store refuses is reported, and nothing is left', async () => {
  const world = new ClaimWorld()
  await world.create(set(), pod())
  world.refuse = (request) => request.startsWith('create IPAMClaim')
  expect(await world.add(RANGE, { pod: 'web-0', rest }, OWNERS)).toMatch(/^denied: /)
  expect(await world.rows()).toEqual([])
})
