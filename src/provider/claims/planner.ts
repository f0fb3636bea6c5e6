import { Ledger, type LedgerEntry } from '../../allocator/index.js'
import { empty } from '../../cidr/nouns/range-set.js'
import { type Cluster, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, hasFinalizer, isDeleting, type KubeObject, type ObjectRef, refOf } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import { Calls, type KnownCall } from '../../plan/calls.js'
import type { PlannerContext, Watches } from '../../plan/define-planner.js'
import type { Refusal } from '../../plan/effect.js'
import type { Holder, PoolUsage } from '../../plan/holdings.js'
import {
  type CallResult,
  type Delta,
  definePlanner,
  type ObjectCache,
  type Outcome,
  type Plan,
  type Planner,
  type PlanTime,
} from '../../plan/index.js'
import type { Applied } from '../../plan/object-cache.js'
import { fulfils, isControlledBy } from './address-object.js'
import { type CallSchemas, type JsonCalls, readResult, type SchemasOf, type TypesOf } from './call-schemas.js'
import { planClaim } from './claim.js'
import type { ClaimLedger, LastCall, ProviderDefinition } from './definition.js'
import { ClaimObjects, claimKey, nameIn, problemOf, readable } from './objects.js'
import { Orphans } from './orphan.js'
import type { ClaimOutcome, UnreadableOutcome } from './outcome.js'
import { planRefused, waiting } from './outcomes.js'
import type { ClaimInput } from './planning.js'
import { isGoing, isProtected, standsAsBefore } from './pool.js'
import { dropRefused, dropShown, dropUnread, isFree, poolResults, withPoolCall } from './pool-calls.js'
import { PoolRecords } from './pool-records.js'
import { claimReads } from './references.js'
import { choosesByLedger, type ProviderRules, rulesOf } from './rules.js'
import { isSameRival, SharedAddresses, sharingOf } from './shared-addresses.js'
import { isBound } from './status.js'
import { claimWatches, type SeenAddress } from './watches.js'

/** The beginning of the message about an unreadable object: cut where the name was said before. */
const NAMED = /^\w+ ".*?"(?: \(\d+ characters\))? is invalid: /

/** A provider as a {@link Planner}: keys are `Kind namespace/name` of claims and pools. */
export interface Provider<P extends KubeObject, L extends ClaimLedger<P>, R extends Outcome>
  extends Planner<ClaimOutcome | UnreadableOutcome | R> {
  share(objects: ObjectCache): void
  wakes(applied: Applied): readonly string[]
  entries(): readonly LedgerEntry<Holder>[]
  usage(): readonly PoolUsage[]
  /** The ledger of a pool, as its plans read it. Callers must not change it. */
  ledgerOf(pool: ObjectRef): L
  /**
   * Called when something that is no IPAddress was released, and addresses of a pool may be free.
   * @returns the keys of the claims that wait for that
   */
  retry(pool: ObjectRef): readonly string[]
  /**
   * Drops the results of calls for the claims of these keys: their next plans make the calls again.
   */
  invalidate(claims: readonly string[]): void
}

/**
 * Makes a provider of Cluster API from its pools and its verbs; the life of claims is the same for
 * all providers. That is: pausing, finalizers, owners, conditions, adoption after a restore or a
 * move, the order in which claims are served, and an index of all objects.
 *
 * Only one process at a time may serve a pool: elect a leader if several run.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an invalid definition
 */
export function defineProvider<
  P extends KubeObject,
  L extends ClaimLedger<P>,
  O,
  R extends Outcome,
  S extends CallSchemas = SchemasOf<JsonCalls>,
