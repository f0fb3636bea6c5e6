import type { Ledger, LedgerUsage } from '../../allocator/index.js'
import type { Prefix, RangeSet } from '../../cidr/index.js'
import type { Address } from '../../cidr/nouns/address.js'
import type { NotReadyReason } from '../../claim/state.js'
import type { IPAddress, IPAddressSpec } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { Model } from '../../crd/meta/model.js'
import type { Json, KubeObject, ObjectRef } from '../../crd/meta/object.js'
import type { GroupedCall } from '../../plan/calls.js'
import type { Holder } from '../../plan/holdings.js'
import type { ExternalFailure, ExternalResult, Outcome, Plan } from '../../plan/index.js'
import type { EventCause } from '../../plan/sent-events.js'
import type { CallSchemas, CallTypes, JsonCalls, OperationOf } from './call-schemas.js'

/**
 * What differs between providers: the pools, and three verbs about one claim and one pool. The life
 * of a claim is the same for all.
 *
 * A verb is a pure function of its input: it reads nothing else, has no state, and may be called at
 * any time, any number of times for one claim.
 *
 * `P` are the pools as their models read them, `L` is the ledger, `O` is what `resolve` passes to
 * `ensure`, `R` the outcome of a plan for a pool. `C` has the inputs and answers of calls, by
 * operation: JSON, unless `calls` has schemas for them.
 */
export interface ProviderDefinition<
  P extends KubeObject,
  L extends ClaimLedger<P>,
  O,
  R extends Outcome,
  C extends CallTypes = JsonCalls,
> {
  /** Tells the provider from others in logs and metrics. */
  readonly name: string
  /**
   * The kinds of pools that the provider serves: all that `spec.poolRef` of its claims may name.
   */
  readonly pools: readonly Model<P>[]
  /**
   * The group of `spec.poolRef` that an empty one stands for, as v1beta1 allows in an IPAddress.
   * Default: the group of the first kind of pool.
   */
  readonly emptyGroup?: string | undefined
  /** Default: those of Cluster API's own library, {@link DEFAULT_FINALIZERS}. */
  readonly finalizers?: Partial<ProviderFinalizers> | undefined
  /**
   * Makes the ledger of one pool, which reads the holders of its addresses from `holdings`. The
   * pool itself may not be known yet.
   */
  ledger(holdings: PoolHoldings): L
  /**
   * How to treat pools that have addresses in common, by `available` of their ledgers. Pools of one
   * namespace and all cluster-scoped ones can. Namespaced pools of different namespaces never do.
   *
   * - `report`: `planPool` is given the others
   * - `avoid`: as `report`, and what another pool has in use is `foreign` in the ledger
   *
   * Left out: pools ignore each other.
   */
  readonly overlaps?: 'report' | 'avoid' | undefined
  /**
   * What a pool offers to a claim. Called only while the pool exists, can be read and is not being
   * deleted.
   */
  resolve(input: ResolveInput<P, L, C>): Resolved<O>
  /**
   * Chooses an address for a claim without one. The ledger holds it from the moment of the write.
   */
  ensure(input: EnsureInput<P, L, O, C>): Ensured<C>
  /**
   * Whether a claim may be Bound to an existing IPAddress: left by an earlier claim of its name,
   * restored, or written by a plan that was interrupted. Also whether a Bound claim may stay so.
   * Left out: it may, if no other holder in the ledger has the address. For ledgers that know more
   * than IPAddress objects.
   */
  confirm?(input: ConfirmInput<P, L, C>): Confirmed<C>
  /**
   * Whether the address of a claim that is being deleted may be released now. Left out: at once.
   * Also called for a claim without an IPAddress that has the finalizer of the provider: an
   * external system may have given it an address, and the result was lost.
   */
  release?(input: ReleaseInput<P, L, C>): Released<C>
  /**
   * Whether a finalizer on a claim that is being deleted means that the address is still in use.
   * While the claim has such a finalizer, its IPAddress stays, and no other claim gets the address.
   *
   * Called for each finalizer except that of this provider and those of the garbage collector
   * (`foregroundDeletion`, `orphan`). Left out: every other finalizer holds the address.
   * `() => false` releases the address at once, as the in-cluster provider in Go does.
   *
   * Exempt the finalizer of a consumer that removes it only after the IPAddress is deleted: each
   * would wait for the other. With `external`, a claim without the finalizer of the provider is not
   * held unless orphans are `swept`: its address could not be released after its end.
   */
  readonly holdsAddress?: ((finalizer: string) => boolean) | undefined
  /** What the external systems can do. Left out: verbs make no calls, and a `call` is an error. */
  readonly external?: ExternalOptions | undefined
  /**
   * The schemas of the calls, by operation: of the input, and of the answer. Verbs get answers as
   * their schemas read them. An answer that does not fit is a retryable failure of its call. A verb
   * can only call operations that are listed here. Left out: inputs and answers are unchecked JSON.
   */
  readonly calls?: CallSchemas | undefined
  /**
   * Plans the pool itself: its finalizer, its status, and its objects in external systems. It may
   * make one call at a time, and is called again with the result.
   */
  planPool(input: PoolPlanInput<P, L, C>): PoolPlan<R, C>
  /** The annotations of a pool that its ledger and its claims depend on, as on its spec. */
  readonly poolAnnotations?: readonly string[] | undefined
  /** State of the provider beyond one claim and one pool. Belongs to one planner. */
  readonly memory?: ProviderMemory<P, L> | undefined
  /**
   * After how many seconds an IPAddress of this provider without a claim is deleted. The time
   * begins when the planner first sees it so. Left out: never, unless a user deletes the IPAddress.
   * Has no effect with `external`, unless orphans are `swept`.
   */
  readonly sweepAfterSeconds?: number | undefined
}

