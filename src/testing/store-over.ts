import { check } from '../errors/check.js'
import type { Store } from '../store/index.js'
import { STORE } from '../store/store.js'

/**
 * A store that overrides some operations of another store: for tests in which a store fails or is
 * slow.
 */
export function storeOver(below: Store, own: Partial<Store>): Store {
  check('storeOver', 'below', below, STORE)
  check('storeOver', 'own', own, 'object')

  return {
    capabilities: below.capabilities,
    get: (ref) => below.get(ref),
    list: (query, options) => below.list(query, options),
    watch: (query, options) => below.watch(query, options),
    create: (object) => below.create(object),
    update: (object, options) => below.update(object, options),
    patch: (ref, patch, options) => below.patch(ref, patch, options),
    delete: (ref, options) => below.delete(ref, options),
    ...own,
  }
}
