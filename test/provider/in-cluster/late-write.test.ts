import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { fail, isIpamError, unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { runKey, runUntilQuiet, settle, UnsettledError } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'

const group = 'ipam.cluster.x-k8s.io'
const named = (name: string) => ({ name, namespace: 'lab' })
const poolRef = { apiGroup: group, kind: 'InClusterIPPool', name: 'nodes' }
const typeOf = ({ apiVersion, kind }: KindInfo) => ({ apiVersion, kind })
const refs = { claim: { ...typeOf(IPAddressClaim.info), namespace: 'lab' } }
const cut = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'cut' })

/**
 * A pool and two claims; the connection of the first create of an address dies, and the server does
 * it later.
 */
async function scene() {
  const below = memoryStore({ now: () => 0 })
  const pool = { addresses: ['10.0.0.0/28'], prefix: 28 }
  unwrap(
    await below.create({
      apiVersion: `${group}/v1alpha2`,
      kind: 'InClusterIPPool',
      metadata: named('nodes'),
      spec: pool,
    }),
  )
  for (const name of ['a', 'b']) {
    const claim = { apiVersion: `${group}/v1beta2`, kind: 'IPAddressClaim', metadata: named(name), spec: { poolRef } }
    unwrap(await below.create(claim))
  }
  const late: KubeObject[] = []
  const arrive = async () => {
    for (const object of late.splice(0)) await below.create(object)
  }
  const given = async () => {
    const { items } = unwrap(await below.list(IPAddress.info))
    return items.map(({ metadata, spec }) => `${metadata.name} ${(spec as { address: string }).address}`)
  }
  return { below, late, arrive, given }
}

const run = (store: Store) => runUntilQuiet(store, [inCluster()], { now: () => 0 })

test('a write that is done after it was looked for gives no address twice', async () => {
  const { below, late, arrive, given } = await scene()
  let isFirst = true
  const create: Store['create'] = async (object) => {
    if (object.metadata.name === 'a' && isFirst) {
      isFirst = false
      late.push(object)
      return cut
    }
    // the next write of that name waits until the first one is done
    if (object.metadata.name === 'a') await arrive()
    return below.create(object)
  }
  const store = storeOver(below, { create })
  const planner = inCluster()
  const show = (change: Change) => void planner.observe(change)
  for (const kind of planner.watches) {
    for (const object of unwrap(await below.list(kind)).items) show({ kind: 'present', object })
  }
  const once = (name: string) =>
    runKey(planner, `IPAddressClaim lab/${name}`, store, { now: () => 0, show, maxConflicts: 0 })
  // no second plan for a: whoever looks only at what is there gives its address to b now
  await once('a')
  await once('b')
  await arrive()
  expect(await given()).toEqual(['a 10.0.0.1', 'b 10.0.0.2'])
})

test('nothing is planned while such a write may still come', async () => {
  const { below, late, arrive, given } = await scene()
  let tries = 0
  const create: Store['create'] = async (object) => {
    if (object.metadata.name !== 'a') return below.create(object)
    if (++tries > 1) return fail('STORE_IO', { operation: 'create', problem: 'no connection to be had' })
    late.push(object)
    return cut
  }
  const ended = await run(storeOver(below, { create })).catch((error: unknown) => error)
  expect(isIpamError(ended, 'STORE_OUTCOME_UNKNOWN')).toBe(true)
  expect((ended as Error).message).toContain('create of a may or may not have been done')
  expect(isIpamError((ended as Error).cause, 'STORE_IO')).toBe(true)
  expect(await given(), 'b must not get what a may have').toEqual([])
  expect(ended).toBeInstanceOf(UnsettledError)
  const { unsettled } = ended as UnsettledError
  const found = unwrap(await settle(below, unsettled))
  expect(found).toMatchObject({ source: 'written', change: { object: { metadata: { name: 'a' } } } })
  await arrive()
  await run(below)
  expect(await given()).toEqual(['a 10.0.0.1', 'b 10.0.0.2'])
})

test('a patch that is done only when its address is given back does not keep the address', async () => {
  const { below, given } = await scene()
  unwrap(await below.delete({ ...refs.claim, name: 'b' }))
  // as after a restore: the address is there, without owners and finalizer
  const spec = { poolRef, claimRef: { name: 'a' }, address: '10.0.0.5', prefix: 28 }
  unwrap(await below.create({ ...typeOf(IPAddress.info), metadata: named('a'), spec }))
  const late: (() => Promise<unknown>)[] = []
  let isDown = false
  const arrive = async () => {
    for (const write of late.splice(0)) await write()
  }
  const store = storeOver(below, {
    get: async (ref) => (isDown ? fail('STORE_IO', { operation: 'get', problem: 'down' }) : below.get(ref)),
    patch: async (ref, patch, options) => {
      if (ref.kind !== 'IPAddress' || isDown) return below.patch(ref, patch, options)
      if (late.length === 0 && !isAdopted) {
        isAdopted = true
        isDown = true
        late.push(() => below.patch(ref, patch, options))
        return cut
      }
      await arrive()
      return below.patch(ref, patch, options)
    },
    delete: async (ref, options) => {
      if (ref.kind === 'IPAddress') await arrive()
      return below.delete(ref, options)
    },
  })
  let isAdopted = false
  const planner = inCluster()
  const show = (change: Change) => void planner.observe(change)
  for (const kind of planner.watches) {
    for (const object of unwrap(await below.list(kind)).items) show({ kind: 'present', object })
  }
  const plan = () => runKey(planner, 'IPAddressClaim lab/a', store, { now: () => 0, show })
  const adopting = await plan()
  expect(adopting.kind).toBe('unsettled')
  isDown = false
  if (adopting.kind === 'unsettled') show(unwrap(await settle(store, adopting.unsettled)).change)
  show({ kind: 'present', object: unwrap(await below.delete({ ...refs.claim, name: 'a' })) })
  expect((await plan()).kind).toBe('done')
  expect(await given()).toEqual([])
})

test('an IPAddress that arrives when another claim has its address is not taken for that of a claim of its name', async () => {
  const { below, late, arrive, given } = await scene()
  unwrap(await below.delete({ ...refs.claim, name: 'b' }))
  let isFirst = true
  const create: Store['create'] = async (object) => {
    if (object.kind !== 'IPAddress' || !isFirst) return below.create(object)
    isFirst = false
    late.push(object)
    return cut
  }
  const store = storeOver(below, { create })
  // what was sent second arrives first
  await run(store)
  expect(await given()).toEqual(['a 10.0.0.1'])
  unwrap(await below.delete({ ...refs.claim, name: 'a' }))
  const claim = { ...typeOf(IPAddressClaim.info), spec: { poolRef } }
  unwrap(await below.create({ ...claim, metadata: named('b') }))
  await run(store)
  expect(await given()).toEqual(['b 10.0.0.1'])
  await arrive()
  unwrap(await below.create({ ...claim, metadata: named('a') }))
  const { outcomes } = await run(store)
  expect(outcomes.get('IPAddressClaim lab/b')).toMatchObject({ kind: 'bound', address: '10.0.0.1' })
  expect(outcomes.get('IPAddressClaim lab/a')).toMatchObject({
    kind: 'waiting',
    reason: 'AllocationFailed',
    message: 'IPAddress lab/a is in the way: its address 10.0.0.1 is also that of lab/b',
  })
  // when the other one has gone it is adopted, as after a restore
  unwrap(await below.delete({ ...refs.claim, name: 'b' }))
  await run(store)
  expect((await run(store)).outcomes.get('IPAddressClaim lab/a')).toMatchObject({ kind: 'bound', address: '10.0.0.1' })
})
