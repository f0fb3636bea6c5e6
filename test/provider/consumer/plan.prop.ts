import fc from 'fast-check'
import type { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Effect, Plan } from 'ipam-kit/plan'
import {
  type ConsumerDevice,
  type ConsumerInput,
  type ConsumerOutcome,
  claimsFor,
  type DesiredClaim,
  dialects,
  EARLIER_UID_ANNOTATION,
  planClaims,
  protectedBy,
  releasePlan,
} from 'ipam-kit/provider/consumer'
import { crashingStore, SimulatedCrash } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { isJsonPatch } from '../../../src/plan/field-guards.js'
import { addressOf, type ClaimParts, ConsumerStore, claimOf, machine, poolRef } from './world.js'

const dialect = fc.constantFrom(dialects.capv, dialects.proxmox, dialects.metal3, dialects.openshift, {
  ...dialects.contract,
  ...protectedBy('example.com/ip-claim'),
})
const CLUSTER = 'cluster.x-k8s.io/cluster-name'
const EARLIER = 'of an earlier one'
const OWNERSHIP = ['mine', 'mine', 'mine', 'unowned', 'earlier', 'unnamed', 'foreign'] as const

/** A claim that is there before anything is planned. */
const found = fc.record({
  ownership: fc.constantFrom(...OWNERSHIP),
  hasFinalizer: fc.boolean(),
  isHeldByOthers: fc.boolean(),
  isDeleting: fc.boolean(),
  cluster: fc.constantFrom('own', 'own', 'none', 'red'),
  pool: fc.constantFrom('same', 'same', 'same', 'other'),
  address: fc.constantFrom('none', 'good', 'good', 'missing', 'of another pool', 'of another claim'),
})
type Found = typeof found extends fc.Arbitrary<infer T> ? T : never

const scene = fc.record({
  dialect,
  /** Pools of each device that is in the spec, and whether each of them has a claim already. */
  devices: fc.array(fc.array(fc.option(found, { nil: undefined }), { maxLength: 3 }), { maxLength: 3 }),
  /** Claims of a device that was in the spec. */
  removed: fc.array(found, { maxLength: 2 }),
  isDetached: fc.boolean(),
})
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never

interface Stage {
  readonly world: ConsumerStore
  /** What is planned from, read anew. */
  input(owner?: KubeObject): Promise<ConsumerInput>
  readonly detached: readonly string[]
}

/** Sets a scene up in a store. */
async function stage({ dialect: naming, devices, removed, isDetached }: Scene): Promise<Stage> {
  const world = new ConsumerStore()
  const owner = await world.put(
    machine('vm', { labels: { [CLUSTER]: 'blue' }, annotations: { [EARLIER_UID_ANNOTATION]: EARLIER } }),
  )
  const deviceOf = (pools: readonly unknown[], index: number): ConsumerDevice => {
    return { name: `net${index}`, pools: pools.map((_, place) => poolRef(`pool-${index}-${place}`)) }
  }
  const inSpec = devices.map(deviceOf)
  const before = claimsFor(owner, [...inSpec, deviceOf(removed, devices.length)], naming)
  const wanted = [...devices, removed]
  for (const desired of before) {
    const one = wanted[desired.deviceIndex]?.[desired.poolIndex]
    if (one !== undefined) await putFound(world, desired, one)
  }
  const input = async (now: KubeObject = owner): Promise<ConsumerInput> => {
    const [claims, addresses] = [await world.claims(), await world.addresses()]
    return { owner: now, naming, devices: inSpec, claims, addresses }
  }
  const detached = isDetached ? before.map(({ name }) => name) : []
  return { world, input, detached }
}

