/** How much of a foreign text an error message repeats, in UTF-16 units. */
const MAX_QUOTED = 64

/**
 * `text` in double quotes for an error message: at most 64 characters of it, control characters and other
 * invisible ones escaped, so that a hostile text can neither flood a log nor forge a line of it.
 */
export function quote(text: string): string {
  const shown = text.length > MAX_QUOTED ? text.slice(0, MAX_QUOTED) : text
  const escaped = shown.replace(/["\\]|[\p{C}\p{Zl}\p{Zp}]/gu, escapeCharacter)
  return text.length > MAX_QUOTED ? `"${escaped}…" (${text.length} characters)` : `"${escaped}"`
}

function escapeCharacter(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`
  const code = character.codePointAt(0) as number
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}
