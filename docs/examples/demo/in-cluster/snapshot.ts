import type { LedgerEntry } from 'ipam-kit/allocator'
import { phaseOf } from 'ipam-kit/claim'
import { ClusterApi, InCluster, Meta } from 'ipam-kit/crd'
import type { Holder } from 'ipam-kit/provider/claims'
import type { InClusterOutcome } from 'ipam-kit/provider/in-cluster'
import type { Cluster } from './cluster.js'

/** A claim as it is shown: `null` for what it does not have. */
export interface ClaimView {
  readonly namespace: string
  readonly name: string
  /** `Kind/name`. */
  readonly pool: string
  /** `Ignored`: for a pool of another provider. */
  readonly phase: 'Bound' | 'Pending' | 'Error' | 'Ignored'
  readonly reason: string | null
  readonly address: string | null
  readonly prefix: number | null
  readonly gateway: string | null
  /** Why the claim is where it is, unless it simply has its address. */
  readonly message: string | null
}

export interface PoolView {
  readonly pool: InCluster.InClusterPool
  readonly counts: NonNullable<InCluster.InClusterPool['status']>['ipAddresses']
  /** Why nothing can be allocated from it. */
  readonly problem: string | null
  /** What IPAddress objects hold, in order. */
  readonly entries: readonly LedgerEntry<Holder>[]
}

/** What there is to show of a cluster at rest. */
export interface Snapshot {
  /** In the order in which they were created. */
  readonly claims: readonly ClaimView[]
  readonly pools: readonly PoolView[]
}

export async function snapshot(cluster: Cluster): Promise<Snapshot> {
  const addresses = new Map<string, ClusterApi.IPAddress>()
  for (const address of await cluster.list(ClusterApi.IPAddress)) addresses.set(pathOf(address.metadata), address)
  const claims = [...(await cluster.list(ClusterApi.IPAddressClaim))].sort(byAge)
  const pools = await Promise.all(InCluster.poolModels.map((model) => cluster.list<InCluster.InClusterPool>(model)))
  return {
    claims: claims.map((claim) =>
      viewClaim(claim, addresses.get(pathOf(claim.metadata)), cluster.outcomeOf(Meta.formatRef(Meta.refOf(claim)))),
    ),
    pools: pools.flat().map((pool) => viewPool(pool, cluster)),
  }
}

/** How many claims are in which phase. */
export function countPhases(claims: readonly ClaimView[]) {
  const count = (phase: ClaimView['phase']) => claims.filter((claim) => claim.phase === phase).length
  return {
    claims: claims.length,
    bound: count('Bound'),
    pending: count('Pending'),
    error: count('Error'),
    ignored: count('Ignored'),
  }
}

function viewClaim(
  claim: ClusterApi.IPAddressClaim,
  address: ClusterApi.IPAddress | undefined,
  outcome: InClusterOutcome | undefined,
): ClaimView {
  const { name, namespace = '' } = claim.metadata
  const { poolRef } = claim.spec
  const phase = phaseOf(claim)
  const bound = phase === 'Bound' ? address?.spec : undefined
  return {
    namespace,
    name,
    pool: `${poolRef.kind}/${poolRef.name}`,
    phase: outcome?.kind === 'ignored' ? 'Ignored' : phase,
    reason: reasonOf(claim, outcome),
    address: bound?.address ?? null,
    prefix: bound?.prefix ?? null,
    gateway: bound?.gateway ?? null,
    message: outcome === undefined || outcome.kind === 'bound' ? null : outcome.message,
  }
}

/**
 * In one word, why a claim is where it is: what the provider says now, else the condition that it
 * wrote.
 */
function reasonOf(claim: ClusterApi.IPAddressClaim, outcome: InClusterOutcome | undefined): string | null {
  switch (outcome?.kind) {
    case 'ignored':
      return 'ForeignPool'
    case 'paused':
      return 'Paused'
    case 'waiting':
      return outcome.reason
    case 'held':
      return 'Held'
    case 'releasing':
      return 'Releasing'
    case 'released':
      return 'Released'
    default:
      return claim.status?.conditions?.find((condition) => condition.type === 'Ready')?.reason ?? null
  }
}

function viewPool(pool: InCluster.InClusterPool, cluster: Cluster): PoolView {
  const ref = Meta.refOf(pool)
  const outcome = cluster.outcomeOf(Meta.formatRef(ref))
  return {
    pool,
    counts: pool.status?.ipAddresses,
    problem: outcome === undefined || outcome.kind === 'ready' ? null : outcome.message,
    entries: cluster.entriesOf(ref).filter(({ reason }) => reason === 'held'),
  }
}

/**
 * RFC 3339 texts of one length sort like the times that they stand for. Of one age: by namespace
 * and name, as listed.
 */
function byAge(left: Meta.KubeObject, right: Meta.KubeObject): number {
  const [a = '', b = ''] = [left.metadata.creationTimestamp, right.metadata.creationTimestamp]
  return a < b ? -1 : a > b ? 1 : 0
}

function pathOf({ namespace, name }: Meta.ObjectMeta): string {
  return `${namespace}/${name}`
}
