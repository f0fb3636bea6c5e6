import type { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { OwnerReference } from 'ipam-kit/crd/meta'
import type { Plan } from 'ipam-kit/plan'
import {
  type ConsumerInput,
  type ConsumerOutcome,
  claimsFor,
  type DesiredClaim,
  type Dialect,
  dialects,
  EARLIER_UID_ANNOTATION,
  planClaims,
  protectedBy,
  releasePlan,
  resolveClaim,
} from 'ipam-kit/provider/consumer'
import { crashingStore, SimulatedCrash } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { newClaim } from '../../../src/provider/consumer/desired.js'
import { addressOf, type ClaimParts, ConsumerStore, claimOf, machine, poolRef } from './world.js'

const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name'
const annotations = { [EARLIER_UID_ANNOTATION]: 'before the restore' }
const blue = machine('vm', { labels: { [CLUSTER_LABEL]: 'blue' }, annotations })
const lonely = machine('vm', { annotations })
const devices = [{ name: 'net0', pools: [poolRef('lab')] }]

const everyDialect: readonly Dialect[] = [
  ...Object.values(dialects),
  { ...dialects.contract, name: 'protected contract', ...protectedBy('example.com/ip-claim') },
]

function wantedBy(owner: typeof blue, dialect: Dialect): DesiredClaim {
  return claimsFor(owner, devices, dialect)[0] as DesiredClaim
}

const stale = ({ ownerReference }: DesiredClaim): OwnerReference => ({ ...ownerReference, uid: 'before the restore' })
const other = ({ ownerReference }: DesiredClaim): OwnerReference => ({ ...ownerReference, name: 'other', uid: 'other' })

/** How the owners of a claim come out of a restore. */
const restored: { readonly [how: string]: (desired: DesiredClaim) => readonly OwnerReference[] } = {
  'without owners': () => [],
  'with a stale owner uid': (desired) => [stale(desired)],
  'with a stale owner uid of an older version': (desired) => [
    { ...stale(desired), apiVersion: 'example.com/v1alpha1' },
  ],
}

/** A claim that a backup tool brings back: as it was made, but for its owners. */
function broughtBack(desired: DesiredClaim, owners: readonly OwnerReference[]): IPAddressClaim {
  const claim = newClaim(desired)
  const metadata = { ...claim.metadata, uid: 'uid-of-claim', resourceVersion: '3', ownerReferences: owners }
  return { ...claim, metadata, status: { addressRef: { name: desired.name } } }
}

const rows = everyDialect.flatMap((dialect) =>
  [blue, lonely].flatMap((owner) =>
    Object.entries(restored).map(([how, owners]) => ({
      name: `${dialect.name}, ${owner === blue ? 'of a Cluster' : 'of none'}, ${how}`,
      ...{ dialect, owner, owners },
    })),
  ),
)

function inputOf(owner: typeof blue, dialect: Dialect, claims: readonly IPAddressClaim[]): ConsumerInput {
  return { owner, naming: dialect, devices, claims, addresses: [addressOf(wantedBy(owner, dialect))] }
}

function kinds(plan: Plan<ConsumerOutcome>): readonly string[] {
  return plan.effects.map((effect) => ('ref' in effect ? `${effect.kind} ${effect.ref.kind}` : effect.kind))
}

describe('a restored claim is adopted', () => {
  test.each(rows)('$name', ({ dialect, owner, owners }) => {
    const desired = wantedBy(owner, dialect)
    const claim = broughtBack(desired, owners(desired))
    expect(resolveClaim(desired, claim, addressOf(desired)).kind).toBe('bound')

    const plan = planClaims(inputOf(owner, dialect, [claim]))
    expect(plan.outcome.kind).toBe('ready')
    // the owner is asked for first: the claim could be that of a newer machine of this name
    expect(plan.effects).toMatchObject([
      { kind: 'patch', ref: { kind: 'Machine', name: 'vm' }, if: { uid: 'uid-vm', resourceVersion: '7' } },
      {
        kind: 'patch',
        ref: { kind: 'IPAddressClaim', name: desired.name },
        if: { uid: 'uid-of-claim', resourceVersion: '3' },
        patch: { metadata: { ownerReferences: [desired.ownerReference] } },
      },
    ])
  })

  test.each(rows)('once: $name', async ({ dialect, owner, owners }) => {
    const world = new ConsumerStore()
    const stored = await world.put(owner)
    const desired = wantedBy(stored, dialect)
    await world.put(broughtBack(desired, owners(desired)))
    const input = async () => ({ ...inputOf(stored, dialect, await world.claims()), owner: stored })
    await world.run(planClaims(await input()))
    expect((await world.claims())[0]?.metadata.ownerReferences).toEqual([desired.ownerReference])
    expect(planClaims(await input())).toMatchObject({ effects: [], outcome: { kind: 'ready' } })
  })

  test('also if it names no Cluster, as one of an older version of its consumer', () => {
    for (const dialect of everyDialect) {
      const desired = wantedBy(blue, dialect)
      const claim = claimOf(desired, { owners: [], labels: {} })
      expect(resolveClaim(desired, claim).kind, dialect.name).toBe('pending')
    }
  })

  test('and its stale controller does not stay beside the new one', () => {
    const desired = wantedBy(blue, dialects.contract)
    const helper = { apiVersion: 'v1', kind: 'ConfigMap', name: 'helper', uid: 'h' }
    const claim = broughtBack(desired, [helper, stale(desired), desired.ownerReference])
    const [, patch] = planClaims(inputOf(blue, dialects.contract, [claim])).effects
    expect(patch).toMatchObject({ patch: { metadata: { ownerReferences: [helper, desired.ownerReference] } } })
  })
})

describe('a claim that is not certainly ours is left alone', () => {
  const differing: { readonly [what: string]: (desired: DesiredClaim) => IPAddressClaim } = {
    'of another pool': (desired) => claimOf(desired, { owners: [], pool: 'other' }),
    'of another Cluster, by its label': (desired) =>
      claimOf(desired, { owners: [], labels: { [CLUSTER_LABEL]: 'red' } }),
    'of another Cluster, by its spec': (desired) => {
      const claim = claimOf(desired, { owners: [stale(desired)] })
      return { ...claim, spec: { ...claim.spec, clusterName: 'red' } }
    },
    'of another owner': (desired) => claimOf(desired, { owners: [other(desired)] }),
    'of another owner too': (desired) => claimOf(desired, { owners: [stale(desired), other(desired)] }),
  }
  const cases = everyDialect.flatMap((dialect) =>
    Object.entries(differing).map(([what, claimFrom]) => ({ name: `${dialect.name}: ${what}`, dialect, claimFrom })),
  )

  test.each(cases)('$name', ({ dialect, claimFrom }) => {
    const desired = wantedBy(blue, dialect)
    const claim = claimFrom(desired)
    expect(resolveClaim(desired, claim).kind).toBe('conflict')
    expect(planClaims(inputOf(blue, dialect, [claim]))).toMatchObject({ effects: [], outcome: { kind: 'conflict' } })
  })

  test('the message says why', () => {
    const desired = wantedBy(blue, dialects.capv)
    const claim = claimOf(desired, { owners: [], labels: { [CLUSTER_LABEL]: 'red' } })
    expect(resolveClaim(desired, claim).message).toContain('Cluster red')
  })

  test('of a dialect that adopts nothing', () => {
    const strict = { ...dialects.capv, adoptsUnowned: false }
    const desired = wantedBy(blue, strict)
    for (const owners of Object.values(restored)) {
      const claim = broughtBack(desired, owners(desired))
      expect(resolveClaim(desired, claim, addressOf(desired))).toMatchObject({ reason: 'OwnerMismatch' })
      expect(planClaims(inputOf(blue, strict, [claim])).effects).toEqual([])
      expect(releasePlan(inputOf(blue, strict, [claim])).effects).toEqual([])
    }
  })

  test('one that is going, with a stale owner: only our finalizer goes', () => {
    const desired = wantedBy(blue, dialects.capv)
    const claim = claimOf(desired, { owners: [stale(desired)], isDeleting: true })
    expect(resolveClaim(desired, claim)).toMatchObject({ kind: 'deleting', whose: 'foreign' })
    expect(kinds(planClaims(inputOf(blue, dialects.capv, [claim])))).toEqual(['patch Machine', 'patch IPAddressClaim'])
  })
})

describe('a claim of an earlier machine that the operator has not named', () => {
  const unnamed = machine('vm', { labels: { [CLUSTER_LABEL]: 'blue' } })
  const outcomeOf = (dialect: Dialect, parts: ClaimParts) => {
    const desired = wantedBy(unnamed, dialect)
    const claim = claimOf(desired, { owners: [stale(desired)], addressRef: desired.name, ...parts })
    const { outcome, effects } = planClaims(inputOf(unnamed, dialect, [claim]))
    const released = releasePlan(inputOf(unnamed, dialect, [claim]), { deleteExplicitly: true })
    const removed = planClaims({ ...inputOf(unnamed, dialect, [claim]), devices: [] }, { detached: [desired.name] })
    return { outcome, effects: [...effects, ...released.effects, ...removed.effects] }
  }
  const message = expect.stringContaining(
    'If that one does not run beside this one, annotate this one with ipam-kit.dev/earlier-uid: before the restore',
  )

  test.each(everyDialect)('is a conflict while it is alive: $name', (dialect) => {
    const { outcome, effects } = outcomeOf(dialect, {})
    expect(effects).toEqual([])
    expect(outcome).toMatchObject({
      kind: 'conflict',
      claims: [{ resolution: { kind: 'conflict', reason: 'OwnerMismatch', message } }],
    })
  })

  test.each(everyDialect)('keeps its finalizer while it is being deleted: $name', (dialect) => {
    const { outcome, effects } = outcomeOf(dialect, { isDeleting: true })
    expect(effects).toEqual([])
    expect(outcome).toMatchObject({ kind: 'terminating', claims: [{ resolution: { kind: 'deleting', message } }] })
  })

  test('is named by the condition of the machine', () => {
    const { condition } = outcomeOf(dialects.capv, {}).outcome
    expect(condition).toMatchObject({ status: 'False', reason: 'NotFulfilled', message })
  })

  test('stays a conflict where the operator has named another uid', () => {
    const owner = machine('vm', { annotations: { [EARLIER_UID_ANNOTATION]: 'another' } })
    const desired = wantedBy(owner, dialects.capv)
    const plan = planClaims(inputOf(owner, dialects.capv, [broughtBack(desired, [stale(desired)])]))
    expect(plan).toMatchObject({ effects: [], outcome: { kind: 'conflict' } })
  })
})

describe('a claim that was never adopted is released all the same', () => {
  const marked = everyDialect.filter((dialect) => dialect.isMarked(newClaim(wantedBy(blue, dialect))))

  test.each(marked.flatMap((dialect) => Object.entries(restored).map(([how, owners]) => ({ how, dialect, owners }))))(
    '$dialect.name, $how',
    ({ dialect, owners }) => {
      const desired = wantedBy(blue, dialect)
      const claim = broughtBack(desired, owners(desired))
      const letGo = dialect.finalizer === undefined ? [] : ['patch IPAddressClaim']
      const isStale = claim.metadata.ownerReferences?.length !== 0
      const deleted = ['delete IPAddressClaim', ...letGo]
      // with our uid on it, the next plan can end a deletion that was begun
      const adopted = isStale ? ['patch IPAddressClaim', ...deleted] : deleted
      const input = inputOf(blue, dialect, [claim])
      expect(kinds(releasePlan(input, { deleteExplicitly: true }))).toEqual(adopted)
      // and so is one whose device has left the spec, if its owner says whose it was
      if (claim.metadata.ownerReferences?.length === 0) return
      expect(kinds(releasePlan({ ...input, devices: [] }, { deleteExplicitly: true }))).toEqual(deleted)
      const held = planClaims({ ...input, devices: [] })
      expect(held).toMatchObject({ effects: [], outcome: { attached: [desired.name] } })
    },
  )

  test.each(marked.flatMap((dialect) => [1, 2, 3].map((at) => ({ at, dialect, name: dialect.name }))))(
    'a release that is cut after write $at leaves no claim of an earlier owner: $name',
    async ({ at, dialect }) => {
      const world = new ConsumerStore()
      const owner = await world.put(blue)
      const desired = wantedBy(owner, dialect)
      await world.put(claimOf(desired, { owners: [stale(desired)], addressRef: desired.name }))
      await world.put(addressOf(desired))
      const next = async () => {
        const [claims, addresses] = [await world.claims(), await world.addresses()]
        const input = { owner, naming: dialect, devices, claims, addresses }
        return releasePlan(input, { deleteExplicitly: true })
      }
      await world.run(await next(), crashingStore(world.store, at, 'after')).catch((error: unknown) => {
        if (!(error instanceof SimulatedCrash)) throw error
      })
      await world.run(await next())
      expect(await world.claims()).toEqual([])
    },
  )

  test('but not one of an earlier owner that cannot be used: nothing could end a deletion that was begun', () => {
    for (const dialect of marked) {
      const desired = wantedBy(blue, dialect)
      const claim = claimOf(desired, { owners: [stale(desired)], pool: 'other' })
      const plan = releasePlan(inputOf(blue, dialect, [claim]), { deleteExplicitly: true })
      expect(plan.effects, dialect.name).toEqual([])
    }
  })

  test('but not that of another Cluster', () => {
    for (const dialect of marked) {
      const desired = wantedBy(blue, dialect)
      for (const owners of Object.values(restored)) {
        const claim = claimOf(desired, { owners: owners(desired), labels: { [CLUSTER_LABEL]: 'red' } })
        for (const wanted of [devices, []]) {
          const input = { ...inputOf(blue, dialect, [claim]), devices: wanted }
          expect(releasePlan(input, { deleteExplicitly: true }).effects, dialect.name).toEqual([])
        }
      }
    }
  })
})
