// What always holds in a scenario, and how the checks of that are shown.
import { joinSections, lines, type RowLimit, section } from './text.js'

export interface Check {
  readonly rule: string
  /** Where the rule does not hold; empty: it holds everywhere. */
  readonly wrong: readonly string[]
}

export function formatChecks(checks: readonly Check[], limit: RowLimit): string {
  const rows = checks.map(({ rule, wrong }) => `${wrong.length === 0 ? 'ok    ' : 'FAILED'}  ${rule}`)
  const failed = checks.flatMap(({ wrong }) => wrong)
  const verdict =
    failed.length === 0
      ? 'This is what the scenario is meant to come to.'
      : section('Not what is expected of the scenario:', lines(failed, limit))
  return joinSections([section('Checks', rows.join('\n')), verdict])
}
