import fc from 'fast-check'
import { groupOf, type KubeObject, type OwnerReference } from 'ipam-kit/crd/meta'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { expect } from 'vitest'
import type { Propagation } from '../../../src/store/store.js'
import { blockersOf, isDeleting, isHeldBy, isInRing, ownersOf, type Standing, standingOf } from './truth.js'
import { kindFor, kinds, object, ownerOf, refTo, type World } from './world.js'

const FOREIGN = 'example.com/held'

/** The places where objects come and go: few, so that names are used again. */
const PLACES = [
  ['zone-a', undefined],
  ['zone-b', undefined],
  ['box-a', 'x'],
  ['box-b', 'x'],
  ['box-c', 'x'],
  ['item-a', 'x'],
  ['item-b', 'x'],
  ['box-a', 'y'],
  ['item-a', 'y'],
  ['other-a', 'x'],
] as const

/** An owner among all that there ever were; mostly, but not always, under its right name. */
interface Pick {
  /** How many came after it. */
  readonly which: number
  readonly blocks: boolean
  readonly misnamed: boolean
}

export type Step =
  | {
      readonly do: 'create'
      readonly place: number
      readonly owners: readonly Pick[]
      readonly finalizers: readonly string[]
    }
  | { readonly do: 'delete'; readonly place: number; readonly propagation: Propagation | undefined }
  | { readonly do: 'own'; readonly place: number; readonly owners: readonly Pick[] }
  | { readonly do: 'free'; readonly place: number }

const place = fc.oneof(fc.nat(PLACES.length - 1), fc.constantFrom(2, 5, 6))
const pick: fc.Arbitrary<Pick> = fc.record({
  which: fc.oneof(fc.nat(50), fc.nat(2)),
  blocks: fc.boolean(),
  misnamed: fc.nat(15).map((roll) => roll === 0),
})
const owners = fc.array(pick, { maxLength: 3 })
const finalizers = fc.oneof(
  { weight: 6, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: fc.constant([FOREIGN]) },
  { weight: 1, arbitrary: fc.constantFrom(['orphan'], ['foregroundDeletion'], ['orphan', FOREIGN]) },
)
const propagation = fc.constantFrom<Propagation | undefined>(
  'Foreground',
  'Foreground',
  'Background',
  undefined,
  'Orphan',
)

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('create' as const), place, owners, finalizers }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('delete' as const), place, propagation }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('own' as const), place, owners }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('free' as const), place }) },
)

/** The users of a store, who remember every owner that there ever was. */
export class Users {
  readonly #world: World
  readonly #known: OwnerReference[] = []

  constructor(world: World) {
    this.#world = world
  }

