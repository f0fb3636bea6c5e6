import type { KubeObject } from '../../crd/meta/object.js'
import { plain } from '../../errors/quote.js'
import { type Effect, patchStatus } from '../../plan/index.js'
import type { ExternalRules } from './definition.js'
import { inOrder } from './ledger.js'
import type { PoolReport } from './pool-kind.js'
import { reservationsOf } from './reservations.js'
import type { Input } from './situation.js'
import { isRecord, valueText } from './well-formed.js'

/**
 * A pool with more addresses compares the lists in its status at most once in {@link PAUSE_MS},
 * because that costs O(n).
 */
const MANY = 1000
/** In milliseconds. */
const PAUSE_MS = 5000
/** How much of a text from the cloud is kept in the status, in characters. */
const MAX_PROBLEM = 500

/**
 * The patch that writes a report to the status, and when to try again if the patch has to wait. O(n
 * log n)
 */
export function statusEffects<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  network: string | undefined,
): { readonly effects: Effect[]; readonly againMs?: number } {
  const { pool, ledger, nowMs } = input
  const againMs = ledger.statusMs + PAUSE_MS
  if (ledger.size > MANY && nowMs < againMs && nowMs !== ledger.statusMs) return { effects: [], againMs }
  ledger.statusMs = nowMs
  const patch = rules.kind.statusPatch(pool, reportOf(rules, input, network), { nowMs })
  return {
    effects: patch === undefined ? [] : [patchStatus(pool, patch, 'the state of the pool has changed')],
  }
}

function reportOf<P extends KubeObject>(
  rules: ExternalRules<P>,
  { pool, ledger, calls }: Input<P>,
  network: string | undefined,
): PoolReport {
  const reserved = reservationsOf(pool)
  const read = rules.kind.policyOf(pool)
  const entries = reserved.ok ? reserved.value.entries : []
  const taken = new Set(entries.flatMap(({ address }) => address ?? []))
  const isKnown = network !== undefined
  const found = calls.of('findNetwork')?.value
  const available = isKnown ? [...ledger.allFree(taken)] : []
  return {
    network: found?.id === network ? found : undefined,
    claimed: [...ledger.live].sort(inOrder),
    available: available.sort(inOrder),
    failed: isKnown ? ledger.failed() : [],
    quarantined: ledger.quarantined,
    problems: [
      ...(read.ok ? (read.problems ?? []) : []),
      ...(ledger.inventory?.problems ?? []),
      ...problemsIn(calls.of('listAddresses')?.value),
    ],
    shortage: ledger.shortage,
    isKnown,
  }
}

/** The listed items that are not addresses. */
function problemsIn(listed: unknown): readonly string[] {
  const problems = isRecord(listed) ? listed.problems : undefined
  if (!Array.isArray(problems)) return []
  return problems.map((problem) => (typeof problem === 'string' ? plain(problem, MAX_PROBLEM) : valueText(problem)))
}
