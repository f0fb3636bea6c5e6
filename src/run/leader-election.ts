import type { KindInfo, KubeObject, ObjectRef } from '../crd/meta/object.js'
import { check, type KindOf } from '../errors/check.js'
import { refuse } from '../errors/refuse.js'
import type { Store, StoreFailure } from '../store/index.js'
import type { CanWrite } from './can-write.js'
import type { Timers } from './controller/timers.js'

/** The kind of the object that names the leader. */
export const LEASE: KindInfo = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  statusSubresource: false,
}

export interface LeaderElectionOptions {
  readonly store: Store
  readonly timers: Timers
  /**
   * The Lease. If it does not exist, it is created, and the process that creates it waits for the
   * lease duration first: the Lease may have been deleted while its leader writes. A Lease without
   * a holder among the manifests of an installation avoids that wait.
   */
  readonly lease: { readonly namespace: string; readonly name: string }
  /**
   * The unique name of this process, such as its host name with a random part. A process that finds
   * its own identity in a lease waits as for any other holder.
   */
  readonly identity: string
  /**
   * The time after the last renewal for which other processes wait, in seconds: a whole number.
   * Default 15.
   */
  readonly leaseDurationSeconds?: number | undefined
  /**
   * The time without a renewal after which the leader steps down, in seconds. Below the lease
   * duration. Default 10.
   */
  readonly renewDeadlineSeconds?: number | undefined
  /** The interval of renewals and attempts, in seconds. Below the deadline. Default 2. */
  readonly retryPeriodSeconds?: number | undefined
  /**
   * The time after which a write that was sent is done or will never be done, in seconds. It must
   * exceed the time limits of the server and of all proxies before it. A leader that follows
   * another holder, or an earlier term of its own, begins when the last write of that term can no
   * longer arrive. Default: the difference between lease duration and renew deadline.
   */
  readonly writeTimeoutSeconds?: number | undefined
  /** Receives each failed attempt, for the log. */
  readonly onProblem: (failure: StoreFailure) => void
}

const LEADER_ELECTION_OPTIONS: KindOf<LeaderElectionOptions> = {
  store: 'object',
  timers: 'object',
  lease: 'object',
  identity: 'text',
  leaseDurationSeconds: 'number?',
  renewDeadlineSeconds: 'number?',
  retryPeriodSeconds: 'number?',
  writeTimeoutSeconds: 'number?',
  onProblem: 'function',
}

/** The term of a leader. */
export interface LeaderTerm {
  /**
   * Resolves when the leader has to end, because of `stop` or because the lease is lost. Begin
   * nothing new after that.
   */
  readonly ending: Promise<void>
  /**
   * Resolves when the lease is lost: another process may write now. **Write nothing any more**, not
   * even to find out the outcome of a write. End the process.
   */
  readonly lost: Promise<void>
  /**
   * Whether a write may be sent now: false from the renew deadline on, by the clock of this
   * process, even before `lost` has resolved. Pass it to everything that writes: `Controller`,
   * `runKey`, `runTask`. After the first false it never returns true again, and the lease is lost.
   */
  readonly canWrite: CanWrite
}

/** The spec of a Lease. */
interface LeaseSpec {
  readonly holderIdentity?: string | undefined
  readonly leaseDurationSeconds?: number | undefined
  readonly acquireTime?: string | undefined
  readonly renewTime?: string | undefined
  readonly leaseTransitions?: number | undefined
}

