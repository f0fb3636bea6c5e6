import { quote } from '../../errors/quote.js'
import { conditionsIn } from '../rules/input.js'
import type { Preconditions } from '../store.js'
import type { PatchInput } from './input.js'

/** A version as an API server gives it. Others it does not know, or takes for none: 0, nothing. */
export function isVersion(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text)
}

/** Whether a version is behind another. Both are ones of the server. */
export function isAfter(version: string, other: string): boolean {
  return version.length === other.length ? version > other : version.length > other.length
}

/**
 * The conditions of a patch: those of the call, and those that are in it. `undefined`: they cannot
 * hold, and the server might take them for none at all.
 */
export function conditionsOf({ uid, resourceVersion }: Preconditions, patch: PatchInput): Preconditions | undefined {
  const own = patch.kind === 'merge' ? conditionsIn(patch.patch) : {}
  const both = { uid: uid ?? own.uid, resourceVersion: resourceVersion ?? own.resourceVersion }
  if (both.uid !== (own.uid ?? both.uid) || both.resourceVersion !== (own.resourceVersion ?? both.resourceVersion))
    return undefined
  if (both.uid === '' || (both.resourceVersion !== undefined && !isVersion(both.resourceVersion))) return undefined
  return both
}

export function formatConditions({ uid, resourceVersion }: Preconditions): string {
  const given = Object.entries({ uid, resourceVersion }).filter(([, value]) => value !== undefined)
  return given.map(([field, value]) => `${field} ${quote(value as string)}`).join(', ') || 'an object at rest'
}
