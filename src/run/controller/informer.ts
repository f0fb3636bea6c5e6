import { formatRef, type KubeObject, refOf } from '../../crd/meta/object.js'
import { STORE_IO } from '../../errors/definitions.js'
import { failure, ipamError } from '../../errors/failure.js'
import type { Change, ObjectCache, Selection } from '../../plan/index.js'
import { type ApplyOptions, isOlderVersion } from '../../plan/object-cache.js'
import type { ListQuery, Store, StoreFailure, WatchEvent } from '../../store/index.js'

/** What an {@link Informer} needs of its controller. */
export interface InformerHost {
  readonly store: Store
  readonly cache: ObjectCache
  /** Applies a stored state, in the order of the store. */
  readonly show: (change: Change, options: Pick<ApplyOptions, 'isKept' | 'since'>) => void
  /** Called before each piece of work: the promise resolves when the work may continue. */
  readonly over: () => Promise<void> | undefined
  /**
   * Resolves when a page may be requested: otherwise the pages of several kinds may be read in one
   * turn.
   */
  readonly admit: () => Promise<void>
  /** The changes of a list follow: nothing may be planned before {@link listed}. */
  readonly listing: () => void
  /** The cache has all changes of a list. */
  readonly listed: (isFirst: boolean) => void
  /**
   * A list or a watch has failed, with the number of failures in a row. @returns resolves when it
   * is to be tried again
   */
  readonly failed: (failure: StoreFailure, times: number) => Promise<void>
}

/** Objects of one page of a list, as in the informers of Kubernetes, and of the first page. */
const PAGE = 500
const FIRST_PAGE = 50
/**
 * The length of the JSON of a page: a client reads it in one turn of the event loop. 500 Pods of
 * 6 kB, or 50 blocks with 256 rows.
 */
const PAGE_LENGTH = 3_500_000
/** The number of objects of a page by which the length of all is estimated. */
const SAMPLES = 5
/** No limit. */
const WHOLE = Number.MAX_SAFE_INTEGER

/**
 * Lists the objects of one selection page by page, and then watches them. The next list shows what
 * was deleted while no watch was open.
 *
 * A watch continues from its last version, as long as the store still has the changes since then.
 * Otherwise everything is listed again.
 */
export class Informer {
  readonly #selection: Selection
  readonly #query: ListQuery
  readonly #host: InformerHost
  #watch: AsyncIterator<WatchEvent> | undefined
  #isStopped = false
  #failures = 0
  /** The last version of a list or of a watch. */
  #reached: string | undefined
  /** Whether the last list was made because the version was gone, with no event since. */
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
    let version: string | undefined
    while (!this.#isStopped) {
      if (version === undefined) {
        version = await this.#list()
        if (version === undefined) continue
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
    const { cache } = this.#host
    const since = cache.clock
    const list = await this.#pages()
    if (list === undefined || this.#isStopped) return undefined
    const { resourceVersion } = list
    if (isOlderVersion(resourceVersion, this.#reached)) {
      throw this.#restored(`version ${resourceVersion} after ${this.#reached}`)
    }
    this.#host.listing()
    await this.#apply(cache.compare(this.#selection, list, since), since)
    if (this.#isStopped) return undefined
    const isFirst = this.#reached === undefined
    this.#reached = resourceVersion
    cache.complete(this.#selection, resourceVersion)
    this.#host.listed(isFirst)
    return resourceVersion
  }

  /**
   * Applies the changes of a list: the claim that has waited longest is served first, also after a
   * restart.
   */
  async #apply(steps: ReturnType<ObjectCache['compare']>, since: number): Promise<void> {
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) {
        const found = step.value
        if (found === undefined) return
        throw this.#restored(`${found.how === 'older' ? 'an older' : 'again'} ${formatRef(found.ref)}`)
      }
      const change = step.value
      // what has become absent is compared with the cache as it is now
      if (change !== undefined) this.#host.show(change, { isKept: true, ...(change.kind === 'present' && { since }) })
      const over = this.#host.over()
      if (over !== undefined) await over
      if (this.#isStopped) return
    }
  }

  /**
   * All pages of a list, each object trimmed to what the selection keeps. A list that expires while
   * its pages are read is read again, in one piece.
   *
   * @returns `undefined` if it failed
   */
  async #pages(
    firstLimit = FIRST_PAGE,
  ): Promise<{ readonly items: readonly KubeObject[]; readonly resourceVersion: string } | undefined> {
    const { store, cache } = this.#host
    const items: KubeObject[] = []
    let from: string | undefined
    let limit = firstLimit
    for (;;) {
      await this.#host.admit()
      if (this.#isStopped) return undefined
      const listed = await store.list(this.#query, limit === WHOLE ? {} : { limit, continue: from })
      if (this.#isStopped) return undefined
      if (!listed.ok) {
        // it has expired, or the store does not accept it: not requested again
        const isOver = from !== undefined && listed.failure.code !== 'STORE_IO'
        return isOver ? this.#pages(WHOLE) : this.#fail(listed.failure)
      }
      limit = nextLimit(listed.value.items, limit)
      for (const object of listed.value.items) items.push(cache.keep(this.#selection, object))
      const over = this.#host.over()
      if (over !== undefined) await over
      if (this.#isStopped) return undefined
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
        // no store may do so: such a store must not be called without a pause
        if (next.done === true)
          return this.#fail(failure(STORE_IO, { operation: 'watch', problem: 'the watch has ended' }))
        const event = next.value
        if (event.type === 'ERROR') {
          const isGone = event.failure.code === 'STORE_VERSION_GONE'
          // a version may be gone, but not again right after the next list
          if (!isGone || this.#isAfresh) await this.#fail(event.failure)
          this.#isAfresh = isGone
          return isGone ? undefined : version
        }
        // the first bookmark only repeats the start of the watch
        if (event.type !== 'BOOKMARK' || event.resourceVersion !== from) {
          this.#failures = 0
          this.#isAfresh = false
        }
        // an event without a version does not move the watch
        version = (event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion) || version
        this.#reached = version
        if (event.type === 'BOOKMARK') continue
        const { object } = event
        const change: Change =
          event.type === 'DELETED'
            ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
            : { kind: 'present', object }
        this.#host.show(change, {})
        const over = this.#host.over()
        if (over !== undefined) await over
        if (this.#isStopped) return undefined
      }
    } finally {
      this.#watch = undefined
      void watch.return?.()
    }
  }

  #restored(what: string) {
    return ipamError(STORE_IO, {
      operation: `list of ${this.#selection.kind}`,
      problem: `restored to an earlier state: ${what}`,
    })
  }

  async #fail(failure: StoreFailure): Promise<undefined> {
    await this.#host.failed(failure, ++this.#failures)
  }
}

/** How many objects like these a page may have. */
function nextLimit(items: readonly KubeObject[], limit: number): number {
  if (items.length === 0 || limit === WHOLE) return limit
  const step = Math.ceil(items.length / SAMPLES)
  const samples = items.filter((_, nth) => nth % step === 0)
  const length = samples.reduce((sum, object) => sum + JSON.stringify(object).length, 0) / samples.length
  return Math.max(1, Math.min(PAGE, Math.floor(PAGE_LENGTH / length)))
}
