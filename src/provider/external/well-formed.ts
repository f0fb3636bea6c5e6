import type { CloudAddress, CloudNetwork } from './cloud.js'

/**
 * Whether an answer of a cloud has the form of {@link CloudAddress}. The text of the address is not
 * checked.
 */
export function isCloudAddress(value: unknown): value is CloudAddress {
  if (!isRecord(value)) return false
  const { id, address, network, marker, isAttached, revision, tags } = value
  return (
    [id, address, network].every(isText) &&
    typeof marker === 'string' &&
    typeof isAttached === 'boolean' &&
    (revision === undefined || typeof revision === 'string') &&
    isTags(tags)
  )
}

export function isCloudNetwork(value: unknown): value is CloudNetwork {
  return isRecord(value) && isText(value.id) && typeof value.name === 'string' && isTags(value.tags)
}

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An answer of a cloud, for messages. */
export function valueText(value: unknown): string {
  try {
    return `${JSON.stringify(value)}`.slice(0, 80)
  } catch {
    return `a value of type ${typeof value} that is not JSON`
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isTags(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((tag) => typeof tag === 'string'))
}
