import * as Address from '../../cidr/nouns/address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { IPBlock, type IPBlockRow } from '../../crd/ipam-kit/ip-block.js'
import { IPPool } from '../../crd/ipam-kit/ip-pool.js'
import { formatRef, type KindInfo, type ObjectRef, refOf } from '../../crd/meta/object.js'
import { ipamError } from '../../errors/index.js'
import type {
  Answered,
  Change,
  Outcome,
  OutsideAnswer,
  OutsideCall,
  Plan,
  Planner,
  PlanTime,
  Task,
} from '../../plan/index.js'
import { isControlledBy } from '../claims/address-object.js'
import {
  AddressLedger,
  type ClaimOutcome,
  type Confirmed,
  type ConfirmInput,
  defineProvider,
  type Ensured,
  type EnsureInput,
  type Provider,
  type ProviderFinalizers,
  type Released,
  type ReleaseInput,
  type Resolved,
  type UnreadableOutcome,
} from '../claims/index.js'
import { allocate } from './allocate.js'
import { addressOf } from './allocation.js'
import { BlockBook, isBound } from './book.js'
import { refusalOf } from './eligible.js'
import { KnownBlocks } from './known-blocks.js'
import type { AllocationOutcome } from './outcome.js'
import { PoolView } from './pool-view.js'
import type { BlockReadings } from './readings.js'
import { type ReleaseOutcome, release } from './release.js'

/** Annotation of a claim: `4` or `6`, which family it wants of a pool that has both. */
export const FAMILY_ANNOTATION = 'ipam-kit.dev/family'
/** Annotation of a claim: the address that it requests. */
export const ADDRESS_ANNOTATION = 'ipam-kit.dev/address'

export interface BlockClaimsOptions {
  /** Default: those of Cluster API's own library. */
  readonly finalizers?: Partial<ProviderFinalizers> | undefined
  /**
   * After how many seconds an IPAddress whose claim is gone is removed: as in `defineProvider`. The row in its block goes after it, by {@link blocksSweep}. Left
   * out: never.
   */
  readonly sweepAfterSeconds?: number | undefined
  /**
   * The labels of a namespace, for pools with a `namespaceSelector`; `undefined`: not known yet. Left out: such pools serve no claims.
   */
  readonly namespaceLabels?: ((namespace: string) => { readonly [key: string]: string } | undefined) | undefined
  /** What others of this process have read is not read again: one {@link BlockReadings} for all of them. Left out: it reads all that it is shown. */
  readonly readings?: BlockReadings | undefined
}

/**
 * Claims of Cluster API (IPAddressClaim) that are served from blocks: `spec.poolRef` names an IPPool of ipam-kit.dev. Any number of these may run at once, each
 * serves every claim: no leader is needed, because a block gives an address once, and the IPAddress of a claim is made once.
 *
 * Two that serve a claim at the same moment may each write a row for it before one of them makes its IPAddress: seldom, as both begin at the same block. Run
 * {@link blocksSweep} with IPAddressClaim among its owners: it takes back what a claim has beside its IPAddress.
 *
 * The life of a claim is that of every provider. Its address comes from blocks by the calls of its plans: hand `tasks` to `taskCaller` of `ipam-kit/run`.
 */
export interface BlockClaims extends Planner<ClaimOutcome | UnreadableOutcome | PoolSeen> {
  /** What calls are carried out by. */
  readonly tasks: CallTasks
  /** What is known of pools and blocks, from what this planner was shown. */
  readonly known: KnownBlocks
}

/** How the calls of a planner become tasks, and their outcomes answers. */
export interface CallTasks {
  taskFor(call: OutsideCall): Task
  answerOf(call: OutsideCall, outcome: Outcome): OutsideAnswer
}

