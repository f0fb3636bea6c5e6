import type { InClusterPool } from '../../crd/in-cluster/pools.js'
import { formatRef, refOf } from '../../crd/meta/object.js'
import { PREALLOCATIONS_ANNOTATION, type Preallocations } from './options.js'

/**
 * The addresses that a pool keeps for claims, as texts by `namespace/name`, and the problems of the
 * entries.
 */
export interface KeptAddresses {
  readonly claims: ReadonlyMap<string, string>
  readonly problems: readonly string[]
}

/**
 * The addresses that a pool keeps for claims, by its annotation and by the options. An unreadable
 * annotation is a problem of the pool: nothing is given while it is not known what is kept. Whether
 * the pool has the kept addresses is not checked.
 */
export function preallocationsOf(pool: InClusterPool, options: Preallocations): KeptAddresses {
  const claims = new Map<string, string>()
  const problems: string[] = []
  const annotation = options.annotation ?? PREALLOCATIONS_ANNOTATION
  const text = pool.metadata.annotations?.[annotation]
  const written = text === undefined ? {} : parse(text)
  if (written === undefined) problems.push(`annotation ${annotation}: no JSON object of addresses by claim`)
  const configured = options.entries?.[formatRef(refOf(pool))] ?? {}
  for (const [name, address] of [...Object.entries(written ?? {}), ...Object.entries(configured)]) {
    const claim = claimKey(name, pool.metadata.namespace)
    if (claim === undefined) {
      const form = pool.metadata.namespace === undefined ? 'namespace/name' : 'a name of its namespace'
      problems.push(`preallocation for ${JSON.stringify(name)}: a claim of this pool is ${form}`)
    } else if (claims.has(claim) && claims.get(claim) !== address) {
      problems.push(`preallocation for ${claim}: both ${claims.get(claim)} and ${address}`)
    } else claims.set(claim, address)
  }
  return { claims, problems }
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
