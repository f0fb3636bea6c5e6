import { Prefix } from '../../cidr/index.js'
import { SubnetReservations } from '../../crd/ipam-kit/index.js'
import { MAX_ENDED, MAX_RESERVATIONS, RESERVATIONS_FINALIZER } from '../../crd/ipam-kit/names.js'
import type { SubnetReservation } from '../../crd/ipam-kit/subnet-reservations.js'
import { hasFinalizer, isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import { type Delta, type Plan, patchObject } from '../../plan/index.js'
import { isOlderVersion } from '../../plan/object-cache.js'
import { type NodeIPAMContext, nodeKey, type RangeFacts, rangeKey } from './context.js'
import type { ReservationOutcome } from './outcome.js'
import type { SubnetChoice } from './subnets.js'
import { openRange, parsedOf, wakesOfRelease } from './wakes.js'

/** The options for several controllers that give subnets at the same time. */
export interface SharedNodeIPAM {
  /**
   * The name of their common SubnetReservations. It is created if it does not exist. Default
   * `node-ipam`.
   */
  readonly name?: string | undefined
  /** Names this controller: a different text for each process. */
  readonly identity: string
  /**
   * After this time a controller patches a Node for which another controller has made an entry. 1
   * to 3,600. Default 10.
   */
  readonly takeOverSeconds?: number | undefined
}

/** The options with their defaults. */
export interface ReadShared {
  readonly name: string
  readonly identity: string
  readonly takeOverSeconds: number
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function readShared({ name = 'node-ipam', identity, takeOverSeconds = 10 }: SharedNodeIPAM): ReadShared {
  if (typeof identity !== 'string' || identity === '')
    refuse('nodeIPAM', 'options.shared.identity', 'a text that names this process', identity)
  if (!(takeOverSeconds >= 1 && takeOverSeconds <= 3600)) {
    refuse('nodeIPAM', 'options.shared.takeOverSeconds', 'seconds, 1 to 3600', takeOverSeconds)
  }
  return { name, identity, takeOverSeconds }
}

export function reservationsKey(name: string): string {
  return `SubnetReservations ${name}`
}

/**
 * Reads the entries. Wakes the Nodes whose entry has changed, and those that wait for released
 * subnets or for ranges to be ended.
 */
export function wakesOfReservations({ now }: Delta<SubnetReservations>, context: NodeIPAMContext): readonly string[] {
  const { reservations, subnets } = context.state
  context.state.entriesRefused = undefined
  const entries = new Map((parsedOf(now)?.spec.entries ?? []).map((entry) => [entry.node, entry]))
  const changed = new Set<string>()
  const released: Prefix[] = []
  for (const [name, { subnets: reserved, ...known }] of reservations) {
    if (isSameEntry(entries.get(name), known)) continue
    released.push(...reserved)
    reservations.delete(name)
    subnets.setNode(name, [], 'reserved')
    changed.add(name)
  }
  for (const [name, entry] of entries) {
    if (reservations.has(name)) continue
    const prefixes = entry.podCIDRs.flatMap((text) => {
      const read = Prefix.safeParse(text)
      return read.ok ? [read.value] : []
    })
    reservations.set(name, { ...entry, subnets: prefixes })
    subnets.setNode(name, prefixes, 'reserved')
    changed.add(name)
  }
  const ending = endRanges(parsedOf(now)?.spec.ended ?? [], context)
  return [...[...changed].map(nodeKey), ...ending, ...wakesOfRelease(released, context)]
}

/** Reads the ended ranges, and wakes those that have changed. */
function endRanges(uids: readonly string[], context: NodeIPAMContext): readonly string[] {
  const { ended } = context.state
  const before = new Set(ended)
  ended.clear()
  for (const uid of uids) ended.add(uid)
  const changed = [...(context.cache.ranges ?? [])].filter(({ object: { metadata } }) => {
    return before.has(metadata.uid ?? '') !== ended.has(metadata.uid ?? '')
  })
  for (const facts of changed) openRange(facts, context)
  return changed.map(({ object }) => rangeKey(object.metadata.name))
}

/**
 * Whether no controller can give subnets of a ClusterCIDR any more, and all given ones are known
 * here: it is ended, and the watch of Nodes has caught up.
 */
export function isEnded({ metadata }: KubeObject, { name }: ReadShared, { cache, state }: NodeIPAMContext): boolean {
  const reservations = cache.reservations?.get(name)
  if (reservations === undefined || !state.ended.has(metadata.uid ?? '')) return false
  const { nodesVersion } = reservations.spec
  return nodesVersion === undefined || (/^\d+$/.test(nodesVersion) && cache.nodes.hasReached(nodesVersion))
}

function isSameEntry(entry: SubnetReservation | undefined, known: SubnetReservation): boolean {
  if (entry === undefined || entry.uid !== known.uid || entry.by !== known.by) return false
  return entry.podCIDRs.join() === known.podCIDRs.join()
}

/**
 * Reserves subnets for the waiting Nodes, and removes obsolete entries, in one write for the
 * version of the object. Why no subnet is given twice:
 *
 * 1. An entry is made from all entries of that version, and from the subnets of all Nodes up to
 *    `nodesVersion`: the subnets of a Node whose entry was removed are known.
 * 2. A Node is patched with the subnets of its entry alone, on the condition that it has none, and
 *    for its uid.
 * 3. An entry is removed when the Node has subnets or does not exist any more. A patch for it that
 *    arrives later does nothing.
 *
 * Why no ClusterCIDR loses its finalizer while a Node has a subnet of it: its uid is added to
 * `ended` first, and no entry of that version, or a later one, is for it.
 */
export function planReservations(
  name: string,
  identity: string,
  { cache, state }: NodeIPAMContext,
): Plan<ReservationOutcome> | undefined {
  const entry = cache.reservations?.entry(name)
  if (entry === undefined) return create(name)
  if (!entry.ok) return { outcome: { kind: 'unreadable', message: entry.problem }, effects: [] }
  const { entries, nodesVersion, ended = [] } = entry.value.spec
  const isKept = hasFinalizer(entry.object, RESERVATIONS_FINALIZER)
  if (isDeleting(entry.object) && !isKept) {
    const message = `SubnetReservations ${name} is being deleted: no Node gets subnets until it is created again`
    return { outcome: { kind: 'unreadable', message }, effects: [] }
  }
  if (nodesVersion !== undefined && !/^\d+$/.test(nodesVersion)) {
    const message = `spec.nodesVersion of SubnetReservations ${name} is not a number: no Node gets subnets`
    return { outcome: { kind: 'unreadable', message }, effects: [] }
  }
  if (nodesVersion !== undefined && !cache.nodes.hasReached(nodesVersion)) {
    const message = `the watch of Nodes has not reached version ${nodesVersion}`
    return { outcome: { kind: 'behind', message }, effects: [], requeueAfterSeconds: 1 }
  }
  const versions = [nodesVersion]
  const kept = entries.filter(({ node, uid }) => {
    const known = cache.nodes.entry(node)
    if (known?.object.metadata.uid !== uid) return false
    // an unreadable Node may have no subnets
    if (!known.ok || known.value.isBare || known.value.unreadable !== undefined) return true
    versions.push(known.object.metadata.resourceVersion)
    return false
  })
  const choices = chooseFor(MAX_RESERVATIONS - kept.length, { cache, state })
  const added = choices.map(({ node, choice }) => {
    const { metadata } = cache.nodes.entry(node)!.object
    versions.push(metadata.resourceVersion)
    return { node, uid: metadata.uid ?? '', podCIDRs: choice.subnets.map(Prefix.format), by: identity }
  })
  const ending = endingRanges(cache)
  const isSame = added.length === 0 && kept.length === entries.length && ending.every((uid) => state.ended.has(uid))
  if (isSame && isKept) {
    return { outcome: { kind: 'reserved', message: `${entries.length} Nodes have reservations` }, effects: [] }
  }
  const removed = entries.length - kept.length
  const message = `reserve subnets for ${added.length} Nodes, remove ${removed} entries, end ${ending.length} ranges`
  // new ones first: the oldest ended ones are removed at the limit
  const allEnded = [...new Set([...ending, ...ended])].slice(0, MAX_ENDED)
  const spec = { entries: [...kept, ...added], nodesVersion: newest(versions), ended: allEnded }
  const { finalizers = [] } = entry.object.metadata
  const patch = { spec, ...(!isKept && { metadata: { finalizers: [...finalizers, RESERVATIONS_FINALIZER] } }) }
  return { outcome: { kind: 'reserving', message, choices }, effects: [patchObject(entry.object, patch, message)] }
}

/** The uids of the ClusterCIDRs that are being deleted, up to the limit. */
function endingRanges({ ranges = [] }: { readonly ranges?: Iterable<RangeFacts> }): readonly string[] {
  const uids = [...ranges].flatMap(({ object }) => (isDeleting(object) ? (object.metadata.uid ?? []) : []))
  return uids.slice(0, MAX_ENDED)
}

/** The choices for the oldest waiting Nodes. Changes nothing. */
function chooseFor(most: number, { cache, state }: Pick<NodeIPAMContext, 'cache' | 'state'>) {
  const { subnets, reservations } = state
  const choices: { readonly node: string; readonly choice: SubnetChoice }[] = []
  for (const node of cache.nodes.by('bare', 'yes')) {
    if (choices.length >= most) break
    const choice = reservations.has(node.name) ? undefined : subnets.choose(node)
    if (choice === undefined) continue
    choices.push({ node: node.name, choice })
    // the next Node does not get them as well
    subnets.setNode(node.name, choice.subnets, 'pending')
  }
  for (const { node } of choices) subnets.setNode(node, [], 'pending')
  return choices
}

function create(name: string): Plan<ReservationOutcome> {
  const { apiVersion, kind } = SubnetReservations.info
  const object: SubnetReservations = {
    apiVersion,
    kind,
    metadata: { name, finalizers: [RESERVATIONS_FINALIZER] },
    spec: { entries: [] },
  }
  const message = `SubnetReservations ${name} is created`
  return { outcome: { kind: 'reserving', message, choices: [] }, effects: [{ kind: 'create', object, why: message }] }
}

function newest(versions: readonly (string | undefined)[]): string | undefined {
  return versions.reduce((left, right) => (left === undefined || isOlderVersion(left, right) ? right : left), undefined)
}
