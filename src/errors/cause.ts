/** How much of a cause is kept, in UTF-16 units. */
const MAX_CAUSE = 1_000
/** How much of that is its end: the innermost cause stands there. */
const MAX_END = 400
/** How deep a chain of causes is followed, and how many errors of one group are named. */
const MAX_DEPTH = 5
const MAX_ERRORS = 3

/**
 * The words of a cause in one line. Of more than 1,000 characters the beginning and the end are
 * kept: an actor stands at the beginning (`User "x" cannot list ...`), and the innermost cause at
 * the end (`connect ECONNREFUSED ...`).
 */
export function causeText(text: string): string {
  // a page without end is not read whole
  const read = text.length > 8 * MAX_CAUSE ? `${text.slice(0, 4 * MAX_CAUSE)} ${text.slice(-4 * MAX_CAUSE)}` : text
  const line = read.replace(/\s+/g, ' ').trim()
  return line.length > MAX_CAUSE ? `${line.slice(0, MAX_CAUSE - MAX_END)} … ${line.slice(-MAX_END)}` : line
}

/**
 * An error in words: its message, then those of its causes and of the errors that it groups, each
 * once. An error without a message has its code, or else its name.
 */
export function errorText(error: unknown): string {
  const words: string[] = []
  try {
    for (const each of wordsIn(error, 0)) if (!words.some((told) => told.includes(each))) words.push(each)
  } catch {
    words.push('an error that cannot be read')
  }
  return causeText(words.join(': ')) || 'an error without a message'
}

function* wordsIn(error: unknown, depth: number): Generator<string> {
  if (error === undefined || error === null || depth > MAX_DEPTH) return
  if (typeof error !== 'object') return yield String(error)
  const { message, code, name, errors, cause } = error as { readonly [field: string]: unknown }
  const group = Array.isArray(errors) ? errors.slice(0, MAX_ERRORS) : []
  const own = [message, ...(group.length > 0 ? [] : [code, name])].find(
    (text) => typeof text === 'string' && text !== '',
  )
  if (own !== undefined) yield causeText(own as string)
  for (const each of [...group, cause]) yield* wordsIn(each, depth + 1)
}
