import type { KubeObject } from '../../crd/meta/object.js'
import { markerText } from './cloud.js'
import type { ExternalRules } from './definition.js'
import { about, type Input, type PoolCall, type Situation } from './situation.js'

/** A call that waits after a failure lets other calls go first for this time. */
const BUSY_MS = 5000

/**
 * The plan of a pool while it is made: what it is made from, and what it requests. That is one call
 * to the cloud, a new list of the addresses, and a time to plan again.
 */
export class PlanDraft<P extends KubeObject> {
  readonly rules: ExternalRules<P>
  readonly input: Input<P>
  readonly situation: Situation
  call: PoolCall | undefined
  /** A list is needed that is requested at this time or later. */
  listMs: number | undefined
  againMs: number | undefined

  constructor(rules: ExternalRules<P>, input: Input<P>, situation: Situation) {
    this.rules = rules
    this.input = input
    this.situation = situation
  }

  /**
   * @returns whether it is the call of this plan: there is one at a time, and one that waits after
   * a failure lets others go first
   */
  ask(call: PoolCall): boolean {
    const known = this.input.calls.of(call.operation, call.id)
    const waits = known?.failure !== undefined && known.retryAfterSeconds !== 0
    if (this.call !== undefined || waits) {
      this.planAgain(this.input.nowMs + BUSY_MS)
      return false
    }
    this.call = call
    return true
  }

  /** Asks for a spare address: one in advance, which no claim has requested. */
  askSpare(id: string): void {
    const input = { ...this.about, network: this.situation.network, marker: this.markerOf(id), address: null }
    const why = 'the pool keeps addresses in advance'
    this.ask({ operation: 'createAddress', id, input, why })
  }

  wantList(atMs: number): void {
    if (atMs < (this.input.ledger.inventory?.askedAtMs ?? 0)) return
    this.listMs = Math.min(this.listMs ?? Number.POSITIVE_INFINITY, atMs + 1)
  }

  planAgain(atMs: number): void {
    this.againMs = Math.min(this.againMs ?? Number.POSITIVE_INFINITY, atMs)
  }

  /** Whether the IPAddress objects of removed entries are known: else a free one may be in use. */
  get isInformed(): boolean {
    const { addressesVersion } = this.situation.reservations
    return addressesVersion === undefined || this.input.hasReached(addressesVersion)
  }

  get about() {
    return about(this.input.pool, this.situation.policy)
  }

  markerOf(uid: string): string {
    return markerText(this.input.pool.metadata.uid ?? '', uid)
  }
}