/**
 * Elects one leader among several processes by a Lease in the store, as the controllers of
 * Kubernetes do.
 *
 * The clocks of the processes need not agree, but must run at about the same speed. The age of a
 * lease is measured by this process, from when it last saw the lease change. If the clock is set
 * back, it continues from where it was. If the clock is set forward, processes that wait for the
 * lease wait longer, and the leader steps down.
 *
 * The leader sends nothing more when it could not renew its lease for `renewDeadlineSeconds`
 * ({@link LeaderTerm.canWrite}). Other processes begin when they have seen no renewal for
 * `leaseDurationSeconds`. The server must have ended all earlier writes by then. Keep the time
 * limits of requests below the difference, or set `writeTimeoutSeconds` to them, so that the next
 * leader waits longer. The same holds for a process that creates the Lease, and for one that finds
 * its own identity in it.
 *
 * A check and the write that it allows are two steps. A process that is suspended after the check
 * sends the write when it resumes. So a ledger of address objects also finds and repairs such late
 * writes (docs/adr/0021).
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions
  readonly #ref: ObjectRef
  readonly #durationMs: number
  readonly #deadlineMs: number
  readonly #periodMs: number
  /** How long a write may still arrive after another process may have the lease. */
  readonly #lateMs: number
  /** The lease as it was last seen, and since when. */
  #seen: { readonly version: string | undefined; readonly sinceMs: number } | undefined
  /** When the last write of the holder before this term can no longer arrive. */
  #formerEndsMs = Number.NEGATIVE_INFINITY
  /** The last reading of the clock, and by how much it was set back until then. */
  #clockMs = Number.NEGATIVE_INFINITY
  #setBackMs = 0
  #isStopped = false
  #wake: () => void = () => {}

  /** @throws IpamError `INVALID_ARGUMENT` */
  constructor(options: LeaderElectionOptions) {
    check('LeaderElection', 'options', options, LEADER_ELECTION_OPTIONS)

    const { leaseDurationSeconds = 15, renewDeadlineSeconds = 10, retryPeriodSeconds = 2 } = options
    const { writeTimeoutSeconds = leaseDurationSeconds - renewDeadlineSeconds } = options
    this.#options = options
    this.#ref = { apiVersion: LEASE.apiVersion, kind: LEASE.kind, ...options.lease }
    this.#durationMs = leaseDurationSeconds * 1000
    this.#deadlineMs = renewDeadlineSeconds * 1000
    this.#periodMs = retryPeriodSeconds * 1000
    this.#lateMs = Math.max(0, writeTimeoutSeconds * 1000 - (this.#durationMs - this.#deadlineMs))
    assertOptions(options, { leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds, writeTimeoutSeconds })
  }

  /**
   * Waits until this process leads, and calls `lead`. It renews the lease while `lead` runs, also
   * while `lead` ends, and then releases it, so that another process can begin at once. If another
   * holder may still have a write in flight, the lease is not released before `lead` has begun. It
   * expires instead.
   *
   * @param lead the work of the leader. It resolves when everything that it has begun has ended
   * @returns `stopped`, or `lost`: another process may lead by now. Then end the process, or call
   * `run` again: it waits until what it has sent can no longer arrive
   * @throws what `lead` throws
   */
  async run(lead: (term: LeaderTerm) => Promise<void>): Promise<'stopped' | 'lost'> {
    const acquiredMs = await this.#acquire()
    if (acquiredMs === undefined) return 'stopped'
    let renewedMs = acquiredMs
    let [tellEnding, tellLost] = [() => {}, () => {}]
    const ending = new Promise<void>((resolve) => {
      tellEnding = resolve
    })
    const lost = new Promise<void>((resolve) => {
      tellLost = resolve
    })
    let hasEnded = false
    let isHeld = true
    const canWrite = () => {
      if (isHeld && this.#leftMs(renewedMs) <= 0) {
        isHeld = false
        this.#wake()
      }
      return isHeld
    }
    const leading = this.#afterFormer(ending, () => lead({ ending, lost, canWrite })).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    void leading.then(() => {
      hasEnded = true
      this.#wake()
    })
    while (canWrite() && !hasEnded) {
      if (this.#isStopped) tellEnding()
      await this.#wait(Math.min(this.#periodMs, this.#leftMs(renewedMs)))
      if (hasEnded || !canWrite()) break
      const sentMs = this.#nowMs()
      // also of a store that does not answer at all
      const attempt = await this.#inTime(this.#attempt({ isRenewal: true }), this.#leftMs(renewedMs))
      if (attempt === 'held') renewedMs = sentMs
      if (attempt === 'taken') isHeld = false
    }
    const isLost = !canWrite()
    if (isLost) tellLost()
    tellEnding()
    const broken = await leading
    isHeld = false
    // a process that waits for the former holder has not led: the next process has to wait too, and
    // sees only this lease
    if (!isLost && this.#formerEndsMs <= this.#nowMs()) await this.#giveBack()
    if (broken !== undefined) throw broken.error
    return isLost ? 'lost' : 'stopped'
  }

  /** Leads when no write of the former holder can arrive any more, unless the term ends before. */
  async #afterFormer(ending: Promise<void>, lead: () => Promise<void>): Promise<void> {
    const waitMs = this.#formerEndsMs - this.#nowMs()
    if (!(waitMs > 0)) return lead()
    const isEnding = await this.#inTime(
      ending.then(() => true),
      waitMs,
    )
    if (!isEnding) await lead()
  }

  /** Ends {@link run}, which resolves when the leader has ended its work. */
  stop(): void {
    this.#isStopped = true
    this.#wake()
  }

  /** @returns when the lease was requested; `undefined` if it is no longer wanted */
  async #acquire(): Promise<number | undefined> {
    while (!this.#isStopped) {
      const sentMs = this.#nowMs()
      const isHeld = (await this.#whileWanted(this.#attempt({ isRenewal: false }))) === 'held'
      // other processes count from the write: after a slow answer they may already lead
      if (isHeld && this.#leftMs(sentMs) > 0) return sentMs
      if (!this.#isStopped) await this.#waitForPeriod()
    }
    return undefined
  }

  /**
   * If the clock was set or the process was suspended, the age of the lease is measured from now.
   */
  async #waitForPeriod(): Promise<void> {
    const beganMs = this.#nowMs()
    await this.#wait(this.#periodMs)
    const lateMs = this.#nowMs() - beganMs - this.#periodMs
    // a shorter delay is within the time that other processes wait beyond the deadline of the
    // leader
    if (lateMs > this.#durationMs - this.#deadlineMs) this.#seen = undefined
  }

  /** A monotonic clock: if the system clock is set back, it continues from where it was. */
  #nowMs(): number {
    const nowMs = this.#options.timers.now()
    if (nowMs < this.#clockMs) this.#setBackMs += this.#clockMs - nowMs
    this.#clockMs = nowMs
    return nowMs + this.#setBackMs
  }

  /** How long the leader may continue after a renewal that was requested at some time. */
  #leftMs(renewedMs: number): number {
    return Math.max(0, renewedMs + this.#deadlineMs - this.#nowMs())
  }

  /** Acquires the lease if it is free, or renews it. */
  async #attempt({ isRenewal }: { readonly isRenewal: boolean }): Promise<'held' | 'taken' | 'unknown'> {
    const { store, timers, identity } = this.#options
    const found = await store.get(this.#ref)
    const now = new Date(timers.now()).toISOString().replace('Z', '000Z')
    if (!found.ok) {
      if (found.failure.code !== 'STORE_NOT_FOUND') return this.#failed(found.failure)
      // its holder may have renewed it a moment ago, even if this process has never seen it
      if (!isRenewal) this.#followUntil(this.#nowMs() + this.#durationMs + this.#lateMs)
      const spec = this.#held({ acquireTime: now, leaseTransitions: 0 }, now)
      const { apiVersion, kind, ...metadata } = this.#ref
      return this.#answered(await store.create({ apiVersion, kind, metadata, spec }))
    }
    const lease = found.value
    const spec = specOf(lease)
    const holder = spec.holderIdentity ?? ''
    // this process was suspended: another leader has acquired the lease since, and released it
    if (isRenewal && holder !== identity) return 'taken'
    if (holder !== identity && holder !== '' && !this.#isExpired(lease, spec)) return 'taken'
    // an earlier term of this process, or an earlier process with the same identity: its last write
    // may be in flight
    if (!isRenewal && holder === identity) this.#followUntil(this.#endsMs(lease, spec))
    const before = holder === identity ? spec : { acquireTime: now, leaseTransitions: (spec.leaseTransitions ?? 0) + 1 }
    const renewed = { ...lease, spec: { ...(lease.spec as object), ...this.#held(before, now) } }
    return this.#answered(await store.update(renewed))
  }

  #held({ acquireTime, leaseTransitions }: LeaseSpec, renewTime: string): LeaseSpec {
    const leaseDurationSeconds = this.#durationMs / 1000
    return { holderIdentity: this.#options.identity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions }
  }

  /** Whether the lease of another holder has not been renewed for its whole duration. */
  #isExpired(lease: KubeObject, spec: LeaseSpec): boolean {
    const endsMs = this.#endsMs(lease, spec)
    if (this.#nowMs() < endsMs - this.#lateMs) return false
    this.#followUntil(endsMs)
    return true
  }

  /** When the last write of the holder can no longer arrive, if the lease is not renewed again. */
  #endsMs(lease: KubeObject, { leaseDurationSeconds }: LeaseSpec): number {
    const version = lease.metadata.resourceVersion
    if (this.#seen === undefined || this.#seen.version !== version) this.#seen = { version, sinceMs: this.#nowMs() }
    const durationMs = leaseDurationSeconds === undefined ? this.#durationMs : leaseDurationSeconds * 1000
    return this.#seen.sinceMs + durationMs + this.#lateMs
  }

  #followUntil(endsMs: number): void {
    this.#formerEndsMs = Math.max(this.#formerEndsMs, endsMs)
  }

  #answered(answer: Awaited<ReturnType<Store['update']>>): 'held' | 'taken' | 'unknown' {
    if (answer.ok) return 'held'
    // another process acquired the lease, or the outcome is unknown: the next attempt tells
    return this.#failed(answer.failure)
  }

  #failed(failure: StoreFailure): 'unknown' {
    const isRace = failure.code === 'STORE_CONFLICT' || failure.code === 'STORE_ALREADY_EXISTS'
    if (!isRace) this.#options.onProblem(failure)
    return 'unknown'
  }

  /**
   * Releases the lease. If that write fails, other processes wait until the lease expires.
   */
  async #giveBack(): Promise<void> {
    const { store, identity, onProblem } = this.#options
    const found = await store.get(this.#ref)
    if (!found.ok) return onProblem(found.failure)
    if (specOf(found.value).holderIdentity !== identity) return
    const spec = { ...(found.value.spec as object), holderIdentity: '', leaseDurationSeconds: 1 }
    const given = await store.update({ ...found.value, spec })
    if (!given.ok) onProblem(given.failure)
  }

  /**
   * The answer of a request; `undefined` a while after `stop` was called, so that a store which
   * does not answer cannot delay the stop for ever.
   */
  #whileWanted<T>(answer: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => void this.#inTime(answer, this.#deadlineMs).then(resolve, reject)
      answer.then(resolve, reject)
    })
  }

  #inTime<T>(answer: Promise<T>, ms: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const cancel = this.#options.timers.after(ms, () => resolve(undefined))
      answer.then(resolve, reject).finally(cancel)
    })
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.timers.after(ms, () => this.#wake())
      this.#wake = () => {
        this.#wake = () => {}
        cancel()
        resolve()
      }
    })
  }
}

