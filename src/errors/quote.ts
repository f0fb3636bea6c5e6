import { causeText } from './cause.js'

/** The maximum length of a quoted text, in UTF-16 units. */
const MAX_QUOTED = 64
/** Its maximum length with escapes. A message stays below 300 characters. */
const MAX_ESCAPED = 128

/**
 * `text` in double quotes for an error message: at most 64 characters, with invisible characters
 * escaped. So a hostile text can neither flood a log nor forge a line of it.
 */
export function quote(text: string): string {
  // a value that is not a text is named by its type: messages are about wrong values too
  if (typeof text !== 'string') return quote(typeof text)
  let escaped = ''
  let shown = 0
  for (const character of text.slice(0, MAX_QUOTED)) {
    const next = character.replace(/["\\]|[\p{C}\p{Zl}\p{Zp}]/gu, escapeCharacter)
    if (escaped.length + next.length > MAX_ESCAPED) break
    escaped += next
    shown += character.length
  }
  return shown < text.length ? `"${escaped}…" (${text.length} characters)` : `"${escaped}"`
}

/** At most `max` characters of a text, without a half of a surrogate pair. */
export function cut(text: string, max: number): string {
  return text.slice(0, max).replace(/[\ud800-\udbff]$/, '')
}

/** The maximum number of items of a list in an error message. */
const MAX_LISTED = 20

/**
 * A text as part of a sentence, without quotes: at most `max` characters, with invisible characters
 * escaped.
 */
export function plain(text: string, max = 500): string {
  const shown = text.length > max ? `${text.slice(0, max)}…` : text
  return shown.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escapeCharacter)
}

/**
 * The cause of a failure, as part of a sentence. Of more than 1,000 characters, its beginning and
 * its end.
 */
export function cause(text: string): string {
  return plain(causeText(text), Number.POSITIVE_INFINITY)
}

/** Sentences as one text: the first 20, and the number of the others. */
export function list(items: readonly string[]): string {
  const shown = items.slice(0, MAX_LISTED).map((item) => plain(item))
  return items.length > MAX_LISTED ? `${shown.join('; ')}; and ${items.length - MAX_LISTED} more` : shown.join('; ')
}

function escapeCharacter(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`
  const code = character.codePointAt(0) as number
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}
