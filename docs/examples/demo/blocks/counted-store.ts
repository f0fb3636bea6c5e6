import { Meta } from 'ipam-kit/crd'
import type { Store, StoreResult } from 'ipam-kit/store'

/** A store that counts what it is asked for. */
export class CountedStore implements Store {
  readonly capabilities: Store['capabilities']
  readonly #store: Store
  readonly #written: Meta.ObjectRef[] = []
  #reads = 0
  #refused = 0

  constructor(store: Store) {
    this.#store = store
    this.capabilities = store.capabilities
  }

  get reads(): number {
    return this.#reads
  }

  /** What was written, an object for each write. Also where it is not known whether it was. */
  get written(): readonly Meta.ObjectRef[] {
    return this.#written
  }

  /** Writes that met those of others. */
  get refused(): number {
    return this.#refused
  }

  get: Store['get'] = (ref) => {
    this.#reads++
    return this.#store.get(ref)
  }

  list: Store['list'] = (query, options) => {
    this.#reads++
    return this.#store.list(query, options)
  }

  create: Store['create'] = (object) => this.#count(Meta.refOf(object), this.#store.create(object))

  update: Store['update'] = (object, options) => this.#count(Meta.refOf(object), this.#store.update(object, options))

  patch: Store['patch'] = (ref, patch, options) => this.#count(ref, this.#store.patch(ref, patch, options))

  delete: Store['delete'] = (ref, options) => this.#count(ref, this.#store.delete(ref, options))

  watch: Store['watch'] = (query, options) => this.#store.watch(query, options)

  async #count<T>(ref: Meta.ObjectRef, answer: StoreResult<T>): StoreResult<T> {
    const written = await answer
    if (written.ok || written.failure.code === 'STORE_OUTCOME_UNKNOWN') this.#written.push(ref)
    else this.#refused++
    return written
  }
}
