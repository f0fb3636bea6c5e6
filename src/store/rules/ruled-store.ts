import type { KubeObject } from '../../crd/meta/object.js'
import type { Result } from '../../errors/index.js'
import type { ObjectList, Store, StoreErrorCode, StoreResult, WatchEvent } from '../store.js'
import { assertWatchOptions } from './arguments.js'
import type { Intent, ObjectPlace, ObjectRules, Selection } from './object-rules.js'
import { type Page, readPage } from './pages.js'
import { failedWatch } from './selectors.js'

/** A method of a store, as failures name it. */
export type Operation = Exclude<keyof Store, 'capabilities'>

type Answer<T> = Result<T, StoreErrorCode> | StoreResult<T>

/** Where a store keeps its objects: what is asked of it has been read and checked. */
export interface Keeper {
  get(place: ObjectPlace): Answer<KubeObject>
  list(selection: Selection, page: Page): Answer<ObjectList>
  write(operation: Operation, intent: Intent): Answer<KubeObject>
  watch(selection: Selection, resourceVersion: string | undefined): AsyncIterable<WatchEvent>
}

/**
 * The store over a keeper: {@link ObjectRules} decide, in the call itself, and the keeper reads and
 * writes.
 */
export function ruledStore(rules: ObjectRules, keeper: Keeper): Store {
  const write = (operation: Operation, intent: Result<Intent, StoreErrorCode>): Answer<KubeObject> =>
    intent.ok ? keeper.write(operation, intent.value) : intent
  return {
    capabilities: Object.freeze({
      collectsGarbage: false,
      checksSchemas: rules.checksSchemas,
      convertsVersions: false,
      maxObjectBytes: rules.maxObjectBytes,
    }),
    async get(ref) {
      const placed = rules.place(ref)
      return placed.ok ? keeper.get(placed.value) : placed
    },
    async list(query, options = {}) {
      const selected = rules.select(query)
      const paged = readPage(options)
      if (!selected.ok) return selected
      return paged.ok ? keeper.list(selected.value, paged.value) : paged
    },
    create: async (object) => write('create', rules.create(object)),
    update: async (object, options = {}) => write('update', rules.update(object, options)),
    patch: async (ref, patch, options = {}) => write('patch', rules.patch(ref, patch, options)),
    delete: async (ref, options = {}) => write('delete', rules.delete(ref, options)),
    watch(query, options = {}) {
      const selected = rules.select(query)
      assertWatchOptions(options)
      return selected.ok ? keeper.watch(selected.value, options.resourceVersion) : failedWatch(selected.failure)
    },
  }
}