  async play(step: Step): Promise<void> {
    const { below } = this.#world
    const [name, namespace] = PLACES[step.place]!
    const ref = refTo(name, namespace)
    this.#world.nowMs += 1000
    switch (step.do) {
      case 'create': {
        const owners = this.#pick(step.owners)
        const traits = { owners, finalizers: step.finalizers, ...(namespace === undefined ? {} : { namespace }) }
        const created = await below.create(object(name, traits))
        if (created.ok) this.#known.push(ownerOf(created.value))
        return
      }
      case 'delete':
        await below.delete(ref, { propagation: step.propagation })
        return
      case 'own':
        await below.patch(ref, { metadata: { ownerReferences: this.#pick(step.owners) } })
        return
      case 'free': {
        const found = await below.get(ref)
        const left = found.ok ? (found.value.metadata.finalizers ?? []).filter((it) => it !== FOREIGN) : []
        await below.patch(ref, { metadata: { finalizers: left } })
      }
    }
  }

  /** Nobody but the collector holds anything any more. */
  async freeAll(): Promise<void> {
    for (const place of PLACES.keys()) await this.play({ do: 'free', place })
  }

  #pick(picks: readonly Pick[]): readonly OwnerReference[] {
    return picks.flatMap(({ which, blocks, misnamed }) => {
      const owner = this.#known.at(-1 - (which % Math.max(1, this.#known.length)))
      if (owner === undefined) return []
      return [{ ...owner, blockOwnerDeletion: blocks, ...(misnamed ? { name: `${owner.name}-misnamed` } : {}) }]
    })
  }
}

export async function watched(world: World): Promise<readonly KubeObject[]> {
  return (await world.objects()).filter((it) => kinds.includes(kindFor(it.metadata.name)))
}

interface Trust {
  /**
   * Whether the collector knows all that is stored. Otherwise it may let go of an owner too early.
   */
  readonly sees: 'all' | 'late'
}

/** A store that judges each write of the collector at the moment when it is done. */
export function judged(world: World, { sees }: Trust, between: () => Promise<void> = async () => {}): Store {
  const { store, below } = world
  const now = async (ref: Parameters<Store['get']>[0]) => {
    const found = await below.get(ref)
    return { found: found.ok ? found.value : undefined, all: await watched(world) }
  }
  return storeOver(store, {
    create: () => expect.fail('the collector creates nothing'),
    update: () => expect.fail('the collector updates nothing'),
    get: async (ref) => {
      const got = await store.get(ref)
      await between()
      return got
    },
    delete: async (ref, options) => {
      const { found, all } = await now(ref)
      expect(options?.resourceVersion, 'the version that was seen').toBeDefined()
      const isMeant = found !== undefined && options?.uid === found.metadata.uid
      const isSeen = isMeant && options?.resourceVersion === found.metadata.resourceVersion
      if (isSeen) mayDelete(found, all, { sees, propagation: options?.propagation })
      const done = await store.delete(ref, options)
      const after = await now(ref)
      if (found !== undefined && !isMeant) expect(after.found, 'an object that was not meant').toEqual(found)
      await between()
      return done
    },
    patch: async (ref, patch, options) => {
      const { found, all } = await now(ref)
      expect(groupOf(ref.apiVersion)).toBe('example.com')
      const done = await store.patch(ref, patch, options)
      if (done.ok && found !== undefined) mayBecome(found, done.value, all, sees)
      await between()
      return done
    },
  })
}

/**
 * What may have become of an owner that a dependent loses. Between the look at it and the write, a
 * user may have changed in which way it goes, but not that it goes.
 */
function expectLoose(
  ref: OwnerReference,
  object: KubeObject,
  all: readonly KubeObject[],
  sees: Trust['sees'],
): Standing {
  const standing = standingOf(ref, object, all)
  const owner = all.find((it) => it.metadata.uid === ref.uid)
  const isGoing = owner === undefined ? kinds.some((kind) => kind.kind === ref.kind) : isDeleting(owner)
  if (sees === 'late' && isGoing) return standing
  expect(['absent', 'waiting', 'orphaning'], `owner of ${object.metadata.name}`).toContain(standing)
  return standing
}

function mayDelete(
  object: KubeObject,
  all: readonly KubeObject[],
  { sees, propagation }: Trust & { readonly propagation: Propagation | undefined },
): void {
  expect(isDeleting(object), 'is deleted once').toBe(false)
  expect(ownersOf(object).length, 'has owners').toBeGreaterThan(0)
  const standings = ownersOf(object).map((ref) => expectLoose(ref, object, all, sees))
  if (sees === 'late') return
  expect(standings).not.toContain('orphaning')
  const hasDependents = all.some((it) => ownersOf(it).some((ref) => ref.uid === object.metadata.uid))
  if (standings.includes('waiting') && hasDependents) expect(propagation).toBe('Foreground')
}

function mayBecome(before: KubeObject, after: KubeObject, all: readonly KubeObject[], sees: Trust['sees']): void {
  const kept = ownersOf(after).map((ref) => JSON.stringify({ ...ref, blockOwnerDeletion: undefined }))
  const removed = ownersOf(before).filter(
    (ref) => !kept.includes(JSON.stringify({ ...ref, blockOwnerDeletion: undefined })),
  )
  const standings = removed.map((ref) => expectLoose(ref, before, all, sees))
  if (sees === 'late') return

  if (removed.length > 0) expect(kept.length > 0 || standings.includes('orphaning'), 'is left with an owner').toBe(true)
  const isUnblocked = ownersOf(after).some((ref, index) => {
    const was = removed.length === 0 ? ownersOf(before)[index] : undefined
    return was?.blockOwnerDeletion === true && ref.blockOwnerDeletion === false
  })
  if (isUnblocked) expect(isInRing(before, all), 'is in a ring').toBe(true)
  if (isHeldBy(before, 'foregroundDeletion') && !isHeldBy(after, 'foregroundDeletion')) {
    expect(
      blockersOf(
        before,
        all.map((it) => (it.metadata.uid === before.metadata.uid ? before : it)),
      ),
    ).toEqual([])
  }
  if (isHeldBy(before, 'orphan') && !isHeldBy(after, 'orphan')) {
    const left = all.filter((it) => ownersOf(it).some((ref) => ref.uid === before.metadata.uid))
    expect(left.map((it) => it.metadata.name)).toEqual([])
  }
}