>(definition: ProviderDefinition<P, L, O, R, TypesOf<S>> & { readonly calls?: S | undefined }): Provider<P, L, R> {
  const rules = rulesOf(definition)
  const { pools, ...common } = claimWatches(rules)
  const calls: Calls = new Calls(({ about }) => planner.context.state.poolOf(about))
  const planner = definePlanner<ClaimOutcome | UnreadableOutcome | R, Watches, ClaimWork>({
    name: rules.name,
    watches: { ...common, ...pools },
    state: (objects, _, floor) =>
      new ClaimWork(rules, new ClaimObjects(rules, { ...common, pools }, objects), calls, floor),
    ledger: () => new Ledger({ space: empty }),
    usage: ({ state }) => state.pools.usage(),
    holds: {
      addresses: (entry, { state }) => state.pools.heldByAddress(entry),
      ...(rules.overlaps &&
        Object.fromEntries(
          Object.keys(pools).map((kind) => [kind, (entry, { state }) => state.pools.heldByPool(entry)]),
        )),
    },
    moved: (moved, { state }) => state.pools.afterMove(moved),
    wakes: {
      ...Object.fromEntries(Object.keys(pools).map((kind) => [kind, (delta, { state }) => state.wakeForPool(delta)])),
      claims: (delta, { state }) => state.wakeForClaim(delta),
      addresses: (delta, { state }) => state.wakeForAddress(delta),
      clusters: (delta, { state }) => state.wakeForCluster(delta),
    },
    plan: (key, { state }, time) => state.plan(key, time) as Plan<ClaimOutcome | UnreadableOutcome | R> | undefined,
    calls: rules.external && calls,
    onResult: rules.external && ((result, { state }) => state.onResult(readResult(result, rules.calls))),
    refused: (key, refusal, { state }, time) => state.refused(key, refusal, time),
    isAggregate: (key, { state }) => state.isAggregate(key),
    isRepair: (key, { state }) => state.isRepair(key),
    isServed: (key, { state }) => state.isServed(key),
    isBegun: (key, { state }) => state.isBegun(key),
  })
  const work = () => planner.context.state
  return Object.assign(planner, {
    ledgerOf: (pool: ObjectRef) => work().pools.of(pool).ledger as ClaimLedger<KubeObject> as L,
    retry: (pool: ObjectRef) => work().retry(work().pools.of(pool).exhausted),
    invalidate: (claims: readonly string[]) => work().invalidate(claims),
  })
}

/** Reason of the Events about what is wrong with a pool. */
const INVALID_POOL = 'InvalidPool'
/** How many problems of a pool are told in Events. */
const MOST_EVENTS = 20

type Floor = Omit<PlannerContext<Watches, never>, 'state' | 'cache'>

/** The state of a provider beside the objects, and its decisions. */
class ClaimWork {
  readonly #rules: ProviderRules
  readonly #objects: ClaimObjects
  readonly #floor: Floor
  readonly pools: PoolRecords
  readonly #calls: Calls
  readonly #shared: SharedAddresses
  /** The addresses of existing claims whose IPAddress was deleted, by key. */
  readonly #former = new Map<string, IPAddress>()
  readonly #orphans: Orphans

  constructor(rules: ProviderRules, objects: ClaimObjects, calls: Calls, floor: Floor) {
    this.#rules = rules
    this.#objects = objects
    this.#calls = calls
    calls.clear()
    this.#floor = floor
    this.pools = new PoolRecords(rules, objects, floor.holdings)
    this.#shared = new SharedAddresses(rules)
    this.#orphans = new Orphans(rules, objects)
    rules.memory?.reset()
  }

  plan(key: string, time: PlanTime): Plan | undefined {
    const isClaim = key === claimKey(nameIn(key))
    const entry = isClaim ? this.#objects.claims.entry(nameIn(key)) : this.#objects.poolEntry(key)
    if (entry?.ok === false) return { outcome: { kind: 'unreadable', message: entry.problem }, effects: [] }
    if (isClaim) {
      const claim = this.#objects.claim(key)
      return claim === undefined ? this.#orphans.plan(key, time) : this.#planClaim(key, claim, time)
    }
    if (entry === undefined) this.#floor.sent.forget(key)
    return entry && this.#planPool(key, entry.value as KubeObject, time)
  }

