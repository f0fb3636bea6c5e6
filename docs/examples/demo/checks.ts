// What always holds in a scenario, and how the checks of that are shown.
import { type Detail, joinSections, LONG, lines, section } from './text.js'

export interface Check {
  readonly rule: string
  /** Where the rule does not hold; empty: it holds everywhere. */
  readonly wrong: readonly string[]
}

/** The checks, and what is wrong. The short form counts the checks that hold. */
export function formatChecks(checks: readonly Check[], detail: Detail): string {
  const failed = checks.flatMap(({ wrong }) => wrong)
  const verdict = section('Not what is expected of the scenario:', lines(failed, Math.max(detail.limit, LONG)))
  if (failed.length > 0) return joinSections([formatRules(checks, detail), verdict])
  const expected = detail.isVerbose ? 'This is what the scenario is meant to come to.' : ''
  return joinSections([formatRules(checks, detail), expected])
}

/** Each rule with its result. The short form is one line and the failed rules. */
export function formatRules(checks: readonly Check[], { isVerbose }: Pick<Detail, 'isVerbose'>): string {
  const failed = checks.filter(({ wrong }) => wrong.length > 0)
  const title = isVerbose ? 'Checks' : `Checks: ${checks.length - failed.length} of ${checks.length} hold`
  const rows = (isVerbose ? checks : failed).map(
    ({ rule, wrong }) => `${wrong.length === 0 ? 'ok    ' : 'FAILED'}  ${rule}`,
  )
  return rows.length === 0 ? title : section(title, rows.join('\n'))
}
