import type { Address } from '../../cidr/nouns/address.js'
import type { NotReadyReason } from '../../claim/state.js'
import type { IPAddress, IPAddressSpec } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { Model } from '../../crd/meta/model.js'
import type { Json, KubeObject, ObjectRef } from '../../crd/meta/object.js'
import type { CachedObjects, ExternalFailure, ExternalResult, Outcome, Plan } from '../../plan/index.js'
import type { CallSchemas, CallTypes, JsonCalls, OperationOf } from './call-schemas.js'

/**
 * What a provider is, apart from the life of a claim, which is the same for all of them: its pools,
 * and three verbs about one claim and one pool.
 *
 * A verb is a pure function of what it is given: it reads nothing, remembers nothing, and may be
 * asked again at any time, for the same claim as often as something changes.
 *
 * `P` are the pools as their models read them, `L` the ledger, `O` what `resolve` hands to
 * `ensure`, `R` what a plan for a pool comes to. `C` is what calls ask and are answered, by
 * operation: JSON, unless `calls` has schemas for them.
 */
export interface ProviderDefinition<
  P extends KubeObject,
  L extends ClaimLedger<P>,
  O,
  R extends Outcome,
  C extends CallTypes = JsonCalls,
> {
  /** Tells it from other providers in logs and metrics. */
  readonly name: string
  /** The kinds of pools that it serves, all that `spec.poolRef` of a claim may name. */
  readonly pools: readonly Model<P>[]
  /**
   * The group of `spec.poolRef` that is meant where an IPAddress has none, as v1beta1 allows.
   * Default: the group of the first kind of pool.
   */
  readonly emptyGroup?: string | undefined
  /** Default: those of Cluster API's own library, {@link DEFAULT_FINALIZERS}. */
  readonly finalizers?: Partial<ProviderFinalizers> | undefined
  /** A ledger for one pool, empty, before the pool itself was seen. */
  ledger(): L
  /**
   * What a pool offers to a claim. Asked only while the pool is there, can be read and is not being
   * deleted.
   */
  resolve(input: ResolveInput<P, L, C>): Resolved<O>
  /** An address for a claim that has none. The ledger holds it from the moment it is written. */
  ensure(input: EnsureInput<P, L, O, C>): Ensured<C>
  /**
   * Whether a claim may be Bound to an IPAddress that was there before: left by an earlier claim of
   * its name, restored, or written by a plan that was cut; and whether one that is Bound may stay
   * so. Left out: it may, if the ledger knows nobody else who has the address. For ledgers that
   * know more than what IPAddress objects say.
   */
  confirm?(input: ConfirmInput<P, L, C>): Confirmed<C>
  /**
   * Whether the address of a claim that is being deleted may go now. Left out: at once. Asked also
   * for a claim without an IPAddress that has our finalizer: an external system may have given it
   * an address of which nobody has heard.
   */
  release?(input: ReleaseInput<P, L, C>): Released<C>
  /**
   * Whether a finalizer on a claim that is being deleted says that the address is still in use:
   * while the claim has such a finalizer, its IPAddress stays, and its address is given to no other
   * claim. Asked for each finalizer but that of this provider and those of the garbage collector
   * (`foregroundDeletion`, `orphan`). Left out: each of them says so. `() => false` gives the
   * address back at once, as the in-cluster provider in Go does. Exempt the finalizer of a consumer
   * that waits for the end of the IPAddress before it takes that finalizer off the claim: each
   * would wait for the other. With `external`, a claim without our finalizer is not held unless
   * orphans are `swept`: nothing could release its address after its end.
   */
  readonly holdsAddress?: ((finalizer: string) => boolean) | undefined
  /** Whether verbs call external systems. Left out: they do not, and a `call` is a mistake. */
  readonly external?: ExternalOptions | undefined
  /**
   * The schemas of the calls, by operation: of what is asked, and of what is answered. Verbs are
   * given answers as their schemas read them. An answer that does not fit is a failure of its call
   * that is retryable, and a verb can only make calls that are here. Left out: input and answers
   * are JSON that nothing has looked at.
   */
  readonly calls?: CallSchemas | undefined
  /**
   * The affairs of a pool itself: its finalizer, its status, and what it has in external systems.
   * It may make one call at a time, and is asked again with the result.
   */
  planPool(input: PoolPlanInput<P, L, C>): PoolPlan<R, C>
  /**
   * The claims, by their names in the namespace of the pool, for which a pool says in its
   * annotations or its status that something is reserved: those that wait are planned again when it
   * changes. Such a provider keeps what external systems have said to the calls of its claims also
   * when the spec of the pool changes: what was created for a claim is its own. Left out: pools
   * reserve nothing, and `ensure` cannot ask for that. O(reservations).
   */
  readonly reservedFor?: ((pool: P) => readonly string[]) | undefined
  /**
   * The annotations of a pool that mean something to its ledger and its claims, as its spec does.
   */
  readonly poolAnnotations?: readonly string[] | undefined
  /** What the provider keeps in mind beyond one claim and one pool. Belongs to one planner. */
  readonly memory?: ProviderMemory<P, L> | undefined
  /**
   * After how many seconds an IPAddress is removed that was made by this provider and whose claim
   * is gone. The time begins when the planner first sees it so. Left out: never, unless somebody
   * deletes the IPAddress. Means nothing with `external`, unless that says what becomes of orphans.
   */
  readonly sweepAfterSeconds?: number | undefined
}