/**
 * State of a provider beyond one claim and one pool. It observes what the planner observes, after
 * the ledgers. Each method returns the keys (`Kind namespace/name`) of *other* pools that are
 * affected: they are planned again, with the claims that wait for their addresses.
 */
export interface ProviderMemory<P extends KubeObject, L extends ClaimLedger<P>> {
  /** Called when a pool appeared, was deleted, or changed in what its ledger depends on. */
  observePool(ref: ObjectRef, pool: P | undefined, ledger: L): readonly string[]
  /** Called when an IPAddress has changed what it holds. */
  observeAddress(change: AddressChange<L>): readonly string[]
  /** Forgets everything, as the planner does. */
  reset(): void
}

export interface AddressChange<L> {
  /** `namespace/name` of the IPAddress. */
  readonly name: string
  /** `undefined`: it did not exist, or was of no pool of this provider. */
  readonly before: HeldAddress<L> | undefined
  /** `undefined`: it does not exist any more. */
  readonly now: HeldAddress<L> | undefined
  /** The claim with the name of the IPAddress, if known. */
  readonly claim: IPAddressClaim | undefined
}

export interface HeldAddress<L> {
  readonly address: IPAddress
  readonly pool: ObjectRef
  readonly ledger: L
}

/** The abilities of the external systems of a provider. */
export interface ExternalOptions {
  /**
   * Whether the external system stores the marker of a call, and what it does with it:
   *
   * - `kept`: a repeated call finds the object of the first one, or replaces it if the input has
   *   changed. Nothing is given twice and nothing is lost
   * - `claim`: as `kept`, by the uid of the claim alone: the uid is the marker, and the IPAddress
   *   has no annotation for it. Everything can be released also after the pool was deleted
   * - `pool`: what a call has allocated belongs to the pool, whose own calls find it again. Every
   *   address of the pool does for every claim. Nothing is kept on the claim or the IPAddress. A
   *   call for a claim is made only while the pool has the generation that was read
   * - `none`: a call whose answer was lost may have allocated an address that is never released.
   *   Outcomes report it as `leakPossible`
   */
  readonly marker: 'kept' | 'claim' | 'pool' | 'none'
  /**
   * What happens with an IPAddress without a claim. `left`: it stays, because only its claim tells
   * what to release in the external system. `swept`: it is deleted as with other providers. Its
   * object in the external system is found there by other means, after the IPAddress is deleted.
   * Then a call needs no finalizer on the claim before it: addresses given to a claim that is
   * deleted meanwhile are found as well, and the finalizer is written with the IPAddress. Default
   * `left`, and `swept` with the marker `pool`.
   */
  readonly orphans?: 'left' | 'swept' | undefined
  /**
   * Whether a claim that is not Bound already has something, because a process has begun to serve
   * it: `isBegun` of a planner. Left out: not known. O(1).
   */
  readonly isBegun?: ((claim: IPAddressClaim) => boolean) | undefined
}

