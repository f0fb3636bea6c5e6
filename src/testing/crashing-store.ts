import { check } from '../errors/check.js'
import type { Store } from '../store/index.js'
import { STORE } from '../store/store.js'
import { storeOver } from './store-over.js'

/** Thrown by a store that simulates a crash: the host process is killed. */
export class SimulatedCrash extends Error {
  override readonly name = 'SimulatedCrash'
}

/**
 * The point of the crash: just before a write is done, or after it is done and before it is
 * answered.
 */
export type CrashPoint = 'before' | 'after'

export interface CrashingStore extends Store {
  /** The number of attempted writes. */
  readonly writes: number
}

/**
 * A store over another one that crashes at its `at`-th write, counted from 1, and at every call
 * after that. The store below keeps what was written: continue with that store.
 * `crashingStore(store, 3, 'after')` does two writes, and a third whose answer is lost.
 */
export function crashingStore(store: Store, at: number, point: CrashPoint): CrashingStore {
  check('crashingStore', 'store', store, STORE)
  check('crashingStore', 'at', at, 'number')
  check('crashingStore', 'point', point, ['one', { before: 1, after: 1 }])

  if (!(at >= 1)) throw new RangeError(`writes are counted from 1, got ${at}`)
  let writes = 0
  const alive = () => {
    if (writes >= at) throw new SimulatedCrash(`crashed ${point} write ${at}`)
  }
  const write = async <T>(action: () => Promise<T>): Promise<T> => {
    alive()
    writes++
    if (writes === at && point === 'before') alive()
    const answer = await action()
    if (writes === at && point === 'after') alive()
    return answer
  }
  const read = async <T>(action: () => Promise<T>): Promise<T> => {
    alive()
    return action()
  }
  const cut = storeOver(store, {
    get: (ref) => read(() => store.get(ref)),
    list: (query, options) => read(() => store.list(query, options)),
    watch: (query, options) => {
      alive()
      return store.watch(query, options)
    },
    create: (object) => write(() => store.create(object)),
    update: (object, options) => write(() => store.update(object, options)),
    patch: (ref, patch, options) => write(() => store.patch(ref, patch, options)),
    delete: (ref, options) => write(() => store.delete(ref, options)),
  })
  return Object.defineProperty(cut, 'writes', { get: () => writes }) as CrashingStore
}
