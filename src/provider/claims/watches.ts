import { Cluster } from '../../crd/cluster-api/cluster.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, hasFinalizer, type KubeObject, refOf } from '../../crd/meta/object.js'
import type { ParseResult } from '../../plan/cached-objects.js'
import { modelWatch, type Watch } from '../../plan/index.js'
import { salvage } from './address-object.js'
import { clusterRefOf, poolOfAddress, poolRefOf } from './references.js'
import type { ProviderRules } from './rules.js'
import { hasAddress } from './salvage.js'

/** An IPAddress object, as far as it can be read. */
export interface SeenAddress {
  /** Left out: it cannot be read. */
  readonly address: IPAddress | undefined
  /** Why it cannot be read. */
  readonly problem: string | undefined
  /**
   * What it holds of which pools: itself. An object that cannot be read, or whose address cannot,
   * holds what its last good version held, and what can be read of it.
   */
  readonly held: readonly IPAddress[]
  /** The last version whose address could be read. */
  readonly good: IPAddress | undefined
}

/** What a provider of Cluster API watches. */
export interface ClaimWatches {
  readonly claims: Watch<IPAddressClaim>
  readonly addresses: Watch<SeenAddress>
  readonly clusters: Watch<Cluster>
  /** By kind. */
  readonly pools: { readonly [kind: string]: Watch<KubeObject> }
}

export function claimWatches(rules: ProviderRules): ClaimWatches {
  const poolOf = ({ spec, metadata }: IPAddressClaim) => keysOf(poolRefOf(spec.poolRef, metadata.namespace, rules))
  return {
    claims: {
      ...IPAddressClaim.info,
      parse: parseClaim,
      indexes: {
        pool: poolOf,
        // claims with the finalizer of the provider
        unreleased: (claim) => (hasFinalizer(claim, rules.finalizers.claim) ? poolOf(claim) : []),
        cluster: (claim) => keysOf(clusterRefOf(claim)),
        // markers in an external system name claims by their uid
        ...(rules.external?.marker === 'pool' && { uid: ({ metadata: { uid = '' } }: IPAddressClaim) => [uid] }),
      },
    },
    addresses: {
      ...IPAddress.info,
      parse: parseAddress,
      indexes: {
        pool: ({ held }) => [...new Set(held.flatMap((each) => keysOf(poolOfAddress(each, rules))))],
      },
    },
    clusters: modelWatch(Cluster),
    pools: Object.fromEntries(rules.pools.map((model) => [model.info.kind, modelWatch(model)])),
  }
}

function parseClaim(object: KubeObject): ParseResult<IPAddressClaim> {
  const read = IPAddressClaim.safeParse(object)
  if (!read.ok) return { ok: false, problem: read.failure.message }
  const { apiVersion } = IPAddressClaim.info
  if (object.apiVersion === apiVersion) return read
  // writes to a claim that is stored in an older version would be read back as something else
  return { ok: false, problem: `it is kept as ${object.apiVersion}: store what the model reads it as, ${apiVersion}` }
}

function parseAddress(object: KubeObject, before: SeenAddress | undefined): ParseResult<SeenAddress> {
  const read = IPAddress.safeParse(object)
  const address = read.ok ? read.value : undefined
  const problem = read.ok ? undefined : read.failure.message
  if (address !== undefined && hasAddress(address)) {
    return { ok: true, value: { address, problem, held: [address], good: address } }
  }
  const good = before?.good?.metadata.uid === object.metadata.uid ? before?.good : undefined
  const held = [good, address ?? salvage(object)].filter((each) => each !== undefined)
  return { ok: true, value: { address, problem, held, good } }
}

function keysOf(ref: Parameters<typeof formatRef>[0] | undefined): readonly string[] {
  return ref === undefined ? [] : [formatRef(ref)]
}

/** The key of an object. */
export function keyOf(object: KubeObject): string {
  return formatRef(refOf(object))
}
