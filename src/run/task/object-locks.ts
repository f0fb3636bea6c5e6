import { type ObjectRef, objectKey } from '../../crd/meta/object.js'

/** Locks of objects that the tasks of one process share: {@link objectLocks}. */
export interface ObjectLocks {
  /** Begins a run of a task. An earlier run is served before a later one. */
  begin(): LockHolder
}

/** One run of a task, which acquires locks and waits for those of other runs. */
export interface LockHolder {
  /** Whether another run holds the lock of an object, or is served before this run. */
  isLocked(ref: ObjectRef): boolean
  /**
   * Waits until another run releases the lock of an object, and then holds it. Resolves at once,
   * without the lock, if the object is not {@link isLocked locked}. All other locks of this run are
   * released.
   */
  wait(ref: ObjectRef): Promise<void>
  /**
   * Acquires the locks of these objects, and releases all others of this run. Locks are advisory:
   * this does not wait for other runs that hold the same locks.
   */
  acquire(refs: readonly ObjectRef[]): void
  /** Releases all locks of this run. The next run that waits for each of them continues. */
  release(): void
}

/**
 * Advisory locks on objects, for tasks of one process that write the same objects
 * ({@link RunTaskOptions.locks}).
 *
 * A task that would write an object which another task is writing waits for the lock, and then
 * plans again with what was written. The task that began first acquires the lock first. Locks
 * avoid conflicts within the process. Correctness does not depend on them: other processes write
 * the same objects, and the store decides each conflict.
 *
 * - Share one value between tasks that share a cache and a store.
 * - A task waits only while another task runs, so tasks cannot deadlock.
 * - A task also waits for a request that is not answered. Give the client of the store a time
 *   limit.
 * - A `pause` of {@link RunTaskOptions} must not wait for another task with the same locks.
 *
 * `wait` takes O(n) for n tasks that wait for the same object.
 *
 * @example
 * const locks = objectLocks()
 * const [first, second] = [locks.begin(), locks.begin()]
 * const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' }
 * first.acquire([ref])
 * second.isLocked(ref) // true
 * first.release()
 * second.isLocked(ref) // false
 */
export function objectLocks(): ObjectLocks {
  const objects: Objects = new Map()
  let count = 0
  return { begin: () => new Holder(objects, ++count) }
}

/** The lock of one object. */
interface Lock {
  /** The runs that write the object, and the run that was resumed last. */
  readonly holders: Set<Holder>
  /** The runs that wait, the earliest first. */
  readonly waiting: { readonly holder: Holder; readonly resume: () => void }[]
}

type Objects = Map<string, Lock>

class Holder implements LockHolder {
  readonly #objects: Objects
  readonly #number: number
  #held: readonly string[] = []

  constructor(objects: Objects, number: number) {
    this.#objects = objects
    this.#number = number
  }

  isLocked(ref: ObjectRef): boolean {
    return this.#isHeldByOther(objectKey(ref))
  }

  async wait(ref: ObjectRef): Promise<void> {
    const key = objectKey(ref)
    // a run that was resumed elsewhere, and waits here, lets the next run have that lock
    this.#hold(this.#held.filter((each) => each === key))
    if (!this.#isHeldByOther(key)) return
    const { holders, waiting } = this.#objects.get(key) as Lock
    this.#held = []
    holders.delete(this)
    const after = waiting.findIndex(({ holder }) => holder.#number > this.#number)
    await new Promise<void>((resume) => {
      waiting.splice(after < 0 ? waiting.length : after, 0, { holder: this, resume })
    })
  }

  acquire(refs: readonly ObjectRef[]): void {
    this.#hold([...new Set(refs.map(objectKey))])
  }

  release(): void {
    this.#hold([])
  }

  #isHeldByOther(key: string): boolean {
    const holders = this.#objects.get(key)?.holders
    return holders !== undefined && holders.size > (holders.has(this) ? 1 : 0)
  }

  /** Holds these locks, and no others. */
  #hold(keys: readonly string[]): void {
    const before = this.#held
    this.#held = keys
    for (const key of keys) {
      const lock = this.#objects.get(key)
      if (lock === undefined) this.#objects.set(key, { holders: new Set([this]), waiting: [] })
      else lock.holders.add(this)
    }
    for (const key of before) if (!keys.includes(key)) this.#leave(key)
  }

  #leave(key: string): void {
    const { holders, waiting } = this.#objects.get(key) as Lock
    holders.delete(this)
    const next = waiting.shift()
    if (next !== undefined) {
      next.holder.#held = [key]
      holders.add(next.holder)
      next.resume()
    } else if (holders.size === 0) this.#objects.delete(key)
  }
}
