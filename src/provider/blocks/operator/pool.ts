import type { Condition, ConditionUpdate } from '../../../claim/conditions.js'
import { findCondition, poolReady } from '../../../claim/index.js'
import type { IPDomain } from '../../../crd/ipam-kit/ip-domain.js'
import type { IPPool, IPPoolFamilyStatus, IPPoolStatus } from '../../../crd/ipam-kit/ip-pool.js'
import { BLOCKS_FINALIZER } from '../../../crd/ipam-kit/names.js'
import { formatRef, hasFinalizer, isDeleting, refOf } from '../../../crd/meta/object.js'
import { listed } from '../../../errors/listed.js'
import { list, plain } from '../../../errors/quote.js'
import type { PoolUsage } from '../../../plan/holdings.js'
import {
  addFinalizer,
  type Effect,
  eventAbout,
  guard,
  type Plan,
  type PlanTime,
  patchStatus,
  removeFinalizer,
} from '../../../plan/index.js'
import { withConditions } from '../../claims/status.js'
import type { Grid } from '../block/grid.js'
import { hasFamily, type PoolView } from '../pool/pool-view.js'
import { domainFor, domainProblem, gridConflict, newGridConflict } from './domain.js'
import type { DomainBlocks } from './domain-blocks.js'
import type { OperatorOutcome } from './outcome.js'
import type { UnitUsage } from './usage.js'

/** The input of a plan for a pool. */
export interface PoolInput {
  readonly view: PoolView
  /** `undefined`: it does not exist. */
  readonly domain: IPDomain | undefined
  /** Why the domain cannot be read; `undefined` if it can. */
  readonly unreadable: string | undefined
  readonly usage: UnitUsage
  /** The blocks of the domain. */
  readonly blocks: DomainBlocks
  /** The pools of the domain that have addresses in common with this one. */
  readonly overlapping: readonly string[]
  /** How long a pool that is being deleted stays at least, in seconds. */
  readonly terminationGraceSeconds: number
}

/**
 * Plans a pool itself. It is accepted into its domain, on the grid of the domain, before it gives
 * anything. Its status has counts, conditions and hints. It stays while rows of it exist.
 */
export function planPool(input: PoolInput, time: PlanTime): Plan<OperatorOutcome> {
  const { view, domain, usage } = input
  const pool = view.object
  const { dueMs } = usage
  view.refresh(time.nowMs)
  if (isDeleting(pool)) return planEnd(input, time)
  const effects: Effect[] = []
  if (!hasFinalizer(pool, BLOCKS_FINALIZER)) {
    effects.push(addFinalizer(pool, BLOCKS_FINALIZER, 'keeps it while its addresses are in use'))
  }
  const refusal = refusalOf(input)
  if (domain === undefined && refusal === undefined) {
    const why = 'the first pool of a domain makes it'
    effects.push({ kind: 'create', object: domainFor(pool, input.blocks), why })
    return { outcome: { kind: 'waiting', message: `domain ${pool.spec.domain} is being created` }, effects }
  }
  const accepted = refusal === undefined ? domain : undefined
  // the plan that accepts the pool requires the version of the domain that was read
  if (accepted !== undefined && pool.status?.domainUID !== accepted.metadata.uid) {
    effects.push(guard(accepted, 'its grid is that of the pool'))
  }
  pushStatus(input, { accepted, refusal }, time, effects)
  const requeueAfterSeconds = dueMs === undefined ? undefined : Math.max(1, Math.ceil((dueMs - time.nowMs) / 1000))
  const outcome: OperatorOutcome =
    refusal === undefined ? { kind: 'ready', message: messageOf(input) } : { kind: 'broken', message: refusal }
  return { outcome, effects, requeueAfterSeconds }
}

/** Why a pool is not accepted into its domain. */
function refusalOf({ view, domain, unreadable, blocks }: PoolInput): string | undefined {
  const pool = view.object
  if (view.specProblem !== undefined) return view.specProblem
  if (unreadable !== undefined) return `domain ${pool.spec.domain}: ${unreadable}`
  if (domain === undefined) {
    const { offGrid } = blocks
    return (
      offGrid && `domain ${pool.spec.domain} cannot be made: block ${offGrid} cannot be read, so its grid is not known`
    )
  }
  const isTaken = pool.status?.domainUID === domain.metadata.uid
  if (isDeleting(domain) && !isTaken) return `domain ${pool.spec.domain} is being deleted`
  // a grid that is requested later has no effect on what is given
  const problem = domainProblem(domain) ?? (isTaken ? undefined : newGridConflict(pool, domain))
  if (problem !== undefined) return problem
  const offGrid = isTaken ? undefined : blocks.offGridOf(domain.spec)
  return offGrid && `block ${offGrid} does not lie on the grid of domain ${pool.spec.domain}`
}

