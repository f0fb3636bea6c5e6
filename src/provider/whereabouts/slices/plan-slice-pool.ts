import * as Prefix from '../../../cidr/nouns/prefix.js'
import { isDeleting, type Json, type KubeObject, refOf } from '../../../crd/meta/object.js'
import { sameJson } from '../../../crd/meta/patch.js'
import { type NodeSliceAllocation, NodeSlicePool } from '../../../crd/whereabouts/index.js'
import { listed } from '../../../errors/listed.js'
import {
  byAge,
  deleteObject,
  type Effect,
  type JsonPatch,
  type JsonPatchEffect,
  type Plan,
} from '../../../plan/index.js'
import type { EventCause } from '../../../plan/sent-events.js'
import { type AssignedSlices, assign } from './assign.js'
import { KEYS, type NodeSliceContext, type SlicePoolFacts, slicedBy } from './context.js'
import { isDivision, isSameDivision, type SlicedDefinition } from './definition.js'
import { type Division, divide, slicesOf } from './divide.js'
import type { NodeSliceEventReason, SlicePoolOutcome } from './outcome.js'
import { ownersOf } from './owners.js'
import { NetworkRows } from './rows.js'
import { MANAGED, MANAGED_ANNOTATION } from './watches.js'

/**
 * The most slices of deleted Nodes that one plan frees: the store is read twice for each. The next
 * plan frees more.
 */
const MOST_FREED = 100

/** The plan for a NodeSlicePool. O(slices + nodes + definitions of the network). */
export function planSlicePool(
  key: string,
  name: string,
  context: NodeSliceContext,
): Plan<SlicePoolOutcome> | undefined {
  const { cache, state, sent } = context
  const short = name.slice(state.namespace.length + 1)
  const definitions = slicedBy(short, context)
  const entry = cache.slicePools.entry(name)
  const [oldest] = definitions
  if (oldest === undefined) {
    sent.forget(key)
    return entry?.ok === true ? planWithoutDefinition(entry.value, context) : undefined
  }
  if (entry?.ok === false) {
    const message = `NodeSlicePool ${name} is not changed: ${entry.problem}`
    const effects = sent.newEvents(key, oldest.object, [{ reason: 'UnreadableSlicePool', message }])
    return { outcome: { kind: 'unreadable', message }, effects }
  }
  if (entry !== undefined && isDeleting(entry.object)) {
    return { outcome: { kind: 'deleting', message: `NodeSlicePool ${name} is being deleted` }, effects: [] }
  }
  const pool = entry?.value
  const users = definitions.filter((each) => isSameDivision(each, oldest))
  const rows = new NetworkRows(context, oldest.networkName, short)
  const stray = strayRows(oldest, pool, rows)
  const division = stray.length === 0 ? unionOf(users) : pool && oldDivision(pool, users)
  const blocked: readonly Cause[] =
    stray.length === 0 ? [] : [{ reason: 'SliceChangeRefused', message: refusalOf(oldest, stray), cause: 'rows' }]
  if (division === undefined) return ended(key, 'blocked', oldest, blocked, [], context)
  const before = pool?.allocations ?? []
  const occupied = occupiedIn(division, before, rows, context)
  const result = assign({ ...division, before, nodes: nodesInOrder(before, context), occupied })
  const effects = [
    ...proofsOf(result, rows),
    ...(pool === undefined
      ? [creation(short, oldest, users, result, context)]
      : changeOf(pool, stray.length === 0, users, result, context)),
  ]
  const causes = [...blocked, ...conflictsOf(result, occupied), ...waitingOf(name, oldest, result)]
  const [first] = causes
  if (first !== undefined) return ended(key, KINDS[first.reason], oldest, causes, effects, context, result)
  const kind = effects.length === 0 ? 'ready' : 'assigned'
  return ended(key, kind, oldest, causes, effects, context, result)
}

type Cause = EventCause<'SliceChangeRefused' | 'SliceConflict' | 'NoFreeSlice'>

const KINDS = { SliceChangeRefused: 'blocked', SliceConflict: 'conflict', NoFreeSlice: 'waiting' } as const

function ended(
  key: string,
  kind: SlicePoolOutcome['kind'],
  { object }: SlicedDefinition,
  causes: readonly Cause[],
  effects: readonly Effect[],
  { sent }: NodeSliceContext,
  result?: AssignedSlices,
): Plan<SlicePoolOutcome> {
  const { name = '' } = KEYS.read(key) ?? {}
  const messages = causes.map(({ message }) => message)
  if (messages.length === 0) messages.push(`each Node has a slice of NodeSlicePool ${name}`)
  // a refused write is reported until a write is done
  const open: readonly NodeSliceEventReason[] = effects.length === 0 ? [] : ['WriteRefused']
  return {
    outcome: { kind, message: messages.join('; '), nodes: result?.waiting ?? [], rows: result?.kept ?? [] },
    effects: [...effects, ...sent.newEvents(key, object, causes, open)],
  }
}

