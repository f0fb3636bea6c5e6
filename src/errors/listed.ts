/** The maximum number of names in a message. */
const MOST_NAMED = 5

/**
 * The first five of some things as one text, and whether there are more: for a message that stays
 * the same while others come and go. It reads and formats no more than it names.
 */
export function listed<T>(things: Iterable<T>, separator: string, format: (thing: T) => string = String): string {
  const texts: string[] = []
  for (const thing of things) {
    if (texts.length === MOST_NAMED) return [...texts, 'and more'].join(separator)
    texts.push(format(thing))
  }
  return texts.join(separator)
}

/** Names as one text: the first five in order, and whether there are more. O(n). */
export function listedInOrder(names: readonly string[], separator: string): string {
  const first: string[] = []
  for (const name of names) {
    if (first.length === MOST_NAMED && name >= (first.at(-1) as string)) continue
    const at = first.findIndex((other) => name < other)
    first.splice(at < 0 ? first.length : at, 0, name)
    if (first.length > MOST_NAMED) first.pop()
  }
  return [...first, ...(names.length > first.length ? ['and more'] : [])].join(separator)
}
