/** Of several things of a kind, so many are named in a message. */
const MOST_NAMED = 5

/** Some things in one text: the first of them, and how many more there are. */
export function listed(texts: readonly string[], separator: string): string {
  const more = texts.length - MOST_NAMED
  return [...texts.slice(0, MOST_NAMED), ...(more > 0 ? [`${more} more`] : [])].join(separator)
}
