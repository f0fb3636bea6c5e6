import { readFileSync } from 'node:fs'
import { Cluster, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { explain, type Plan } from 'ipam-kit/plan'
import {
  type ConsumerInput,
  type ConsumerOutcome,
  claimsFor,
  consumerRules,
  type DesiredClaim,
  type Dialect,
  dialects,
  EARLIER_UID_ANNOTATION,
  planClaims,
  releasePlan,
} from 'ipam-kit/provider/consumer'
import { describe, expect, test } from 'vitest'
import { isJsonPatch } from '../../../src/plan/field-guards.js'
import type { Naming } from '../../../src/provider/consumer/dialects.js'
import { actionOn, type ConsumerEvent, type ConsumerState } from '../../../src/provider/consumer/table.js'
import { addressOf, type ClaimParts, claimOf, machine, poolRef } from './world.js'

const devices = [{ name: 'net0', pools: [poolRef('lab')] }]
const [desired] = claimsFor(machine(), devices, 'capv') as [DesiredClaim]
const FINALIZER = desired.finalizer as string
const earlier = { ...desired.ownerReference, uid: 'uid-of-an-earlier-vm' }
const other = { ...desired.ownerReference, name: 'other', uid: 'uid-other' }
const bound = { addressRef: desired.name }

function inputOf(claims: readonly IPAddressClaim[], more: Partial<ConsumerInput> = {}): ConsumerInput {
  const owner = machine('vm', { annotations: { [EARLIER_UID_ANNOTATION]: earlier.uid } })
  return { owner, naming: 'capv', devices, claims, addresses: [addressOf(desired)], ...more }
}

/** What a plan does, effect by effect: `patch vm-0-0 metadata.finalizers`. */
function does(plan: Plan<ConsumerOutcome>): readonly string[] {
  return plan.effects.map((effect) => {
    if (effect.kind === 'create') return `create ${effect.object.metadata.name}`
    if (effect.kind === 'delete') return `delete ${effect.ref.name}`
    if (effect.kind !== 'patch' || isJsonPatch(effect)) return effect.kind
    const fields = Object.keys((effect.patch.metadata ?? {}) as object)
    return fields.length === 0 ? `guard ${effect.ref.name}` : `patch ${effect.ref.name} ${fields.join()}`
  })
}

describe('the table', () => {
  test('has every cell once', () => {
    const cells = consumerRules.map(({ event, state }) => `${event} ${state}`)
    expect(new Set(cells).size).toBe(36)
    expect(cells).toHaveLength(36)
  })

  test('stands in the guide as it is', () => {
    const guide = readFileSync(new URL('../../../docs/guides/consumer.md', import.meta.url), 'utf8')
    const [states, events] = (['state', 'event'] as const).map((key) => [
      ...new Set(consumerRules.map((rule) => rule[key])),
    ])
    const rows = events!.map((event) => [
      event,
      ...consumerRules.filter((rule) => rule.event === event).map(({ does }) => does),
    ])
    for (const row of [['event', ...states!], ...rows]) expect(guide).toContain(`| ${row.join(' | ')} |\n`)
  })

  test('refuses what it does not know', () => {
    expect(() => actionOn('Reconcile', 'Gone' as ConsumerState)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  /** A claim of each state, and what the addresses are then. */
  const states: { readonly [state in ConsumerState]: ClaimParts | undefined } = {
    Missing: undefined,
    Pending: {},
    Bound: bound,
    Conflict: { ...bound, owners: [other] },
    'Deleting(foreign)': { ...bound, isDeleting: true, owners: [earlier] },
    'Deleting(mine)': { isDeleting: true },
  }
  const plans: {
    readonly [event in Exclude<ConsumerEvent, 'AllBound'>]: (claims: IPAddressClaim[]) => Plan<ConsumerOutcome>
  } = {
    Reconcile: (claims) => planClaims(inputOf(claims)),
    Paused: (claims) =>
      planClaims(inputOf(claims, { owner: machine('vm', { annotations: { 'cluster.x-k8s.io/paused': '' } }) })),
    OwnerDeleting: (claims) =>
      planClaims(inputOf(claims, { owner: machine('vm', { deletionTimestamp: '2026-01-01T00:00:00Z' }) })),
    InfrastructureGone: (claims) => releasePlan(inputOf(claims)),
    Removed: (claims) => planClaims(inputOf(claims, { devices: [] })),
  }
  const letGo = ['patch vm-0-0 finalizers']
  /** What is written in each state; the columns are those of the table. */
  const written: { readonly [event in keyof typeof plans]: readonly (readonly string[])[] } = {
    Reconcile: [['guard vm', 'create vm-0-0'], [], [], [], ['guard vm', ...letGo], []],
    Paused: [[], [], [], [], [], []],
    OwnerDeleting: [[], [], [], [], [], []],
    InfrastructureGone: [[], letGo, letGo, [], [], letGo],
    Removed: [[], ['guard vm', 'delete vm-0-0', ...letGo], [], [], [], ['guard vm', ...letGo]],
  }

  const rows = Object.entries(plans).flatMap(([event, plan]) =>
    Object.entries(states).map(([state, parts], column) => {
      const claims = parts === undefined ? [] : [claimOf(desired, parts)]
      return { event: event as keyof typeof plans, state, claims, plan, column }
    }),
  )
  test.each(rows)('$event, $state', ({ event, claims, plan, column }) => {
    expect(does(plan(claims))).toEqual(written[event][column])
  })
})

describe('reconcile', () => {
  test('creates what is missing, while the owner is the one that was read', () => {
    const plan = planClaims(inputOf([], { devices: [{ pools: [poolRef('a'), poolRef('b')] }] }))
    expect(explain(plan)).toBe(
      [
        'creating: 2 of 2 claims are created now',
        '  1. continue only with Machine default/vm if it has uid uid-vm and version 7: its claims depend on it',
        '  2. create IPAddressClaim default/vm-0-0, unless there is one: Machine default/vm wants an address',
        '  3. create IPAddressClaim default/vm-0-1, unless there is one: Machine default/vm wants an address',
      ].join('\n'),
    )
  })

  test('gives a claim back what it has lost, and leaves what others put there', () => {
    const owners = [{ ...other, controller: true }, desired.ownerReference]
    const claim = claimOf(desired, {
      ...bound,
      owners: [owners[0]!],
      finalizers: ['a/b'],
      labels: { x: 'y' },
      annotations: { z: '1' },
    })
    expect(does(planClaims(inputOf([claim])))).toEqual([])
    const lost = claimOf(desired, { owners: [], finalizers: ['a/b'], labels: { x: 'y' }, annotations: { z: '1' } })
    const plan = planClaims(inputOf([lost]))
    expect(does(plan)).toEqual(['guard vm', 'patch vm-0-0 ownerReferences,finalizers,labels'])
    expect(plan.effects[1]).toMatchObject({
      kind: 'patch',
      if: { uid: 'uid-of-vm-0-0', resourceVersion: '3' },
      patch: {
        metadata: {
          ownerReferences: [desired.ownerReference],
          finalizers: ['a/b', FINALIZER],
          labels: { 'cluster.x-k8s.io/cluster-name': '' },
        },
      },
    })
  })

  test('does not make a second controller of a claim', () => {
    const [wanted] = claimsFor(machine(), devices, 'metal3') as [DesiredClaim]
    const { controller: _, ...plain } = wanted.ownerReference
    const controlled = claimOf(wanted, { owners: [{ ...other, controller: true }, plain] })
    expect(does(planClaims(inputOf([controlled], { naming: 'metal3' })))).toEqual([])
    const uncontrolled = claimOf(wanted, { owners: [plain] })
    const [, effect] = planClaims(inputOf([uncontrolled], { naming: 'metal3' })).effects
    expect(effect).toMatchObject({ patch: { metadata: { ownerReferences: [wanted.ownerReference] } } })
  })

  test('repairs a claim whose address is not there yet', () => {
    const claim = claimOf(desired, { ...bound, finalizers: [] })
    const plan = planClaims(inputOf([claim], { addresses: [] }))
    expect(does(plan)).toEqual(['guard vm', 'patch vm-0-0 finalizers'])
    expect(plan.outcome.kind).toBe('waiting')
  })

  test('writes nothing where all is well', () => {
    const plan = planClaims(inputOf([claimOf(desired, bound)]))
    expect(plan).toMatchObject({ effects: [], outcome: { kind: 'ready', message: 'all of 1 claims are bound' } })
    expect(plan.requeueAfterSeconds).toBeUndefined()
  })

  test('does not touch the claim of another, not even one on its way out with our finalizer', () => {
    for (const parts of [{}, { isDeleting: true }]) {
      const plan = planClaims(inputOf([claimOf(desired, { ...parts, owners: [other] })]))
      expect(plan.effects).toEqual([])
      expect(plan.requeueAfterSeconds).toBe(30)
    }
    // another owner of it may live, though one of our name is gone
    const shared = claimOf(desired, { owners: [earlier, other], isDeleting: true })
    expect(planClaims(inputOf([shared])).effects).toEqual([])
    const unowned = claimOf(desired, { owners: [], isDeleting: true })
    expect(planClaims(inputOf([unowned], { naming: proxmoxLike })).effects).toEqual([])
  })

  test.each<[ConsumerOutcome['kind'], IPAddressClaim[]]>([
    ['creating', []],
    ['waiting', [claimOf(desired)]],
    ['ready', [claimOf(desired, bound)]],
    ['terminating', [claimOf(desired, { ...bound, isDeleting: true })]],
    ['conflict', [claimOf(desired, { owners: [other] })]],
  ])('tells of %s', (kind, claims) => {
    expect(planClaims(inputOf(claims)).outcome.kind).toBe(kind)
  })
})

const proxmoxLike: Dialect = {
  ...{ name: 'like proxmox', claimName: () => desired.name, labels: () => ({}), annotations: () => ({}) },
  ...{ setsClusterName: false, ownerFlags: {}, finalizer: FINALIZER, adoptsUnowned: false, release: 'finalizer' },
  ...{ isMarked: () => true, condition: () => undefined },
}

describe('a claim that is no longer wanted', () => {
  const gone = { devices: [] }

  test('keeps its address until the caller says that it is detached', () => {
    const claim = claimOf(desired, bound)
    const held = planClaims(inputOf([claim], gone))
    expect(held).toMatchObject({ effects: [], outcome: { kind: 'ready', attached: ['vm-0-0'] } })
    const done = planClaims(inputOf([claim], gone), { detached: ['vm-0-0'] })
    expect(does(done)).toEqual(['guard vm', 'delete vm-0-0', 'patch vm-0-0 finalizers'])
    expect(done.effects[1]).toMatchObject({ if: { uid: 'uid-of-vm-0-0', resourceVersion: '3' } })
    expect(done.outcome.attached).toEqual([])
  })

  test('is released before others are created: a creation that a quota refuses does not hold it up', () => {
    const moved = [
      { name: 'net0', pools: [] },
      { name: 'net1', pools: [poolRef('lab')] },
    ]
    const plan = planClaims(inputOf([claimOf(desired, bound)], { devices: moved }), { detached: ['vm-0-0'] })
    expect(does(plan)).toEqual(['guard vm', 'delete vm-0-0', 'patch vm-0-0 finalizers', 'create vm-1-0'])
  })

  test('and so does one that another client deletes meanwhile', () => {
    const claim = claimOf(desired, { ...bound, isDeleting: true })
    expect(planClaims(inputOf([claim], gone)).effects).toEqual([])
    const detached = planClaims(inputOf([claim], gone), { detached: ['vm-0-0'] })
    expect(does(detached)).toEqual(['guard vm', 'patch vm-0-0 finalizers'])
  })

  test('stays if another controller made it for the same owner', () => {
    const claim = claimOf(desired, { finalizers: ['another.controller/holds'] })
    expect(planClaims(inputOf([claim], gone)).effects).toEqual([])
    expect(releasePlan(inputOf([claim], gone)).effects).toEqual([])
  })

  test('and that is being deleted is not attached where no finalizer of the consumer holds it', () => {
    const [wanted] = claimsFor(machine(), devices, 'proxmox') as [DesiredClaim]
    const claim = claimOf(wanted, { ...bound, finalizers: ['another.controller/holds'], isDeleting: true })
    const left = planClaims({ owner: machine(), naming: 'proxmox', devices: [], claims: [claim], addresses: [] })
    expect(left).toMatchObject({ effects: [], outcome: { attached: [] } })
  })

  test('is known to Proxmox by its annotation', () => {
    const [wanted] = claimsFor(machine(), devices, 'proxmox') as [DesiredClaim]
    const without = { naming: 'proxmox', devices: [], addresses: [] } as const
    expect(does(planClaims(inputOf([claimOf(wanted)], without)))).toEqual(['guard vm', `delete ${wanted.name}`])
    expect(planClaims(inputOf([claimOf(wanted, { annotations: {} })], without)).effects).toEqual([])
  })
})

describe('release', () => {
  test('covers what is wanted and what is there', () => {
    const [, second] = claimsFor(machine(), [devices[0]!, devices[0]!], 'capv') as [DesiredClaim, DesiredClaim]
    const plan = releasePlan(inputOf([claimOf(desired, bound), claimOf(second, bound)]))
    expect(does(plan)).toEqual(['patch vm-0-0 finalizers', 'patch vm-1-0 finalizers'])
    expect(plan.outcome.kind).toBe('released')
  })

  test.each<[Naming, readonly string[]]>([
    ['capv', ['patch']],
    ['openshift', ['patch']],
    ['capo', ['patch']],
    ['metal3', ['delete', 'patch']],
    ['proxmox', []],
    ['contract', ['delete']],
  ])('%s ends its claims as upstream does', (naming, kinds) => {
    const [wanted] = claimsFor(machine(), devices, naming) as [DesiredClaim]
    const input = inputOf([claimOf(wanted)], { naming, addresses: [] })
    expect(releasePlan(input).effects.map(({ kind }) => kind)).toEqual(kinds)
    const explicit = releasePlan(input, { deleteExplicitly: true }).effects.map(({ kind }) => kind)
    expect(explicit).toEqual(wanted.finalizer === undefined ? ['delete'] : ['delete', 'patch'])
  })

  test('is not stopped by a spec that has become wrong', () => {
    const [wanted] = claimsFor(machine(), devices, 'metal3') as [DesiredClaim]
    const clash = [{ pools: [poolRef('lab'), poolRef('lab', 'GlobalInClusterIPPool')] }]
    const bad = { naming: 'metal3', addresses: [], devices: clash } as const
    const owner = machine('vm', { deletionTimestamp: '2026-01-01T00:00:00Z' })
    const input = inputOf([claimOf(wanted)], { ...bad, owner })
    expect(planClaims(input).outcome.kind).toBe('holding')
    expect(does(releasePlan(input))).toEqual(['delete vm-lab', 'patch vm-lab finalizers'])
    expect(() => planClaims(inputOf([], bad))).toThrow(expect.objectContaining({ code: 'CLAIM_NAME_CONFLICT' }))
    const unnameable: Naming = { ...dialects.capv, claimName: () => 'm'.repeat(300) }
    expect(does(releasePlan(inputOf([claimOf(desired)], { naming: unnameable })))).toEqual(['patch vm-0-0 finalizers'])
    const broken: Naming = () => {
      throw new TypeError('a mistake of its author')
    }
    expect(() => releasePlan(inputOf([], { naming: broken }))).toThrow(TypeError)
  })

  test('ends a claim of ours that was of no use, too', () => {
    for (const parts of [{ pool: 'other' }, { addressRef: 'nowhere' }]) {
      expect(does(releasePlan(inputOf([claimOf(desired, parts)], { addresses: [] })))).toEqual([
        'patch vm-0-0 finalizers',
      ])
    }
  })

  test('takes a claim without owners for ours only by our finalizer', () => {
    expect(does(releasePlan(inputOf([claimOf(desired, { owners: [] })])))).toEqual(['patch vm-0-0 finalizers'])
    const unmarked = claimOf(desired, { owners: [], finalizers: ['a/b'] })
    expect(releasePlan(inputOf([unmarked]), { deleteExplicitly: true }).effects).toEqual([])
  })
})

describe('a pause stops both', () => {
  const cluster = Cluster.parse({
    ...{ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster' },
    ...{ metadata: { name: 'blue', namespace: 'default' }, spec: { paused: true } },
  })
  const paused: readonly [string, Partial<ConsumerInput>][] = [
    ['Machine default/vm is paused', { owner: machine('vm', { annotations: { 'cluster.x-k8s.io/paused': '' } }) }],
    ['Cluster default/blue is paused', { cluster }],
  ]
  test.each(paused)('%s', (message, more) => {
    for (const plan of [planClaims(inputOf([], more)), releasePlan(inputOf([claimOf(desired)], more))]) {
      expect(plan).toMatchObject({ effects: [], outcome: { kind: 'paused', message } })
    }
  })

  test('a Cluster that is not paused stops nothing', () => {
    const running = { ...cluster, spec: { paused: false } } as KubeObject as Cluster
    expect(planClaims(inputOf([], { cluster: running })).effects).toHaveLength(2)
  })
})

test('a claim that was not read from a store is not deleted', () => {
  const claim = claimOf(desired)
  const { uid: _, ...metadata } = claim.metadata
  const input = inputOf([IPAddressClaim.parse({ ...claim, metadata })])
  expect(() => releasePlan(input, { deleteExplicitly: true })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  )
})