/** The NodeSlicePool of definitions that are gone, or have no slices any more. */
function planWithoutDefinition(pool: SlicePoolFacts, context: NodeSliceContext): Plan<SlicePoolOutcome> {
  const { object, name } = pool
  if (isDeleting(object)) {
    return { outcome: { kind: 'deleting', message: `NodeSlicePool ${name} is being deleted` }, effects: [] }
  }
  if (!pool.isManaged) {
    return { outcome: { kind: 'unused', message: `no definition uses NodeSlicePool ${name} yet` }, effects: [] }
  }
  const [unread] = context.cache.definitions.by('invalidFor', name)
  const [unknown] = context.cache.definitions.by('invalidFor', '')
  const reader = unread ?? unknown
  if (reader !== undefined) {
    const message = `NodeSlicePool ${name} is kept: ${reader.object.metadata.name} may use it, and is invalid`
    return { outcome: { kind: 'kept', message }, effects: [] }
  }
  // the name tells not whether the network has a `network_name`
  const named = [new NetworkRows(context, name, name), new NetworkRows(context, '', name)]
  const held = pool.allocations.filter((each) => each.nodeName !== '' && named.some((rows) => rows.has(each)))
  if (held.length > 0) {
    const message = `NodeSlicePool ${name} is kept: slices have rows: ${listed(held, ', ', ({ sliceRange }) => sliceRange)}`
    return { outcome: { kind: 'kept', message, rows: held }, effects: [] }
  }
  const why = 'no definition uses it, and its slices have no rows'
  return {
    outcome: { kind: 'deleted', message: `NodeSlicePool ${name} is deleted: ${why}` },
    effects: [deleteObject(object, why)],
  }
}

/** The slices with rows that would end with the division of a definition. */
function strayRows(oldest: SlicedDefinition, pool: SlicePoolFacts | undefined, rows: NetworkRows): readonly string[] {
  const { division, range } = oldest
  const slices = new Set(division.slices)
  const held = (pool?.allocations ?? []).filter(
    (each) => each.nodeName !== '' && !slices.has(each.sliceRange) && rows.has(each),
  )
  const isNew = pool === undefined || !isDivision(oldest, pool)
  // also rows in slices that a person has removed from the status
  const others = isNew ? rows.besides([range, ...[pool?.range ?? []].flat()], slices) : []
  return [...new Set([...held.map(({ sliceRange }) => sliceRange), ...others.map(({ text }) => text)])]
}

/** The division that a NodeSlicePool has now. `undefined`: it has none that can be read. */
function oldDivision({ range, sliceSize }: SlicePoolFacts, users: readonly SlicedDefinition[]): Division | undefined {
  const slices = range && slicesOf(range, sliceSize)
  return slices?.ok === true
    ? divide(
        slices.value,
        users.map(({ usable }) => usable),
      )
    : undefined
}

/** Slices of which one definition cannot use any address are for no node. */
function unionOf(users: readonly SlicedDefinition[]): Division {
  const [{ division }] = users as readonly [SlicedDefinition]
  const excluded = users.flatMap((each) => [...each.division.excluded])
  return users.length === 1 ? division : { slices: division.slices, excluded: new Set(excluded) }
}

/**
 * The nodes with rows, by slice. Slices of deleted Nodes beyond those that this plan frees count as
 * if they had rows.
 */
function occupiedIn(
  { slices }: Division,
  before: readonly NodeSliceAllocation[],
  rows: NetworkRows,
  { cache }: NodeSliceContext,
): ReadonlyMap<string, readonly string[]> {
  const occupied = new Map(rows.inSlices(slices))
  let freed = 0
  for (const each of before) {
    const { nodeName, sliceRange } = each
    if (nodeName === '' || cache.nodes.get(nodeName) !== undefined || occupied.has(sliceRange)) continue
    if (rows.has(each) || ++freed > MOST_FREED) occupied.set(sliceRange, [nodeName])
  }
  return occupied
}

/** All Nodes: those that have slices, and then the others, the oldest first. */
function nodesInOrder(before: readonly NodeSliceAllocation[], { cache }: NodeSliceContext): readonly string[] {
  const having = new Set(before.map(({ nodeName }) => nodeName))
  const others: KubeObject[] = []
  for (const { name } of cache.nodes) if (!having.has(name)) others.push(cache.nodes.entry(name)!.object)
  for (const name of having) if (cache.nodes.get(name) === undefined) having.delete(name)
  return [...having, ...others.sort(byAge).map(({ metadata }) => metadata.name)]
}

/** A slice is given to another node only if the store confirms that it is free. */
function proofsOf({ freed, withheld }: AssignedSlices, rows: NetworkRows): readonly Effect[] {
  return freed.flatMap((each) => (withheld.includes(each.sliceRange) ? [] : rows.proofs(each)))
}

