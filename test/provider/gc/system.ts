import type { KubeObject, OwnerReference } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import type { Store } from 'ipam-kit/store'
import type { Dice, SimulatedSystem } from 'ipam-kit/testing'
import type { SimulationRules } from '../../../src/testing/simulation/simulate.js'
import { expectQuiet, isDeleting, ownersOf, type Standing, standingOf } from './truth.js'
import { kindFor, kinds, object, ownerOf, refTo } from './world.js'

const FOREIGN = 'example.com/held'
/** Few, so that names are used again. */
const NAMES = ['zone-a', 'box-a', 'box-b', 'item-a', 'item-b', 'item-c'] as const

export interface GcSystemOptions {
  /**
   * Whether only one collector writes at a time. Where several do, an owner that was waiting may
   * have been let go meanwhile.
   */
  readonly oneWriter: boolean
}

/**
 * Collectors, and people who make, own, disown and delete objects in all ways.
 *
 * Always: a collector deletes nothing that has an owner which lives, and takes no such reference
 * away. At rest: whatever has lost all its owners is gone, and nothing waits that need not.
 */
export function gcSystem(options: GcSystemOptions): SimulatedSystem {
  let people = new People()
  return {
    kinds,
    planner: () => gcPlanner({ kinds }),
    prepare: async (store) => {
      for (const name of ['zone-a', 'box-a']) await people.create(store, object(name))
    },
    act: (store, dice) => people.act(store, dice),
    rules: () => {
      // each simulation begins with its rules, and uids of another one mean nothing in it
      people = new People()
      return new GcRules(people, options)
    },
  }
}

/** They remember every owner that there ever was, and what they have done themselves. */
class People {
  readonly #owners: OwnerReference[] = []
  /** The versions that they have written. */
  readonly written = new Set<string | undefined>()
  /** The uids that they have deleted. */
  readonly deleted = new Set<string | undefined>()

  async act(store: Store, dice: Dice): Promise<void> {
    const name = dice.pick(NAMES)
    const ref = refTo(name)
    const draw = dice.next()
    const found = await store.get(ref)
    if (draw < 0.45 || !found.ok) {
      const finalizers = dice.chance(0.25) ? [FOREIGN] : []
      await this.create(store, object(name, { owners: this.#pick(dice), finalizers }))
    } else if (draw < 0.7) {
      // who deletes twice may change how it is deleted: that is tested elsewhere
      if (isDeleting(found.value)) return
      this.deleted.add(found.value.metadata.uid)
      await store.delete(ref, { propagation: dice.pick(['Background', 'Foreground', 'Foreground', 'Orphan']) })
    } else if (draw < 0.9) this.#note(await store.patch(ref, { metadata: { ownerReferences: this.#pick(dice) } }))
    else {
      const finalizers = (found.value.metadata.finalizers ?? []).filter((it) => it !== FOREIGN)
      this.#note(await store.patch(ref, { metadata: { finalizers } }))
    }
  }

  async create(store: Store, made: KubeObject): Promise<void> {
    const created = await store.create(made)
    this.#note(created)
    if (created.ok) this.#owners.push(ownerOf(created.value))
  }

  #note(answer: Awaited<ReturnType<Store['patch']>>): void {
    if (answer.ok) this.written.add(answer.value.metadata.resourceVersion)
  }

  #pick(dice: Dice): OwnerReference[] {
    return Array.from({ length: dice.below(3) }, () => {
      const owner = this.#owners.at(-1 - dice.below(Math.min(8, this.#owners.length)))!
      const name = dice.chance(0.06) ? dice.pick(NAMES.filter((it) => kindFor(it).kind === owner.kind)) : owner.name
      return { ...owner, name, blockOwnerDeletion: dice.chance(0.6) }
    })
  }
}

class GcRules implements SimulationRules {
  readonly #people: People
  readonly #options: GcSystemOptions
  readonly #objects = new Map<string, KubeObject>()

  constructor(people: People, options: GcSystemOptions) {
    this.#people = people
    this.#options = options
  }

  observe(change: Change): string | undefined {
    const { uid } = change.kind === 'present' ? change.object.metadata : change
    const before = this.#objects.get(uid!)
    const all = [...this.#objects.values()]
    const problem = before === undefined ? undefined : this.#judge(before, change, all)
    if (change.kind === 'present') this.#objects.set(uid!, change.object)
    else this.#objects.delete(uid!)
    return problem
  }

  async atRest(store: Store): Promise<string | undefined> {
    const objects: KubeObject[] = []
    for (const { apiVersion, kind } of kinds) objects.push(...unwrap(await store.list({ apiVersion, kind })).items)
    try {
      expectQuiet(objects)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  #judge(before: KubeObject, change: Change, all: readonly KubeObject[]): string | undefined {
    const { name, uid } = before.metadata
    const isDeletion = !isDeleting(before) && (change.kind === 'absent' || isDeleting(change.object))
    if (isDeletion && !this.#people.deleted.has(uid)) {
      const kept = ownersOf(before).find((ref) => !this.#isLoose(ref, before, all))
      if (ownersOf(before).length === 0) return `${name} was deleted, and never had an owner`
      return kept === undefined ? undefined : `${name} was deleted, and its owner ${kept.name} lives`
    }
    if (change.kind === 'present' && this.#people.written.has(change.object.metadata.resourceVersion)) return undefined
    const left = change.kind === 'present' ? ownersOf(change.object) : ownersOf(before)
    const lost = ownersOf(before).find((ref) => !left.some((it) => it.uid === ref.uid && it.name === ref.name))
    if (lost !== undefined && !this.#isLoose(lost, before, all) && !this.#isPast(lost, all))
      return `${name} lost its owner ${lost.name}, which lives`
    return undefined
  }

  /**
   * Whether an owner that left its dependents behind is gone already: with several collectors one
   * that has not seen this dependent yet may let it go, between the look of another at it and the
   * write.
   */
  #isPast(ref: OwnerReference, all: readonly KubeObject[]): boolean {
    return !this.#options.oneWriter && !all.some((it) => it.metadata.uid === ref.uid)
  }

  #isLoose(ref: OwnerReference, dependent: KubeObject, all: readonly KubeObject[]): boolean {
    const standing = standingOf(ref, dependent, all)
    if ((['absent', 'waiting', 'orphaning'] satisfies Standing[] as Standing[]).includes(standing)) return true
    const owner = all.find((it) => it.metadata.uid === ref.uid)
    return !this.#options.oneWriter && owner !== undefined && isDeleting(owner)
  }
}
