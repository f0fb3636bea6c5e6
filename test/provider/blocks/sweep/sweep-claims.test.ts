import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { blocksSweep } from 'ipam-kit/provider/blocks'
import { runPlan } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import { blocksIn, kinds, poolIn } from '../world.js'

const BLOCK = 'default-4-0a000000-28'
const GRACE_S = 60

let store: Store
let nowMs: number
let sweep: Planner
beforeEach(async () => {
  nowMs = 1_000_000
  store = memoryStore({ kinds: [...kinds, IPAddressClaim.info, IPAddress.info], now: () => nowMs })
  sweep = blocksSweep({ owners: [IPAddressClaim.info], graceSeconds: GRACE_S })
  await show(await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }] }))
})

async function show(object: KubeObject): Promise<void> {
  const { apiVersion, kind } = object
  const { namespace, name } = object.metadata
  sweep.observe({ kind: 'present', object: unwrap(await store.get({ apiVersion, kind, namespace, name })) })
}

const { apiVersion } = IPAddressClaim.info
const CLAIM = { apiVersion, kind: 'IPAddressClaim', namespace: 'ns', name: 'c' }
const ADDRESS = { ...CLAIM, kind: 'IPAddress' }
const poolRef = { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: 'blue' }

async function makeClaim(): Promise<KubeObject> {
  const metadata = { namespace: 'ns', name: 'c' }
  return unwrap(await store.create({ apiVersion, kind: 'IPAddressClaim', metadata, spec: { poolRef } }))
}

async function makeAddress(address: string, uid: string): Promise<KubeObject> {
  const owner = { apiVersion, kind: 'IPAddressClaim', name: 'c', uid, controller: true, blockOwnerDeletion: true }
  const spec = { claimRef: { name: 'c' }, poolRef, address, prefix: 24 }
  const metadata = { namespace: 'ns', name: 'c', ownerReferences: [owner] }
  return unwrap(await store.create({ apiVersion, kind: 'IPAddress', metadata, spec }))
}

/** The first address of the block, for a claim of this uid. */
async function makeRow(uid: string): Promise<void> {
  const row = { owner: 'ns/c', uid, kind: 'IPAddressClaim.ipam.cluster.x-k8s.io', sequence: 1 }
  const { apiVersion, kind } = IPBlock.info
  const spec = { cidr: '10.0.0.0/28', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 1 }
  await show(
    unwrap(await store.create({ apiVersion, kind, metadata: { name: BLOCK }, spec: { ...spec, rows: { 1: row } } })),
  )
}

/** Plans once. @returns what became of it */
async function work(): Promise<string> {
  const plan = sweep.plan(BLOCK, { nowMs })
  if (plan === undefined || plan.effects.length === 0) return plan?.outcome.kind ?? 'nothing'
  const ended = await runPlan(plan, store, { onChange: (change) => sweep.observe(change) })
  return ended.kind === 'done' ? 'done' : ended.failure.code
}

const uidsIn = async () => (await blocksIn(store)).flatMap(({ spec }) => Object.values(spec.rows).map(({ uid }) => uid))

describe('the row of a claim that is gone', () => {
  test('stays if its IPAddress is another one by now, which has the address', async () => {
    await makeRow('old')
    await show(await makeAddress('10.0.0.9', 'older'))
    expect(await work()).toBe('waiting')
    // the watch of IPAddresses does not tell that it was made anew, for the claim that has it now
    unwrap(await store.delete(ADDRESS))
    const heir = await makeClaim()
    const address = await makeAddress('10.0.0.1', heir.metadata.uid ?? '')
    await show(heir)
    nowMs += GRACE_S * 1000
    expect(await work()).toBe('STORE_CONFLICT')
    expect(await uidsIn()).toEqual(['old'])
    await show(address)
    expect(await work()).toBe('done')
    expect(await uidsIn()).toEqual([heir.metadata.uid])
  })

  test('stays if there is an IPAddress that was not seen', async () => {
    await makeRow('old')
    expect(await work()).toBe('waiting')
    await makeAddress('10.0.0.1', 'old')
    nowMs += GRACE_S * 1000
    expect(await work()).toBe('STORE_CONFLICT')
    expect(await uidsIn()).toEqual(['old'])
  })

  test('is looked at again when the IPAddress goes that had its address, whichever claim of the name that was for', async () => {
    await makeRow('older')
    await show(await makeAddress('10.0.0.1', 'old'))
    expect(await work()).toBe('ready')
    const { uid } = unwrap(await store.delete(ADDRESS)).metadata
    expect(sweep.observe({ kind: 'absent', ref: ADDRESS, uid })).toContain(BLOCK)
    expect(await work()).toBe('waiting')
  })

  test('stays while its IPAddress says what is no address', async () => {
    const claim = await makeClaim()
    await show(claim)
    await makeRow(claim.metadata.uid ?? '')
    await show(await makeAddress('10.0.0.1/28', claim.metadata.uid ?? ''))
    expect(await work()).toBe('ready')
    expect(await uidsIn()).toEqual([claim.metadata.uid])
  })

  test('goes if its name has another address', async () => {
    await makeRow('old')
    const heir = await makeClaim()
    await show(heir)
    await show(await makeAddress('10.0.0.9', heir.metadata.uid ?? ''))
    expect(await work()).toBe('waiting')
    nowMs += GRACE_S * 1000
    expect(await work()).toBe('done')
    expect(await uidsIn()).toEqual([])
  })

  test('stays while its IPAddress has the address and no claim has adopted that, or it cannot be read', async () => {
    await makeRow('old')
    const address = await makeAddress('10.0.0.1', 'old')
    await show(address)
    nowMs += GRACE_S * 1000
    expect(await work()).toBe('ready')
    await show(await makeClaim())
    nowMs += GRACE_S * 1000
    expect(await work()).toBe('ready')
    unwrap(await store.patch(ADDRESS, { spec: { address: null } }))
    await show(address)
    nowMs += GRACE_S * 1000
    expect(await work()).toBe('ready')
    expect(await uidsIn()).toEqual(['old'])
  })
})

describe('the row of a claim that is there', () => {
  test('goes if its IPAddress has another address, as that is now', async () => {
    const claim = await makeClaim()
    const uid = claim.metadata.uid ?? ''
    await show(claim)
    await makeRow(uid)
    expect(await work()).toBe('ready')
    const address = await makeAddress('10.0.0.9', uid)
    await show(address)
    unwrap(await store.patch(ADDRESS, { metadata: { labels: { changed: 'yes' } } }))
    expect(await work()).toBe('STORE_CONFLICT')
    expect(await uidsIn()).toEqual([uid])
    await show(address)
    expect(await work()).toBe('done')
    expect(await uidsIn()).toEqual([])
  })

  test('stays beside an IPAddress of another one, or one that goes', async () => {
    const claim = await makeClaim()
    const uid = claim.metadata.uid ?? ''
    await show(claim)
    await makeRow(uid)
    const address = await makeAddress('10.0.0.9', 'another')
    await show(address)
    expect(await work()).toBe('ready')
    const owners = [{ ...CLAIM, namespace: undefined, uid, controller: true }]
    unwrap(await store.patch(ADDRESS, { metadata: { ownerReferences: owners, finalizers: ['a/b'] } }))
    unwrap(await store.delete(ADDRESS))
    await show(address)
    expect(await work()).toBe('ready')
    expect(await uidsIn()).toEqual([uid])
  })
})
