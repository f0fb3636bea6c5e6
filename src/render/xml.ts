/**
 * Foreign text for XML 1.0, between tags or inside of quotes: `&`, `<`, `>`, `"` and `'` as
 * entities, so that it ends neither; tab and line ends as references, which a parser would else
 * turn into blanks. Other control characters, lone surrogates, U+FFFE and U+FFFF, most of which XML
 * forbids even as a reference, become U+FFFD. Everything else comes out of a parser as it went in.
 * O(n).
 *
 * The same text is safe in HTML, where a picture may be part of a page.
 */
export function escapeXml(text: string): string {
  return text.replace(SPECIAL, (character) => references.get(character) ?? '\ufffd')
}

/**
 * Foreign text as one line of at most `max` code points, the last of them an ellipsis if something
 * was cut off. Line ends and tabs become blanks. O(max), whatever the length of the text.
 */
export function oneLine(text: string, max: number): string {
  // a code point has at most two units, so this has more than `max` of them if the text has
  const head = text.slice(0, 2 * max + 2)
  const points = Array.from(head)
  const kept = points.length > max ? `${points.slice(0, max - 1).join('')}…` : head
  return kept.replace(LINE_ENDS, ' ')
}

/**
 * A text cut to a width in monospaced characters; what is not known to be narrow counts two.
 * O(width), for a text of one line.
 *
 * @returns the text with an ellipsis if something was cut off, and how wide it is
 */
export function cutTo(text: string, maxWidth: number): { readonly cut: string; readonly width: number } {
  const points = Array.from(text.slice(0, 2 * maxWidth + 2))
  const widths = points.map((point) => (point.charCodeAt(0) < WIDE_FROM ? 1 : 2))
  const total = widths.reduce((sum, width) => sum + width, 0)
  if (total <= maxWidth) return { cut: text, width: total }
  let width = 1
  let kept = 0
  while (width + widths[kept]! <= maxWidth) width += widths[kept++]!
  return { cut: `${points.slice(0, kept).join('')}…`, width }
}

/** Latin, Greek and Cyrillic are below. */
const WIDE_FROM = 0x0530

/** With the `u` flag a surrogate is matched only where it stands alone. */
const SPECIAL = /[&<>"'\p{Cc}\p{Cs}\ufffe\uffff]/gu

const LINE_ENDS = /[\t\n\v\f\r\x85\u2028\u2029]/g

const references: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
  ['\t', '&#9;'],
  ['\n', '&#10;'],
  ['\r', '&#13;'],
])
