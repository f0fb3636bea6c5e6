import { check } from '../errors/check.js'
import type { Store } from '../store/index.js'
import { STORE } from '../store/store.js'
import { storeOver } from './store-over.js'

export interface StandingStore extends Store {
  /** The number of attempted writes. */
  readonly writes: number
}

/**
 * A store over another one that pauses before its `at`-th write, counted from 1: it runs
 * `meanwhile`, and then sends the write unchanged. It simulates a process that is suspended between
 * the check that it may write and the write.
 *
 * @throws RangeError if `at` is below 1
 */
export function standingStore(store: Store, at: number, meanwhile: () => Promise<void>): StandingStore {
  check('standingStore', 'store', store, STORE)
  check('standingStore', 'at', at, 'number')
  check('standingStore', 'meanwhile', meanwhile, 'function')

  if (!(at >= 1)) throw new RangeError(`writes are counted from 1, got ${at}`)
  let writes = 0
  const write = async <T>(action: () => Promise<T>): Promise<T> => {
    if (++writes === at) await meanwhile()
    return action()
  }
  const standing = storeOver(store, {
    create: (object) => write(() => store.create(object)),
    update: (object, options) => write(() => store.update(object, options)),
    patch: (ref, patch, options) => write(() => store.patch(ref, patch, options)),
    delete: (ref, options) => write(() => store.delete(ref, options)),
  })
  return Object.defineProperty(standing, 'writes', { get: () => writes }) as StandingStore
}
