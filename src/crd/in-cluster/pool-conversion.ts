import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import type { Result } from '../../errors/index.js'
import { notConvertible, takeConversionData, type VersionConversion, withConversionData } from '../meta/conversion.js'
import { asObject, defined, type JsonObject, unlessEmpty } from '../meta/json.js'
import { API_VERSION, API_VERSION_V1ALPHA1 } from './names.js'

/** What a pool of addresses of v1alpha2 can say and v1alpha1 cannot. */
const HUB_FIELDS = ['allocateReservedIPAddresses', 'excludedAddresses', 'addressReuseGracePeriodSeconds'] as const

/**
 * A pool of addresses of v1alpha1, as the in-cluster provider converts it
 * (api/v1alpha1/inclusterippool_conversion.go): a subnet and the ends of a range in it become one
 * entry more in `spec.addresses`.
 *
 * What the pool said in v1alpha1 is kept in an annotation, and is what it says again on the way
 * back, as long as it still means the addresses, prefix and gateway that the pool has: those may
 * have been changed in v1alpha2. With `restores: 'always'` it is, whether or not: so upstream does
 * with pools that have no namespace. What v1alpha1 has no field for waits in the same annotation on
 * the other side, so that a client of v1alpha1 does not take away exclusions without knowing of
 * them.
 */
export function poolFromV1alpha1({ restores }: { readonly restores: 'always' | 'if-same' }): VersionConversion {
  return {
    toHub: (pool) => {
      const taken = takeConversionData(pool, API_VERSION)
      if (!taken.ok) return taken
      const { data, rest } = taken.value
      const spec = asObject(rest.spec)
      if (spec === undefined) return { ok: true, value: rest }
      const whole = withSubnetEnds(spec, rest)
      if (!whole.ok) return whole
      const hub = { ...hubSpecOf(whole.value), ...only(asObject(data.spec) ?? {}, HUB_FIELDS) }
      return { ok: true, value: withConversionData({ ...rest, spec: hub }, { spec: whole.value }) }
    },
    fromHub: (pool) => {
      const taken = takeConversionData(pool, API_VERSION_V1ALPHA1)
      if (!taken.ok) return taken
      const { data, rest } = taken.value
      const spec = asObject(rest.spec)
      if (spec === undefined) return { ok: true, value: rest }
      const old = without(spec, HUB_FIELDS)
      const written = asObject(data.spec)
      const isKept = written !== undefined && (restores === 'always' || isSamePool(written, spec, rest))
      const restored = isKept ? { ...without(old, ['addresses', 'prefix', 'gateway']), ...written } : old
      const hidden = unlessEmpty(only(spec, HUB_FIELDS))
      return { ok: true, value: withConversionData({ ...rest, spec: restored }, hidden && { spec: hidden }) }
    },
  }
}

/**
 * The spec with the ends and the length that it leaves to its subnet: the address behind the first
 * one, and that before the last one.
 */
function withSubnetEnds(spec: JsonObject, pool: JsonObject): Result<JsonObject, 'INVALID_CONVERSION'> {
  const { subnet } = spec
  if (typeof subnet !== 'string' || subnet === '') return { ok: true, value: spec }
  const parsed = Prefix.safeParse(subnet)
  if (!parsed.ok) {
    return notConvertible(
      pool,
      API_VERSION,
      'spec.subnet',
      `${JSON.stringify(subnet)}: ${parsed.failure.context.problem}`,
    )
  }
  const prefix = parsed.value
  const start = spec.start || addressText(Address.next(Prefix.first(prefix)))
  const end = spec.end || addressText(Address.previous(Prefix.last(prefix)))
  return { ok: true, value: { ...spec, start, end, prefix: spec.prefix || prefix.length } }
}

/**
 * A subnet at the end of the address space may have no neighbour to count to. What upstream writes
 * then is no address, and no pool takes it.
 */
function addressText(address: Address.Address | undefined): string {
  return address === undefined ? 'invalid IP' : Address.format(address)
}

/** What a spec of v1alpha1, with its ends, says in v1alpha2. */
function hubSpecOf({ subnet: _, start, end, addresses, prefix, ...rest }: JsonObject): JsonObject {
  const listed = Array.isArray(addresses) ? addresses : (addresses ?? [])
  const range = start && end ? [`${start}-${end}`] : []
  return { ...rest, addresses: Array.isArray(listed) ? [...listed, ...range] : listed, prefix: prefix ?? 0 }
}

/** Whether what a pool said in v1alpha1 still means what it says in v1alpha2. */
function isSamePool(written: JsonObject, spec: JsonObject, pool: JsonObject): boolean {
  const whole = withSubnetEnds(written, pool)
  if (!whole.ok) return false
  const meant = hubSpecOf(whole.value)
  const [left, right] = [meant.addresses, spec.addresses ?? []]
  return (
    Array.isArray(left) &&
    Array.isArray(right) &&
    left.length === right.length &&
    left.every((entry, index) => entry === right[index]) &&
    meant.prefix === (spec.prefix ?? 0) &&
    (meant.gateway || '') === (spec.gateway || '')
  )
}

function only(object: JsonObject, keys: readonly string[]): JsonObject {
  return defined(Object.fromEntries(keys.map((key) => [key, object[key]])))
}

function without(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}
