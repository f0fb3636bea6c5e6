import type { DocumentChange, EngineEvent, Stop } from '../engine/engine.js'
import type { EtcdClient, EtcdEvent, EtcdWatch, EtcdWatchResponse } from './client.js'
import { classOf, UnreadableAnswer } from './errors.js'
import type { KeyRange } from './keys.js'
import { Reading, WatchProbe } from './watch-probe.js'

export interface FollowOptions {
  readonly sleep: (milliseconds: number) => Promise<unknown>
  readonly retryMs: number
}

/** The number of watches in a row that may fail. */
const MAX_FAILURES = 10

/**
 * Follows the changes of some keys through several watches. Each watch continues after the last
 * event of the one before, and after the revisions that a {@link WatchProbe} has verified, because
 * earlier revisions may be compacted by then. Most ends of a watch are no failures: the server
 * restarts, a proxy or client ends an idle connection, a member loses its leader. An answer that
 * cannot be read is a failure, because it would come again.
 */
export class Follower {
  readonly #client: EtcdClient
  readonly #range: KeyRange
  readonly #options: FollowOptions
  readonly #watchProbe: WatchProbe
  #watch: EtcdWatch | undefined
  #reading: Reading | undefined
  /** The last revision that was delivered. `undefined`: none yet, and it begins now. */
  #reached: string | undefined
  #isGone = false
  #failures = 0

  constructor(client: EtcdClient, range: KeyRange, options: FollowOptions) {
    this.#client = client
    this.#range = range
    this.#options = options
    this.#watchProbe = new WatchProbe(client, range, options.sleep)
  }

  async *follow(after: string | undefined, stop: Stop): AsyncGenerator<EngineEvent, undefined> {
    this.#reached = after
    stop.onStop(() => {
      this.#reading?.close()
      this.#watch?.cancel()
    })
    let isTold = false
    while (!stop.isStopped) {
      this.#failures++
      yield* this.#lookedAt()
      let problem: unknown
      try {
        const reached = await this.#begin()
        if (!isTold && !this.#isGone) yield { kind: 'at', revision: reached }
        isTold = true
        if (this.#isGone) yield { kind: 'gone', oldest: reached }
        else if (!stop.isStopped) yield* this.#events(reached)
        problem = new Error('the watch has ended at once')
      } catch (error) {
        problem = error
      }
      if (stop.isStopped || this.#isGone) return
      if (problem instanceof UnreadableAnswer) throw problem
      this.#watchProbe.assertAnswered()
      if (this.#failures >= MAX_FAILURES) throw problem
      await this.#options.sleep(this.#options.retryMs)
    }
  }

  /** Continues after the revisions that probes have checked: there were no changes up to there. */
  *#lookedAt(): Generator<EngineEvent, undefined> {
    const { verifiedRevision } = this.#watchProbe
    if (verifiedRevision <= BigInt(this.#reached ?? '0')) return
    this.#reached = String(verifiedRevision)
    yield { kind: 'at', revision: this.#reached }
  }

  /**
   * Where a watch begins; or, if that revision is gone, where one can begin.
   *
   * etcd does not report two cases. A watch from a future revision waits for it, also if the server
   * was restored from a backup and has lost that revision. A watch from the compacted revision does
   * not get a deletion in it, in versions of etcd 3.4 and 3.5 (etcd-io/etcd issue 18089).
   */
  async #begin(): Promise<string> {
    const look = { key: this.#range.key, limit: 1, keysOnly: true }
    const { revision } = await this.#client.range(look)
    this.#reached ??= revision
    this.#isGone = BigInt(this.#reached) > BigInt(revision)
    try {
      // 0 would mean now
      const isPast = !this.#isGone && this.#reached !== revision && this.#reached !== '0'
      if (isPast) await this.#client.range({ ...look, revision: this.#reached })
    } catch (error) {
      if (classOf(error) !== 'compacted') throw error
      this.#isGone = true
    }
    return this.#isGone ? revision : this.#reached
  }

  /** The events of one watch. */
  async *#events(reached: string): AsyncGenerator<EngineEvent, undefined> {
    const watch = this.#client.watch({ ...this.#range, startRevision: String(BigInt(reached) + 1n) })
    this.#watch = watch
    let isCanceled = false
    let hasBegun = false
    const reading = new Reading(reached)
    this.#reading = reading
    // without a clock there are no probes
    this.#watchProbe.guard(watch, reading).catch(() => {})
    try {
      for await (const response of watch) {
        reading.begin()
        isCanceled = response.canceled === true
        yield* this.#shown(response)
        if (this.#isGone) return
        if (isCanceled) throw new Error(`the watch was canceled: ${response.cancelReason}`)
        hasBegun = true
        reading.end(this.#reached ?? reached)
      }
    } finally {
      reading.close()
      watch.cancel()
      // a watch that ends after a silent while has succeeded
      if (hasBegun && !isCanceled) this.#failures = 0
    }
  }

  *#shown(response: EtcdWatchResponse): Generator<EngineEvent, undefined> {
    const { created, canceled, compactRevision = '0', events, revision } = response
    if (canceled && compactRevision !== '0') {
      this.#isGone = true
      yield { kind: 'gone', oldest: compactRevision }
    }
    if (canceled) return
    for (const event of events) {
      const change = changeOf(event)
      if (change === undefined) {
        this.#isGone = true
        yield { kind: 'gone', oldest: event.kv.modRevision }
        return
      }
      this.#reached = change.revision
      this.#failures = 0
      yield { kind: 'change', ...change }
    }
    if (created || events.length > 0 || BigInt(revision) <= BigInt(this.#reached ?? '0')) return
    this.#reached = revision
    yield { kind: 'at', revision }
  }
}

/** `undefined`: the state before is unknown, and so is the change. */
function changeOf({ type, kv, prevKv }: EtcdEvent): DocumentChange | undefined {
  const after = type === 'PUT' ? kv.value : undefined
  const isNew = type === 'PUT' && kv.createRevision === kv.modRevision
  if (!isNew && prevKv === undefined) return undefined
  return { revision: kv.modRevision, before: isNew ? undefined : prevKv?.value, after }
}