/**
 * What a provider keeps in mind beyond one claim and one pool: told of what the planner takes in,
 * after the ledgers were. Each call returns the keys (`Kind namespace/name`) of *other* pools for
 * which that means something: they are planned again, with the claims that wait for room there.
 */
export interface ProviderMemory<P extends KubeObject, L extends ClaimLedger<P>> {
  /** A pool came, changed in what its ledger goes by, or went. */
  observePool(ref: ObjectRef, pool: P | undefined, ledger: L): readonly string[]
  /** What an IPAddress holds has changed. */
  observeAddress(change: AddressChange<L>): readonly string[]
  /**
   * An IPAddress is about to be written. @returns ends that, and says for which other pools it has
   * made room
   */
  reserve(address: IPAddress, pool: ObjectRef, ledger: L): () => readonly string[]
  /** Forgets everything, as the planner does. */
  reset(): void
}

export interface AddressChange<L> {
  /** `namespace/name` of the IPAddress. */
  readonly name: string
  /** `undefined`: there was none, or of no pool of this provider. */
  readonly before: HeldAddress<L> | undefined
  /** `undefined`: there is none any more. */
  readonly now: HeldAddress<L> | undefined
  /** The claim that has the name of the IPAddress, if it is known. */
  readonly claim: IPAddressClaim | undefined
}

export interface HeldAddress<L> {
  readonly address: IPAddress
  readonly pool: ObjectRef
  readonly ledger: L
}

/** What the external systems of a provider can do. */
export interface ExternalOptions {
  /**
   * Whether they keep the marker of a call, together with what they do for it:
   *
   * - `kept`: a call that is repeated finds what the first one has done, or replaces it where its
   *   input is another one. Nothing is given twice and nothing lost
   * - `claim`: as `kept`, by the uid of the claim alone: it is the marker, and stands on no
   *   IPAddress. Also when its pool is gone, all of it can be given back
   * - `none`: a call whose answer was lost has perhaps given an address that nobody will ever give
   *   back. Outcomes say so: `leakPossible`
   */
  readonly marker: 'kept' | 'claim' | 'none'
  /**
   * What becomes of an IPAddress whose claim is gone. `left`: it stays, because only with its claim
   * is it known what is to be given back in the external system. `swept`: it goes as others do;
   * what it had in the external system is found there by other means, and no sooner than it has
   * gone. A call then needs no finalizer on the claim before it, because what it gives to a claim
   * that is deleted meanwhile is found as well: the finalizer is written with the IPAddress.
   * Default `left`.
   */
  readonly orphans?: 'left' | 'swept' | undefined
  /**
   * Whether a claim that is not Bound already has something, so that a process has begun with it:
   * `isBegun` of a planner. Left out: that is not known. O(1).
   */
  readonly isBegun?: ((claim: IPAddressClaim) => boolean) | undefined
}

