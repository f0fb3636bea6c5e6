import fc from 'fast-check'
import { Address } from 'ipam-kit/cidr'
import { address } from 'ipam-kit/testing/arbitraries'

type Fields = { readonly [key: string]: unknown }

export const GROUP = 'ipam.cluster.x-k8s.io'
export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name'
const DATA_ANNOTATION = 'cluster.x-k8s.io/conversion-data'

/** Names that every version takes. */
export const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/)

/** An object with those of the fields that chance picks. */
export function some<T extends { readonly [key: string]: fc.Arbitrary<unknown> }>(fields: T): fc.Arbitrary<Fields> {
  return fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Fields>
}

/** Fields that no version knows, at the place where they are spread. */
export const unknownFields = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fields>({}) },
  {
    weight: 1,
    arbitrary: fc.record({ future: fc.oneof(fc.string(), fc.array(fc.nat()), fc.record({ deep: fc.boolean() })) }),
  },
)

const texts = fc.dictionary(fc.stringMatching(/^example\.com\/[a-z]{1,5}$/), fc.string(), { maxKeys: 3 })

export const metadata: fc.Arbitrary<Fields> = fc
  .tuple(
    fc.record({ name, namespace: name }),
    some({
      uid: fc.uuid(),
      resourceVersion: fc.nat().map(String),
      generation: fc.nat(),
      creationTimestamp: fc.constant('2026-01-01T00:00:00Z'),
      finalizers: fc.array(name, { maxLength: 2 }),
      ownerReferences: fc.array(fc.record({ apiVersion: name, kind: name, name, uid: name }), { maxLength: 1 }),
      labels: texts,
      annotations: texts,
      managedFields: fc.constant([{ manager: 'kubectl' }]),
    }),
  )
  .map(([required, others]) => ({ ...required, ...others }))

const condition = fc
  .tuple(
    fc.record({
      type: fc.constantFrom('Ready', 'example.com/Checked'),
      status: fc.constantFrom('True', 'False', 'Unknown'),
      reason: fc.constantFrom('PoolExhausted', 'AddressAllocated'),
      message: fc.string(),
      lastTransitionTime: fc.constant('2026-01-01T00:00:00Z'),
    }),
    some({ observedGeneration: fc.nat() }),
  )
  .map(([required, others]) => ({ ...required, ...others }))

export const conditions = fc.uniqueArray(condition, { maxLength: 2, selector: ({ type }) => type })

export const legacyConditions = fc.array(
  fc
    .tuple(
      fc.record({
        type: fc.constantFrom('Ready', 'Checked'),
        status: fc.constantFrom('True', 'False'),
        lastTransitionTime: fc.constant('2026-01-01T00:00:00Z'),
      }),
      some({ severity: fc.constant('Error'), reason: fc.constant('Full'), message: fc.string({ minLength: 1 }) }),
    )
    .map(([required, others]) => ({ ...required, ...others })),
  { maxLength: 2 },
)

export const addressText = address().map(Address.format)

/**
 * An object as Kubernetes compares it: `null`, empty lists and empty maps are as good as absent.
 */
export function asCompared(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(asCompared)
  if (value === null) return undefined
  if (typeof value !== 'object') return value
  const fields = Object.entries(value).map(([key, field]) => [key, asCompared(field)] as const)
  const kept = fields.filter(([, field]) => field !== undefined)
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/**
 * The same, without the annotation in which conversions keep what the other side has no field for.
 */
export function withoutData(object: unknown): unknown {
  const { metadata, ...rest } = object as { readonly metadata: { readonly annotations?: Fields } }
  const { [DATA_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {}
  return asCompared({ ...rest, metadata: { ...metadata, annotations } })
}

/** What an API server does not let a conversion change: all metadata but labels and annotations. */
export function fixedMetadata(object: unknown): unknown {
  const { labels: _, annotations: __, ...fixed } = (object as { readonly metadata: Fields }).metadata
  return fixed
}

/** The same object, of which no part can be changed. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(frozen)
    Object.freeze(value)
  }
  return value
}
