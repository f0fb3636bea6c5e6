import { Address } from 'ipam-kit/cidr'
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Plan, Planner } from 'ipam-kit/plan'
import { blockClaims, blocksOperator } from 'ipam-kit/provider/blocks'
import { runPlan, runUntilQuiet, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AnyCall } from '../../../../src/plan/effect.js'
import type { AnyResult } from '../../../../src/plan/planner.js'
import type { BlockClaims } from '../../../../src/provider/blocks/claims/claims.js'
import { passResult } from '../../pass-result.js'
import { request } from '../world.js'

const models = [IPAddressClaim, IPAddress, Cluster, IPDomain, IPPool, IPBlock]
const now = () => 1_000_000
const at = { apiVersion: IPAddressClaim.info.apiVersion, namespace: 'default', name: 'a' }
const claimRef = { ...at, kind: 'IPAddressClaim' }
const addressRef = { ...at, kind: 'IPAddress' }
const key = 'IPAddressClaim default/a'

let store: Store

/** A claim that is Bound to its IPAddress, and has a row for it. */
beforeEach(async () => {
  store = memoryStore({ kinds: models.map(({ info }) => info), now })
  const { apiVersion, kind } = IPPool.info
  unwrap(
    await store.create({ apiVersion, kind, metadata: { name: 'blue' }, spec: { subnets: [{ cidr: '10.0.0.0/24' }] } }),
  )
  const { namespace, name } = at
  const spec = { poolRef: { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: 'blue' } }
  unwrap(await store.create({ apiVersion: at.apiVersion, kind: 'IPAddressClaim', metadata: { namespace, name }, spec }))
  const claims = blockClaims()
  const external = taskCaller({ store, now, tasks: claims.tasks })
  const planners: readonly Planner[] = [claims, blocksOperator()]
  await runUntilQuiet(store, planners, { now, external })
  expect((await store.get(addressRef)).ok).toBe(true)
})

/** Shows a process all that is stored, but these kinds. */
async function show(claims: BlockClaims, without: readonly string[] = []): Promise<void> {
  for (const { apiVersion, kind } of models.map(({ info }) => info)) {
    if (without.includes(kind)) continue
    const { items } = unwrap(await store.list({ apiVersion, kind }))
    for (const object of items) claims.observe({ kind: 'present', object })
  }
}

/** The plan for the claim of a process that is shown all. */
async function planned(): Promise<Plan> {
  const claims = blockClaims()
  await show(claims)
  return claims.plan(key, { nowMs: now() }) as Plan
}

/** What a plan does, one after the other. */
function deeds({ effects }: Plan): readonly string[] {
  return effects.map((effect) => (effect.kind === 'external' ? effect.call.operation : effect.kind))
}

function callOf({ effects }: Plan): AnyCall {
  const [external] = effects
  if (external?.kind !== 'external') throw new Error('nobody is asked')
  return external.call
}

async function rowCount(): Promise<number> {
  const { apiVersion, kind } = IPBlock.info
  return unwrap(await store.list({ apiVersion, kind })).items.flatMap((it) => Object.keys(IPBlock.parse(it).spec.rows))
    .length
}

async function changeRows(rows: object): Promise<void> {
  const { apiVersion, kind } = IPBlock.info
  const [block] = unwrap(await store.list({ apiVersion, kind })).items
  unwrap(await store.patch({ apiVersion, kind, name: block?.metadata.name ?? '' }, { spec: { rows } }))
}

test('a claim that is Bound and has a row for its address costs nothing', async () => {
  const plan = await planned()
  expect([plan.outcome.kind, plan.effects]).toEqual(['bound', []])
})

test('a claim that is Bound and has a row for another address is asked for', async () => {
  const { uid } = unwrap(await store.get(claimRef)).metadata
  const row = { owner: 'default/a', uid, kind: 'IPAddressClaim.ipam.cluster.x-k8s.io', sequence: 5 }
  await changeRows({ 1: null, 7: row })
  expect(deeds(await planned())).toContain('confirm')
})

test('a claim that is not Bound yet is asked for, also where a row for its address is known: it may be deleted', async () => {
  unwrap(await store.patch(claimRef, { status: { addressRef: null, conditions: [] } }, { subresource: 'status' }))
  const plan = await planned()
  expect([plan.outcome.kind, deeds(plan).at(-1)]).toEqual(['waiting', 'confirm'])
})

test('a claim whose row was deleted while it was confirmed is asked for again', async () => {
  unwrap(await store.patch(claimRef, { status: { addressRef: null, conditions: [] } }, { subresource: 'status' }))
  const claims = blockClaims()
  await show(claims)
  const plan = claims.plan(key, { nowMs: now() }) as Plan
  const end = claims.begin?.(plan)
  const call = callOf(plan)
  const answer = await taskCaller({ store, now, tasks: claims.tasks })(call)
  expect(answer.ok).toBe(true)
  const { apiVersion, kind } = IPBlock.info
  const [block] = unwrap(await store.list({ apiVersion, kind })).items
  const { name = '', uid } = block?.metadata ?? {}
  claims.observe({ kind: 'absent', ref: { apiVersion, kind, name }, uid })
  expect(claims.onResult?.({ call, answer, atMs: now() })).toContain(key)
  end?.()
  expect(deeds(claims.plan(key, { nowMs: now() }) as Plan)).toEqual(['confirm'])
})