/** A call that a verb wants: the verb is called again with its result. */
export type CallRequest<C extends CallTypes = JsonCalls> = AskedOf<C> & {
  readonly kind: 'call'
  /** The reason, as a text: `explain` shows it. */
  readonly why: string
  /**
   * The address that the call requests, if the provider has chosen it: `pending` in the ledger
   * until the call has ended.
   */
  readonly pending?: Offer | undefined
}

/** One of the operations, with its input. */
export type AskedOf<C extends CallTypes> = {
  readonly [K in OperationOf<C>]: {
    /**
     * The operation. Its answer is stored under this name; a verb may make several calls one after
     * the other, of different names. A successful answer is valid until the IPAddress of the claim
     * or the spec of the pool changes; it does not expire. An answer to a call that was sent before
     * such a change is dropped, and the call is made again under the same key.
     */
    readonly operation: K
    readonly input: C[K]['input']
    /**
     * How long after it was sent the call can have an effect, in seconds. Such a call stays in
     * {@link PoolCallResults.all} until `shownMs` of a plan for the pool says that its effect is
     * known. 0: it only reads. Left out: not known, and results follow the rules above.
     */
    readonly effectSeconds?: number | undefined
  }
}[OperationOf<C>]

/**
 * The answers to the calls of a verb, by operation. Only successful ones: failures never reach a
 * verb.
 */
export type CallValues<C extends CallTypes = JsonCalls> = { readonly [K in keyof C]?: C[K]['answer'] }

/** The finalizers that a provider puts on objects. */
export interface ProviderFinalizers {
  /** On a claim: it stays until its address is released. */
  readonly claim: string
  /** On an IPAddress: it stays while its claim needs it. */
  readonly address: string
}

/** The IPAddress objects that refer to a pool, by `namespace/name`: a Map, or a view of a cache. */
export interface PoolObjects {
  readonly size: number
  /** How many more are about to be written. Left out: none. */
  readonly pending?: number | undefined
  get(name: string): IPAddress | undefined
  values(): Iterable<IPAddress>
}

/** What the ledger of a pool reads. A planner keeps both up to date. */
export interface PoolHoldings {
  /**
   * The holders of addresses of the pool: IPAddress objects, and claims for which an address is
   * kept. The key of a holder is that of its claim.
   */
  readonly ledger: Ledger<Holder>
  readonly objects: PoolObjects
}

/** The fields of an IPAddress that say what it holds. */
export interface HeldFields {
  readonly metadata: Pick<IPAddress['metadata'], 'namespace' | 'name'>
  readonly spec: Pick<IPAddress['spec'], 'address'> & Partial<Pick<IPAddress['spec'], 'prefix' | 'poolRef'>>
}

/** The ledger of one pool, as a provider reads it. */
export interface ClaimLedger<P extends KubeObject> {
  /** What it was made from. A ledger that reads anything else would give addresses in use. */
  readonly holdings: PoolHoldings
  /** Why the pool cannot give anything in the state that was last shown; empty if it can. */
  readonly problems: readonly string[]
  /** The addresses of the pool, in use or not: for a provider with `overlaps`. */
  readonly available?: RangeSet | undefined
  /**
   * Where the addresses of the pool are unique, for a provider with `overlaps`: pools of different
   * domains have no address in common. Left out: the namespace of the pool. null: not known: it
   * may have addresses in common with all.
   */
  readonly domain?: string | null | undefined
  /**
   * How much of the pool is in use, without a look at each entry. Left out: what the ledger of the
   * holdings counts.
   */
  usage?(): readonly LedgerUsage[]
  /** Sets the pool. `undefined`: it does not exist, or cannot be read, and `problems` says why. */
  setPool(pool: P | undefined, problems?: readonly string[]): void
  /** Whether this is the ledger of that pool. */
  serves(pool: P): boolean
  /** What an IPAddress of the pool holds; `undefined`: nothing, as its text is not an address. */
  extentOf(address: HeldFields): Prefix | undefined
  /** Other IPAddress objects with addresses in common with this one, as `namespace/name`. */
  othersHolding(address: HeldFields): readonly string[]
}

/** What every verb is given of a pool. */
export interface PoolInput<P, L, C extends CallTypes = JsonCalls> {
  readonly pool: P
  readonly ledger: L
  /**
   * The calls of the pool and their results: an inventory that all claims of the pool share. New
   * results have waiting claims planned again.
   */
  readonly calls: PoolCallResults<C>
  /** With the marker `pool`: whether the claim with this uid waits for an address. O(1) */
  isWaiting(uid: string): boolean
  /**
   * With `overlaps`: how another pool of the same domain has an address. O(pools that have it)
   *
   * - `holds`: an IPAddress of it has the address, or is about to be written
   * - `names`: it is older, is not being deleted, and has the address in its space
   */
  otherPoolAt(address: string): 'holds' | 'names' | undefined
  readonly nowMs: number
}

