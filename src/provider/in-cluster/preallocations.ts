import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { InClusterPool } from '../../crd/in-cluster/pools.js'
import { formatRef, refOf } from '../../crd/meta/object.js'
import { PREALLOCATIONS_ANNOTATION, type Preallocations } from './options.js'

/** The addresses that a pool keeps for claims. */
export interface KeptAddresses {
  /** Texts by `namespace/name`. Other keys keep an address from all claims. */
  readonly claims: ReadonlyMap<string, string>
  /** Why it is unknown what is kept: the pool gives nothing. */
  readonly problems: readonly string[]
  /** Entries that cannot be used, as sentences. No claim gets their addresses. */
  readonly unusable: readonly string[]
}

/**
 * The addresses that a pool keeps for claims, by its annotation and by the options. An annotation
 * or an address that cannot be read is a problem of the pool: nothing is given while it is not
 * known what is kept. Whether the pool has the kept addresses is not checked.
 */
export function preallocationsOf(pool: InClusterPool, options: Preallocations): KeptAddresses {
  const claims = new Map<string, string>()
  const problems: string[] = []
  const unusable: string[] = []
  const annotation = options.annotation ?? PREALLOCATIONS_ANNOTATION
  const text = pool.metadata.annotations?.[annotation]
  const written = text === undefined ? {} : parse(text)
  if (written === undefined) problems.push(`annotation ${annotation}: no JSON object of addresses by claim`)
  const configured = options.entries?.[formatRef(refOf(pool))] ?? {}
  for (const [name, address] of [...Object.entries(written ?? {}), ...Object.entries(configured)]) {
    if (!RangeSet.safeParseEntry(address, { zone: 'drop' }).ok) {
      problems.push(`preallocation for ${shown(name)}: ${shown(address)} is not an address`)
    }
    const claim = claimKey(name, pool.metadata.namespace)
    if (claim === undefined) {
      const form = pool.metadata.namespace === undefined ? 'namespace/name' : 'a name of its namespace'
      unusable.push(`preallocation for ${JSON.stringify(name)}: a claim of this pool is ${form}`)
      claims.set(`${name} ${address}`, address)
      continue
    }
    const other = claims.get(claim)
    if (other === undefined || other === address) {
      claims.set(claim, address)
      continue
    }
    unusable.push(`preallocation for ${claim}: both ${other} and ${address}`)
    for (const each of [other, address]) claims.set(`${claim} ${each}`, each)
    // the claim gets neither, and no other address
    claims.set(claim, `${other} and ${address}`)
  }
  return { claims, problems, unusable }
}

/** A text of a user in quotes, shortened. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 64))
}

function parse(text: string): { readonly [claim: string]: string } | undefined {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined
  return Object.values(json).every((value) => typeof value === 'string')
    ? (json as { readonly [claim: string]: string })
    : undefined
}

/**
 * `namespace/name`; `undefined` for a claim that cannot use a pool of that namespace, and for a
 * bare name with a cluster-scoped pool.
 */
function claimKey(name: string, namespace: string | undefined): string | undefined {
  const parts = name.split('/')
  if (parts.length > 2 || parts.includes('')) return undefined
  if (parts.length === 1) return namespace === undefined ? undefined : `${namespace}/${name}`
  return namespace === undefined || parts[0] === namespace ? name : undefined
}