function messageOf(input: PoolInput): string {
  const parts = gridsOf(input).map((grid) => {
    const { free, total } = input.usage.counts(grid)
    return `${free} of ${total} IPv${grid.family} free`
  })
  return parts.join(', ')
}

/** How much of a pool is in use. One that is not accepted, or is being deleted, gives nothing. */
export function poolUsage(input: Pick<PoolInput, 'view' | 'domain' | 'usage'>): readonly PoolUsage[] {
  const { view, domain, usage } = input
  const pool = view.object
  const isGiving = pool.status?.domainUID === domain?.metadata.uid && !isDeleting(pool)
  return gridsOf(input).map((grid) => {
    const { total, free, allocated } = usage.counts(grid)
    const capacity = isGiving ? { total, free } : { total: undefined, free: undefined }
    return { pool: formatRef(refOf(pool)), family: grid.family, used: allocated, ...capacity }
  })
}

/** The grids of the families of a pool, by its domain. */
function gridsOf({ view, domain }: Pick<PoolInput, 'view' | 'domain'>): readonly Grid[] {
  if (domain === undefined) return []
  const grids = [
    { family: 4 as const, ...onlyGrid(domain.spec.ipv4) },
    { family: 6 as const, ...onlyGrid(domain.spec.ipv6) },
  ]
  return grids.filter(({ family }) => hasFamily(view.object, family))
}

function onlyGrid({ blockPrefixLength, allocationPrefixLength }: IPDomain['spec']['ipv4']): IPDomain['spec']['ipv4'] {
  return { blockPrefixLength, allocationPrefixLength }
}

function pushStatus(
  input: PoolInput,
  { accepted, refusal }: { readonly accepted: IPDomain | undefined; readonly refusal: string | undefined },
  time: PlanTime,
  effects: Effect[],
): void {
  const { view, overlapping } = input
  const pool = view.object
  const before = pool.status
  const isTaken = accepted !== undefined && before?.domainUID === accepted.metadata.uid
  const status: { -readonly [field in keyof IPPoolStatus]: IPPoolStatus[field] | null } = {}
  if (before?.observedGeneration !== pool.metadata.generation) status.observedGeneration = pool.metadata.generation
  if (before?.domainUID !== accepted?.metadata.uid) status.domainUID = accepted?.metadata.uid ?? null
  const grids = accepted === undefined ? [] : gridsOf(input)
  let hasRoom = true
  for (const family of [4, 6] as const) {
    const field = family === 4 ? 'ipv4' : 'ipv6'
    const grid = grids.find((each) => each.family === family)
    // the hints of a pool that is not accepted are no longer true, but its grid stays: the domain
    // is created again on it
    if (grid === undefined) {
      if (accepted !== undefined && before?.[field] !== undefined) status[field] = null
      continue
    }
    const now = isTaken ? input.usage.status(grid) : { ...onlyGrid(grid), ...NO_COUNTS }
    if (isTaken && now.free === '0') hasRoom = false
    if (!sameFields(before?.[field], now)) status[field] = now
  }
  const problem =
    refusal ?? (accepted === undefined || isTaken ? disabledOf(pool) : 'the pool is being accepted into its domain')
  const ready = poolReady({ problem, isDeleting: false, hasRoom })
  const ignored = accepted && gridConflict(pool, accepted)
  const { problems } = view
  const message = [
    ready.message,
    ...(ready.status === 'True' && ignored !== undefined ? [`it stays as it is: ${ignored}`] : []),
    ...(problems.length === 0 || view.specProblem !== undefined ? [] : [list(problems)]),
  ]
  const updates = [
    { ...ready, message: message.filter((text) => text !== '').join('; ') },
    exhaustion(hasRoom),
    overlap(overlapping),
  ]
  if (!updates.every((update) => isSaid(before?.conditions, update, pool.metadata.generation))) {
    const conditions = withConditions(pool, updates, time)
    if (conditions !== before?.conditions) status.conditions = conditions
  }
  if (Object.keys(status).length === 0) return
  effects.push(patchStatus(pool, { status }, `its state has changed: ${Object.keys(status).join(', ')}`))
  if (status.conditions !== undefined) effects.push(...problemEvents(pool, problems))
}

/** How many problems of a pool are told in Events. */
const MOST_EVENTS = 20