export interface ResolveInput<P, L, C extends CallTypes = JsonCalls> extends PoolInput<P, L, C> {
  readonly claim: IPAddressClaim
}

/** What a pool offers to a claim. */
export type Resolved<O> =
  | { readonly kind: 'ready'; readonly offer: O }
  /** The claim waits with the reason PoolNotReady until the pool changes. */
  | { readonly kind: 'notReady'; readonly message: string }

export interface EnsureInput<P, L, O, C extends CallTypes = JsonCalls> extends ResolveInput<P, L, C> {
  /** What `resolve` has found. */
  readonly offer: O
  /** The marker of the calls for this claim: the uids of pool and claim, or that of the claim. */
  readonly key: string
  readonly results: CallValues<C>
  /**
   * The address that this claim had from the pool before its IPAddress was deleted. Not known after
   * a restart. A provider gives it again if it is free: the consumer of the address does not know
   * that the object was missing.
   */
  readonly former?: AddressAndPrefix | undefined
  /**
   * The last call of an operation for this claim. `undefined`: none was sent since the claim
   * appeared, or since its IPAddress appeared or was deleted.
   */
  callOf<K extends OperationOf<C>>(operation: K): LastCall<C[K]['answer']> | undefined
}

/** The last call of an operation. Times are in milliseconds since 1970. */
export interface LastCall<V = Json> {
  /** When it was sent. */
  readonly sentAtMs: number
  /** Its result, or that of the call before it; left out: none yet. */
  readonly answer?: ExternalResult<V> | undefined
  /** When the result arrived. */
  readonly answeredAtMs?: number | undefined
}

/** What an IPAddress holds, as its spec says it. */
export type AddressAndPrefix = Pick<IPAddressSpec, 'address' | 'prefix'>

/** What a claim without an address gets. */
export type Ensured<C extends CallTypes = JsonCalls> =
  /** This address, or this prefix. */
  | (Offer & {
      readonly kind: 'address'
      /** Why this address, as a text: `explain` shows it. */
      readonly why: string
    })
  /**
   * No address yet. The message is shown in the condition Ready of the claim. The verb is called
   * again after the time, if one is given, and when the pool or its addresses change.
   */
  | {
      readonly kind: 'wait'
      readonly reason: WaitReason
      readonly message: string
      readonly retryAfterSeconds?: number | undefined
    }
  | CallRequest<C>

/** Why a claim has no address: the reason of the condition Ready. */
export type WaitReason = NotReadyReason

/** An address, or a prefix, for a claim. */
export interface Offer {
  /** The address, or the base address of the prefix. */
  readonly address: Address
  /** The length of the subnet, or of the prefix itself. */
  readonly prefix: number
  readonly gateway?: string | undefined
}

export interface ConfirmInput<P, L, C extends CallTypes = JsonCalls> extends ResolveInput<P, L, C> {
  /** The IPAddress of the name of the claim. */
  readonly address: IPAddress
  /**
   * Whether the claim is Bound to it already. Then a call that fails changes nothing, and is made
   * again later.
   */
  readonly isBound: boolean
  /** The marker of the calls for this claim. */
  readonly key: string
  readonly results: CallValues<C>
}

/** Whether an existing IPAddress belongs to the claim. */
export type Confirmed<C extends CallTypes = JsonCalls> =
  | { readonly kind: 'yes' }
  /** The claim waits, with the reason AllocationFailed, until something changes. */
  | { readonly kind: 'no'; readonly message: string }
  /**
   * The claim does not have the address: an earlier claim has left the IPAddress, or the address
   * does not exist. The IPAddress is deleted. A Bound claim keeps it, and its condition says so.
   */
  | { readonly kind: 'stale'; readonly message: string }
  | CallRequest<C>

