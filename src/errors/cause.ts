/** The maximum length of a cause, in UTF-16 units. */
const MAX_CAUSE = 1_000
/** The part of it from the end of the text, where the innermost cause is. */
const MAX_END = 400
/** The maximum depth of a chain of causes, and the maximum number of errors of one group. */
const MAX_DEPTH = 5
const MAX_ERRORS = 3

/**
 * The text of a cause in one line. Of more than 1,000 characters, the beginning and the end are
 * kept: the user is named at the beginning (`User "x" cannot list ...`), and the innermost cause at
 * the end (`connect ECONNREFUSED ...`).
 */
export function causeText(text: string): string {
  // only the ends of a very long text are processed
  const read = text.length > 8 * MAX_CAUSE ? `${text.slice(0, 4 * MAX_CAUSE)} ${text.slice(-4 * MAX_CAUSE)}` : text
  const line = read.replace(/\s+/g, ' ').trim()
  return line.length > MAX_CAUSE ? `${line.slice(0, MAX_CAUSE - MAX_END)} … ${line.slice(-MAX_END)}` : line
}

/**
 * The message of an error, then the messages of its causes and of the errors that it groups, each
 * once. An error without a message is named by its code, or else by its name.
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