async function putFound(world: ConsumerStore, desired: DesiredClaim, one: Found): Promise<void> {
  const { ownerReference, finalizer, name } = desired
  const owners = {
    mine: [ownerReference],
    unowned: [],
    earlier: [{ ...ownerReference, uid: EARLIER }],
    unnamed: [{ ...ownerReference, uid: 'of an earlier one that the operator has not named' }],
    foreign: [{ ...ownerReference, name: 'other', uid: 'of another' }],
  }[one.ownership]
  const finalizers = [
    ...(one.hasFinalizer && finalizer !== undefined ? [finalizer] : []),
    ...(one.isHeldByOthers ? ['provider.example.com/holds'] : []),
  ]
  const parts: ClaimParts = {
    owners,
    finalizers,
    isDeleting: one.isDeleting,
    ...(one.cluster === 'own' ? {} : { labels: one.cluster === 'none' ? {} : { [CLUSTER]: one.cluster } }),
    ...(one.pool === 'same' ? {} : { pool: 'other' }),
    ...(one.address === 'none' ? {} : { addressRef: `${name}-address` }),
  }
  await world.put(claimOf(desired, parts))
  if (one.address === 'none' || one.address === 'missing') return
  const of = { 'of another pool': { pool: 'other' }, 'of another claim': { claim: 'other' }, good: {} }[one.address]
  await world.put(addressOf(desired, { name: `${name}-address`, ...of }))
}

/**
 * Whose a claim is, seen without the code that is tested: by the words that the scene was made
 * with.
 */
function ownershipOf({ metadata }: IPAddressClaim, owner: KubeObject): (typeof OWNERSHIP)[number] {
  const [reference] = metadata.ownerReferences ?? []
  if (reference === undefined) return 'unowned'
  if (reference.uid === owner.metadata.uid) return 'mine'
  return reference.uid === EARLIER ? 'earlier' : 'foreign'
}

/**
 * A plan with writes begins with a guard on the owner. Nothing of another is written to. A claim that was restored, without its owner or with the uid of
 * an earlier one, is written to only if it is not of another Cluster; of one of an earlier owner
 * that is going only our finalizer goes.
 */
function mayWrite(plan: Plan<ConsumerOutcome>, { owner, claims }: ConsumerInput): void {
  const byName = new Map(claims.map((claim) => [claim.metadata.name, claim]))
  const [first] = plan.effects
  if (plan.outcome.kind !== 'released' && first !== undefined)
    expect(first).toMatchObject({ ref: { kind: owner.kind } })
  for (const effect of plan.effects) {
    if (effect.kind === 'create') {
      expect(byName.has(effect.object.metadata.name), 'creates what is not there').toBe(false)
      continue
    }
    if (effect.kind === 'external') throw new Error('a consumer calls nobody')
    if (effect.kind === 'event' || effect.kind === 'absent' || effect.ref.kind === owner.kind) continue
    const claim = byName.get(effect.ref.name) as IPAddressClaim
    expect(effect.if).toEqual({ uid: claim.metadata.uid, resourceVersion: claim.metadata.resourceVersion })
    const ownership = ownershipOf(claim, owner)
    if (ownership === 'earlier' && claim.metadata.deletionTimestamp !== undefined) onlyLetsGo(effect)
    else if (ownership === 'unowned' || ownership === 'earlier') {
      expect(['blue', undefined]).toContain(claim.metadata.labels?.[CLUSTER])
    } else expect(ownership).toBe('mine')
  }
}

function onlyLetsGo(effect: Effect): void {
  expect(effect.kind === 'patch' && !isJsonPatch(effect) && Object.keys(effect.patch.metadata as object)).toEqual([
    'finalizers',
  ])
}

/** Plans and writes until a plan has no effects. */
async function settle({ world, input }: Stage, plan: (from: ConsumerInput) => Plan<ConsumerOutcome>): Promise<number> {
  for (let round = 0; round < 10; round++) {
    const from = await input()
    const next = plan(from)
    mayWrite(next, from)
    if (next.effects.length === 0) return round
    await world.run(next)
  }
  throw new Error('it does not come to rest')
}

test('the second plan writes nothing, and what is another’s stays as it is', async () => {
  await fc.assert(
    fc.asyncProperty(scene, async (made) => {
      const set = await stage(made)
      const before = await set.world.claims()
      const owner = await set.world.machine()
      const rounds = await settle(set, (from) => planClaims(from, { detached: set.detached }))
      // one plan does it all, but for a claim that has to go before ours can be created
      expect(rounds).toBeLessThanOrEqual(before.some((claim) => ownershipOf(claim, owner) === 'earlier') ? 2 : 1)
      await foreignUntouched(set.world, before, owner)
    }),
  )
})

