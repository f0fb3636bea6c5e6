import { type ObjectRef, objectKey } from '../../crd/meta/object.js'

/** How tasks of a process that would meet at an object wait for each other: {@link taskTurns}. */
export interface TaskTurns {
  /** A run of a task begins. */
  begin(): TaskTurn
}

/** The turn of one run of a task. */
export interface TaskTurn {
  /** Whether another run is writing an object, or goes first. */
  isBusy(ref: ObjectRef): boolean
  /**
   * Resolves when this run is to look again. Where nobody {@link isBusy is busy} with it: at once.
   */
  wait(ref: ObjectRef): Promise<void>
  /** It begins to write these, whoever else does. */
  writes(refs: readonly ObjectRef[]): void
  /**
   * What it was writing is done, or others need not wait for it, or the run has ended, however: the
   * next one goes on.
   */
  pass(): void
}

/**
 * Turns for the tasks of a process on one store that know the same ({@link RunTaskOptions.turns}):
 * one that would write an object which another one is writing waits until that is done, and looks
 * again; of several the one that has begun first. So they do not make each other begin anew, and
 * where others write too, each process keeps to objects of its own as long as there are enough.
 *
 * A task waits only for one that is at work, so that they never wait for each other. While a
 * request is not answered those that want its object wait too: give the client of the store a time
 * limit. What a `pause` of {@link RunTaskOptions} does must not wait for another task with the same
 * turns.
 *
 * One turn O(n) for n tasks that wait for the same object.
 *
 * @example
 * const turns = taskTurns()
 * const [first, second] = [turns.begin(), turns.begin()]
 * const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' }
 * first.writes([ref])
 * second.isBusy(ref) // true
 * first.pass()
 * second.isBusy(ref) // false
 */
export function taskTurns(): TaskTurns {
  const objects: Objects = new Map()
  let count = 0
  return { begin: () => new Turn(objects, ++count) }
}

/** An object that somebody writes. */
interface Busy {
  /** The runs that write it, and one that was told to look again. */
  readonly holders: Set<Turn>
  /** Those that wait, the one that has begun first at the front. */
  readonly waiting: { readonly turn: Turn; readonly goOn: () => void }[]
}

type Objects = Map<string, Busy>

class Turn implements TaskTurn {
  readonly #objects: Objects
  readonly #number: number
  #held: readonly string[] = []

  constructor(objects: Objects, number: number) {
    this.#objects = objects
    this.#number = number
  }

  isBusy(ref: ObjectRef): boolean {
    return this.#isHeld(objectKey(ref))
  }

  async wait(ref: ObjectRef): Promise<void> {
    const key = objectKey(ref)
    // where it was to go on, and does not, the next one may
    this.#hold(this.#held.filter((each) => each === key))
    if (!this.#isHeld(key)) return
    const { holders, waiting } = this.#objects.get(key) as Busy
    this.#held = []
    holders.delete(this)
    const after = waiting.findIndex(({ turn }) => turn.#number > this.#number)
    await new Promise<void>((goOn) => {
      waiting.splice(after < 0 ? waiting.length : after, 0, { turn: this, goOn })
    })
  }

  writes(refs: readonly ObjectRef[]): void {
    this.#hold(refs.map(objectKey))
  }

  pass(): void {
    this.#hold([])
  }

  #isHeld(key: string): boolean {
    const holders = this.#objects.get(key)?.holders
    return holders !== undefined && holders.size > (holders.has(this) ? 1 : 0)
  }

  /** From now on it holds these, and nothing else. */
  #hold(keys: readonly string[]): void {
    const before = this.#held
    this.#held = keys
    for (const key of keys) {
      const busy = this.#objects.get(key)
      if (busy === undefined) this.#objects.set(key, { holders: new Set([this]), waiting: [] })
      else busy.holders.add(this)
    }
    for (const key of before) if (!keys.includes(key)) this.#leave(key)
  }

  #leave(key: string): void {
    const { holders, waiting } = this.#objects.get(key) as Busy
    holders.delete(this)
    const next = waiting.shift()
    if (next !== undefined) {
      next.turn.#held = [key]
      holders.add(next.turn)
      next.goOn()
    } else if (holders.size === 0) this.#objects.delete(key)
  }
}
