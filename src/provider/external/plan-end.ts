import type { KubeObject } from '../../crd/meta/object.js'
import { removeFinalizer } from '../../plan/index.js'
import type { CloudAddress, CloudOperation } from './cloud.js'
import { type ExternalRules, LIST_PAUSE_MS } from './definition.js'
import { claimOfMarker } from './inventory.js'
import { about, type Input, listCall, type Planned, type PoolCall, type Situation } from './situation.js'
import { statusEffects } from './status.js'

/**
 * The end of a pool that no IPAddress and no claim uses. With `Delete` the addresses that it has
 * created are deleted, with `Retain` their markers are removed. An address that cannot be deleted
 * holds the pool, but no other address.
 */
export function planEnd<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>, situation: Situation): Planned {
  const { pool, ledger, claims, nowMs } = input
  ledger.endsSinceMs ??= nowMs
  ledger.shortage = { kind: 'invalid', reason: 'PoolNotReady', message: 'the pool is being deleted' }
  const { effects } = statusEffects(rules, input, situation.network)
  const listedMs = ledger.inventory?.askedAtMs ?? 0
  if (ledger.size + claims > 0) {
    const message = `kept for ${ledger.size} addresses and ${claims} claims`
    const kept: Planned = { outcome: { kind: 'ending', message }, effects }
    // an address that is to be released may wait for a newer list
    const isDue = ledger.wantsListMs > listedMs && nowMs >= listedMs + LIST_PAUSE_MS
    if (isDue) return { ...kept, call: listCall(pool, situation, LIST_PAUSE_MS) }
    return { ...kept, requeueAfterSeconds: LIST_PAUSE_MS / 2000 }
  }
  // the time of the API server has full seconds, and is known also after a start
  const deletedMs = Date.parse(pool.metadata.deletionTimestamp ?? '') + 1000
  const endsMs = Number.isNaN(deletedMs) ? ledger.endsSinceMs : Math.min(ledger.endsSinceMs, deletedMs)
  // nothing was written after that, whatever the clock of the writing process says
  const open = situation.reservations.entries.map(({ atMs }) => Math.min(atMs, endsMs) + rules.settleMs)
  // another process may have created an address just before, which a list does not show at once
  const wantedMs = Math.max(endsMs + rules.lagMs, ...open)
  if (listedMs < wantedMs) return listLater(input, situation, { wantedMs, effects })
  const left = leftOf(input, situation)
  const [call] = left.calls.filter(({ operation, id }) => isDue(input, operation, id))
  if (call !== undefined) {
    return { outcome: { kind: 'ending', message: `${left.calls.length} addresses to release` }, effects, call }
  }
  if (left.calls.length + left.attached.length > 0) {
    const again = listLater(input, situation, { wantedMs: listedMs + 2 * LIST_PAUSE_MS, effects })
    const waits = left.calls.map(({ operation, id }) => input.calls.of(operation, id)?.retryAfterSeconds ?? Infinity)
    const seconds = Math.min(again.requeueAfterSeconds ?? Infinity, ...waits)
    const message = `waits for ${left.attached.length} addresses that are attached and ${left.calls.length} that could not be released`
    const requeue = seconds < Infinity ? { requeueAfterSeconds: Math.max(1, seconds) } : {}
    return { ...again, outcome: { kind: 'ending', message }, ...requeue }
  }
  const removal = removeFinalizer(pool, rules.kind.poolFinalizer, 'none of its addresses is in use')
  return { outcome: { kind: 'ended', message: 'all addresses are released' }, effects: [removal] }
}

/** Waits until a list is due, and requests it. */
function listLater<P extends KubeObject>(
  { pool, nowMs, ledger }: Input<P>,
  situation: Situation,
  { wantedMs, effects }: { readonly wantedMs: number; readonly effects: Planned['effects'] },
): Planned {
  const outcome = { kind: 'ending', message: 'waits for a list of the addresses that are left' } as const
  const listedMs = ledger.inventory?.askedAtMs ?? 0
  if (nowMs >= wantedMs) return { outcome, effects, call: listCall(pool, situation, Math.max(1000, nowMs - listedMs)) }
  return { outcome, effects, requeueAfterSeconds: Math.max(1, Math.ceil((wantedMs - nowMs) / 1000)) }
}

/** The calls that are left, and the attached addresses. */
function leftOf<P extends KubeObject>(input: Input<P>, situation: Situation) {
  const { pool, ledger, calls } = input
  const { policy, reservations } = situation
  const doomed: [string, CloudAddress][] = []
  for (const [address, object] of ledger.inventory ?? []) {
    const isMarked = claimOfMarker(object.marker, reservations.uids) !== undefined
    if (policy.reclaim === 'Delete' ? ledger.isCreated(address) : isMarked) doomed.push([address, object])
  }
  const isDelete = policy.reclaim === 'Delete'
  const attached = isDelete ? doomed.filter(([, { isAttached }]) => isAttached).map(([address]) => address) : []
  const wanted = doomed
    .filter(([, { isAttached }]) => !(isDelete && isAttached))
    .map(([address, { id }]): PoolCall => {
      const input = { ...about(pool, policy), id }
      const why = 'the pool is being deleted'
      if (isDelete) return { operation: 'deleteAddress', id, input: { ...input, address }, why }
      const whyMarked = `${why}, and the address stays`
      return { operation: 'markAddress', id, input: { ...input, marker: '' }, why: whyMarked }
    })
  return { attached, calls: wanted.filter(({ operation, id }) => calls.of(operation, id)?.value === undefined) }
}

function isDue<P extends KubeObject>({ calls }: Input<P>, operation: CloudOperation, id: string | undefined): boolean {
  const known = calls.of(operation, id)
  return known?.failure === undefined || known.retryAfterSeconds === 0
}