function creation(
  name: string,
  oldest: SlicedDefinition,
  users: readonly SlicedDefinition[],
  { allocations }: AssignedSlices,
  { state: { namespace } }: NodeSliceContext,
): Effect {
  const { apiVersion, kind } = NodeSlicePool.info
  const owners = ownersOf(namespace, [], objectsOf(users))
  const metadata = {
    name,
    namespace,
    annotations: { [MANAGED_ANNOTATION]: MANAGED },
    ...(owners.length > 0 && { ownerReferences: owners }),
  }
  const object: NodeSlicePool = { apiVersion, kind, metadata, spec: specOf(oldest), status: { allocations } }
  return { kind: 'create', object, why: `definitions of network ${name} have node slices` }
}

/** The patch that makes a NodeSlicePool as it should be, for the version that was read. */
function changeOf(
  { object, range, sliceSize, allocations: before, isMarked }: SlicePoolFacts,
  isDivided: boolean,
  users: readonly SlicedDefinition[],
  { allocations }: AssignedSlices,
  { state: { namespace } }: NodeSliceContext,
): readonly JsonPatchEffect[] {
  const { annotations, ownerReferences = [], uid, resourceVersion } = object.metadata
  const [oldest] = users as readonly [SlicedDefinition]
  const owners = ownersOf(namespace, ownerReferences, objectsOf(users))
  const patch: JsonPatch[number][] = []
  const set = (path: string, value: unknown) => patch.push({ op: 'add', path, value: value as Json })
  if (!isMarked && annotations === undefined) set('/metadata/annotations', { [MANAGED_ANNOTATION]: MANAGED })
  else if (!isMarked) set(`/metadata/annotations/${MANAGED_ANNOTATION.replace('/', '~1')}`, MANAGED)
  if (!sameJson(ownerReferences as unknown as Json, owners as unknown as Json)) set('/metadata/ownerReferences', owners)
  if (isDivided && !isDivision(oldest, { range, sliceSize })) set('/spec', specOf(oldest))
  patch.push(...statusPatch(object, before, allocations))
  const why = 'slices of Nodes, and definitions of the network'
  return patch.length === 0 ? [] : [{ kind: 'patch', ref: refOf(object), patch, if: { uid, resourceVersion }, why }]
}

/** A patch of the nodes of some slices, where the list of slices stays as it is. */
function statusPatch(
  { status }: KubeObject,
  before: readonly NodeSliceAllocation[],
  now: readonly NodeSliceAllocation[],
): JsonPatch {
  if (status === undefined) return [{ op: 'add', path: '/status', value: { allocations: now } as unknown as Json }]
  const isSame =
    before.length === now.length && now.every(({ sliceRange }, at) => before[at]!.sliceRange === sliceRange)
  if (!isSame) return [{ op: 'add', path: '/status/allocations', value: now as unknown as Json }]
  return now.flatMap(({ nodeName }, index) => {
    const path = `/status/allocations/${index}/nodeName`
    return before[index]!.nodeName === nodeName ? [] : [{ op: 'replace', path, value: nodeName } as const]
  })
}

function specOf({ range, sliceSize }: SlicedDefinition): NodeSlicePool['spec'] {
  return { range: Prefix.format(range), sliceSize }
}

function objectsOf(users: readonly SlicedDefinition[]): readonly KubeObject[] {
  return users.map(({ object }) => object)
}

function refusalOf({ object, range, sliceSize }: SlicedDefinition, stray: readonly string[]): string {
  const wanted = `${Prefix.format(range)} in slices of ${sliceSize}`
  const { namespace, name } = object.metadata
  return `${wanted} of NetworkAttachmentDefinition ${namespace}/${name} has to wait: other slices have rows: ${listed(stray, ', ')}`
}

/** Slices of one node in which another node has rows. */
function conflictsOf(
  { allocations }: AssignedSlices,
  occupied: ReadonlyMap<string, readonly string[]>,
): readonly Cause[] {
  const problems = allocations.flatMap(({ nodeName, sliceRange }) => {
    const others = (occupied.get(sliceRange) ?? []).filter((node) => node !== nodeName)
    return others.length === 0 ? [] : [`slice ${sliceRange} of Node ${nodeName} has rows of ${listed(others, ', ')}`]
  })
  return problems.map((message) => ({ reason: 'SliceConflict', message }) as const).slice(0, MOST_EVENTS)
}

function waitingOf(name: string, oldest: SlicedDefinition, { waiting, allocations }: AssignedSlices): readonly Cause[] {
  if (waiting.length === 0) return []
  const slices = `${allocations.length} slices of ${oldest.sliceSize} in ${Prefix.format(oldest.range)}`
  const nodes = `${waiting.length} ${waiting.length === 1 ? 'Node' : 'Nodes'}`
  const message = `no free slice in NodeSlicePool ${name} (${slices}) for ${nodes}: ${listed(waiting, ', ')}`
  return [{ reason: 'NoFreeSlice', message, cause: 'none free' }]
}

/** How many slices with rows of two nodes are told in Events. */
const MOST_EVENTS = 20
