import type { VersionConversion } from '../meta/conversion.js'
import { asObject, type JsonObject } from '../meta/json.js'

/** The spec with the group of its pool as v1beta2 has it: a missing one is an empty text. */
export function withHubPoolGroup(value: unknown): unknown {
  return mapPoolRef(value, (poolRef) => ({ ...poolRef, apiGroup: poolRef.apiGroup ?? '' }))
}

/**
 * The spec with the group of its pool as the older versions have it: an empty one is `null`, which
 * Go writes for it.
 */
export function withOldPoolGroup(value: unknown): unknown {
  return mapPoolRef(value, (poolRef) => (poolRef.apiGroup === '' ? { ...poolRef, apiGroup: null } : poolRef))
}

function mapPoolRef(value: unknown, change: (poolRef: JsonObject) => JsonObject): unknown {
  const spec = asObject(value)
  const poolRef = asObject(spec?.poolRef)
  return spec === undefined || poolRef === undefined ? value : { ...spec, poolRef: change(poolRef) }
}

/**
 * An IPAddress of v1alpha1 or v1beta1, as Cluster API converts it (api/ipam/v1beta1/conversion.go):
 * the group of the pool may be missing, and a missing `prefix` is 0. Both are the same in all other
 * fields.
 */
export const addressConversion: VersionConversion = {
  toHub: (address) => ({ ok: true, value: withSpec(address, withPrefix(withHubPoolGroup(address.spec))) }),
  fromHub: (address) => ({ ok: true, value: withSpec(address, withPrefix(withOldPoolGroup(address.spec))) }),
}

function withPrefix(value: unknown): unknown {
  const spec = asObject(value)
  return spec === undefined ? value : { ...spec, prefix: spec.prefix ?? 0 }
}

/** The object with another spec; without one, if it has none. */
export function withSpec(json: JsonObject, spec: unknown): JsonObject {
  return spec === undefined ? json : { ...json, spec }
}
