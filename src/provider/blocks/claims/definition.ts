import type { Address } from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import type { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import type { Model } from '../../../crd/meta/model.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import type { Outcome, Plan } from '../../../plan/index.js'
import type {
  ClaimLedger,
  Ensured,
  EnsureInput,
  Offer,
  PoolPlanInput,
  ProviderFinalizers,
  Released,
  ReleaseInput,
} from '../../claims/definition.js'
import type { Allocation } from '../tasks/request.js'

/** What a claim wants of a pool. */
export type ClaimRequest =
  /** Any address of a family, or this one and no other. */
  | { readonly kind: 'request'; readonly family: 4 | 6; readonly address?: Address | undefined }
  /** Nothing that the pool could give: the claim waits, and says why. */
  | Extract<Ensured, { readonly kind: 'wait' }>

/** Who asks whether an address is held by somebody who has no row for it. */
export interface BlockHolderQuery<L> {
  /** An address as a prefix of its whole length, or a prefix as the pool gives it. */
  readonly prefix: Prefix
  /** `namespace/name` of the claim that is to get it. */
  readonly claim: string
  /** The ledger of the pool. */
  readonly ledger: L
}

/** What a plan for a pool is made from. */
export interface BlockPoolPlanInput<P, L>
  extends Omit<PoolPlanInput<P, L>, 'calls' | 'waiting' | 'claimOf' | 'hasReached'> {
  /**
   * How many rows there are of the pool, also of claims that have no IPAddress yet. Counted while
   * it is being deleted and has `claims`, else 0.
   */
  readonly rows: number
}

/**
 * What a provider of Cluster API is whose addresses are rows of blocks, apart from that: its pools,
 * and what they are to blocks.
 *
 * `P` are the pools as their models read them, `L` the ledger, `R` what a plan for a pool comes to.
 */
export interface BlockProviderDefinition<P extends KubeObject, L extends ClaimLedger<P>, R extends Outcome> {
  /** Tells it from other providers in logs and metrics. */
  readonly name: string
  /** The kinds of pools that it serves. */
  readonly pools: readonly Model<P>[]
  /** As in `defineProvider`. */
  readonly poolAnnotations?: readonly string[] | undefined
  /** Default: those of Cluster API's own library. */
  readonly finalizers?: Partial<ProviderFinalizers> | undefined
  /** As in `defineProvider`. */
  readonly sweepAfterSeconds?: number | undefined
  /** As in `defineProvider`. */
  readonly holdsAddress?: ((finalizer: string) => boolean) | undefined
  /** What IPAddress objects hold of one pool. */
  ledger(): L
  /**
   * The pool as blocks know it, under a name of its own that never changes: also one that is being
   * deleted, and one whose spec cannot be used. Its status has the grid and a `domainUID`. Left
   * out: the pools are of kind IPPool, and somebody runs `blocksOperator`.
   */
  ipPoolOf?(pool: P): IPPool
  /**
   * The labels of a namespace, for pools with a `namespaceSelector`; `undefined`: not known yet.
   * Left out: such pools serve no claims.
   */
  readonly namespaceLabels?: ((namespace: string) => { readonly [key: string]: string } | undefined) | undefined
  /** What a claim wants of a pool, of which these families can be given. */
  request(
    input: Pick<EnsureInput<P, L, unknown>, 'claim' | 'pool' | 'ledger'> & { readonly families: readonly (4 | 6)[] },
  ): ClaimRequest
  /** What goes with an address into its IPAddress. */
  offer(allocation: Allocation, pool: P): Pick<Offer, 'prefix' | 'gateway'>
  /**
   * Who holds something without a row, in words: it is given to nobody else. Left out: nobody. O(1)
   * to O(log n), it is asked for each unit that is free.
   */
  heldBy?(query: BlockHolderQuery<L>): string | undefined
  /**
   * Whether a claim keeps an IPAddress that its pool does not give any more, and gets a row for it,
   * or that is no address at all, which has none. Default false: it is not Bound to it, unless it
   * has its row already.
   */
  readonly keepsOutOfRange?: boolean | undefined
  /** Whether what a claim that is being deleted has may be given back now. Left out: at once. */
  mayRelease?(input: Omit<ReleaseInput<P, L>, 'results'>): Extract<Released, { readonly kind: 'done' | 'wait' }>
  /** The affairs of a pool itself. */
  planPool(input: BlockPoolPlanInput<P, L>): Plan<R>
}
