import { phaseOf } from '../../claim/index.js'
import { Cluster, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { Model } from '../../crd/meta/model.js'
import {
  formatRef,
  hasFinalizer,
  isDeleting,
  type KindInfo,
  type KubeObject,
  kindKey,
  type ObjectRef,
  refOf,
} from '../../crd/meta/object.js'
import { describe } from '../../errors/index.js'
import {
  type Answered,
  type Change,
  type Outcome,
  type Plan,
  type Planner,
  type PlanTime,
  type Refusal,
  Sightings,
} from '../../plan/index.js'
import { fulfils, isControlledBy, salvage } from './address-object.js'
import { planClaim } from './claim.js'
import { ClaimLine } from './claim-line.js'
import type { Ledger, Place, ProviderDefinition } from './definition.js'
import { Hearings } from './hearings.js'
import { addressIn, heldNow } from './held.js'
import { clusterNameOfAddress, isMadeForClaim, planOrphan } from './orphan.js'
import type { ClaimOutcome, UnreadableOutcome } from './outcome.js'
import { isGoing, isProtected, standsAsBefore } from './pool.js'
import { claimReads, poolOfAddress } from './references.js'
import { planRefused } from './refused.js'
import type { Rivals } from './rivals.js'
import { choosesByLedger, type ProviderRules, rulesOf } from './rules.js'
import { isSameRival, SharedAddresses, type Sharing } from './shared-addresses.js'

/** A provider as a {@link Planner}: keys are `Kind namespace/name` of claims and pools. */
export interface Provider<P extends KubeObject, L extends Ledger<P>, R extends Outcome>
  extends Planner<ClaimOutcome | UnreadableOutcome | R> {
  /** The ledger of a pool, to look into. Changing it is not for callers. */
  ledgerOf(pool: ObjectRef): L
  /** Something that is no IPAddress has gone, and there may be room in a pool. @returns the keys of the claims that wait for that */
  retry(pool: ObjectRef): readonly string[]
  /** What was said for the claims of these keys is not so any more: when they are planned next they are asked for again. */
  disbelieve(claims: readonly string[]): void
}

/**
 * A provider of Cluster API from its pools and its verbs: the life of claims comes with it. Pausing, finalizers, owners, conditions, adoption after a
 * restore or a move, the order in which claims are served, and an index of what was seen.
 *
 * One writer at a time may serve a pool: elect a leader where several processes run.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a definition that is none
 */
export function defineProvider<P extends KubeObject, L extends Ledger<P>, O, R extends Outcome>(
  definition: ProviderDefinition<P, L, O, R>,
): Provider<P, L, R> {
  return new ClaimProvider(rulesOf(definition))
}

class ClaimProvider<P extends KubeObject, L extends Ledger<P>, O, R extends Outcome> implements Provider<P, L, R> {
  readonly name: string
  readonly watches: readonly KindInfo[]
  readonly #rules: ProviderRules<P, L, O, R>
  readonly #claims = new Map<string, IPAddressClaim>()
  readonly #addresses = new Map<string, IPAddress>()
  /** What the ledgers hold, by key: also objects that can not be read whole. */
  readonly #held = new Map<string, IPAddress>()
  readonly #sightings = new Sightings()
  readonly #clusters = new Map<string, Cluster>()
  readonly #pools = new Map<string, PoolRecord<P, L>>()
  /** Keys of claims by the key of the Cluster that they name. */
  readonly #claimsByCluster = new Map<string, ClaimLine>()
  readonly #heard = new Hearings()
  readonly #shared: SharedAddresses
  /** Takes answers in, where verbs make calls. */
  readonly hear?: (answered: Answered) => readonly string[]
  /** Claims and pools that can not be read, by key, and why. */
  readonly #unreadable = new Map<string, string>()
  /** What claims had that live on without it, by key. */
  readonly #former = new Map<string, { readonly uid: string | undefined; readonly address: IPAddress }>()
  /** Since when IPAddress objects are seen without their claims, by the key of the claim. */
  readonly #orphans = new Map<string, { readonly uid: string | undefined; readonly sinceMs: number }>()

  constructor(rules: ProviderRules<P, L, O, R>) {
    this.name = rules.name
    this.watches = [IPAddressClaim, IPAddress, Cluster, ...rules.pools].map((model) => model.info)
    this.#rules = rules
    this.#shared = new SharedAddresses(rules)
    if (rules.outside !== undefined) this.hear = (answered) => this.#hear(answered)
  }

  observe(change: Change): readonly string[] {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const kind = kindKey(ref)
    if (!this.watches.some((watched) => kindKey(watched) === kind) || !this.#sightings.isNews(change)) return []
    const object = change.kind === 'present' ? change.object : undefined
    if (IPAddressClaim.is(ref)) return this.#observeClaim(ref, this.#read(IPAddressClaim, ref, object))
    if (IPAddress.is(ref)) return this.#observeAddress(ref, this.#read(IPAddress, ref, object), object)
    if (Cluster.is(ref)) return this.#observeCluster(ref, this.#read(Cluster, ref, object))
    const model = this.#rules.pools.find((candidate) => candidate.is(ref))
    return model === undefined ? [] : this.#observePool(ref, this.#read(model, ref, object))
  }

  plan(key: string, time: PlanTime): Plan<ClaimOutcome | UnreadableOutcome | R> | undefined {
    const unreadable = this.#unreadable.get(key)
    if (unreadable !== undefined) return { outcome: { kind: 'unreadable', message: unreadable }, effects: [] }
    const claim = this.#claims.get(key)
    if (claim !== undefined) return this.#planClaim(key, claim, time)
    const record = this.#pools.get(key)
    if (record?.pool !== undefined) {
      record.planned = record.pool.metadata.uid
      const claims = isDeleting(record.pool) ? this.#unreleased(record) : 0
      return this.#rules.planPool({ pool: record.pool, ledger: record.ledger, claims, nowMs: time.nowMs })
    }
    // a pool of the name of a claim, that is gone, says nothing of the IPAddress of that name
    return key.startsWith(`${IPAddressClaim.info.kind} `) ? this.#planOrphan(key, time) : undefined
  }

  reserve(plan: Plan): () => readonly string[] {
    const ends = plan.effects.flatMap((effect) => {
      if (effect.kind === 'outside') return this.#ask(formatRef(effect.call.about))
      const address = effect.kind === 'create' ? addressIn(effect.object) : undefined
      const pool = address && poolOfAddress(address, this.#rules)
      if (address === undefined || pool === undefined) return []
      const key = formatRef(pool)
      const { ledger } = this.#record(key)
      const end = ledger.reserve(address)
      const endBeside = this.#rules.memory?.reserve(address, pool, ledger)
      return [() => [...(end() || isGoing(this.#record(key).pool) ? [key] : []), ...(endBeside?.() ?? [])]]
    })
    return () => ends.flatMap((end) => this.#wakeAll(end()))
  }

  refused(key: string, refusal: Refusal, { nowMs }: PlanTime): Plan<ClaimOutcome> | undefined {
    const claim = this.#claims.get(key)
    if (claim === undefined) return undefined
    const address = this.#addresses.get(addressKeyOf(key))
    const isLost = phaseOf(claim) === 'Bound' && (address === undefined || !fulfils(address, claim, this.#rules))
    return planRefused(claim, refusal, { nowMs, isLost })
  }

  isSummary(key: string): boolean {
    const record = this.#pools.get(key)
    const pool = record?.pool
    // that it has to stay is written before its claims are served, what they take of it afterwards
    const isNew = pool !== undefined && record?.planned !== pool.metadata.uid && !isProtected(pool) && !isDeleting(pool)
    return record !== undefined && !isNew
  }

  isServed(key: string): boolean {
    const claim = this.#claims.get(key)
    if (claim?.status?.addressRef?.name === undefined || isDeleting(claim)) return false
    return this.#addresses.has(addressKeyOf(key))
  }

  isBegun(key: string): boolean {
    const claim = this.#claims.get(key)
    if (claim === undefined || claim.status?.addressRef?.name !== undefined || isDeleting(claim)) return false
    return this.#rules.outside?.isBegun?.(claim) === true
  }

  reset(): void {
    for (const index of [this.#claims, this.#addresses, this.#held, this.#clusters, this.#pools]) index.clear()
    this.#sightings.clear()
    this.#claimsByCluster.clear()
    this.#heard.clear()
    this.#shared.clear()
    this.#unreadable.clear()
    this.#former.clear()
    this.#orphans.clear()
    this.#rules.memory?.reset()
  }

  ledgerOf(pool: ObjectRef): L {
    return this.#record(formatRef(pool)).ledger
  }

  retry(pool: ObjectRef): readonly string[] {
    const record = this.#record(formatRef(pool))
    return this.#retry(record.exhausted)
  }

  disbelieve(claims: readonly string[]): void {
    for (const key of claims) this.#heard.disbelieve(key)
  }

  #planClaim(key: string, claim: IPAddressClaim, time: PlanTime): Plan<ClaimOutcome> {
    const reads = claimReads(claim, this.#rules)
    const record = reads.pool && this.#record(formatRef(reads.pool))
    const address = this.#addresses.get(formatRef(reads.address))
    const addressPool = address && poolOfAddress(address, this.#rules)
    const plan = planClaim(
      this.#rules,
      {
        claim,
        address,
        addressPool: addressPool && this.#pools.get(formatRef(addressPool))?.pool,
        rivals: this.#rivalsOf(key, address, claim, time),
        heard: this.#heard.of(key),
        addressProblem: this.#unreadable.get(formatRef(reads.address)),
        cluster: reads.cluster && this.#clusters.get(formatRef(reads.cluster)),
        clusterProblem: reads.cluster && this.#unreadable.get(formatRef(reads.cluster)),
        poolProblem: record?.problem,
        pool: record?.pool,
        ledger: record?.ledger ?? this.#rules.ledger(),
        former: this.#formerOf(key, claim),
      },
      time,
    )
    const reason = plan.outcome.kind === 'waiting' ? plan.outcome.reason : ''
    // what failed may go well when an address goes: it may be the one that the claim has to have; and who is asked may say in a moment that there was no room
    const other = this.#rules.outside === undefined ? 'AllocationFailed' : 'OutsideCall'
    // what a claim that has failed with the address of another one waits for is no room
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
      const held = this.#held.get(addressKeyOf(other))
      const from = held && poolOfAddress(held, this.#rules)
      return from !== undefined && formatRef(from) === poolKey
    }
    const claimOf = (other: string) => this.#claims.get(other)
    const sharing: Sharing = {
      key,
      own: { address, claim },
      others,
      names: () => others.filter(isOfPool).map((other) => other.slice(other.indexOf(' ') + 1)),
      claimOf,
      contenderOf: (other) =>
        isOfPool(other) && !this.#isPaused(claimOf(other))
          ? { address: this.#addresses.get(addressKeyOf(other)), claim: claimOf(other) }
          : undefined,
    }
    return this.#shared.rivalsOf(sharing, { nowMs, mayGiveWay: choosesByLedger(this.#rules) })
  }

  /** Whether the Cluster of a claim keeps it as it is. */
  #isPaused(claim: IPAddressClaim | undefined): boolean {
    const name = claim && claimReads(claim, this.#rules).cluster
    if (name === undefined) return false
    const cluster = this.#clusters.get(formatRef(name))
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
    return this.#othersWith(address).filter((key) => this.#claims.has(key))
  }

  #hear(answered: Answered): readonly string[] {
    const key = formatRef(answered.call.about)
    if (!this.#claims.has(key)) return []
    this.#heard.hear(key, answered)
    return [key]
  }

  /** Something has changed about a pool that may have an outside system answer otherwise. @returns the keys of those claims of it */
  #retry(claims: Iterable<string>): readonly string[] {
    const keys = [...claims]
    this.#heard.doubt(keys)
    return keys
  }

  /** The pool of a claim stays while the outside is asked for it, also before the finalizer of the claim is seen. */
  #ask(key: string): (() => readonly string[])[] {
    const claim = this.#claims.get(key)
    const pool = claim && claimReads(claim, this.#rules).pool
    if (pool === undefined) return []
    const { asking } = this.#record(formatRef(pool))
    asking.add(key)
    this.#heard.ask(key)
    return [
      () => {
        this.#heard.end(key)
        return asking.delete(key) ? this.#poolThatWaits(claim) : []
      },
    ]
  }

  /** How many claims of a pool have our finalizer, or are about to. */
  #unreleased({ claims, asking }: PoolRecord<P, L>): number {
    const isHeld = (key: string) => {
      const claim = this.#claims.get(key)
      return claim !== undefined && (asking.has(key) || hasFinalizer(claim, this.#rules.finalizers.claim))
    }
    return [...new Set([...asking, ...claims])].filter(isHeld).length
  }

  /** What is to be done about an IPAddress that the provider has made for a claim of this key, which nobody has seen. */
  #planOrphan(key: string, time: PlanTime): Plan<ClaimOutcome> | undefined {
    const { finalizers, outside, sweepAfterSeconds } = this.#rules
    // only with its claim is it known what an outside system has to be given back
    if (outside !== undefined && outside.orphans !== 'swept') return undefined
    const address = this.#addresses.get(addressKeyOf(key))
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
    const record = this.#record(formatRef(pool))
    const name = clusterNameOfAddress(address)
    const cluster = name && formatRef({ kind: Cluster.info.kind, namespace: address.metadata.namespace, name })
    return planOrphan(
      {
        address,
        finalizer: finalizers.address,
        pool: record.pool,
        poolProblem: record.problem,
        cluster: cluster ? this.#clusters.get(cluster) : undefined,
        clusterProblem: cluster ? this.#unreadable.get(cluster) : undefined,
        sinceMs: orphan.sinceMs,
        sweepAfterSeconds,
      },
      time,
    )
  }

  /** What the claim had, if it is still the one that had it, and wants it from the same pool. */
  #formerOf(key: string, claim: IPAddressClaim): Place | undefined {
    const former = this.#former.get(key)
    if (former === undefined || former.uid !== claim.metadata.uid) return undefined
    return fulfils(former.address, claim, this.#rules) ? former.address.spec : undefined
  }

  /** The typed object. One that can not be read is noted and then treated as if it were not there. */
  #read<T extends KubeObject>(model: Model<T>, ref: ObjectRef, object: KubeObject | undefined): T | undefined {
    const key = formatRef(ref)
    this.#unreadable.delete(key)
    if (object === undefined) return undefined
    const read = model.safeParse(object)
    if (read.ok && (object.apiVersion === model.info.apiVersion || !IPAddressClaim.is(object))) return read.value
    // what is written to a claim that is kept in an older version would be read back as something else
    const older = `it is kept as ${object.apiVersion}: store what the model reads it as, ${model.info.apiVersion}`
    this.#unreadable.set(key, read.ok ? older : describe(read.failure))
    return undefined
  }

  #observeClaim(ref: ObjectRef, claim: IPAddressClaim | undefined): readonly string[] {
    const key = formatRef(ref)
    const before = this.#claims.get(key)
    if (before !== undefined) this.#unlink(key, before)
    if (before?.metadata.uid !== claim?.metadata.uid) this.#heard.disbelieve(key)
    if (claim === undefined || claim.metadata.uid !== this.#former.get(key)?.uid) this.#former.delete(key)
    if (claim === undefined) this.#claims.delete(key)
    else {
      this.#orphans.delete(key)
      this.#claims.set(key, claim)
      const reads = claimReads(claim, this.#rules)
      if (reads.pool !== undefined) this.#record(formatRef(reads.pool)).claims.add(key, claim)
      if (reads.cluster !== undefined) this.#claimsOf(formatRef(reads.cluster)).add(key, claim)
    }
    if (claim === undefined) this.#shared.forget(key)
    // whether it is Bound decides which of several gives way
    const others = isSameRival(before, claim) ? [] : this.#claimsWith(this.#addresses.get(addressKeyOf(key)))
    return [key, ...this.#poolThatWaits(before ?? claim), ...this.#shared.afterClaim(key, others)]
  }

  /** The pool of a claim, if it is going and waits for its claims. */
  #poolThatWaits(claim: IPAddressClaim | undefined): readonly string[] {
    const ref = claim && claimReads(claim, this.#rules).pool
    const pool = ref && this.#pools.get(formatRef(ref))?.pool
    return ref !== undefined && isGoing(pool) ? [formatRef(ref)] : []
  }

  #unlink(key: string, claim: IPAddressClaim): void {
    const reads = claimReads(claim, this.#rules)
    if (reads.pool !== undefined) {
      const record = this.#record(formatRef(reads.pool))
      record.claims.delete(key)
      record.exhausted.delete(key)
    }
    if (reads.cluster !== undefined) this.#claimsByCluster.get(formatRef(reads.cluster))?.delete(key)
  }

  #observeAddress(ref: ObjectRef, address: IPAddress | undefined, raw: KubeObject | undefined): readonly string[] {
    const key = formatRef(ref)
    const claimKey = formatRef({ ...ref, kind: IPAddressClaim.info.kind })
    // what was said before the address came or went is used up
    if (this.#addresses.get(key)?.metadata.uid !== address?.metadata.uid) this.#heard.disbelieve(claimKey)
    if (address === undefined) this.#addresses.delete(key)
    else this.#addresses.set(key, address)

    // an object that can not be read holds what can be made out of it, or else what it held before
    const before = this.#held.get(key)
    const now = raw === undefined ? undefined : heldNow(address ?? salvage(raw), before)
    if (now === undefined) this.#held.delete(key)
    else this.#held.set(key, now)
    const poolBefore = before && poolOfAddress(before, this.#rules)
    const poolNow = now && poolOfAddress(now, this.#rules)
    const wanted: string[] = [claimKey]
    if (before !== undefined && before.metadata.uid !== now?.metadata.uid) this.#noteLoss(claimKey, before)
    if (now !== undefined && poolNow !== undefined) {
      this.#record(formatRef(poolNow)).ledger.observe(now)
      wanted.push(formatRef(poolNow))
    }
    if (poolBefore !== undefined) {
      const poolKey = formatRef(poolBefore)
      const record = this.#record(poolKey)
      const samePool = poolNow !== undefined && formatRef(poolNow) === poolKey
      if (!samePool) record.ledger.forget(ref)
      // an address that went, or that is another one now, may have made room
      if (!samePool || before?.spec.address !== now?.spec.address || before?.spec.prefix !== now?.spec.prefix) {
        wanted.push(poolKey, ...this.#retry(record.exhausted))
      }
    }
    const isOther = before?.spec.address !== now?.spec.address || before?.spec.prefix !== now?.spec.prefix
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
      claim: this.#claims.get(claimKey),
    })
    return [...wanted, ...this.#wakeAll(others)]
  }

  /** Remembers what a claim had whose IPAddress is gone: the claim is given that again while it lives, or is held by its consumer. */
  #noteLoss(claimKey: string, address: IPAddress): void {
    const claim = this.#claims.get(claimKey)
    if (claim === undefined || !isControlledBy(address, claim)) return
    this.#former.set(claimKey, { uid: claim.metadata.uid, address })
  }

  /** Pools, each with the claims that wait for room in it. */
  #wakeAll(pools: readonly string[]): string[] {
    return pools.flatMap((key) => [key, ...this.#record(key).exhausted])
  }

  #observePool(ref: ObjectRef, pool: P | undefined): readonly string[] {
    const key = formatRef(ref)
    const record = this.#record(key)
    const before = record.pool
    const problem = this.#unreadable.get(key)
    const isSameProblem = problem === record.problem
    record.pool = pool
    record.problem = problem
    const isSameSpec = this.#meaningOf(before) === this.#meaningOf(pool)
    let others: readonly string[] = []
    if (!isSameProblem || !isSameSpec) {
      record.ledger.setPool(pool, problem === undefined ? [] : [problem])
      others = this.#rules.memory?.observePool(ref, pool, record.ledger) ?? []
    }
    const isAsBefore = isSameProblem && isSameSpec && standsAsBefore(before, pool)
    const wanted = isAsBefore ? [] : this.#retry(record.claims)
    // an answer is about the pool as it was
    if (!isSameSpec) this.disbelieve([...record.claims])
    return [key, ...wanted, ...this.#wakeAll(others)]
  }

  /** All of a pool that its ledger goes by. */
  #meaningOf(pool: P | undefined): string | undefined {
    const annotations = this.#rules.poolAnnotations?.map((name) => pool?.metadata.annotations?.[name] ?? null)
    return pool && JSON.stringify([pool.spec, annotations])
  }

  #claimsOf(cluster: string): ClaimLine {
    const claims = this.#claimsByCluster.get(cluster) ?? new ClaimLine()
    this.#claimsByCluster.set(cluster, claims)
    return claims
  }

  #observeCluster(ref: ObjectRef, cluster: Cluster | undefined): readonly string[] {
    const key = formatRef(ref)
    const before = this.#clusters.get(key)
    if (cluster === undefined) this.#clusters.delete(key)
    else this.#clusters.set(key, cluster)
    const same = before !== undefined && cluster !== undefined && isClusterPaused(before) === isClusterPaused(cluster)
    return same ? [] : [...(this.#claimsByCluster.get(key) ?? [])]
  }

  #record(key: string): PoolRecord<P, L> {
    const known = this.#pools.get(key)
    if (known !== undefined) return known
    const record: PoolRecord<P, L> = {
      pool: undefined,
      planned: undefined,
      problem: undefined,
      ledger: this.#rules.ledger(),
      claims: new ClaimLine(),
      exhausted: new ClaimLine(),
      asking: new Set(),
    }
    this.#pools.set(key, record)
    return record
  }
}

/** What is known of a pool, also of one that claims or addresses name before it exists. */
interface PoolRecord<P extends KubeObject, L extends Ledger<P>> {
  pool: P | undefined
  /** The uid that it had when it was planned last. */
  planned: string | undefined
  /** Why the object under that name can not be read as a pool, if there is such a one. */
  problem: string | undefined
  readonly ledger: L
  /** Keys of the claims that name the pool. */
  readonly claims: ClaimLine
  /** Of those, the ones that wait for room. */
  readonly exhausted: ClaimLine
  /** Keys of the claims for which the outside is just being asked. */
  readonly asking: Set<string>
}

/** The key of the IPAddress that has the name of a claim. */
function addressKeyOf(claimKey: string): string {
  return `${IPAddress.info.kind}${claimKey.slice(claimKey.indexOf(' '))}`
}