/** A call that a verb wants to be made, and to be asked again with its answer. */
export type CallRequest<C extends CallTypes = JsonCalls> = AskedOf<C> & {
  readonly kind: 'call'
  /** Why, in words: `explain` repeats it. */
  readonly why: string
  /**
   * The address that the call asks for, where the provider has chosen it: `pending` in the ledger
   * until the call has ended.
   */
  readonly pending?: Offer | undefined
}

/** What is asked for, by one of the operations, with the input of that operation. */
type AskedOf<C extends CallTypes> = {
  readonly [K in OperationOf<C>]: {
    /**
     * What is asked for. The answer is found under this name; a verb may make several calls one
     * after the other, of different names. A successful answer stays valid until the IPAddress of
     * the claim or the spec of the pool changes: time alone does not make it stale. An answer to a
     * call that was sent before such a change is dropped, and the call is made again under the same
     * key.
     */
    readonly operation: K
    readonly input: C[K]['input']
  }
}[OperationOf<C>]

/**
 * What external systems have said to the calls of a verb, by operation. Only what was done is here:
 * failures never come to a verb.
 */
export type CallValues<C extends CallTypes = JsonCalls> = { readonly [K in keyof C]?: C[K]['answer'] }

/** The finalizers that a provider puts on objects. */
export interface ProviderFinalizers {
  /** On a claim: it stays until its address is given back. */
  readonly claim: string
  /** On an IPAddress: it stays while its claim needs it. */
  readonly address: string
}

/**
 * What is in use of one pool. A planner keeps one for each pool and shows it every IPAddress that
 * refers to that pool.
 */
export interface ClaimLedger<P extends KubeObject> {
  /** Why nothing can be given from the pool as it was last shown; empty if it can. */
  readonly problems: readonly string[]
  /**
   * Takes a new pool in. `undefined`: there is none, or it cannot be read, and `problems` says why.
   */
  setPool(pool: P | undefined, problems?: readonly string[]): void
  /** Whether this is the ledger of that pool. */
  serves(pool: P): boolean
  /** Records an IPAddress that refers to the pool. Showing it again, or as it is now, is fine. */
  observe(address: IPAddress): void
  /** Removes one that is gone. */
  forget(ref: { readonly namespace?: string | undefined; readonly name: string }): void
  /**
   * Counts one that is about to be written as in use. @returns ends that, and says whether it has
   * made room
   */
  reserve(address: IPAddress): () => boolean
  /**
   * Which other IPAddress objects hold what this one holds, or a part of it, as `namespace/name`.
   */
  othersHolding(address: IPAddress): readonly string[]
}

export interface ResolveInput<P, L, C extends CallTypes = JsonCalls> {
  readonly claim: IPAddressClaim
  readonly pool: P
  readonly ledger: L
  /**
   * What external systems have said to the calls of `planPool`: an inventory that all claims of the
   * pool share. New results have waiting claims planned again.
   */
  readonly poolCalls: PoolCallResults<C>
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
   * What this very claim had of the pool before somebody removed its IPAddress. Not known after a
   * restart. A provider gives it again if it is free: whoever uses the address does not know that
   * the object was gone.
   */
  readonly former?: AddressAndPrefix | undefined
  /**
   * The last call of an operation for this claim; left out: none was planned since the claim came,
   * or since its IPAddress came or went.
   */
  callOf<K extends OperationOf<C>>(operation: K): LastCall<C[K]['answer']> | undefined
  readonly nowMs: number
}

