/** The maximum length of the description of a floating IP in Neutron, in characters. */
const MAX_DESCRIPTION = 255

/** The length that two UUIDs and the text between them leave of that. */
const MAX_READABLE = 160

/** The marker in a description: a separate word behind `ipam-kit`, with exactly one slash. */
const MARKER = /(?:^|(?<=\s))ipam-kit ([\w.-]+\/[\w.-]+)(?=\s|$)/gu
/** The same, with what separates it from the text before it. */
const SEPARATED_MARKER = /,?(?:^|\s)ipam-kit [\w.-]+\/[\w.-]+(?=\s|$)/gu

/** Whether a marker is found again in the description with it, and that is not too long. */
export function fitsMarker(description: string, marker: string): boolean {
  return markerIn(description) === marker && description.length <= MAX_DESCRIPTION
}

/** The marker in a description; empty: none, or several different ones. */
export function markerIn(description: string): string {
  const found = new Set([...description.matchAll(MARKER)].map(([, marker = '']) => marker))
  const [only = ''] = found
  return found.size === 1 ? only : ''
}

/**
 * A description with this marker instead of the present ones; other text stays. Empty: without a
 * marker.
 */
export function withMarker(description: string, marker: string): string {
  const others = description.replace(SEPARATED_MARKER, '').trimEnd()
  if (marker === '') return others
  return others === '' ? `ipam-kit ${marker}` : `${others}, ipam-kit ${marker}`
}

/** The name of the pool of a new floating IP. */
type PoolName = { readonly namespace: string; readonly name: string }

/**
 * The description of a new floating IP: the name of the pool, cut so that two UUIDs always fit
 * behind it, and the marker.
 */
export function newDescription(pool: PoolName, marker: string): string {
  return withMarker(readableText(pool), marker)
}

/**
 * Whether {@link newDescription} has made a description for a pool of this name, whatever its
 * marker is.
 */
export function isCreatedFor(pool: PoolName, description: string): boolean {
  return markerIn(description) !== '' && withMarker(description, '') === readableText(pool)
}

function readableText({ namespace, name }: PoolName): string {
  return `Created for pool ${namespace}/${name}`.slice(0, MAX_READABLE)
}
