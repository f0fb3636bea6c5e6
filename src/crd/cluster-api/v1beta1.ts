import type { JsonObject } from '../meta/model.js'

/**
 * v1beta1 to v1beta2, the stored version, as Cluster API converts them (api/ipam/v1beta1/conversion.go).
 *
 * A missing pool group becomes an empty one. Conditions never translate between the two kinds: what v1beta1 has in
 * `status.conditions` moves to `status.deprecated.v1beta1.conditions`, and what it has in `status.v1beta2.conditions`
 * becomes `status.conditions`.
 */
export function claimToV1beta2(claim: JsonObject): JsonObject {
  const spec = withPoolGroup(claim.spec)
  const status = object(claim.status)
  if (status === undefined) return { ...claim, spec }
  const { conditions: legacy, v1beta2, ...rest } = status
  const conditions = object(v1beta2)?.conditions
  return {
    ...claim,
    spec,
    status: {
      ...rest,
      ...(conditions === undefined ? {} : { conditions }),
      ...(Array.isArray(legacy) && legacy.length > 0 ? { deprecated: { v1beta1: { conditions: legacy } } } : {}),
    },
  }
}

/** v1beta1 to v1beta2: only the pool group can differ, and an absent `prefix` was 0. */
export function addressToV1beta2(address: JsonObject): JsonObject {
  const spec = object(withPoolGroup(address.spec))
  return spec === undefined ? address : { ...address, spec: { ...spec, prefix: spec.prefix ?? 0 } }
}

function withPoolGroup(value: unknown): unknown {
  const spec = object(value)
  const poolRef = object(spec?.poolRef)
  if (spec === undefined || poolRef === undefined) return value
  return { ...spec, poolRef: { ...poolRef, apiGroup: poolRef.apiGroup ?? '' } }
}

function object(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}