/** The last call of an operation. Times are in milliseconds since 1970. */
export interface LastCall<V = Json> {
  /** When it was planned: it was sent directly after that, or not at all. */
  readonly askedAtMs: number
  /** What was said to it, or to the one before; left out: nothing yet. */
  readonly answer?: ExternalResult<V> | undefined
  /** When that was. */
  readonly answeredAtMs?: number | undefined
}

/** A claim without an address, as its pool sees it. */
export interface WaitingClaim<C extends CallTypes = JsonCalls> {
  readonly claim: IPAddressClaim
  /** As {@link EnsureInput.callOf}. */
  callOf<K extends OperationOf<C>>(operation: K): LastCall<C[K]['answer']> | undefined
}

/** What an IPAddress holds, as its spec says it. */
export type AddressAndPrefix = Pick<IPAddressSpec, 'address' | 'prefix'>

/** What a claim without an address gets. */
export type Ensured<C extends CallTypes = JsonCalls> =
  /** This address, or this prefix. */
  | (Offer & {
      readonly kind: 'address'
      /** Why this one, in words: `explain` repeats it. */
      readonly why: string
    })
  /**
   * None yet. The message goes to the condition Ready of the claim. Tried again after a time, if
   * one is given, and when the pool or its addresses change.
   */
  | {
      readonly kind: 'wait'
      readonly reason: WaitReason
      readonly message: string
      readonly retryAfterSeconds?: number | undefined
    }
  /**
   * The pool has to reserve something first: its plan is made next, with this claim among those
   * that wait. Nothing is written to the claim.
   */
  | { readonly kind: 'reserve'; readonly message: string }
  | CallRequest<C>

/** Why a claim has no address, as the condition Ready says it. */
export type WaitReason = NotReadyReason

/** An address, or a prefix, for a claim. */
export interface Offer {
  /** The address, or the base address of the prefix. */
  readonly address: Address
  /** The length of the subnet, or of the prefix itself. */
  readonly prefix: number
  readonly gateway?: string | undefined
}

export interface ConfirmInput<P, L, C extends CallTypes = JsonCalls> {
  readonly claim: IPAddressClaim
  readonly pool: P
  /** The IPAddress of the name of the claim. */
  readonly address: IPAddress
  readonly ledger: L
  /**
   * Whether the claim is Bound to it already. A call that fails changes nothing then, and is made
   * again later.
   */
  readonly isBound: boolean
  /** The marker of the calls for this claim. */
  readonly key: string
  readonly results: CallValues<C>
  readonly nowMs: number
}

/** Whether an IPAddress that is there is the claim's. */
export type Confirmed<C extends CallTypes = JsonCalls> =
  | { readonly kind: 'yes' }
  /** The claim waits, with the reason AllocationFailed, until something changes. */
  | { readonly kind: 'no'; readonly message: string }
  /**
   * An earlier claim has left it, and its address is not even that one's any more: it is removed.
   * Of a claim that is Bound to it: as `no`.
   */
  | { readonly kind: 'stale'; readonly message: string }
  | CallRequest<C>

export interface ReleaseInput<P, L, C extends CallTypes = JsonCalls> {
  readonly claim: IPAddressClaim
  /** `undefined` if it is gone. */
  readonly pool: P | undefined
  /** The IPAddress of the claim; `undefined` if it has none. */
  readonly address: IPAddress | undefined
  /**
   * The IPAddress is not that of this claim but of an earlier one of its name, and nobody needs it.
   */
  readonly isStale: boolean
  readonly ledger: L
  /**
   * The marker of the calls that have given the address; `undefined` where neither pool nor address
   * tells it.
   */
  readonly key: string | undefined
  readonly results: CallValues<C>
  readonly nowMs: number
}