test('when the machine is gone, no claim of ours is left, and none of another’s is missing', async () => {
  await fc.assert(
    fc.asyncProperty(scene, async (made) => {
      const set = await stage(made)
      const before = await set.world.claims()
      const owner = await set.world.machine()
      await settle(set, (from) => planClaims(from, { detached: set.detached }))
      const planned = (await set.world.claims()).map(({ metadata }) => metadata.name)
      await settle(set, (from) => releasePlan(from, { deleteExplicitly: true }))
      const { finalizer, isMarked } = made.dialect
      const inSpec = new Set(claimsFor(owner, (await set.input()).devices, made.dialect).map(({ name }) => name))
      for (const claim of await set.world.claims()) {
        if (ownershipOf(claim, owner) !== 'mine') continue
        // others hold it, and it is going; or it never was of this dialect
        const isStray = !inSpec.has(claim.metadata.name)
        if (isStray && claim.metadata.deletionTimestamp === undefined) expect(isMarked(claim)).toBe(false)
        else
          expect([claim.metadata.deletionTimestamp, claim.metadata.finalizers]).toEqual([
            expect.any(String),
            ['provider.example.com/holds'],
          ])
        expect(claim.metadata.finalizers ?? []).not.toContain(finalizer)
        expect(planned).toContain(claim.metadata.name)
      }
      await foreignUntouched(set.world, before, owner)
    }),
  )
})

test('a plan that is cut at any write is finished by the next', async () => {
  await fc.assert(
    fc.asyncProperty(
      scene,
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom('before', 'after'),
      async (made, at, point) => {
        const [whole, cut] = [await stage(made), await stage(made)]
        const plans: readonly ((from: ConsumerInput) => Plan<ConsumerOutcome>)[] = [
          (from) => planClaims(from, { detached: whole.detached }),
          (from) => releasePlan(from, { deleteExplicitly: true }),
        ]
        for (const plan of plans) {
          await settle(whole, plan)
          try {
            await cut.world.run(plan(await cut.input()), crashingStore(cut.world.store, at, point))
          } catch (error) {
            if (!(error instanceof SimulatedCrash)) throw error
          }
          await settle(cut, plan)
          expect(await stateOf(cut.world)).toEqual(await stateOf(whole.world))
        }
      },
    ),
  )
})

test('names follow the device, and not its place, but in the dialects that name by place', () => {
  const names = (devices: readonly ConsumerDevice[], naming: keyof typeof dialects) =>
    claimsFor(machine(), devices, naming).map(({ name, poolRef: pool }) => `${name} for ${pool.name}`)
  const devices = fc
    .uniqueArray(fc.nat(9), { maxLength: 4 })
    .map((all) => all.map((each) => ({ name: `net${each}`, pools: [poolRef(`v4-${each}`), poolRef(`v6-${each}`)] })))
  const shuffled = devices.chain((all) =>
    fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
  )
  fc.assert(
    fc.property(shuffled, fc.constantFrom('proxmox', 'metal3', 'contract'), ([all, again], naming) => {
      expect(names(again, naming).sort()).toEqual(names(all, naming).sort())
    }),
  )
  fc.assert(
    fc.property(devices, (all) => {
      const places = all.flatMap(({ pools }, index) => pools.map(({ name }, place) => `${index}-${place} for ${name}`))
      expect(names(all, 'capv')).toEqual(places.map((place) => `vm-${place}`))
      expect(names(all, 'openshift')).toEqual(places.map((place) => `vm-claim-${place}`))
    }),
  )
})

async function foreignUntouched(
  world: ConsumerStore,
  before: readonly IPAddressClaim[],
  owner: KubeObject,
): Promise<void> {
  const foreign = (claims: readonly IPAddressClaim[]) =>
    claims.filter((claim) => ownershipOf(claim, owner) === 'foreign')
  expect(foreign(await world.claims())).toEqual(foreign(before))
}

/** All claims without what differs from run to run. */
async function stateOf(world: ConsumerStore): Promise<unknown> {
  return (await world.claims()).map(({ metadata, spec, status }) => {
    const { uid: _u, resourceVersion: _r, generation: _g, ...rest } = metadata
    return { ...rest, finalizers: [...(metadata.finalizers ?? [])].sort(), spec, status }
  })
}