test('a deleted claim gives its row back when its IPAddress is deleted, and not before', async () => {
  unwrap(await store.delete(claimRef))
  const plan = await planned()
  expect(deeds(plan)).toContain('delete')
  expect(deeds(plan)).not.toContain('release')
  unwrap(await store.patch(addressRef, { metadata: { finalizers: [] } }))
  unwrap(await store.delete(addressRef))
  expect(deeds(await planned()).at(-1)).toBe('release')
})

test('a claim that is deleted keeps its row while there is an IPAddress that this process has not seen', async () => {
  unwrap(await store.delete(claimRef))
  const claims = blockClaims()
  await show(claims, ['IPAddress'])
  const external = taskCaller({ store, now, tasks: claims.tasks })
  const run = () =>
    runPlan(claims.plan(key, { nowMs: now() }) as Plan, store, {
      external,
      onChange: (change) => claims.observe(change),
      onCallResult: (call, answer) => passResult(claims, { call, answer, atMs: now() }),
    })
  expect(await run()).toMatchObject({ kind: 'conflict', failure: { code: 'STORE_CONFLICT' } })
  expect(await rowCount()).toBe(1)
  unwrap(await store.patch(addressRef, { metadata: { finalizers: [] } }))
  unwrap(await store.delete(addressRef))
  expect(await run()).toMatchObject({ kind: 'done' })
  expect(await rowCount()).toBe(0)
})

test('a claim that is deleted and has no row goes without a call', async () => {
  unwrap(await store.patch(addressRef, { metadata: { finalizers: [] } }))
  unwrap(await store.delete(addressRef))
  await changeRows({ 1: null })
  unwrap(await store.delete(claimRef))
  const plan = await planned()
  expect([plan.outcome.kind, deeds(plan)]).toEqual(['released', ['absent', 'patch']])
})

test('what was known before a reset is not known any more', async () => {
  const claims = blockClaims()
  await show(claims)
  claims.reset?.()
  await show(claims, ['IPBlock'])
  expect(deeds(claims.plan(key, { nowMs: now() }) as Plan)).toContain('confirm')
})

describe('an address that was given', () => {
  let claims: BlockClaims
  beforeEach(async () => {
    claims = blockClaims()
    await show(claims, ['IPAddress'])
    const call = callOf(claims.plan(key, { nowMs: now() }) as Plan)
    const answer = await taskCaller({ store, now, tasks: claims.tasks })(call)
    passResult(claims, { call, answer, atMs: now() })
  })

  test('is written only if the claim is still there', async () => {
    const plan = claims.plan(key, { nowMs: now() }) as Plan
    expect(deeds(plan).slice(0, 2)).toEqual(['patch', 'create'])
    const { uid, resourceVersion } = unwrap(await store.get(claimRef)).metadata
    expect(plan.effects[0]).toMatchObject({ kind: 'patch', if: { uid, resourceVersion } })
  })

  test('is not written while an IPAddress of another claim has it', async () => {
    const object = unwrap(await store.get(addressRef))
    const other = { ...object.metadata, name: 'b', uid: 'b' }
    claims.observe({ kind: 'present', object: { ...object, metadata: other } })
    const plan = claims.plan(key, { nowMs: now() }) as Plan
    expect(deeds(plan)).not.toContain('create')
    expect(plan.outcome).toMatchObject({ message: 'its address 10.0.0.1 is also that of default/b' })
  })

  test('is asked for again when an IPAddress has come and gone since: its row may be that of another one', async () => {
    const object = unwrap(await store.get(addressRef))
    claims.observe({ kind: 'present', object })
    claims.observe({ kind: 'absent', ref: addressRef, uid: object.metadata.uid })
    expect(deeds(claims.plan(key, { nowMs: now() }) as Plan)).toEqual(['allocate'])
  })
})

test.each([
  [{ kind: 'notReady', message: 'it is being deleted' }, 'PoolNotReady'],
  [{ kind: 'exhausted', message: 'no IPv4', family: 4 }, 'PoolExhausted'],
  [{ kind: 'refused', message: 'it has no IPv6' }, undefined],
] as const)('what has become of a task is the reason of its claim: %j', (outcome, reason) => {
  const { tasks } = blockClaims()
  const input = { task: 'allocate', pool: 'blue', request: request('a') } as const
  const call = { operation: 'allocate', key: 'k', about: claimRef, input }
  expect(tasks.answerOf(call, outcome, { nowMs: now() })).toEqual({
    ok: false,
    failure: {
      message: expect.stringContaining(outcome.message),
      retryable: true,
      reason,
      retryAfterSeconds: undefined,
    },
  })
})

test('an answer for a claim that was deleted meanwhile is not kept: nothing is woken for it later', async () => {
  const claims = blockClaims()
  await show(claims)
  const address = Address.parse('10.0.0.7')
  const onResult = (name: string, operation: string, answer: AnyResult['answer']) => {
    const input = { task: operation, pool: 'blue', request: request(name, { addresses: [address] }) }
    return passResult(claims, {
      call: { operation, key: name, about: { ...claimRef, name }, input },
      answer,
      atMs: now(),
    })
  }
  const taken: AnyResult['answer'] = { ok: false, failure: { message: 'taken', retryable: true } }
  expect([onResult('gone', 'allocate', taken), onResult('a', 'allocate', taken)]).toEqual([[], [key]])
  expect(
    onResult('z', 'release', { ok: true, value: { kind: 'released', message: '', allocations: [{ address }] } }),
  ).toEqual([key])
})
