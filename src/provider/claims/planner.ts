import { phaseOf } from '../../claim/index.js'
import { type Cluster, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import {
  formatRef,
  hasFinalizer,
  isDeleting,
  type Json,
  type KubeObject,
  type ObjectRef,
} from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import {
  type Applied,
  type CachedObjects,
  type CallResult,
  type Delta,
  definePlanner,
  type ObjectCache,
  type Outcome,
  type Parsed,
  type Plan,
  type Planner,
  type PlanTime,
  type Refusal,
  type Watches,
} from '../../plan/index.js'
import { fulfils, isControlledBy } from './address-object.js'
import { CallResults } from './call-results.js'
import { planClaim } from './claim.js'
import { ClaimsByAge } from './claims-by-age.js'
import type { AddressAndPrefix, ClaimLedger, ProviderDefinition } from './definition.js'
import { clusterNameOfAddress, isMadeForClaim, planOrphan } from './orphan.js'
import type { ClaimOutcome, UnreadableOutcome } from './outcome.js'
import { isGoing, isProtected, standsAsBefore } from './pool.js'
import { PoolCalls } from './pool-calls.js'
import { claimReads, poolOfAddress } from './references.js'
import { planRefused } from './refused.js'
import type { Rivals } from './rivals.js'
import { choosesByLedger, type ProviderRules, rulesOf } from './rules.js'
import { addressIn } from './salvage.js'
import { isSameRival, SharedAddresses, type Sharing } from './shared-addresses.js'
import { type ClaimWatches, claimWatches, keyOf, type SeenAddress } from './watches.js'

/** A provider as a {@link Planner}: keys are `Kind namespace/name` of claims and pools. */
export interface Provider<P extends KubeObject, L extends ClaimLedger<P>, R extends Outcome>
  extends Planner<ClaimOutcome | UnreadableOutcome | R> {
  share(objects: ObjectCache): void
  wakes(applied: Applied): readonly string[]
  /** The ledger of a pool, to look into. Changing it is not for callers. */
  ledgerOf(pool: ObjectRef): L
  /** Something that is no IPAddress has gone, and there may be room in a pool. @returns the keys of the claims that wait for that */
  retry(pool: ObjectRef): readonly string[]
  /** What was said for the claims of these keys is not so any more: when they are planned next they are asked for again. */
  invalidate(claims: readonly string[]): void
}

/**
 * A provider of Cluster API from its pools and its verbs: the life of claims comes with it. Pausing, finalizers, owners, conditions, adoption after a
 * restore or a move, the order in which claims are served, and an index of what was seen.
 *
 * One writer at a time may serve a pool: elect a leader where several processes run.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a definition that is none
 */
export function defineProvider<
  P extends KubeObject,
  L extends ClaimLedger<P>,
  O,
  R extends Outcome,
  I = Json,
  V = Json,
>(definition: ProviderDefinition<P, L, O, R, I, V>): Provider<P, L, R> {
  const rules = rulesOf(definition)
  const { pools, ...common } = claimWatches<P>(rules.pools, rules)
  const planner = definePlanner<Planned<R>, Watches, ClaimWork<P, L, O, R>>({
    name: rules.name,
    watches: { ...common, ...pools },
    state: (objects) => new ClaimWork(rules, { ...common, pools }, objects),
    wakes: {
      ...Object.fromEntries(Object.keys(pools).map((kind) => [kind, (delta, { state }) => state.wakeForPool(delta)])),
      claims: (delta, { state }) => state.wakeForClaim(delta),
      addresses: (delta, { state }) => state.wakeForAddress(delta),
      clusters: (delta, { state }) => state.wakeForCluster(delta),
    },
    plan: (key, { state }, time) => state.plan(key, time),
    onResult: rules.external && ((answered, { state }) => state.onResult(answered)),
    refused: (key, refusal, { state }, time) => state.refused(key, refusal, time),
    reserve: (plan, { state }) => state.reserve(plan),
    isAggregate: (key, { state }) => state.isAggregate(key),
    isServed: (key, { state }) => state.isServed(key),
    isBegun: (key, { state }) => state.isBegun(key),
  })
  const work = () => planner.context.state
  return Object.assign(planner, {
    ledgerOf: (pool: ObjectRef) => work().ledgerOf(pool),
    retry: (pool: ObjectRef) => work().retry(pool),
    invalidate: (claims: readonly string[]) => work().invalidate(claims),
  })
}

type Planned<R extends Outcome> = ClaimOutcome | UnreadableOutcome | R

/** What a provider remembers beside the objects, and what it decides from both. */
class ClaimWork<P extends KubeObject, L extends ClaimLedger<P>, O, R extends Outcome> {
  readonly #rules: ProviderRules<P, L, O, R>
  readonly #claims: CachedObjects<IPAddressClaim>
  readonly #addresses: CachedObjects<SeenAddress>
  readonly #clusters: CachedObjects<Cluster>
  /** By kind. */
  readonly #poolObjects: ReadonlyMap<string, CachedObjects<P>>
  readonly #pools = new Map<string, PoolRecord<L>>()
  readonly #results = new CallResults()
  readonly #shared: SharedAddresses
  /** The addresses of claims that exist and have lost them, by key. */
  readonly #former = new Map<string, { readonly uid: string | undefined; readonly address: IPAddress }>()
  /** Since when IPAddress objects are seen without their claims, by the key of the claim. */
  readonly #orphans = new Map<string, { readonly uid: string | undefined; readonly sinceMs: number }>()

  constructor(rules: ProviderRules<P, L, O, R>, watches: ClaimWatches<P>, objects: ObjectCache) {
    this.#rules = rules
    this.#shared = new SharedAddresses(rules)
    this.#claims = objects.open(watches.claims)
    this.#addresses = objects.open(watches.addresses)
    this.#clusters = objects.open(watches.clusters)
    this.#poolObjects = new Map(Object.entries(watches.pools).map(([kind, watch]) => [kind, objects.open(watch)]))
    rules.memory?.reset()
  }

  plan(key: string, time: PlanTime): Plan<Planned<R>> | undefined {
    const isClaim = key.startsWith(`${IPAddressClaim.info.kind} `)
    const entry = isClaim ? this.#claims.entry(nameIn(key)) : this.#poolEntry(key)
    if (entry?.ok === false) return { outcome: { kind: 'unreadable', message: entry.problem }, effects: [] }
    if (isClaim) {
      const claim = this.#claim(key)
      return claim === undefined ? this.#planOrphan(key, time) : this.#planClaim(key, claim, time)
    }
    const pool = this.#pool(key)
    if (pool === undefined) return undefined
    const record = this.#record(key)
    record.planned = pool.metadata.uid
    const claims = isDeleting(pool) ? this.#unreleased(key) : 0
    return this.#planPool(pool, record, { claims, nowMs: time.nowMs })
  }

  reserve(plan: Plan): () => readonly string[] {
    const ends = plan.effects.flatMap((effect) => {
      if (effect.kind === 'external') return this.#ask(formatRef(effect.call.about))
      const address = effect.kind === 'create' ? addressIn(effect.object) : undefined
      const pool = address && poolOfAddress(address, this.#rules)
      if (address === undefined || pool === undefined) return []
      const key = formatRef(pool)
      const { ledger } = this.#record(key)
      const end = ledger.reserve(address)
      const endBeside = this.#rules.memory?.reserve(address, pool, ledger)
      return [() => [...(end() || isGoing(this.#pool(key)) ? [key] : []), ...(endBeside?.() ?? [])]]
    })
    return () => ends.flatMap((end) => this.#wakeAll(end()))
  }

  onResult(answered: CallResult<unknown, unknown>): readonly string[] {
    const key = formatRef(answered.call.about)
    if (!IPAddressClaim.is(answered.call.about)) {
      return this.#pools.get(key)?.calls.onResult(answered) === true ? [key, ...this.#waitingOf(key)] : [key]
    }
    if (this.#claim(key) === undefined) return []
    this.#results.onResult(key, answered)
    return [key]
  }

  refused(key: string, refusal: Refusal, { nowMs }: PlanTime): Plan<ClaimOutcome> | undefined {
    const claim = this.#claim(key)
    if (claim === undefined) return undefined
    const address = this.#address(key)
    const isLost = phaseOf(claim) === 'Bound' && (address === undefined || !fulfils(address, claim, this.#rules))
    return planRefused(claim, refusal, { nowMs, isLost })
  }

  isAggregate(key: string): boolean {
    const record = this.#pools.get(key)
    const pool = record && this.#pool(key)
    // that it has to stay is written before its claims are served, what they take of it afterwards
    const isNew = pool !== undefined && record?.planned !== pool.metadata.uid && !isProtected(pool) && !isDeleting(pool)
    return record !== undefined && !isNew
  }

  isServed(key: string): boolean {
    const claim = this.#claim(key)
    if (claim?.status?.addressRef?.name === undefined || isDeleting(claim)) return false
    return this.#address(key) !== undefined
  }

  isBegun(key: string): boolean {
    const claim = this.#claim(key)
    if (claim === undefined || claim.status?.addressRef?.name !== undefined || isDeleting(claim)) return false
    return this.#rules.external?.isBegun?.(claim) === true
  }

  ledgerOf(pool: ObjectRef): L {
    return this.#record(formatRef(pool)).ledger
  }

  retry(pool: ObjectRef): readonly string[] {
    const record = this.#record(formatRef(pool))
    return this.#retry(record.exhausted)
  }

  invalidate(claims: readonly string[]): void {
    for (const key of claims) this.#results.invalidate(key)
  }

  #planPool(pool: P, { ledger, calls }: PoolRecord<L>, { claims, nowMs }: { claims: number; nowMs: number }): Plan<R> {
    const plan = this.#rules.planPool({ pool, ledger, claims, calls: calls.resultsOf(pool, nowMs), nowMs })
    if (plan.call !== undefined && this.#rules.external === undefined) {
      refuse('external', 'what external systems can do: planPool makes calls', 'nothing')
    }
    return calls.planned(plan, pool, nowMs)
  }

  #planClaim(key: string, claim: IPAddressClaim, time: PlanTime): Plan<ClaimOutcome> {
    const reads = claimReads(claim, this.#rules)
    const record = reads.pool && this.#record(formatRef(reads.pool))
    const pool = reads.pool && this.#poolEntry(formatRef(reads.pool))
    const seen = this.#addresses.get(reads.address)
    const addressPool = seen?.address && poolOfAddress(seen.address, this.#rules)
    const cluster = reads.cluster && this.#clusters.entry(reads.cluster)
    const plan = planClaim(
      this.#rules,
      {
        claim,
        address: seen?.address,
        addressPool: addressPool && this.#pool(formatRef(addressPool)),
        rivals: this.#rivalsOf(key, seen?.address, claim, time),
        resultOf: this.#results.of(key),
        addressProblem: seen?.problem,
        cluster: readable(cluster),
        clusterProblem: problemOf(cluster),
        poolProblem: problemOf(pool),
        pool: readable(pool),
        ledger: record?.ledger ?? this.#rules.ledger(),
        poolCalls: pool?.ok === true ? record?.calls.resultsOf(pool.value, time.nowMs) : undefined,
        former: this.#formerOf(key, claim),
      },
      time,
    )
    const reason = plan.outcome.kind === 'waiting' ? plan.outcome.reason : ''
    // what failed may go well when an address goes: it may be the one that the claim has to have; and who is asked may say in a moment that there was no room
    const other = this.#rules.external === undefined ? 'AllocationFailed' : 'ExternalCall'
    // a claim that failed because another claim has its address does not wait for room
    const waitsForOthers = reason === 'AllocationFailed' && this.#shared.has(key)
    const isForRoom = reason === 'PoolExhausted' || (reason === other && !waitsForOthers)
    if (isForRoom) record?.exhausted.add(key, claim)
    else record?.exhausted.delete(key)
    return plan
  }

  /** What is known of the other IPAddress objects that have the address of the one of a claim. */
  #rivalsOf(
    key: string,
    address: IPAddress | undefined,
    claim: IPAddressClaim,
    { nowMs }: PlanTime,
  ): Rivals | undefined {
    const pool = address && poolOfAddress(address, this.#rules)
    const others = this.#othersWith(address)
    if (address === undefined || pool === undefined || others.length === 0) {
      this.#shared.forget(key)
      return undefined
    }
    const poolKey = formatRef(pool)
    const isOfPool = (other: string) => {
      const held = this.#addresses.get(nameIn(other))?.held
      const from = held && poolOfAddress(held, this.#rules)
      return from !== undefined && formatRef(from) === poolKey
    }
    const claimOf = (other: string) => this.#claim(other)
    const sharing: Sharing = {
      key,
      own: { address, claim },
      others,
      names: () => others.filter(isOfPool).map(nameIn),
      claimOf,
      contenderOf: (other) =>
        isOfPool(other) && !this.#isPaused(claimOf(other))
          ? { address: this.#address(other), claim: claimOf(other) }
          : undefined,
    }
    return this.#shared.rivalsOf(sharing, { nowMs, mayGiveWay: choosesByLedger(this.#rules) })
  }

  /** Whether the Cluster of a claim keeps it as it is. */
  #isPaused(claim: IPAddressClaim | undefined): boolean {
    const name = claim && claimReads(claim, this.#rules).cluster
    if (name === undefined) return false
    const cluster = this.#clusters.get(name)
    return cluster === undefined || isClusterPaused(cluster)
  }

  /** The keys of the claims whose IPAddress has the address of this one, or a part of it. */
  #othersWith(address: IPAddress | undefined): readonly string[] {
    const pool = address && poolOfAddress(address, this.#rules)
    if (address === undefined || pool === undefined) return []
    const others = this.#record(formatRef(pool)).ledger.othersHolding(address)
    return others.map((name) => `${IPAddressClaim.info.kind} ${name}`)
  }

  /** The same, of claims that are known: an IPAddress without its claim is planned as it is, whatever has its address. */
  #claimsWith(address: IPAddress | undefined): readonly string[] {
    return this.#othersWith(address).filter((key) => this.#claim(key) !== undefined)
  }

  /** The keys of the claims of a pool that have no address yet: what the pool was told may be what they wait for. */
  #waitingOf(pool: string): readonly string[] {
    return this.#claimsBy('pool', pool).filter((key) => !this.isServed(key))
  }

  /** Something has changed about a pool that may have an external system answer otherwise. @returns the keys of those claims of it */
  #retry(claims: Iterable<string>): readonly string[] {
    const keys = [...claims]
    this.#results.invalidateFailures(keys)
    return keys
  }

  /** The pool of a claim stays while the external system is asked for it, also before the finalizer of the claim is seen. */
  #ask(key: string): (() => readonly string[])[] {
    const claim = this.#claim(key)
    const pool = claim && claimReads(claim, this.#rules).pool
    if (pool === undefined) return []
    const { asking } = this.#record(formatRef(pool))
    asking.add(key)
    this.#results.ask(key)
    return [
      () => {
        this.#results.end(key)
        return asking.delete(key) ? this.#poolThatWaits(claim) : []
      },
    ]
  }

  /** How many claims of a pool have our finalizer, or are about to. */
  #unreleased(pool: string): number {
    const hasOurs = (claim: IPAddressClaim) => hasFinalizer(claim, this.#rules.finalizers.claim)
    let count = 0
    for (const claim of this.#claims.each('pool', pool)) if (hasOurs(claim)) count++
    for (const key of this.#record(pool).asking) {
      const claim = this.#claim(key)
      const ref = claim && claimReads(claim, this.#rules).pool
      const isCounted = claim !== undefined && ref !== undefined && formatRef(ref) === pool && hasOurs(claim)
      if (claim !== undefined && !isCounted) count++
    }
    return count
  }

  /** What is to be done about an IPAddress that the provider has made for a claim of this key, which nobody has seen. */
  #planOrphan(key: string, time: PlanTime): Plan<ClaimOutcome> | undefined {
    const { finalizers, external, sweepAfterSeconds } = this.#rules
    // only with its claim is it known what an external system has to be given back
    if (external !== undefined && external.orphans !== 'swept') return undefined
    const address = this.#address(key)
    const pool = address && poolOfAddress(address, this.#rules)
    const isOurs = address !== undefined && pool !== undefined && isMadeForClaim(address, finalizers.address)
    if (!isOurs || (sweepAfterSeconds === undefined && !isDeleting(address))) {
      this.#orphans.delete(key)
      return undefined
    }
    const { uid } = address.metadata
    const seen = this.#orphans.get(key)
    const orphan = seen?.uid === uid && seen !== undefined ? seen : { uid, sinceMs: time.nowMs }
    this.#orphans.set(key, orphan)
    const poolEntry = this.#poolEntry(formatRef(pool))
    const name = clusterNameOfAddress(address)
    const cluster = name === undefined ? undefined : this.#clusters.entry({ ...address.metadata, name })
    return planOrphan(
      {
        address,
        finalizer: finalizers.address,
        pool: readable(poolEntry),
        poolProblem: problemOf(poolEntry),
        cluster: readable(cluster),
        clusterProblem: problemOf(cluster),
        sinceMs: orphan.sinceMs,
        sweepAfterSeconds,
      },
      time,
    )
  }

  /** What the claim had, if it is still the one that had it, and wants it from the same pool. */
  #formerOf(key: string, claim: IPAddressClaim): AddressAndPrefix | undefined {
    const former = this.#former.get(key)
    if (former === undefined || former.uid !== claim.metadata.uid) return undefined
    return fulfils(former.address, claim, this.#rules) ? former.address.spec : undefined
  }

  wakeForClaim({ ref, before: had, now: has }: Delta<IPAddressClaim>): readonly string[] {
    const key = formatRef(ref)
    const [before, claim] = [readable(had), readable(has)]
    const pools = [before, claim].map((each) => each && claimReads(each, this.#rules).pool)
    // the claim may be another one, or of another pool
    if (pools[0] !== undefined) this.#record(formatRef(pools[0])).exhausted.delete(key)
    if (pools[1] !== undefined) this.#record(formatRef(pools[1]))
    if (before?.metadata.uid !== claim?.metadata.uid) this.#results.invalidate(key)
    if (claim === undefined || claim.metadata.uid !== this.#former.get(key)?.uid) this.#former.delete(key)
    if (claim === undefined) this.#shared.forget(key)
    else this.#orphans.delete(key)
    // whether it is Bound decides which of several gives way
    const others = isSameRival(before, claim) ? [] : this.#claimsWith(this.#address(key))
    return [key, ...this.#poolThatWaits(before ?? claim), ...this.#shared.afterClaim(key, others)]
  }

  /** The pool of a claim, if it is being deleted and waits for its claims. */
  #poolThatWaits(claim: IPAddressClaim | undefined): readonly string[] {
    const ref = claim && claimReads(claim, this.#rules).pool
    return ref !== undefined && isGoing(this.#pool(formatRef(ref))) ? [formatRef(ref)] : []
  }

  wakeForAddress({ ref, before: had, now: has }: Delta<SeenAddress>): readonly string[] {
    const claimKey = formatRef({ ...ref, kind: IPAddressClaim.info.kind })
    const [{ address: addressBefore, held: before }, { address, held: now }] = [
      readable(had) ?? NONE,
      readable(has) ?? NONE,
    ]
    // what was said before the address came or went is used up
    if (addressBefore?.metadata.uid !== address?.metadata.uid) this.#results.invalidate(claimKey)
    const poolBefore = before && poolOfAddress(before, this.#rules)
    const poolNow = now && poolOfAddress(now, this.#rules)
    const wanted: string[] = [claimKey]
    if (before !== undefined && before.metadata.uid !== now?.metadata.uid) this.#noteLoss(claimKey, before)
    if (now !== undefined && poolNow !== undefined) {
      this.#record(formatRef(poolNow)).ledger.observe(now)
      wanted.push(formatRef(poolNow))
    }
    const isOther = before?.spec.address !== now?.spec.address || before?.spec.prefix !== now?.spec.prefix
    if (poolBefore !== undefined) {
      const poolKey = formatRef(poolBefore)
      const record = this.#record(poolKey)
      const samePool = poolNow !== undefined && formatRef(poolNow) === poolKey
      if (!samePool) record.ledger.forget(ref)
      // an address that went, or that is another one now, may have made room
      if (!samePool || isOther) wanted.push(poolKey, ...this.#retry(record.exhausted))
    }
    if (isOther) {
      const others = [...this.#claimsWith(now), ...this.#claimsWith(before)]
      wanted.push(...this.#shared.afterAddress(claimKey, others))
    }
    const { memory } = this.#rules
    if (memory === undefined) return wanted
    const heldOf = (address: IPAddress | undefined, pool: ObjectRef | undefined) =>
      address && pool && { address, pool, ledger: this.#record(formatRef(pool)).ledger }
    const others = memory.observeAddress({
      name: `${ref.namespace}/${ref.name}`,
      before: heldOf(before, poolBefore),
      now: heldOf(now, poolNow),
      claim: this.#claim(claimKey),
    })
    return [...wanted, ...this.#wakeAll(others)]
  }

  /** Remembers what a claim had whose IPAddress is gone: the claim is given that again while it lives, or is held by its consumer. */
  #noteLoss(claimKey: string, address: IPAddress): void {
    const claim = this.#claim(claimKey)
    if (claim === undefined || !isControlledBy(address, claim)) return
    this.#former.set(claimKey, { uid: claim.metadata.uid, address })
  }

  /** Pools, each with the claims that wait for room in it. */
  #wakeAll(pools: readonly string[]): string[] {
    return pools.flatMap((key) => [key, ...this.#record(key).exhausted])
  }

  wakeForPool({ ref, before: had, now: has }: Delta<P>): readonly string[] {
    const key = formatRef(ref)
    const record = this.#record(key)
    const [before, pool, problem] = [readable(had), readable(has), problemOf(has)]
    const isSameProblem = problem === problemOf(had)
    const isSameSpec = this.#meaningOf(before) === this.#meaningOf(pool)
    let others: readonly string[] = []
    if (!isSameProblem || !isSameSpec) {
      record.ledger.setPool(pool, problem === undefined ? [] : [problem])
      others = this.#rules.memory?.observePool(ref, pool, record.ledger) ?? []
    }
    const isAsBefore = isSameProblem && isSameSpec && standsAsBefore(before, pool)
    const claims = isAsBefore && isSameSpec ? [] : this.#claimsBy('pool', key)
    const wanted = isAsBefore ? [] : this.#retry(claims)
    if (before?.metadata.uid !== pool?.metadata.uid || !isSameSpec) record.calls.clear()
    else if (!isAsBefore) record.calls.retry()
    // an answer is about the pool as it was
    if (!isSameSpec) this.invalidate(claims)
    return [key, ...wanted, ...this.#wakeAll(others)]
  }

  /** All of a pool that its ledger goes by. */
  #meaningOf(pool: P | undefined): string | undefined {
    const annotations = this.#rules.poolAnnotations?.map((name) => pool?.metadata.annotations?.[name] ?? null)
    return pool && JSON.stringify([pool.spec, annotations])
  }

  wakeForCluster({ ref, before: had, now: has }: Delta<Cluster>): readonly string[] {
    const [before, cluster] = [readable(had), readable(has)]
    const same = before !== undefined && cluster !== undefined && isClusterPaused(before) === isClusterPaused(cluster)
    return same ? [] : this.#claimsBy('cluster', formatRef(ref))
  }

  #claim(key: string): IPAddressClaim | undefined {
    return this.#claims.get(nameIn(key))
  }

  /** The IPAddress of the name of a claim. */
  #address(claimKey: string): IPAddress | undefined {
    return this.#addresses.get(nameIn(claimKey))?.address
  }

  #poolEntry(key: string): Parsed<P> | undefined {
    return this.#poolObjects.get(key.slice(0, key.indexOf(' ')))?.entry(nameIn(key))
  }

  #pool(key: string): P | undefined {
    return readable(this.#poolEntry(key))
  }

  /** The keys of the claims of a pool or a Cluster, the oldest claim first. */
  #claimsBy(index: 'pool' | 'cluster', key: string): readonly string[] {
    return this.#claims.by(index, key).map(keyOf)
  }

  #record(key: string): PoolRecord<L> {
    const known = this.#pools.get(key)
    if (known !== undefined) return known
    const record: PoolRecord<L> = {
      planned: undefined,
      ledger: this.#rules.ledger(),
      exhausted: new ClaimsByAge(),
      asking: new Set(),
      calls: new PoolCalls(),
    }
    this.#pools.set(key, record)
    return record
  }
}

/** What is remembered of a pool, also of one that claims or addresses name before it exists. */
interface PoolRecord<L> {
  /** The uid that it had when it was planned last. */
  planned: string | undefined
  readonly ledger: L
  /** Keys of the claims that wait for room. */
  readonly exhausted: ClaimsByAge
  /** Keys of the claims for which an external system is being asked. */
  readonly asking: Set<string>
  /** What was asked for the pool itself. */
  readonly calls: PoolCalls
}

const NONE: Partial<SeenAddress> = {}

/** The name in a key: `namespace/name`. */
function nameIn(key: string): string {
  return key.slice(key.indexOf(' ') + 1)
}

function readable<T>(entry: Parsed<T> | undefined): T | undefined {
  return entry?.ok === true ? entry.value : undefined
}

function problemOf(entry: Parsed<unknown> | undefined): string | undefined {
  return entry?.ok === false ? entry.problem : undefined
}
