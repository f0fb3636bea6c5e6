import type { LedgerEntry } from '../../../allocator/index.js'
import * as Address from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import { IPAddressClaim } from '../../../crd/cluster-api/ip-address-claim.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import type { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import type { Model } from '../../../crd/meta/model.js'
import { formatRef, type KubeObject, type ObjectRef } from '../../../crd/meta/object.js'
import { check } from '../../../errors/check.js'
import type { Parsed } from '../../../plan/cached-objects.js'
import type { CallTasks } from '../../../plan/call-tasks.js'
import type { AnyCall, Refusal } from '../../../plan/effect.js'
import {
  type CallResult,
  type Change,
  type Delta,
  type ExternalResult,
  type Holder,
  modelWatch,
  ObjectCache,
  type Outcome,
  type Plan,
  type Planner,
  type PlanTime,
  type PoolUsage,
  type Selection,
  type Task,
  type Watch,
} from '../../../plan/index.js'
import type { Applied } from '../../../plan/object-cache.js'
import { controllersOf, isControlledBy } from '../../claims/address-object.js'
import type { SchemasOf } from '../../claims/call-schemas.js'
import type {
  ClaimLedger,
  Confirmed,
  ConfirmInput,
  Ensured,
  EnsureInput,
  Released,
  ReleaseInput,
  Resolved,
} from '../../claims/definition.js'
import { type ClaimOutcome, defineProvider, type Provider } from '../../claims/index.js'
import type { UnreadableOutcome } from '../../claims/outcome.js'
import { addressOf } from '../block/allocation.js'
import { addressOfUnit } from '../block/grid.js'
import { type BlockEntry, isBound, type ParsedBlock } from '../block/parsed-block.js'
import { refusalOf } from '../pool/eligible.js'
import { ParsedPool } from '../pool/parsed-pool.js'
import { PoolView } from '../pool/pool-view.js'
import { WantedAddresses } from '../pool/wanted.js'
import { adopt, allocate } from '../tasks/allocate.js'
import { AllocateGroup } from '../tasks/allocate-group.js'
import { answerOf, type BlockCall, type BlockCalls, type BlockOutcome, DENIALS } from '../tasks/calls.js'
import { KnownBlocks } from '../tasks/known-blocks.js'
import { release } from '../tasks/release.js'
import { type AdoptionRequest, type Allocation, type AllocationRequest, isAdoption } from '../tasks/request.js'
import { blockWatch, poolWatch } from '../tasks/watches.js'
import type { BlockProviderDefinition } from './definition.js'

/**
 * A provider of Cluster API whose addresses are rows of blocks. Any number of processes may run it
 * at once, without a leader.
 */
export interface BlockProvider<
  P extends KubeObject = KubeObject,
  L extends ClaimLedger<P> = ClaimLedger<P>,
  R extends Outcome = Outcome,
> extends Planner<ClaimOutcome | UnreadableOutcome | R> {
  /** Carries out the calls: pass it to `taskCaller` of `ipam-kit/run`. */
  readonly tasks: CallTasks<BlockCall, BlockOutcome, BlockOutcome>
  /** The pools and blocks that this planner was shown. */
  readonly known: KnownBlocks
  /** The IPAddress objects of claims. The rows of blocks are those of `blocksOperator`. */
  entries(): readonly LedgerEntry<Holder>[]
  /** The addresses of IPAddress objects. The rows of blocks are those of `blocksOperator`. */
  usage(): readonly PoolUsage[]
  /** The ledger of a pool, as its plans read it. Callers must not change it. */
  ledgerOf(pool: ObjectRef): L
}

