import { formatRef, type KindInfo, type KubeObject, type ObjectRef, objectKey, refOf } from '../crd/meta/object.js'
import { failure, ipamError } from '../errors/index.js'
import { type Change, isOlderVersion } from '../plan/index.js'
import type { Store, StoreFailure, WatchEvent } from '../store/index.js'
import { byAge } from './by-age.js'

/** What a {@link Feed} needs of the controller that it feeds. */
export interface FeedHost {
  readonly store: Store
  /** Takes in what is stored, in the order of the store. */
  readonly show: (change: Change) => void
  /** The kind was listed for the first time. */
  readonly synced: () => void
  /** It could not be listed or watched, and how often in a row. @returns resolves when it is to be tried again */
  readonly failed: (failure: StoreFailure, times: number) => Promise<void>
}

/** What is known of an object: enough to tell of its end. */
interface Known {
  readonly ref: ObjectRef
  readonly uid: string | undefined
  readonly version: string | undefined
}

/** How many objects are remembered after they went. */
const MAX_GONE = 10_000

/**
 * The objects of one kind, listed and then watched for as long as it runs: what went while nobody looked is told of after the next list.
 *
 * A watch goes on from where it was, as long as the store still has the changes since; otherwise everything is listed again.
 */
export class Feed {
  readonly #kind: KindInfo
  readonly #host: FeedHost
  readonly #known = new Map<string, Known>()
  #watch: AsyncIterator<WatchEvent> | undefined
  #isStopped = false
  #failures = 0
  /** The last version that was listed or told of by a watch. */
  #reached: string | undefined
  /** Objects that went, by key and uid, and how many lists had been asked for by then. */
  readonly #gone = new Map<string, number>()
  #lists = 0
  /** Whether it was listed because the past was gone, and nothing has been told since. */
  #isAfresh = false

  constructor(kind: KindInfo, host: FeedHost) {
    this.#kind = kind
    this.#host = host
  }

  /**
   * Runs until {@link stop}.
   *
   * @throws IpamError `STORE_IO` when what is stored has gone back to an earlier state: nothing that is known of it can be trusted any more
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

  /** Takes in what became known of an object of this kind, from here or from a write. @returns whether it was not known */
  note(change: Change): boolean {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const key = objectKey(ref)
    const known = this.#known.get(key)
    if (change.kind === 'present') {
      const { uid, resourceVersion: version } = change.object.metadata
      // the echo of a write that is known already
      if (isOlderVersion(version, known?.version)) return false
      this.#known.set(key, { ref, uid, version })
      return version === undefined || known?.version !== version || known.uid !== uid
    }
    if (change.uid !== undefined) this.#bury(`${key} ${change.uid}`)
    // the end of one that had the name before is not that of this one
    const isOther = change.uid !== undefined && known?.uid !== undefined && known.uid !== change.uid
    return !isOther && this.#known.delete(key)
  }

  /** @returns the version to watch from; `undefined` if it failed: again */
  async #list(): Promise<string | undefined> {
    const { apiVersion, kind } = this.#kind
    const nth = ++this.#lists
    const listed = await this.#host.store.list({ apiVersion, kind })
    if (this.#isStopped) return undefined
    if (!listed.ok) return this.#fail(listed.failure)
    const { items, resourceVersion } = listed.value
    const wentBack = this.#wentBack(items, resourceVersion, nth)
    if (wentBack !== undefined) {
      const problem = `restored to an earlier state: ${wentBack}`
      throw ipamError('STORE_IO', { operation: `list of ${kind}`, problem })
    }
    this.#reached = resourceVersion
    const seen = new Set<string>()
    // who has waited longest is served first, also after a restart
    for (const object of [...items].sort(byAge)) {
      seen.add(objectKey(refOf(object)))
      this.#host.show({ kind: 'present', object })
    }
    for (const [name, { ref, uid, version }] of [...this.#known]) {
      // what was written after this list was made is not in it
      if (seen.has(name) || isOlderVersion(resourceVersion, version)) continue
      this.#host.show({ kind: 'absent', ref, uid })
    }
    return resourceVersion
  }

  /** What a list shows that can not be, after what is known: a version of before, or an object that has gone. */
  #wentBack(items: readonly KubeObject[], listVersion: string, nth: number): string | undefined {
    if (isOlderVersion(listVersion, this.#reached)) return `version ${listVersion} after ${this.#reached}`
    for (const object of items) {
      const key = objectKey(refOf(object))
      const { uid, resourceVersion: version } = object.metadata
      const known = this.#known.get(key)?.version
      // what became known while the list was under way need not be in it
      if (isOlderVersion(version, known) && !isOlderVersion(listVersion, known))
        return `an older ${formatRef(refOf(object))}`
      if ((this.#gone.get(`${key} ${uid}`) ?? nth) < nth) return `again ${formatRef(refOf(object))}`
    }
    return undefined
  }

  #bury(grave: string): void {
    this.#gone.delete(grave)
    this.#gone.set(grave, this.#lists)
    if (this.#gone.size <= MAX_GONE) return
    for (const oldest of this.#gone.keys()) {
      this.#gone.delete(oldest)
      return
    }
  }

  /** Watches from a version on. @returns from where to go on; `undefined`: list again */
  async #follow(from: string): Promise<string | undefined> {
    const { apiVersion, kind } = this.#kind
    let version = from
    const watch = this.#host.store.watch({ apiVersion, kind }, { resourceVersion: from })[Symbol.asyncIterator]()
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
        version = event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? version)
        this.#reached = version
        if (event.type === 'BOOKMARK') continue
        const { object } = event
        this.#host.show(
          event.type === 'DELETED'
            ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
            : { kind: 'present', object },
        )
      }
    } finally {
      this.#watch = undefined
      void watch.return?.()
    }
  }

  async #fail(failure: StoreFailure): Promise<undefined> {
    await this.#host.failed(failure, ++this.#failures)
  }
}
