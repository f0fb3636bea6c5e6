import type { KubeObject } from '../../crd/meta/object.js'
import { plain } from '../../errors/quote.js'
import { type Effect, patchStatus } from '../../plan/index.js'
import type { ExternalRules } from './definition.js'
import { inOrder } from './ledger.js'
import type { FailedAddress, PoolReport, Shortage } from './pool-kind.js'
import type { PlanInput as Input, PoolState } from './state.js'
import { DELETING, type Kind } from './view.js'
import { isRecord, valueText } from './well-formed.js'

/**
 * A pool with more addresses, of IPAddress objects and listed ones, compares the lists in its
 * status at most once in {@link PAUSE_SECONDS}, because that costs O(n).
 */
const MANY = 1000
const PAUSE_SECONDS = 5
/** How much of a text from the cloud is kept in the status, in characters. */
const MAX_PROBLEM = 500

/**
 * The patch that writes a report to the status, and when to try again if the patch has to wait. O(n
 * log n)
 */
export function statusEffects<P extends KubeObject>(
  rules: ExternalRules<P>,
  input: Input<P>,
  state: PoolState<P> | undefined,
  shortage: Shortage | undefined,
): { readonly effects: readonly Effect[]; readonly againMs?: number } {
  const { pool, ledger, nowMs } = input
  const count = ledger.size + (state?.facts.view.size ?? 0)
  const pauseSeconds = count > MANY ? PAUSE_SECONDS : 0
  const report = ledger.makeReport(nowMs, pauseSeconds, () => reportOf(rules, input, state, shortage))
  if (report === undefined) return { effects: [], againMs: nowMs + PAUSE_SECONDS * 1000 }
  const patch = rules.kind.statusPatch(pool, report, { nowMs })
  return { effects: patch === undefined ? [] : [patchStatus(pool, patch, 'the state of the pool has changed')] }
}

function reportOf<P extends KubeObject>(
  rules: ExternalRules<P>,
  { pool, ledger, calls, otherPoolAt }: Input<P>,
  state: PoolState<P> | undefined,
  shortage: Shortage | undefined,
): PoolReport {
  const read = rules.kind.policyOf(pool)
  const used = ledger.used()
  const unused = (state?.unused() ?? []).map(({ text }) => text)
  const failed = [...ledger.named.keys()].flatMap((address): readonly FailedAddress[] => {
    const reason = used.has(address) ? undefined : state?.whyNot(address)
    return reason === undefined ? [] : [{ address, reason }]
  })
  const idle = (kind: Kind) => [...(state?.idle(kind) ?? [])]
  const inherited = idle('inherited').map(({ text }) => text)
  const refused = [...idle('spare'), ...idle('deleting')].flatMap((item) => {
    const {
      text,
      kind,
      object: { id },
    } = item
    // it is not tried again before it is free
    if (state?.isInUse(item)) return []
    const call = kind === 'deleting' ? calls.of('deleteAddress', id) : calls.of('markAddress', `${id}:${DELETING}`)
    const { failure } = call ?? {}
    return failure === undefined ? [] : [`${text} is not deleted: ${failure.message}`]
  })
  const elsewhere = idle('spare').filter(({ text }) => otherPoolAt(text) === 'holds')
  return {
    network: state?.isMoving === false ? state.facts.found : undefined,
    claimed: [...used].sort(inOrder),
    available: unused.sort(inOrder),
    failed,
    missing: (state?.facts.view.missing ?? []).filter((text) => used.has(text) && state?.isMissing(text)).sort(inOrder),
    inherited: inherited.sort(inOrder),
    problems: [
      ...(read.ok ? (read.problems ?? []) : []),
      ...refused,
      ...elsewhere.map(({ text }) => `an IPAddress of another pool has ${text}, which this pool has created`),
      ...(state?.facts.view.problems ?? []),
      ...problemsIn(calls.of('listAddresses')?.value),
    ],
    shortage,
    isKnown: state?.isFenced === true,
  }
}

/** The listed items that are not addresses. */
function problemsIn(listed: unknown): readonly string[] {
  const problems = isRecord(listed) ? listed.problems : undefined
  if (!Array.isArray(problems)) return []
  return problems.map((problem) => (typeof problem === 'string' ? plain(problem, MAX_PROBLEM) : valueText(problem)))
}