/**
 * Makes a provider of Cluster API from its definition. Claims live as with every provider; an
 * address is a row of a block before it is an IPAddress. So any number of processes may serve the
 * same claims at once.
 *
 * Two processes that serve a claim at the same moment may each write a row for it before one of
 * them creates the IPAddress. That is rare, as both begin at the same block. Run
 * {@link blocksSweep} with IPAddressClaim among its owners: it removes the rows that a claim has
 * beside its IPAddress. Run {@link blocksOperator} as well: it removes empty blocks.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function defineBlockProvider<P extends KubeObject, L extends ClaimLedger<P>, R extends Outcome>(
  definition: BlockProviderDefinition<P, L, R>,
): BlockProvider<P, L, R> {
  check('defineBlockProvider', 'definition', definition, [
    'open',
    { name: 'text', pools: ['list', ['open', { info: 'object' }]], ledger: 'function' },
  ])

  return new BlockClaimProvider(definition)
}

class BlockClaimProvider<P extends KubeObject, L extends ClaimLedger<P>, R extends Outcome>
  implements BlockProvider<P, L, R>
{
  readonly name: string
  readonly watches: readonly Selection[]
  readonly tasks: CallTasks<BlockCall, BlockOutcome, BlockOutcome>
  readonly #definition: BlockProviderDefinition<P, L, R>
  readonly #provider: Provider<P, L, R>
  /** How the pools of each kind are parsed for blocks. */
  readonly #poolWatches: ReadonlyMap<string, Watch<ParsedPool>>
  /** The pools by their names in blocks. */
  readonly #pools = new Map<string, ObjectRef>()
  /** The claims that wait for a pool to be ready. */
  readonly #waiting = new Set<string>()
  /** The claims whose requested address was refused. */
  readonly #wanted = new WantedAddresses()
  #objects = new ObjectCache()
  #known = new KnownBlocks({ isComplete: true })

  constructor(definition: BlockProviderDefinition<P, L, R>) {
    const { name, pools, poolAnnotations, finalizers, sweepAfterSeconds, holdsAddress } = definition
    this.#definition = definition
    this.name = name
    this.#poolWatches = new Map(pools.map((model) => [model.info.kind, poolWatchOf(model, definition.ipPoolOf)]))
    this.#provider = defineProvider<P, L, PoolView, R, SchemasOf<BlockCalls>>({
      name,
      pools,
      poolAnnotations,
      finalizers,
      sweepAfterSeconds,
      holdsAddress,
      external: {
        marker: 'claim',
        orphans: 'swept',
        isBegun: ({ metadata }) => metadata.uid !== undefined && this.#known.rowsOf(metadata.uid).length > 0,
      },
      ledger: (holdings) => definition.ledger(holdings),
      resolve: ({ claim, pool }) => this.#resolve(claim, pool),
      ensure: (input) => this.#ensure(input),
      confirm: (input) => this.#confirm(input),
      release: (input) => this.#release(input),
      planPool: ({ calls: _, isWaiting: __, otherPoolAt: ___, ...input }) =>
        definition.planPool({ ...input, rows: input.claims === 0 ? 0 : this.#countRows(input.pool) }),
    })
    this.watches = [...this.#provider.watches, IPBlock.info]
    this.share(this.#objects)
    this.tasks = {
      taskFor: ({ input }) => this.#taskFor(input),
      answerOf: ({ input }, outcome, time) => this.#answerOf(input, outcome, time),
      groupOf: ({ input }) => (input.task === 'release' ? undefined : input.pool),
      openGroup: () =>
        new AllocateGroup({
          known: () => this.#known,
          requestOf: ({ input }) => this.#requestOf(input),
          answerOf: ({ input }, outcome, time) => this.#answerOf(input, outcome, time),
        }),
    }
  }

  get objects(): ObjectCache {
    return this.#objects
  }

  get known(): KnownBlocks {
    return this.#known
  }

  entries(): readonly LedgerEntry<Holder>[] {
    return this.#provider.entries()
  }

  usage(): readonly PoolUsage[] {
    return this.#provider.usage()
  }

  ledgerOf(pool: ObjectRef): L {
    return this.#provider.ledgerOf(pool)
  }

  share(objects: ObjectCache): void {
    this.#provider.share(objects)
    this.#objects = objects
    this.#known = this.#known.anew(objects)
    // each version of a pool is parsed when it arrives
    for (const watch of this.#poolWatches.values()) objects.open(watch)
  }

  complete(selection: Selection): void {
    this.#objects.complete(selection)
  }

  observe(change: Change): readonly string[] {
    return this.wakes(this.#objects.apply(change))
  }

  wakes(applied: Applied): readonly string[] {
    const { change } = applied
    const block = applied.deltaFor(blockWatch)
    if (block !== undefined) return this.#wakeForBlock(block)
    if (change.kind === 'absent' && IPAddressClaim.is(change.ref)) this.#wanted.forget(formatRef(change.ref))
    for (const watch of this.#poolWatches.values()) {
      const pool = applied.deltaFor(watch)
      if (pool !== undefined) return this.#wakeForPool(pool, applied)
    }
    return this.#provider.wakes(applied)
  }

  #wakeForPool(delta: Delta<ParsedPool>, applied: Applied): readonly string[] {
    const name = nameIn(delta.now) ?? nameIn(delta.before) ?? delta.ref.name
    this.#pools.set(name, delta.ref)
    const [before, had] = [this.#readiness(name), this.#spaceOf(name)]
    this.#known.followPool({ ...delta, ref: { ...delta.ref, name } }, 0)
    const keys = this.#provider.wakes(applied)
    // results for addresses were based on what the pool gave before
    if (this.#spaceOf(name) !== had) this.#provider.invalidate(keys)
    // a pool becomes ready by its status, which the provider of claims does not read
    if (this.#readiness(name) === before) return keys
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    return [...keys, ...waiting]
  }

  onSend(call: AnyCall, time: PlanTime): void {
    this.#provider.onSend?.(call, time)
  }

  onResult(answered: CallResult<BlockCall, BlockOutcome>): readonly string[] {
    const keys = this.#provider.onResult?.(answered) ?? []
    const { call, answer } = answered
    const { input } = call
    const key = formatRef(call.about)
    if (input.task === 'allocate') {
      const [address] = input.request.addresses ?? []
      const isRefused = !answer.ok || DENIALS[answer.value.kind] !== undefined
      // a claim that does not exist waits for nothing
      if (address !== undefined && keys.includes(key)) {
        if (isRefused) this.#wanted.note(key, Address.format(address))
        else this.#wanted.forget(key)
      }
      return keys
    }
    const ref = this.#pools.get(input.pool)
    if (!answer.ok || ref === undefined) return keys
    // other claims may get the released addresses; the task has shown the change of the block
    // already
    const released = 'allocations' in answer.value ? answer.value.allocations : []
    return [
      ...keys,
      ...this.#wake(released.map(({ address }) => Address.format(address))),
      ...this.#provider.retry(ref),
    ]
  }

  plan(key: string, time: PlanTime): Plan<ClaimOutcome | UnreadableOutcome | R> | undefined {
    const plan = this.#provider.plan(key, time)
    const { outcome } = plan ?? {}
    const isWaiting = outcome?.kind === 'waiting' && 'reason' in outcome && outcome.reason === 'PoolNotReady'
    if (isWaiting) this.#waiting.add(key)
    return plan
  }

  begin(plan: Plan): (isDone?: boolean) => readonly string[] {
    return this.#provider.begin?.(plan) ?? (() => [])
  }

  refused(key: string, refusal: Refusal, time: PlanTime): Plan<ClaimOutcome | UnreadableOutcome | R> | undefined {
    return this.#provider.refused?.(key, refusal, time)
  }

  isAggregate(key: string): boolean {
    return this.#provider.isAggregate(key)
  }

  isRepair(key: string): boolean {
    return this.#provider.isRepair?.(key) === true
  }

  isServed(key: string): boolean {
    return this.#provider.isServed?.(key) === true
  }

  isBegun(key: string): boolean {
    return this.#provider.isBegun?.(key) === true
  }

  reset(): void {
    this.#provider.reset()
    this.#waiting.clear()
    this.#wanted.clear()
    this.#pools.clear()
    // an own cache, until the host shares one
    this.share(new ObjectCache())
  }

  #wakeForBlock(delta: Delta<ParsedBlock>): readonly string[] {
    const { before: had, now } = delta
    // changes written by a task are known already
    if (!this.#known.followBlock(delta, 0) || had?.ok !== true) return []
    const before = had.value
    const has = new Set(now?.ok === true ? now.value.entries.filter(isBound).map(rowText) : [])
    const gone = before.entries.filter((entry) => isBound(entry) && !has.has(rowText(entry)))
    if (gone.length === 0) return []
    const { domain } = before.object.spec
    const pools = [...this.#pools].filter(([pool]) => domainOf(this.#known.pool(pool)) === domain)
    // a claim that did not release its row gets a row again, whatever its earlier result was; other
    // claims may get the addresses
    const claims = gone.filter(({ row }) => row.kind === KIND)
    const losers = claims.map(({ row }) => `${IPAddressClaim.info.kind} ${row.owner}`)
    this.#provider.invalidate(losers)
    const successors = this.#wanted.isEmpty ? [] : this.#wake(gone.flatMap((entry) => addressesOf(before, entry)))
    return [...losers, ...successors, ...pools.flatMap(([, ref]) => this.#provider.retry(ref))]
  }

  /** Addresses were released: returns the keys of the claims that request them. */
  #wake(addresses: readonly string[]): readonly string[] {
    const keys = addresses.flatMap((address) => this.#wanted.take(address))
    this.#provider.invalidate(keys)
    return keys
  }

  /** The number of rows of a pool. O(known blocks). */
  #countRows(pool: P): number {
    const name = this.#nameOf(pool)
    let rows = 0
    for (const parsed of this.#known.blocks()) {
      for (const entry of parsed.entries) {
        if (isBound(entry) && (entry.row.pool ?? parsed.object.spec.pool) === name) rows++
      }
    }
    return rows
  }

  #nameOf(pool: P): string {
    const watch = this.#poolWatches.get(pool.kind)
    return (watch && nameIn(this.#objects.open(watch).entry(pool.metadata))) ?? pool.metadata.name
  }

  /** Why a pool gives nothing; `undefined` if it does. */
  #readiness(name: string): string | undefined {
    const pool = this.#known.pool(name)
    return pool instanceof PoolView ? `${pool.problem} ${[...pool.families].join()}` : undefined
  }

  #spaceOf(name: string): PoolView['space'] {
    const pool = this.#known.pool(name)
    return pool instanceof PoolView ? pool.space : undefined
  }

  #resolve(claim: IPAddressClaim, pool: P): Resolved<PoolView> {
    const view = this.#known.pool(this.#nameOf(pool))
    if (!(view instanceof PoolView)) return { kind: 'notReady', message: `${pool.metadata.name} cannot be read` }
    const { namespaceLabels } = this.#definition
    const labels = namespaceLabels?.(claim.metadata.namespace ?? '')
    if (view.object.spec.namespaceSelector !== undefined && labels === undefined) {
      return { kind: 'notReady', message: 'has a namespaceSelector, and the labels of the namespace are not known' }
    }
    const refusal = refusalOf(view, { namespaceLabels: labels })
    return refusal === undefined
      ? { kind: 'ready', offer: view }
      : { kind: 'notReady', message: `cannot be used: ${refusal.message}` }
  }

  #ensure({ claim, pool, ledger, offer: view, results }: EnsureInput<P, L, PoolView, BlockCalls>): Ensured<BlockCalls> {
    const wanted = this.#definition.request({ claim, pool, ledger, families: [...view.families] })
    if (wanted.kind === 'wait') return wanted
    const given = results.allocate
    if (given !== undefined && 'allocations' in given) {
      const [allocation] = given.allocations as [Allocation]
      const { address, block } = allocation
      const offer = this.#definition.offer(allocation, pool)
      return { kind: 'address', address, ...offer, why: `it has a row in block ${block}` }
    }
    const { family, address } = wanted
    const request = { ...this.#requestFor(claim, view.name, family), addresses: address && [address] }
    const input: BlockCall = { task: 'allocate', pool: view.name, request }
    return { kind: 'call', operation: 'allocate', input, why: 'an address for the claim' }
  }

  /**
   * Whether an existing IPAddress belongs to the claim: it has a row for it, or gets one. It gets
   * one also if its block does not exist, as after a restore.
   */
  #confirm({
    claim,
    pool,
    address,
    results,
    isBound: isClaimBound,
  }: ConfirmInput<P, L, BlockCalls>): Confirmed<BlockCalls> {
    const { keepsOutOfRange = false } = this.#definition
    const result = results.confirm?.kind
    const problem = result && DENIALS[result]
    if (problem !== undefined && !(keepsOutOfRange && result === 'outOfPool')) {
      // what an earlier claim has left is removed, and the claim gets another address
      const isOthers = controllersOf(address).some((owner) => !IPAddressClaim.is(owner))
      return { kind: isControlledBy(address, claim) || isOthers ? 'no' : 'stale', message: problem }
    }
    if (result !== undefined) return { kind: 'yes' }
    const read = Address.safeParse(address.spec.address, { zone: 'drop' })
    if (!read.ok) {
      return keepsOutOfRange ? { kind: 'yes' } : { kind: 'no', message: 'the address of its IPAddress cannot be read' }
    }
    const rows = isClaimBound ? this.#known.rowsOf(claim.metadata.uid as string) : []
    if (rows.some(({ parsed, entry }) => Address.equals(addressOf(parsed, entry), read.value))) return { kind: 'yes' }
    const name = this.#nameOf(pool)
    const request: AdoptionRequest = {
      ...this.#requestFor(claim, name, read.value.family),
      addresses: [read.value],
      outOfRange: keepsOutOfRange ? 'record' : 'refuse',
    }
    const input: BlockCall = { task: 'allocate', pool: name, request }
    return { kind: 'call', operation: 'confirm', input, why: 'records the address of the IPAddress for the claim' }
  }

  #release(input: ReleaseInput<P, L, BlockCalls>): Released<BlockCalls> {
    const { claim, address, isStale, results } = input
    const { uid } = claim.metadata
    const released = this.#definition.mayRelease?.(input)
    if (released !== undefined && released.kind !== 'done') return released
    // addresses that an earlier claim of the name has left are in rows of that claim, which the
    // sweep finds
    if (isStale || uid === undefined || results.release !== undefined) return { kind: 'done' }
    // no other claim gets the address while an IPAddress has it
    if (address !== undefined) return { kind: 'later' }
    if (this.#known.rowsOf(uid).length === 0) return { kind: 'done' }
    const pool = input.pool === undefined ? claim.spec.poolRef.name : this.#nameOf(input.pool)
    const call: BlockCall = { task: 'release', pool, request: { owner: { uid } } }
    return { kind: 'call', operation: 'release', input: call, why: 'releases the addresses of the claim' }
  }

  #requestFor({ metadata }: IPAddressClaim, pool: string, family: 4 | 6): AllocationRequest {
    const { uid, namespace = '', name } = metadata
    const owner = { uid: uid as string, name: `${namespace}/${name}`, kind: KIND }
    return { owner, pools: [pool], families: [family], namespaceLabels: this.#definition.namespaceLabels?.(namespace) }
  }

  #taskFor(call: BlockCall): Task<BlockOutcome> {
    if (call.task === 'release') return release(call.request, this.#known)
    const request = this.#requestOf(call)
    return isAdoption(request) ? adopt(request, this.#known) : allocate(request, this.#known)
  }

  /**
   * The request of a call, with the holders of addresses that have no row. An address that is
   * adopted has its own holder.
   */
  #requestOf({ pool, request }: Extract<BlockCall, { task: 'allocate' }>): AllocationRequest | AdoptionRequest {
    if (isAdoption(request)) return request
    return { ...request, heldBy: (prefix) => this.#heldBy(pool, request.owner.name, prefix) }
  }

  /** The result of a call, with the pool under the name that its users know. */
  #answerOf(call: BlockCall, outcome: BlockOutcome, time: PlanTime): ExternalResult<BlockOutcome> {
    const ref = this.#definition.ipPoolOf && this.#pools.get(call.pool)
    const message = ref ? outcome.message.replaceAll(call.pool, formatRef(ref)) : outcome.message
    return answerOf(call, { ...outcome, message }, time)
  }

  #heldBy(pool: string, claim: string, prefix: Prefix): string | undefined {
    const ref = this.#pools.get(pool)
    if (ref === undefined) return undefined
    return this.#definition.heldBy?.({ prefix, claim, ledger: this.#provider.ledgerOf(ref) })
  }
}

/**
 * How a pool of a provider is parsed. A provider without a form of its own in blocks has pools of
 * kind IPPool, parsed as everywhere in the process.
 */
function poolWatchOf<P extends KubeObject>(
  model: Model<P>,
  ipPoolOf: ((pool: P) => IPPool) | undefined,
): Watch<ParsedPool> {
  if (ipPoolOf === undefined) return poolWatch
  const { parse, ...watch } = modelWatch(model)
  return {
    ...watch,
    indexes: {},
    parse: (object, before) => {
      const read = parse(object, undefined)
      return read.ok ? { ok: true, value: new ParsedPool(ipPoolOf(read.value), before) } : read
    },
  }
}

/** The name of a pool in blocks. */
function nameIn(pool: Parsed<ParsedPool> | undefined): string | undefined {
  return pool?.ok === true ? pool.value.object.metadata.name : undefined
}

function domainOf(pool: ReturnType<KnownBlocks['pool']>): string | undefined {
  return pool instanceof PoolView ? pool.object.spec.domain : undefined
}

/** The kind of the owner, as rows name it. */
const KIND = 'IPAddressClaim.ipam.cluster.x-k8s.io'

/** The addresses of a row. */
function addressesOf({ prefix, object }: ParsedBlock, { unit, count }: BlockEntry): readonly string[] {
  const { allocationPrefixLength } = object.spec
  return Array.from({ length: count }, (_, nth) =>
    Address.format(addressOfUnit(prefix, allocationPrefixLength, unit + nth)),
  )
}

function rowText({ row: { uid, sequence } }: BlockEntry): string {
  return `${uid} ${sequence}`
}
