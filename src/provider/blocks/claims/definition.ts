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
  PoolHoldings,
  PoolPlanInput,
  ProviderFinalizers,
  Released,
  ReleaseInput,
} from '../../claims/definition.js'
import type { Allocation } from '../tasks/request.js'

/** What a claim requests from a pool. */
export type ClaimRequest =
  /** Any address of a family, or exactly this one. */
  | { readonly kind: 'request'; readonly family: 4 | 6; readonly address?: Address | undefined }
  /** The pool cannot give what the claim requests: the claim waits, and its condition says why. */
  | Extract<Ensured, { readonly kind: 'wait' }>

/** Asks whether an address without a row is held by an IPAddress. */
export interface BlockHolderQuery<L> {
  /** An address as a prefix of full length, or a prefix as the pool gives it. */
  readonly prefix: Prefix
  /** `namespace/name` of the claim that requests it. */
  readonly claim: string
  /** The ledger of the pool. */
  readonly ledger: L
}

/** The input of a plan for a pool. */
export interface BlockPoolPlanInput<P, L> extends Omit<PoolPlanInput<P, L>, 'calls' | 'isWaiting' | 'otherPoolAt'> {
  /**
   * The number of rows of the pool, with those of claims that have no IPAddress yet. Counted while
   * the pool is being deleted and has `claims`, else 0.
   */
  readonly rows: number
}

/**
 * What differs between providers of Cluster API whose addresses are rows of blocks: the pools, and
 * how blocks read them.
 *
 * `P` are the pools as their models read them, `L` is the ledger, `R` the outcome of a plan for a
 * pool.
 */
export interface BlockProviderDefinition<P extends KubeObject, L extends ClaimLedger<P>, R extends Outcome> {
  /** Tells the provider from others in logs and metrics. */
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
  /** Makes the ledger of a pool: the addresses of its IPAddress objects. */
  ledger(holdings: PoolHoldings): L
  /**
   * The pool as blocks know it, under a name of its own that never changes. Called for pools that
   * are being deleted, and for pools whose spec cannot be used. The status of the result has the
   * grid and a `domainUID`. Left out: the pools are of kind IPPool, and `blocksOperator` has to
   * run.
   */
  ipPoolOf?(pool: P): IPPool
  /**
   * The labels of a namespace, for pools with a `namespaceSelector`; `undefined`: not known yet.
   * Left out: such pools serve no claims.
   */
  readonly namespaceLabels?: ((namespace: string) => { readonly [key: string]: string } | undefined) | undefined
  /** What a claim requests from a pool that can give these families. */
  request(
    input: Pick<EnsureInput<P, L, unknown>, 'claim' | 'pool' | 'ledger'> & { readonly families: readonly (4 | 6)[] },
  ): ClaimRequest
  /** The prefix length and gateway that go with an address into its IPAddress. */
  offer(allocation: Allocation, pool: P): Pick<Offer, 'prefix' | 'gateway'>
  /**
   * The holder of an address that has no row, as a text: the address is given to no other owner.
   * Asked for each free unit, so it has to answer in O(1) to O(log n). Left out: such addresses
   * have no holder.
   */
  heldBy?(query: BlockHolderQuery<L>): string | undefined
  /**
   * Whether a claim keeps an IPAddress that its pool no longer gives. Such an address gets a row; a
   * text that is no address gets none. Default false: the claim is Bound to it only if it has its
   * row already.
   */
  readonly keepsOutOfRange?: boolean | undefined
  /**
   * Whether the addresses of a claim that is being deleted may be released now. Left out: at once.
   */
  mayRelease?(input: Omit<ReleaseInput<P, L>, 'results'>): Extract<Released, { readonly kind: 'done' | 'wait' }>
  /** Plans the pool itself. */
  planPool(input: BlockPoolPlanInput<P, L>): Plan<R>
}
