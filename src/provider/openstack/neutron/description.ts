/** How long the description of a floating IP may be in Neutron, in characters. */
export const MAX_DESCRIPTION = 255

/** What two UUIDs and the text between them leave of that. */
const MAX_READABLE = 160

/** The marker in a description: a word of its own behind `ipam-kit`, with exactly one slash. */
const MARKER = /(?:^|(?<=\s))ipam-kit ([\w.-]+\/[\w.-]+)(?=\s|$)/gu
/** The same, with what separates it from the text before it. */
const SEPARATED_MARKER = /,?(?:^|\s)ipam-kit [\w.-]+\/[\w.-]+(?=\s|$)/gu

/** What a marker has to be, so that it is found again in a description. */
export function isMarker(text: string): boolean {
  return /^[\w.-]+\/[\w.-]+$/u.test(text)
}

/** The marker in a description; empty: none, or several that differ. */
export function markerIn(description: string): string {
  const found = new Set([...description.matchAll(MARKER)].map(([, marker = '']) => marker))
  const [only = ''] = found
  return found.size === 1 ? only : ''
}

/** Whether a marker may be set in place of another one: those of other pools stay. */
export function mayReplace(before: string, marker: string): boolean {
  return marker === '' || before === '' || before.split('/')[0] === marker.split('/')[0]
}

/**
 * A description with this marker in place of those that it has; the other text stays. Empty:
 * without any.
 */
export function withMarker(description: string, marker: string): string {
  const others = description.replace(SEPARATED_MARKER, '').trimEnd()
  if (marker === '') return others
  return others === '' ? `ipam-kit ${marker}` : `${others}, ipam-kit ${marker}`
}

/** The pool that a floating IP is created for. */
type PoolName = { readonly namespace: string; readonly name: string }

/**
 * The description of a floating IP that is created for a pool: the names of the pool, cut so that
 * two UUIDs always have room behind them, and the marker.
 */
export function newDescription(pool: PoolName, marker: string): string {
  return withMarker(readableText(pool), marker)
}

/**
 * Whether a description is one that {@link newDescription} has made for a pool of these names,
 * whatever its marker is.
 */
export function isCreatedFor(pool: PoolName, description: string): boolean {
  return markerIn(description) !== '' && withMarker(description, '') === readableText(pool)
}

function readableText({ namespace, name }: PoolName): string {
  return `Created for pool ${namespace}/${name}`.slice(0, MAX_READABLE)
}
