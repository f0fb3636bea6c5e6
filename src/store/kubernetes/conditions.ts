import type { KubeObject } from '../../crd/meta/object.js'
import { fail, quote, type Result } from '../../errors/index.js'
import type { Preconditions, StoreErrorCode } from '../store.js'
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
 * The conditions of a patch: those of the call, and those that are in it. `undefined`: they can not hold, and the server might take them for
 * none at all.
 */
export function conditionsOf({ uid, resourceVersion }: Preconditions, patch: PatchInput): Preconditions | undefined {
  const own = patch.kind === 'merge' ? patch.metadata : {}
  const ownUid = typeof own.uid === 'string' && own.uid !== '' ? own.uid : undefined
  const isVersioned =
    typeof own.resourceVersion === 'string' && own.resourceVersion !== '' && own.resourceVersion !== '0'
  const ownVersion = isVersioned ? (own.resourceVersion as string) : undefined
  const both = { uid: uid ?? ownUid, resourceVersion: resourceVersion ?? ownVersion }
  if (both.uid !== (ownUid ?? both.uid) || both.resourceVersion !== (ownVersion ?? both.resourceVersion))
    return undefined
  if (both.uid === '' || (both.resourceVersion !== undefined && !isVersion(both.resourceVersion))) return undefined
  return both
}

/** The failure of a write that was made for another object, or another version of it. */
export function staleness(
  { metadata }: KubeObject,
  conditions: Preconditions,
  object: string,
): Result<never, StoreErrorCode> | undefined {
  for (const field of ['uid', 'resourceVersion'] as const) {
    const wanted = conditions[field]
    if (wanted === undefined || wanted === metadata[field]) continue
    const actual = quote(metadata[field] ?? '')
    return fail('STORE_CONFLICT', { object, expected: `${field} ${quote(wanted)}`, actual })
  }
  return undefined
}

export function formatConditions({ uid, resourceVersion }: Preconditions): string {
  const given = Object.entries({ uid, resourceVersion }).filter(([, value]) => value !== undefined)
  return given.map(([field, value]) => `${field} ${quote(value as string)}`).join(', ') || 'an object at rest'
}