/** One day, the longest time of a timer. */
const MAX_WRITE_SECONDS = 86_400

function specOf(lease: KubeObject): LeaseSpec {
  return typeof lease.spec === 'object' && lease.spec !== null ? (lease.spec as LeaseSpec) : {}
}

type SecondsOption = Extract<keyof LeaderElectionOptions, `${string}Seconds`>

/** @throws IpamError `INVALID_ARGUMENT` */
function assertOptions(
  { identity, lease, onProblem }: LeaderElectionOptions,
  seconds: Readonly<Record<SecondsOption, number>>,
): void {
  const { leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds, writeTimeoutSeconds } = seconds
  if (typeof identity !== 'string' || identity === '') refuse('LeaderElection', 'identity', 'a text', identity)
  if (typeof lease?.namespace !== 'string' || typeof lease.name !== 'string')
    refuse('LeaderElection', 'lease', 'namespace and name', lease)
  if (typeof onProblem !== 'function') refuse('LeaderElection', 'onProblem', 'a function', typeof onProblem)
  if (!Number.isInteger(leaseDurationSeconds) || leaseDurationSeconds < 1) {
    refuse('LeaderElection', 'leaseDurationSeconds', 'a whole number from 1', leaseDurationSeconds)
  }
  if (!(renewDeadlineSeconds > 0 && renewDeadlineSeconds < leaseDurationSeconds)) {
    refuse('LeaderElection', 'renewDeadlineSeconds', 'above 0 and below leaseDurationSeconds', renewDeadlineSeconds)
  }
  if (!(retryPeriodSeconds > 0 && retryPeriodSeconds < renewDeadlineSeconds)) {
    refuse('LeaderElection', 'retryPeriodSeconds', 'above 0 and below renewDeadlineSeconds', retryPeriodSeconds)
  }
  const isTime = typeof writeTimeoutSeconds === 'number' && writeTimeoutSeconds > 0
  if (!isTime || writeTimeoutSeconds > MAX_WRITE_SECONDS) {
    refuse('LeaderElection', 'writeTimeoutSeconds', `above 0, up to ${MAX_WRITE_SECONDS}`, writeTimeoutSeconds)
  }
}