  onResult(result: CallResult<unknown, unknown>): readonly string[] {
    const key = formatRef(result.call.about)
    const isNews = this.#calls.answered(result)
    if (!IPAddressClaim.is(result.call.about)) {
      if (!isNews) return [key]
      // claims of the pool may wait for this result
      return [key, ...this.#objects.claimsBy('pool', key).filter((claim) => !this.isServed(claim))]
    }
    const claim = this.#objects.claim(key)
    // a pool that is being deleted stays while a call for one of its claims is in flight; another
    // one finds out what the call has done
    const { effectSeconds } = this.#calls.get(key, result.call.operation, result.call.key) ?? {}
    const pool = this.poolOf(result.call.about)
    const isFollowed = effectSeconds !== undefined && Number.isFinite(effectSeconds)
    return claim === undefined
      ? isFollowed
        ? [pool]
        : []
      : [key, ...(isFollowed ? [pool] : this.#poolThatWaits(claim))]
  }

  /** The pool of the object of a call, as its key. */
  poolOf(about: ObjectRef): string {
    const key = formatRef(about)
    const claim = IPAddressClaim.is(about) ? this.#objects.claim(key) : undefined
    const pool = claim && claimReads(claim, this.#rules).pool
    return pool === undefined ? key : formatRef(pool)
  }

  refused(key: string, refusal: Refusal, { nowMs }: PlanTime): Plan<ClaimOutcome> | undefined {
    const claim = this.#objects.claim(key)
    if (claim === undefined) return this.#refusedPool(key, refusal)
    const address = this.#objects.address(key)
    const isLost = isBound(claim) && (address === undefined || !fulfils(address, claim, this.#rules))
    return planRefused(claim, refusal, { nowMs, isLost })
  }

  /** A pool that is not prepared, as a write of it is refused: the claims that wait report it. */
  #refusedPool(key: string, { effect, message }: Refusal): Plan<ClaimOutcome> | undefined {
    const record = this.pools.known(key)
    const isOfPool = effect.kind === 'patch' && effect.subresource === undefined && formatRef(effect.ref) === key
    if (record === undefined || this.#rules.external?.marker !== 'pool' || !isOfPool) return undefined
    const isNew = record.refused === undefined
    record.refused = message
    return {
      outcome: waiting('PoolNotReady', message),
      effects: [
        { kind: 'event', about: effect.ref, uid: effect.if.uid, type: 'Warning', reason: 'WriteRefused', message },
      ],
      wakes: isNew ? [...record.exhausted] : [],
    }
  }

  isAggregate(key: string): boolean {
    const record = this.pools.known(key)
    const pool = record && this.#objects.pool(key)
    // the finalizer of a pool is written before its claims are served; the count of its claims,
    // after that
    const isNew = pool !== undefined && record?.planned !== pool.metadata.uid && !isProtected(pool) && !isDeleting(pool)
    return record !== undefined && !isNew
  }

  isRepair(key: string): boolean {
    const address = this.#objects.claim(key) && this.#objects.address(key)
    return this.pools.othersWith(address).length > 0
  }

  isServed(key: string): boolean {
    const claim = this.#objects.claim(key)
    return claim !== undefined && isBound(claim) && !isDeleting(claim) && this.#objects.address(key) !== undefined
  }

  isBegun(key: string): boolean {
    const claim = this.#objects.claim(key)
    if (claim === undefined || isBound(claim) || isDeleting(claim)) return false
    return this.#rules.external?.isBegun?.(claim) === true
  }

  /**
   * Called when a change of a pool may change results of its external system. @returns the keys of
   * the claims of it
   */
  retry(claims: Iterable<string>): readonly string[] {
    const keys = [...claims]
    for (const key of keys) this.#calls.drop(key, 'failures')
    return keys
  }

  invalidate(claims: readonly string[]): void {
    for (const key of claims) this.#calls.drop(key, 'results', isFree)
  }

  #planPool(key: string, pool: KubeObject, { nowMs }: PlanTime): Plan {
    const record = this.pools.of(key)
    record.planned = pool.metadata.uid
    const claims = isDeleting(pool) ? this.#unreleased(key) : 0
    const reads = new Set<string>()
    dropRefused(this.#calls, key, (call) => this.#isRepeated(call))
    const made = this.#rules.planPool({
      pool,
      ledger: record.ledger,
      claims,
      waiting: record.exhausted.size,
      ...this.#scopeOf(pool, nowMs, reads),
      isUnchanged: this.#floor.isUnchanged(refOf(pool)),
      overlapping: () => this.pools.overlapping(refOf(pool)),
      nowMs,
    })
    if (made.call !== undefined && this.#rules.external === undefined) {
      refuse('defineProvider', 'external', 'what external systems can do: planPool makes calls', 'nothing')
    }
    if (made.shownMs !== undefined) {
      dropShown(this.#calls, key, { shownMs: made.shownMs, nowMs }, (known) =>
        IPAddressClaim.is(known.call.about)
          ? this.#isRepeated(known)
          : reads.has(`${known.call.operation} ${known.call.key}`),
      )
    }
    const planned = withPoolCall(this.#calls, pool, nowMs, made, reads)
    const causes = (made.problems ?? [])
      .slice(0, MOST_EVENTS)
      .map((each) => (typeof each === 'string' ? { reason: INVALID_POOL, message: each } : each))
    const events = this.#floor.sent.newEvents(key, pool, causes)
    dropUnread(this.#calls, pool, { nowMs, shownMs: made.shownMs }, reads)
    return { ...planned, effects: [...planned.effects, ...events] }
  }

  /** What verbs are given of a pool. */
  #scopeOf(pool: KubeObject, nowMs: number, reads?: Set<string>): NonNullable<ClaimInput['scope']> {
    const key = formatRef(refOf(pool))
    return {
      calls: poolResults(this.#calls, pool, nowMs, reads),
      isWaiting: (uid) =>
        this.#objects.claims
          .by('uid', uid)
          .some(
            (claim) =>
              this.poolOf(refOf(claim)) === key && !isDeleting(claim) && !this.isServed(formatRef(refOf(claim))),
          ),
      otherPoolAt: (address) => this.pools.otherPoolAt(pool, address),
    }
  }

  /** Whether the claim of a call still is the one that it was made for. */
  #isRepeated({ call }: KnownCall): boolean {
    if (!IPAddressClaim.is(call.about)) return true
    const claim = this.#objects.claim(formatRef(call.about))
    return claim !== undefined && call.key.endsWith(`/${claim.metadata.uid}`)
  }

  #callOf(claim: string, operation: string, marker: string): LastCall<unknown> | undefined {
    const { sentAtMs, last } = this.#calls.get(claim, operation, marker) ?? {}
    return sentAtMs === undefined ? undefined : { sentAtMs, answer: last?.answer, answeredAtMs: last?.atMs }
  }

  #planClaim(key: string, claim: IPAddressClaim, time: PlanTime): Plan<ClaimOutcome> {
    const reads = claimReads(claim, this.#rules)
    const record = reads.pool && this.pools.of(reads.pool)
    const pool = reads.pool && this.#objects.poolEntry(formatRef(reads.pool))
    const seen = this.#objects.addresses.get(reads.address)
    const addressPool = this.#objects.poolOf(seen?.address)
    const cluster = reads.cluster && this.#objects.clusters.entry(reads.cluster)
    const former = this.#former.get(key)
    const plan = planClaim(
      this.#rules,
      {
        claim,
        address: seen?.address,
        addressPool: addressPool && this.#objects.pool(formatRef(addressPool)),
        rivals: this.#shared.rivalsOf(
          sharingOf(this.#objects, key, seen?.address, claim, this.pools.othersWith(seen?.address)),
          { ...time, mayGiveWay: choosesByLedger(this.#rules) },
        ),
        resultOf: (operation, marker) => this.#calls.get(key, operation, marker)?.last,
        callOf: (operation, marker) => this.#callOf(key, operation, marker),
        addressProblem: seen?.problem,
        cluster: readable(cluster),
        clusterProblem: problemOf(cluster),
        poolProblem: problemOf(pool),
        poolRefused: record?.refused,
        pool: readable(pool),
        isPoolUnknown: reads.pool && this.#objects.isPoolUnknown(formatRef(reads.pool)),
        ledger: record?.ledger ?? this.pools.unserved(),
        scope: pool?.ok === true ? this.#scopeOf(pool.value as KubeObject, time.nowMs) : undefined,
        former: former && fulfils(former, claim, this.#rules) ? former.spec : undefined,
      },
      time,
    )
    const reason = plan.outcome.kind === 'waiting' ? plan.outcome.reason : ''
    // a failed claim may succeed when an address is released: it may be the requested one; a call
    // in flight may report an exhausted pool in a moment
    const isExternal = this.#rules.external !== undefined
    const other = isExternal ? 'ExternalCall' : 'AllocationFailed'
    // a claim that failed because another claim has its address does not wait for a free one
    const waitsForOthers = reason === 'AllocationFailed' && this.#shared.has(key)
    const isOfPool = this.#rules.external?.marker === 'pool'
    // a claim that is held waits for the address that it has lost
    const hasLost = !isExternal && plan.outcome.kind === 'held' && seen === undefined && former !== undefined
    const waits =
      hasLost ||
      reason === 'PoolExhausted' ||
      (reason === other && !waitsForOthers) ||
      (isOfPool && reason === 'PoolNotReady')
    if (waits) record?.exhausted.add(key, claim)
    else record?.exhausted.delete(key)
    // the pool counts the claims that wait
    return isOfPool && waits ? { ...plan, wakes: [formatRef(reads.pool!)] } : plan
  }

  /**
   * The claims whose plan depends on whether they share this address: those that are not Bound, and
   * those of its pool. A Bound claim reports the others of its own pool alone.
   */
  #claimsWith(address: IPAddress | undefined): readonly string[] {
    const pool = this.#objects.poolKeyOf(address)
    return this.pools.othersWith(address).filter((key) => {
      const claim = this.#objects.claim(key)
      return claim !== undefined && (!isBound(claim) || this.#objects.isOfPool(key, pool))
    })
  }

  /** How many claims of a pool have the finalizer of the provider, or are about to get it. */
  #unreleased(pool: string): number {
    let count = this.#objects.claims.countBy('unreleased', pool)
    for (const { call } of this.#calls.inFlight) {
      const claim = IPAddressClaim.is(call.about) ? this.#objects.claim(formatRef(call.about)) : undefined
      const ref = claim && claimReads(claim, this.#rules).pool
      if (claim === undefined || ref === undefined || formatRef(ref) !== pool) continue
      if (!hasFinalizer(claim, this.#rules.finalizers.claim)) count++
    }
    return count
  }

  wakeForClaim({ ref, before: had, now: has }: Delta<IPAddressClaim>): readonly string[] {
    const key = formatRef(ref)
    const [before, claim] = [readable(had), readable(has)]
    const pools = [before, claim].map((each) => each && claimReads(each, this.#rules).pool)
    // the claim may be another one, or may have changed its pool
    const hasWaited = pools[0] !== undefined && this.pools.of(pools[0]).exhausted.delete(key)
    if (pools[1] !== undefined) this.pools.of(pools[1])
    if (before?.metadata.uid !== claim?.metadata.uid) {
      this.#calls.drop(key, 'calls', isFree)
      this.#former.delete(key)
    }
    if (claim === undefined) this.#shared.forget(key)
    else this.#orphans.forget(key)
    // whether it is Bound decides which of several claims gives way
    const others = isSameRival(before, claim) ? [] : this.#claimsWith(this.#objects.address(key))
    if (pools[0] !== undefined) this.pools.forgetUnnamed([formatRef(pools[0])])
    // the pool counts the claims that wait
    const isGone = hasWaited && (claim === undefined || isDeleting(claim))
    const pool = isGone && this.#rules.external?.marker === 'pool' ? [formatRef(pools[0]!)] : []
    return [key, ...pool, ...this.#poolThatWaits(before ?? claim), ...this.#shared.afterClaim(key, others)]
  }

  /** The pool of a claim, if it is being deleted and waits for its claims. */
  #poolThatWaits(claim: IPAddressClaim | undefined): readonly string[] {
    const ref = claim && claimReads(claim, this.#rules).pool
    return ref !== undefined && isGoing(this.#objects.pool(formatRef(ref))) ? [formatRef(ref)] : []
  }

  wakeForAddress({ ref, before: had, now: has }: Delta<SeenAddress>): readonly string[] {
    const key = formatRef({ ...ref, kind: IPAddressClaim.info.kind })
    const claim = this.#objects.claim(key)
    const [heldBefore, heldNow] = [readable(had)?.held ?? [], readable(has)?.held ?? []]
    const [[before], [now]] = [heldBefore, heldNow]
    const poolsOf = (held: readonly IPAddress[]) => held.flatMap((each) => this.#objects.poolKeyOf(each) ?? [])
    const [keysBefore, keysNow] = [poolsOf(heldBefore), poolsOf(heldNow)]
    // results from before the address appeared or was deleted are stale
    const isAnother = readable(had)?.address?.metadata.uid !== readable(has)?.address?.metadata.uid
    if (isAnother) this.#calls.drop(key, 'calls', isFree)
    // the claim gets the same address again while it exists, or while its consumer holds it
    if (before && before.metadata.uid !== now?.metadata.uid && claim && isControlledBy(before, claim)) {
      this.#former.set(key, before)
    }
    const wanted: string[] = [key, ...keysNow]
    const partsOf = (held: readonly IPAddress[]) =>
      held.map((each) => `${this.#objects.poolKeyOf(each)} ${each.spec.address} ${each.spec.prefix}`).join()
    if (partsOf(heldBefore) !== partsOf(heldNow)) {
      // an address that was deleted or changed may have freed something
      for (const pool of keysBefore) wanted.push(pool, ...this.retry(this.pools.of(pool).exhausted))
      const others = [...heldNow, ...heldBefore].flatMap((each) => this.#claimsWith(each))
      wanted.push(...this.#shared.afterAddress(key, others))
    }
    const heldOf = (address: IPAddress | undefined) => {
      const pool = this.#objects.poolOf(address)
      return address && pool && { address, pool, ledger: this.pools.of(pool).ledger }
    }
    const change = { before: heldOf(before), now: heldOf(now), name: nameIn(key), claim }
    this.pools.forgetUnnamed(keysBefore)
    return [...wanted, ...this.pools.withWaiting(this.#rules.memory?.observeAddress(change) ?? [])]
  }

  wakeForPool({ ref, before: had, now: has }: Delta<KubeObject>): readonly string[] {
    const key = formatRef(ref)
    const { ledger } = this.pools.of(key)
    this.pools.of(key).refused = undefined
    const [before, pool, problem] = [readable(had), readable(has), problemOf(has)]
    const isSameProblem = problem === problemOf(had)
    const isSameSpec = this.#meaningOf(before) === this.#meaningOf(pool)
    let others: readonly string[] = []
    if (!isSameProblem || !isSameSpec) {
      this.pools.setPool(ref, pool, problem === undefined ? [] : [problem.replace(NAMED, '')])
      others = this.#rules.memory?.observePool(ref, pool, ledger) ?? []
    }
    const isAsBefore = isSameProblem && isSameSpec && standsAsBefore(before, pool)
    const claims = isAsBefore ? [] : this.#objects.claimsBy('pool', key)
    // what the pool has called stays known: it is no property of its spec
    if (before?.metadata.uid !== pool?.metadata.uid) this.#calls.drop(key, 'calls', isFree)
    else if (!isSameSpec) this.#calls.drop(key, 'results', isFree)
    else if (!isAsBefore) this.#calls.drop(key, 'failures')
    this.retry(claims)
    // results are about the earlier pool
    if (!isSameSpec) this.invalidate(claims)
    return [key, ...claims, ...this.pools.withWaiting(others)]
  }

  /** What the ledger of a pool depends on, as a text. */
  #meaningOf(pool: KubeObject | undefined): string | undefined {
    const annotations = this.#rules.poolAnnotations?.map((name) => pool?.metadata.annotations?.[name] ?? null)
    return pool && JSON.stringify([pool.spec, annotations])
  }

  wakeForCluster({ ref, before: had, now: has }: Delta<Cluster>): readonly string[] {
    const [before, cluster] = [readable(had), readable(has)]
    const same = before !== undefined && cluster !== undefined && isClusterPaused(before) === isClusterPaused(cluster)
    return same ? [] : this.#objects.claimsBy('cluster', formatRef(ref))
  }
}