/** An Event for each problem that the condition of the pool does not tell yet. */
function problemEvents(pool: IPPool, problems: readonly string[]): readonly Effect[] {
  const told = findCondition(pool.status?.conditions, 'Ready')?.message ?? ''
  return problems
    .slice(0, MOST_EVENTS)
    .map((problem) => plain(problem))
    .filter((problem) => !told.includes(problem))
    .map((message) => eventAbout(pool, { type: 'Warning', reason: 'InvalidPool', message }))
}

const NO_COUNTS = {
  total: undefined,
  allocated: undefined,
  free: undefined,
  reserved: undefined,
  cooldown: undefined,
  outOfRange: undefined,
} as const

function disabledOf({ spec }: IPPool): string | undefined {
  return spec.disabled ? 'the pool is disabled' : undefined
}

function sameFields(before: IPPoolFamilyStatus | undefined, now: IPPoolFamilyStatus): boolean {
  if (before === undefined) return false
  const fields = Object.keys(now) as (keyof IPPoolFamilyStatus)[]
  return fields.every((field) => isSame(before[field], now[field]))
}

type Field = IPPoolFamilyStatus[keyof IPPoolFamilyStatus]

function isSame(before: Field, now: Field): boolean {
  if (before === now) return true
  if (typeof before !== 'object' || typeof now !== 'object') return false
  return before.length === now.length && now.every((text, index) => text === before[index])
}

/** Whether a condition says so already. Then it is not written, whatever its time. */
function isSaid(
  conditions: readonly Condition[] = [],
  update: ConditionUpdate,
  generation: number | undefined,
): boolean {
  const before = conditions.find(({ type }) => type === update.type)
  return (
    before?.status === update.status &&
    before.reason === update.reason &&
    before.message === update.message &&
    before.observedGeneration === generation
  )
}

function exhaustion(hasRoom: boolean): ConditionUpdate {
  return hasRoom
    ? { type: 'Exhausted', status: 'False', reason: 'Room', message: '' }
    : { type: 'Exhausted', status: 'True', reason: 'PoolExhausted', message: 'no address available' }
}

function overlap(names: readonly string[]): ConditionUpdate {
  if (names.length === 0) return { type: 'Overlaps', status: 'False', reason: 'Disjoint', message: '' }
  const message = `has addresses in common with ${listed(names, ', ')}; each address is given once`
  return { type: 'Overlaps', status: 'True', reason: 'OverlappingPools', message }
}

/**
 * Plans a pool that is being deleted: it gives nothing more, and is removed when no row of it
 * exists.
 */
function planEnd({ view, usage, blocks, terminationGraceSeconds }: PoolInput, time: PlanTime): Plan<OperatorOutcome> {
  const pool = view.object
  const { status: before, metadata } = pool
  const unreadable = blocks.unreadable[0]?.name
  // a task without a watch may still give addresses of a pool that was accepted once
  const wasTaken = before?.ipv4 !== undefined || before?.ipv6 !== undefined
  const deletedMs = !wasTaken ? Number.NEGATIVE_INFINITY : Date.parse(metadata.deletionTimestamp ?? '')
  const restSeconds = Math.ceil((deletedMs - time.nowMs) / 1000 + terminationGraceSeconds)
  const rest = restSeconds > 0 ? { requeueAfterSeconds: restSeconds } : undefined
  // an owner may have an address of this pool in any block: pools may have shrunk
  const reasons = [
    usage.allocated > 0 && `${usage.allocated} are in use`,
    unreadable !== undefined && `block ${unreadable} cannot be read`,
    rest !== undefined && 'writers may not know yet that it is being deleted',
  ]
  const why = reasons.find((reason) => reason !== false)
  if (why === undefined) {
    const effects = hasFinalizer(pool, BLOCKS_FINALIZER)
      ? [removeFinalizer(pool, BLOCKS_FINALIZER, 'none of its addresses is in use')]
      : []
    return { outcome: { kind: 'going', message: 'none of its addresses is in use' }, effects }
  }
  const status: { -readonly [field in keyof IPPoolStatus]: IPPoolStatus[field] } = {}
  for (const family of [4, 6] as const) {
    const grid = view.grid(family)
    const counts = grid && usage.status(grid)
    const field = family === 4 ? 'ipv4' : 'ipv6'
    if (counts !== undefined && !sameFields(before?.[field], counts)) status[field] = counts
  }
  const ready = poolReady({ isDeleting: true, hasRoom: false })
  const conditions = withConditions(pool, [ready], time)
  if (conditions !== before?.conditions) status.conditions = conditions
  const effects = Object.keys(status).length > 0 ? [patchStatus(pool, { status }, 'it is being deleted')] : []
  return { outcome: { kind: 'kept', message: `kept while ${why}` }, effects, ...rest }
}
