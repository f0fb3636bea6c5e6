import type { Dice } from '../../../src/testing/index.js'
import { type Act, FOREIGN, kinds, type Made, type Owned, placeOf } from './side.js'

const [ZONE, BOX, ITEM] = kinds
const OTHER_VERSION = 'gc.example.com/v1beta1'

/**
 * A small graph of objects and what people do to it, one step after the other, drawn from a seed.
 *
 * Left out is what the collector of Kubernetes decides by who comes first, so that its own end is
 * not always the same: an object of several owners that is held by others, one that does not hold
 * up an owner which is, and rings. So are the differences that are meant. Rings and differences
 * have cases of their own.
 */
export class Graph {
  readonly seed: number
  readonly acts: Act[] = []
  readonly #dice: Dice
  readonly #made: Made[] = []
  /** Those that others hold when they are deleted. */
  readonly #held = new Set<number>()

  constructor(seed: number, dice: Dice) {
    this.seed = seed
    this.#dice = dice
  }

  /** Whether a place belongs to this graph. */
  isIn(place: string): boolean {
    return place.startsWith(`g${this.seed}-`)
  }

  /** The first step: some objects, each owned by those before it. */
  begin(): readonly Act[] {
    const first = [ZONE, BOX, BOX, ITEM, ITEM, ITEM, BOX].slice(0, 3 + this.#dice.below(5))
    return first.map((kind, index) => {
      const name = `${kind.kind.toLowerCase()}-${index}`
      const namespace = `g${this.seed}-${this.#dice.chance(0.12) ? 'b' : 'a'}`
      const place = kind.namespaced ? { name, namespace } : { name: `g${this.seed}-${name}`, namespace: undefined }
      return this.#keep(this.#create({ kind, ...place }, this.#made))
    })
  }

  /** One step more, given what there is: the same on both sides. */
  next(state: ReadonlyMap<string, string>): Act | undefined {
    const dice = this.#dice
    const there = this.#made.filter((made) => idIn(state, made) !== undefined)
    const living = there.filter((made) => !isDeleting(state, made))
    // who comes to an owner that waits already is one of the differences
    const owners = this.#made.filter((made) => idIn(state, made) === undefined || !isWaiting(state, made))
    const free = this.#made.filter((made) => !state.has(placeOf(made)))
    const held = there.filter((made) => state.get(placeOf(made))!.includes(FOREIGN))
    const draw = dice.next()
    if (draw < 0.2 && held.length > 0) return this.#keep({ do: 'free', made: dice.pick(held) })
    if (draw < 0.35 && free.length > 0) {
      return this.#keep(this.#create(dice.pick(free), owners))
    }
    if (draw < 0.5 && living.length > 0) {
      const made = dice.pick(living)
      const drawn = this.#owners(made, owners)
      return this.#keep({ do: 'own', made, owners: isHeld(state, made) ? drawn.slice(0, 1) : drawn })
    }
    if (living.length === 0) return undefined
    const made = dice.pick(living)
    // a deletion in foreground while others wait for their dependents is one of the differences
    const waits = there.some((it) => isWaiting(state, it))
    const ways = [
      'Background',
      'Orphan',
      undefined,
      ...(waits ? [] : (['Foreground', 'Foreground', 'Foreground'] as const)),
    ] as const
    return this.#keep({ do: 'delete', made, propagation: dice.pick(ways) })
  }

  #keep<A extends Act>(act: A): A {
    this.acts.push(act)
    return act
  }

  #create(place: Omit<Made, 'id'>, candidates: readonly Made[]): Act {
    const dice = this.#dice
    const made: Made = { ...place, id: this.seed * 1000 + this.#made.length }
    const owners = this.#owners(made, candidates).map((owned): Owned => {
      const isMisnamed = owned.owner !== undefined && dice.chance(0.06)
      return isMisnamed ? { ...owned, as: { name: 'misnamed' } } : owned
    })
    this.#made.push(made)
    const finalizers = owners.length < 2 && dice.chance(0.25) ? [FOREIGN] : []
    if (finalizers.length > 0) this.#held.add(made.id)
    return { do: 'create', made, owners, finalizers }
  }

  #owners(dependent: Made, candidates: readonly Made[]): Owned[] {
    const dice = this.#dice
    const possible = candidates.filter(
      (it) => it.id < dependent.id && (dependent.kind.namespaced || !it.kind.namespaced),
    )
    const owners = new Map<number, Owned>()
    for (let left = dice.below(3) + (dice.chance(0.6) ? 1 : 0); left > 0 && possible.length > 0; left--) {
      const owner = dice.pick(possible)
      const blocks = this.#held.has(owner.id) || dice.pick([true, true, false, undefined])
      owners.set(owner.id, { owner, blocks, ...(dice.chance(0.15) ? { as: { apiVersion: OTHER_VERSION } } : {}) })
    }
    if (dependent.kind.namespaced && dice.chance(0.08)) owners.set(-1, { owner: undefined, blocks: undefined })
    return [...owners.values()]
  }
}

/** The object that has the name, if it is this one. */
function idIn(state: ReadonlyMap<string, string>, made: Made): number | undefined {
  const shown = state.get(placeOf(made))
  const id = shown === undefined ? undefined : Number(/\d+/.exec(shown)?.[0])
  return id === made.id ? id : undefined
}

function isDeleting(state: ReadonlyMap<string, string>, made: Made): boolean {
  return state.get(placeOf(made))?.startsWith('(') === true
}

function isWaiting(state: ReadonlyMap<string, string>, made: Made): boolean {
  return state.get(placeOf(made))?.includes('foregroundDeletion') === true
}

function isHeld(state: ReadonlyMap<string, string>, made: Made): boolean {
  return state.get(placeOf(made))?.includes(FOREIGN) === true
}

export function shownAct(act: Act): string {
  const { made } = act
  const shown = `${act.do} ${made.id} ${made.kind.kind} ${placeOf(made)}`
  switch (act.do) {
    case 'create':
      return `${shown} ${JSON.stringify(act.finalizers)}${act.owners.map(shownOwner).join('')}`
    case 'own':
      return `${shown}${act.owners.map(shownOwner).join('')}`
    case 'delete':
      return `${shown} ${act.propagation ?? ''}`
    case 'free':
      return shown
  }
}

function shownOwner({ owner, blocks, as }: Owned): string {
  return ` <- ${owner?.id ?? 'nobody'}${blocks === true ? '!' : ''}${as === undefined ? '' : JSON.stringify(as)}`
}