/** A pool is no affair of this planner, but of the operator of blocks. */
export interface PoolSeen extends Outcome {
  readonly kind: 'ready'
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function blockClaims(options: BlockClaimsOptions = {}): BlockClaims {
  return new BlockClaimsPlanner(options)
}

class BlockClaimsPlanner implements BlockClaims {
  readonly name = 'block-claims'
  readonly watches: readonly KindInfo[]
  readonly tasks: CallTasks
  readonly #provider: Provider<IPPool, AddressLedger<IPPool>, PoolSeen>
  readonly #options: BlockClaimsOptions
  #known: KnownBlocks

  constructor(options: BlockClaimsOptions) {
    this.#options = options
    this.#known = new KnownBlocks({ isComplete: true, readings: options.readings })
    this.#provider = defineProvider<IPPool, AddressLedger<IPPool>, PoolView, PoolSeen>({
      name: this.name,
      pools: [IPPool],
      finalizers: options.finalizers,
      outside: { marker: 'kept', orphans: 'swept' },
      sweepAfterSeconds: options.sweepAfterSeconds,
      ledger: () => new AddressLedger<IPPool>(),
      resolve: ({ claim, pool }) => this.#resolve(claim, pool),
      ensure: (input) => ensure(input),
      confirm: (input) => confirm(input, this.#known),
      release: (input) => giveBack(input, this.#known),
      planPool: () => ({ outcome: { kind: 'ready', message: 'seen' }, effects: [] }),
    })
    this.watches = [...this.#provider.watches, IPBlock.info]
    this.tasks = { taskFor: (call) => this.#taskFor(call), answerOf }
  }

  get known(): KnownBlocks {
    return this.#known
  }

  observe(change: Change): readonly string[] {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const before = IPPool.is(ref) ? readiness(this.#known, ref) : undefined
    const had = IPBlock.is(ref) ? claimsIn(this.#known, ref.name) : undefined
    this.#known.observe(change, { nowMs: 0 })
    if (had !== undefined) {
      const has = new Set(claimsIn(this.#known, ref.name).map(rowText))
      // one that has not given it back gets its row again
      return had.filter((row) => !has.has(rowText(row))).map(({ owner }) => `${IPAddressClaim.info.kind} ${owner}`)
    }
    const keys = this.#provider.observe(change)
    // a pool becomes ready by its status, which means nothing to the life of claims
    if (!IPPool.is(ref) || readiness(this.#known, ref) === before) return keys
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    return [...keys, ...waiting]
  }

  /** The claims that wait for a pool to be ready. */
  readonly #waiting = new Set<string>()

  hear(answered: Answered): readonly string[] {
    return this.#provider.hear?.(answered) ?? []
  }

  plan(key: string, time: PlanTime): Plan<ClaimOutcome | UnreadableOutcome | PoolSeen> | undefined {
    const plan = this.#provider.plan(key, time)
    const { outcome } = plan ?? {}
    if (outcome?.kind === 'waiting' && outcome.reason === 'PoolNotReady') this.#waiting.add(key)
    return plan
  }

  reserve(plan: Plan): () => readonly string[] {
    return this.#provider.reserve?.(plan) ?? (() => [])
  }

  isSummary(key: string): boolean {
    return this.#provider.isSummary(key)
  }

  reset(): void {
    this.#provider.reset()
    this.#known = new KnownBlocks({ isComplete: true, readings: this.#options.readings })
    this.#waiting.clear()
  }

  #resolve(claim: IPAddressClaim, pool: IPPool): Resolved<PoolView> {
    const view = this.#known.pool(pool.metadata.name)
    if (!(view instanceof PoolView)) return { kind: 'notReady', message: `${pool.metadata.name} can not be read` }
    const { namespaceLabels } = this.#options
    const labels = namespaceLabels?.(claim.metadata.namespace ?? '')
    if (pool.spec.namespaceSelector !== undefined && labels === undefined) {
      return { kind: 'notReady', message: 'has a namespaceSelector, and the labels of the namespace are not known' }
    }
    const refusal = refusalOf(view, { namespaceLabels: labels })
    return refusal === undefined
      ? { kind: 'ready', offer: view }
      : { kind: 'notReady', message: `can not be used: ${refusal.message}` }
  }

  #taskFor({ operation, input }: OutsideCall): Task {
    const { uid, name, pool, family, address } = input as unknown as CallInput
    const namespaceLabels = this.#options.namespaceLabels?.(name.slice(0, name.indexOf('/')))
    const owner = { uid, name, kind: KIND }
    if (operation === 'release') return release({ owner }, this.#known)
    if (operation !== 'allocate' && operation !== 'confirm') {
      const expected = 'allocate, confirm or release'
      throw ipamError('INVALID_ARGUMENT', { argument: 'operation', expected, got: operation })
    }
    const addresses = address === undefined ? undefined : [Address.parse(address)]
    // whoever had the name of the claim before is gone
    const inherits = operation === 'confirm'
    const request = { owner, pools: [pool], families: [family], addresses, inherits, namespaceLabels }
    return allocate({ ...request, isContested: true }, this.#known)
  }
}

/** What the owner of a row is, in a row. */
const KIND = 'IPAddressClaim.ipam.cluster.x-k8s.io'

interface CallInput {
  readonly uid: string
  readonly name: string
  readonly pool: string
  readonly family: 4 | 6
  readonly address?: string
}

/** Whether a pool gives anything, and why not. */
function readiness(known: KnownBlocks, { name }: ObjectRef): string | undefined {
  const pool = known.pool(name)
  return pool instanceof PoolView ? `${pool.problem} ${[...pool.families].join()}` : undefined
}

function ensure({ claim, pool, offer, answers }: EnsureInput<IPPool, AddressLedger<IPPool>, PoolView>): Ensured {
  const wait = (message: string) => ({ kind: 'wait', reason: 'AllocationFailed', message }) as const
  const family = familyOf(claim, offer)
  if (typeof family === 'string') return wait(family)
  const asked = claim.metadata.annotations?.[ADDRESS_ANNOTATION]
  const address = asked === undefined ? undefined : Address.safeParse(asked)
  if (address?.ok === false) return wait(`${ADDRESS_ANNOTATION}: ${JSON.stringify(asked)} is not an address`)
  if (address !== undefined && address.value.family !== family) {
    return wait(`${ADDRESS_ANNOTATION}: ${asked} is not IPv${family}`)
  }
  const given = answers.allocate as GivenAnswer | undefined
  if (given !== undefined) {
    return {
      kind: 'address',
      address: Address.parse(given.address),
      prefix: given.prefix,
      gateway: given.gateway,
      why: `it has a row in block ${given.block}`,
    }
  }
  const { uid, namespace, name } = claim.metadata
  const input = {
    uid: uid as string,
    name: `${namespace}/${name}`,
    pool: pool.metadata.name,
    family,
    ...(asked === undefined ? {} : { address: asked }),
  }
  return { kind: 'call', operation: 'allocate', input, why: 'an address for the claim' }
}

/** What an answer to `allocate` says. */
interface GivenAnswer {
  readonly address: string
  readonly prefix: number
  readonly gateway?: string
  readonly block: string
}

/** The family that a claim wants, or why that is not known. */
function familyOf({ metadata }: IPAddressClaim, pool: PoolView): 4 | 6 | string {
  const families = [...pool.families]
  const asked = metadata.annotations?.[FAMILY_ANNOTATION]
  if (asked !== undefined) {
    const family = families.find((each) => String(each) === asked)
    return family ?? `${FAMILY_ANNOTATION}: pool ${pool.name} has no family ${JSON.stringify(asked)}`
  }
  if (families.length === 1) return families[0] as 4 | 6
  return `pool ${pool.name} has ${families.length === 0 ? 'no' : 'both'} families: ${FAMILY_ANNOTATION} says which`
}

/** Why a claim can not have a row for an IPAddress, by what has become of that. */
const DENIALS: ReadonlyMap<unknown, string> = /* @__PURE__ */ new Map([
  ['taken', 'its address is that of somebody else'],
  ['outOfPool', 'its address is not of the pool any more'],
  ['different', 'the claim has been given another address'],
])

/** The rows of claims in a block. */
function claimsIn(known: KnownBlocks, block: string): readonly IPBlockRow[] {
  const book = known.book(block)
  if (!(book instanceof BlockBook)) return []
  return book.entries.filter((entry) => isBound(entry) && entry.row.kind === KIND).map(({ row }) => row)
}

function rowText({ uid, sequence }: IPBlockRow): string {
  return `${uid} ${sequence}`
}

/** An IPAddress that is there is the claim's if it has a row for it, or gets one: also if its block is gone, after a restore. */
function confirm(
  { claim, pool, address, answers, isBound: isClaimBound }: ConfirmInput<IPPool, AddressLedger<IPPool>>,
  known: KnownBlocks,
): Confirmed {
  const problem = DENIALS.get(answers.confirm)
  // what an earlier claim has left is removed, and the claim gets an address of its own
  if (problem !== undefined) return { kind: isControlledBy(address, claim) ? 'no' : 'leftOver', message: problem }
  if (answers.confirm !== undefined) return { kind: 'yes' }
  const { uid, namespace, name } = claim.metadata
  const read = Address.safeParse(address.spec.address)
  if (!read.ok) return { kind: 'no', message: `the address of its IPAddress can not be read` }
  const rows = isClaimBound ? known.rowsOf(uid as string) : []
  if (rows.some(({ book, entry }) => Address.equals(addressOf(book, entry), read.value))) return { kind: 'yes' }
  const { family } = read.value
  const owner = { uid: uid as string, name: `${namespace}/${name}` }
  const input = { ...owner, pool: pool.metadata.name, family, address: Address.format(read.value) }
  return { kind: 'call', operation: 'confirm', input, why: 'the address that is there is the one of the claim' }
}

function giveBack(
  { claim, address, isLeftOver, answers }: ReleaseInput<IPPool, AddressLedger<IPPool>>,
  known: KnownBlocks,
): Released {
  const { uid, namespace, name } = claim.metadata
  // what an earlier claim of the name has left is in its own rows, which the sweep finds
  if (isLeftOver || uid === undefined || answers.release !== undefined) return { kind: 'done' }
  if (address === undefined && known.rowsOf(uid).length === 0) return { kind: 'done' }
  const input = { uid, name: `${namespace}/${name}`, pool: claim.spec.poolRef.name, family: 4 }
  return { kind: 'call', operation: 'release', input, why: 'what the claim has is free again' }
}

function answerOf({ about, operation }: OutsideCall, outcome: Outcome): OutsideAnswer {
  const { kind, message } = outcome as AllocationOutcome | ReleaseOutcome
  switch (kind) {
    case 'allocated':
    case 'already': {
      const [allocation] = (outcome as Extract<AllocationOutcome, { kind: 'allocated' }>).allocations
      if (allocation === undefined) throw ipamError('INVARIANT_BROKEN', { what: `${formatRef(about)}: ${message}` })
      const { address, prefix, subnet, gateway, block } = allocation
      const isAddress = prefix.length === Address.bitsOf(address.family)
      const value = {
        address: Address.format(address),
        prefix: isAddress && subnet !== undefined ? subnet.length : prefix.length,
        ...(gateway === undefined ? {} : { gateway: Address.format(gateway) }),
        block,
      }
      return { ok: true, value }
    }
    case 'released':
    case 'nothing':
    case 'notYours':
      return { ok: true, value: kind }
    case 'taken':
    case 'outOfPool':
    case 'different':
      return operation === 'confirm' ? { ok: true, value: kind } : { ok: false, failure: { message, retryable: true } }
    case 'exhausted':
      return { ok: false, failure: { message, retryable: true, reason: 'PoolExhausted' } }
    case 'notReady':
      return { ok: false, failure: { message, retryable: true, reason: 'PoolNotReady' } }
    default:
      return { ok: false, failure: { message, retryable: true } }
  }
}