export interface ReleaseInput<P, L, C extends CallTypes = JsonCalls> {
  readonly claim: IPAddressClaim
  /** `undefined` if it does not exist. */
  readonly pool: P | undefined
  /** The IPAddress of the claim; `undefined` if it has none. */
  readonly address: IPAddress | undefined
  /** The IPAddress is of an earlier claim of this name, and is not used. */
  readonly isStale: boolean
  readonly ledger: L
  /**
   * The marker of the calls that gave the address; `undefined` if neither pool nor address tells
   * it.
   */
  readonly key: string | undefined
  readonly results: CallValues<C>
  readonly nowMs: number
}

/** Whether an address may be released. */
export type Released<C extends CallTypes = JsonCalls> =
  | { readonly kind: 'done' }
  /** Not yet: the verb is called again after this number of whole seconds, from 1. */
  | { readonly kind: 'wait'; readonly remainingSeconds: number }
  /**
   * It may, and the verb releases the rest after that: the claim stays, and the verb is called
   * again when its IPAddress is deleted.
   */
  | { readonly kind: 'later' }
  | CallRequest<C>

export interface PoolPlanInput<P, L, C extends CallTypes = JsonCalls> extends PoolInput<P, L, C> {
  /**
   * How many claims of the pool have the finalizer of the provider. Counted while the pool is being
   * deleted, else 0.
   */
  readonly claims: number
  /** How many claims wait for an address of the pool. With the marker `pool` also at its start. */
  readonly waiting: number
  /**
   * Whether a patch of the pool as it is has changed nothing: its CRD lacks the fields. Leave them
   * out, or they are written without end.
   */
  readonly isUnchanged: boolean
  /** With `overlaps`: the keys of other pools that have addresses in common with this one. */
  overlapping(): readonly string[]
}

/** A plan for a pool, with the call that follows its effects. */
export interface PoolPlan<R extends Outcome, C extends CallTypes = JsonCalls> extends Plan<R> {
  /**
   * The call. Record its purpose in the effects of the same plan: they are done before the call, so
   * after a crash the record remains, and the call is made again under the same key. A failed call
   * is repeated when its time has come; a call that was refused for good, when the pool changes.
   * Until then the plan is executed without it.
   */
  readonly call?: PoolCall<C> | undefined
  /**
   * The effects of calls up to this time are known to the pool, in milliseconds since 1970: they
   * leave {@link PoolCallResults.all}. Left out: none.
   */
  readonly shownMs?: number | undefined
  /**
   * What is wrong with the pool: sentences without counts, or what an Event says. The first 20 are
   * told in an Event each, once while they last: while the `cause` of an Event is the same.
   */
  readonly problems?: readonly (string | EventCause)[] | undefined
}

/** A call on behalf of a pool: list, create, delete, resolve a name. */
export type PoolCall<C extends CallTypes = JsonCalls> = AskedOf<C> & {
  /**
   * Distinguishes calls of one operation: a number, an address, a uid. Chosen by the provider,
   * without blanks.
   */
  readonly id?: string | undefined
  /** The reason, as a text: `explain` shows it. */
  readonly why: string
  /**
   * The address that the call requests or deletes: `pending` in the ledger until the call has
   * ended, so that no claim gets it.
   */
  readonly pending?: Offer | undefined
  /**
   * For calls that only read: the call is made again when its result is this old. From 1. Left out:
   * a call with a known result is not made again, and a plan that returns it is an error.
   */
  readonly maxAgeSeconds?: number | undefined
}

/**
 * The results of the calls for a pool. None is known after a restart, or after a change of the spec
 * of the pool. A result is kept while each plan of `planPool` reads it or returns its call; a
 * failure also until its call may be made again.
 */
export interface PoolCallResults<C extends CallTypes = JsonCalls> {
  /** The result of the last call of an operation and id; `undefined`: none has a result. */
  of<K extends OperationOf<C>>(operation: K, id?: string): PoolCallResult<C[K]['answer']> | undefined
  /**
   * The calls of the pool and of its claims that say how long they may have an effect, as far as
   * `shownMs` of the plans for the pool has not ended them. O(these)
   */
  all(): readonly GroupedCall[]
}

export interface PoolCallResult<V = Json> {
  /** The answer to the last successful call. */
  readonly value: V | undefined
  /**
   * When the call with that answer was sent. The answer may be as old as that: a list may lack
   * later objects, and have objects that were deleted since.
   */
  readonly askedAtMs: number | undefined
  /** Why the last call has failed; `undefined`: it succeeded. */
  readonly failure: ExternalFailure | undefined
  /** After how many seconds that call may be made again; left out: when the pool changes. */
  readonly retryAfterSeconds: number | undefined
}
