/** What could not be taken in, or deserves to be told. */
export interface Finding {
  /**
   * - `unreadable`: a file, or a document in it
   * - `refused`: an object that does not fit its schema; a write or a deletion that the admission
   *   rule of the kind does not allow
   * - `skipped`: an object of a kind that the demo does not know. No mistake
   * - `failed`: a plan that could not be carried out
   * - `warning`: it was taken in nevertheless
   */
  readonly action: 'unreadable' | 'refused' | 'skipped' | 'failed' | 'warning'
  /** `file:line`, `file:line:column` for broken text. */
  readonly where: string
  /** `Kind namespace/name`, if it came so far. */
  readonly object?: string | undefined
  readonly reason: string
}

export function formatFinding({ action, where, object, reason }: Finding): string {
  if (action === 'unreadable') return `${where}: ${reason}`
  if (action === 'warning') return `${[where, object].filter(isText).join(': ')}: Warning: ${reason}`
  return object === undefined ? `${where}: ${action}: ${reason}` : `${where}: ${object} ${action}: ${reason}`
}

function isText(text: string | undefined): text is string {
  return text !== undefined
}