/** Whether an address may go. */
export type Released<C extends CallTypes = JsonCalls> =
  | { readonly kind: 'done' }
  /** Not yet: look again after so many whole seconds, from 1. */
  | { readonly kind: 'wait'; readonly remainingSeconds: number }
  /**
   * It may, and what the claim has is given back after that: the claim stays, and the verb is asked
   * again when its IPAddress has gone.
   */
  | { readonly kind: 'later' }
  | CallRequest<C>

export interface PoolPlanInput<P, L, C extends CallTypes = JsonCalls> {
  readonly pool: P
  readonly ledger: L
  /**
   * How many claims of the pool have our finalizer. Counted while the pool is being deleted, else
   * 0.
   */
  readonly claims: number
  /** The results of the calls that were made for the pool. */
  readonly calls: PoolCallResults<C>
  /**
   * The claims of the pool that wait for room, for a reservation, or for an external system, the
   * oldest first. O(n log n) in their number after it has changed.
   */
  waiting(): Iterable<WaitingClaim<C>>
  /** A claim by its name in the namespace of the pool, if it is known, whichever pool it is of. */
  claimOf(name: string): IPAddressClaim | undefined
  /**
   * Whether the watch of IPAddress objects has told everything up to a resourceVersion
   * ({@link CachedObjects.hasReached}): for pools that several processes reserve from.
   */
  hasReached(version: string): boolean
  readonly nowMs: number
}

/** A plan for a pool, and the call that is made when its effects are done. */
export interface PoolPlan<R extends Outcome, C extends CallTypes = JsonCalls> extends Plan<R> {
  /**
   * Write down what it is for before: the effects of a plan are done before its call, so a crash
   * leaves the note, and the call is made again under the same key. A call that has failed is made
   * when its time has come, one that was refused for good when the pool changes; until then the
   * plan is carried out without it.
   */
  readonly call?: PoolCall<C> | undefined
  /**
   * Claims of the pool that are planned again after it, by their names in its namespace: what the
   * plan has found out concerns them.
   */
  readonly concerns?: readonly string[] | undefined
}

/** A call on behalf of a pool: list, create, delete, resolve a name. */
export type PoolCall<C extends CallTypes = JsonCalls> = AskedOf<C> & {
  /**
   * Tells calls of one operation apart: a number, an address, a uid. Up to the provider, without
   * blanks.
   */
  readonly id?: string | undefined
  /** Why, in words: `explain` repeats it. */
  readonly why: string
  /**
   * The address that the call asks for or deletes: `pending` in the ledger until the call has
   * ended, so that no claim is given it.
   */
  readonly pending?: Offer | undefined
  /**
   * Of a call that only reads: it is made again when its result is so old. Left out: a call whose
   * result is known is not made again, and a plan that wants that is a mistake. From 1.
   */
  readonly maxAgeSeconds?: number | undefined
}

/**
 * What external systems have said to the calls for a pool. Nothing of it is known after a restart,
 * or when the spec of the pool has changed. A result is kept as long as each plan of `planPool`
 * reads it or returns its call; a failure also until its call can be made again.
 */
export interface PoolCallResults<C extends CallTypes = JsonCalls> {
  /** Of the last call of an operation and id; `undefined`: none was answered. */
  of<K extends OperationOf<C>>(operation: K, id?: string): PoolCallResult<C[K]['answer']> | undefined
}

export interface PoolCallResult<V = Json> {
  /** What the last call that went well has answered. */
  readonly value: V | undefined
  /**
   * When that call was made, in milliseconds since 1970. The value may be as old as that: what was
   * made after it may be missing in a list, and what was deleted may still be there.
   */
  readonly askedAtMs: number | undefined
  /** Why the last call has failed, if it has. */
  readonly failure: ExternalFailure | undefined
  /** After how many seconds that call can be made again; left out: when the pool changes. */
  readonly retryAfterSeconds: number | undefined
}
