import { formatRef, type KubeObject, refOf } from '../../crd/meta/object.js'
import { failure, ipamError } from '../../errors/failure.js'
import type { Change, ObjectCache, Selection } from '../../plan/index.js'
import { isOlderVersion } from '../../plan/object-cache.js'
import type { ListQuery, Store, StoreFailure, WatchEvent } from '../../store/index.js'

/** What an {@link Informer} needs of the controller that it feeds. */
export interface InformerHost {
  readonly store: Store
  readonly cache: ObjectCache
  /**
   * Takes in what is stored, in the order of the store. `isKept`: the object is what the selection
   * keeps of it.
   */
  readonly show: (change: Change, isKept: boolean) => void
  /** The selection was listed for the first time. */
  readonly synced: () => void
  /**
   * It could not be listed or watched, and how often in a row. @returns resolves when it is to be
   * tried again
   */
  readonly failed: (failure: StoreFailure, times: number) => Promise<void>
}

/** How many objects a page of a list has at most, as in the informers of Kubernetes. */
const PAGE = 500
/** No limit. */
const WHOLE = Number.MAX_SAFE_INTEGER

/**
 * The objects of one selection, listed page by page and then watched for as long as it runs: what
 * was deleted while no watch was open is told of after the next list.
 *
 * A watch continues from where it was, as long as the store still has the changes since; otherwise
 * everything is listed again.
 */
export class Informer {
  readonly #selection: Selection
  readonly #query: ListQuery
  readonly #host: InformerHost
  #watch: AsyncIterator<WatchEvent> | undefined
  #isStopped = false
  #failures = 0
  /** The last version that was listed or told of by a watch. */
  #reached: string | undefined
  /** Whether it was listed because the past was gone, and nothing has been told since. */
  #isAfresh = false

  constructor(selection: Selection, host: InformerHost) {
    const { apiVersion, kind, namespace, labels, labelExpressions, fields } = selection
    this.#selection = selection
    this.#query = { apiVersion, kind, namespace, labels, labelExpressions, fields }
    this.#host = host
  }

  /**
   * Runs until {@link stop}.
   *
   * @throws IpamError `STORE_IO` if the database was restored to an earlier state: the cache is no
   * longer valid
   */
  async run(): Promise<void> {
    let hasSynced = false
    let version: string | undefined
    while (!this.#isStopped) {
      if (version === undefined) {
        version = await this.#list()
        if (version === undefined) continue
        if (!hasSynced) this.#host.synced()
        hasSynced = true
      }
      version = await this.#follow(version)
    }
  }

  stop(): void {
    this.#isStopped = true
    void this.#watch?.return?.()
  }

  /** @returns the version to watch from; `undefined` if it failed: again */
  async #list(): Promise<string | undefined> {
    const { cache, show } = this.#host
    const since = cache.clock
    const list = await this.#pages()
    if (list === undefined || this.#isStopped) return undefined
    const { resourceVersion } = list
    if (isOlderVersion(resourceVersion, this.#reached)) {
      throw this.#restored(`version ${resourceVersion} after ${this.#reached}`)
    }
    const found = cache.changesOf(this.#selection, list, since)
    if (found.kind === 'went-back') {
      throw this.#restored(`${found.how === 'older' ? 'an older' : 'again'} ${formatRef(found.ref)}`)
    }
    this.#reached = resourceVersion
    // the claim that has waited longest is served first, also after a restart
    for (const change of found.changes) show(change, true)
    cache.complete(this.#selection, resourceVersion)
    return resourceVersion
  }

  /**
   * All pages of a list, of each object what is remembered. A list that expires while its pages are
   * read is read anew, in one piece.
   *
   * @returns `undefined` if it failed
   */
  async #pages(
    limit = PAGE,
  ): Promise<{ readonly items: readonly KubeObject[]; readonly resourceVersion: string } | undefined> {
    const { store, cache } = this.#host
    const items: KubeObject[] = []
    let from: string | undefined
    for (;;) {
      const listed = await store.list(this.#query, limit === WHOLE ? {} : { limit, continue: from })
      if (this.#isStopped) return undefined
      if (!listed.ok) {
        // it has expired, or the store does not take it: not asked again
        const isOver = from !== undefined && listed.failure.code !== 'STORE_IO'
        return isOver ? this.#pages(WHOLE) : this.#fail(listed.failure)
      }
      for (const object of listed.value.items) items.push(cache.keep(this.#selection, object))
      const { resourceVersion } = listed.value
      from = listed.value.continue
      if (from === undefined) return { items, resourceVersion }
    }
  }

  /** Watches from a version on. @returns where to continue; `undefined`: list again */
  async #follow(from: string): Promise<string | undefined> {
    let version = from
    const watch = this.#host.store.watch(this.#query, { resourceVersion: from })[Symbol.asyncIterator]()
    this.#watch = watch
    try {
      for (;;) {
        const next = await watch.next()
        if (this.#isStopped) return undefined
        // no store may do so: one that does must not be asked without a pause
        if (next.done === true)
          return this.#fail(failure('STORE_IO', { operation: 'watch', problem: 'the watch has ended' }))
        const event = next.value
        if (event.type === 'ERROR') {
          const isGone = event.failure.code === 'STORE_VERSION_GONE'
          // that the past is gone happens: but not again right after the next list
          if (!isGone || this.#isAfresh) await this.#fail(event.failure)
          this.#isAfresh = isGone
          return isGone ? undefined : version
        }
        // where the watch begins is no news
        if (event.type !== 'BOOKMARK' || event.resourceVersion !== from) {
          this.#failures = 0
          this.#isAfresh = false
        }
        // one without a version says nothing of where the watch is
        version = (event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion) || version
        this.#reached = version
        if (event.type === 'BOOKMARK') continue
        const { object } = event
        const change: Change =
          event.type === 'DELETED'
            ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
            : { kind: 'present', object }
        this.#host.show(change, false)
      }
    } finally {
      this.#watch = undefined
      void watch.return?.()
    }
  }

  #restored(what: string) {
    return ipamError('STORE_IO', {
      operation: `list of ${this.#selection.kind}`,
      problem: `restored to an earlier state: ${what}`,
    })
  }

  async #fail(failure: StoreFailure): Promise<undefined> {
    await this.#host.failed(failure, ++this.#failures)
  }
}
