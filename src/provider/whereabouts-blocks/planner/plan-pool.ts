import type { IPPool, IPPoolSpec } from '../../../crd/ipam-kit/ip-pool.js'
import { isDeleting, type KubeObject, refOf } from '../../../crd/meta/object.js'
import { sameJson } from '../../../crd/meta/patch.js'
import {
  deleteObject,
  type EventCause,
  type Json,
  type MergePatch,
  type Plan,
  patchObject,
} from '../../../plan/index.js'
import { type BlockNetworkContext, KEYS, usersOf } from './context.js'
import type { NetworkDefinition } from './definition.js'
import type { BlockNetworkEventReason, NetworkPoolOutcome } from './outcome.js'
import { wantedPool } from './wanted-pool.js'

/** Marks a pool of this planner: `managed`, or `retired` while it waits for its last row. */
const ANNOTATION = 'ipam-kit.dev/block-networks'
const MANAGED = 'managed'
const RETIRED = 'retired'

type PoolPlan = Plan<NetworkPoolOutcome>

/** The plan for an IPPool: it follows the definitions of its range. O(definitions of the pool). */
export function planPool(name: string, context: BlockNetworkContext): PoolPlan | undefined {
  const users = usersOf(name, context)
  const entry = context.cache.pools.entry(name)
  if (entry === undefined) return users.length === 0 ? undefined : planMissing(name, users, context)
  if (!entry.ok) {
    const cause = { reason: 'UnreadablePool', message: `IPPool ${name} cannot be read: ${entry.problem}` } as const
    return told({ kind: 'unreadable', message: cause.message }, name, users, context, [cause])
  }
  const pool = entry.value
  const mark = pool.metadata.annotations?.[ANNOTATION]
  const isManaged = mark === MANAGED || mark === RETIRED
  if (users.length === 0) return isManaged ? planUnused(pool, context) : undefined
  if (isDeleting(pool)) return told({ kind: 'deleting', message: 'it is being deleted' }, name, users, context)
  return planUsed(pool, isManaged, users, context)
}

function planMissing(name: string, users: readonly NetworkDefinition[], context: BlockNetworkContext): PoolPlan {
  const wanted = wantedPool(name, users, context.state.isNamespaced)
  if (wanted.kind === 'problem') return conflict(name, wanted.problem, users, context)
  const { pool } = wanted
  const object = { ...pool, metadata: { name, annotations: { [ANNOTATION]: MANAGED } } }
  const plan = told({ kind: 'made', message: `IPPool ${name} is created` }, name, users, context)
  const why = `NetworkAttachmentDefinition ${refText(users[0]?.object)} has the range`
  return { ...plan, effects: [{ kind: 'create', object, why }, ...plan.effects] }
}

/** A pool without definitions is disabled, and deleted when it has no rows. */
function planUnused(pool: IPPool, { cache }: BlockNetworkContext): PoolPlan {
  const { name } = pool.metadata
  if (isDeleting(pool)) return { outcome: { kind: 'deleting', message: 'it is being deleted' }, effects: [] }
  const [unread] = cache.definitions.by('kind', 'invalid')
  if (unread !== undefined) {
    const message = `NetworkAttachmentDefinition ${refText(unread.object)} cannot be read, and may have its range`
    return { outcome: { kind: 'kept', message }, effects: [] }
  }
  const message = `no NetworkAttachmentDefinition has the range of IPPool ${name}`
  if (pool.metadata.annotations?.[ANNOTATION] !== RETIRED) {
    const patch = { metadata: { annotations: { [ANNOTATION]: RETIRED } }, spec: { disabled: true } }
    return { outcome: { kind: 'retired', message }, effects: [patchObject(pool, patch, message)] }
  }
  if (!isEmpty(pool)) return { outcome: { kind: 'retired', message: `${message}, and it has rows` }, effects: [] }
  return { outcome: { kind: 'deleted', message }, effects: [deleteObject(pool, message)] }
}

/** Whether the operator has counted no row since the pool was disabled. */
function isEmpty({ metadata, status }: IPPool): boolean {
  if (status === undefined || status.observedGeneration !== metadata.generation) return false
  return [status.ipv4, status.ipv6].every((family) => (family?.allocated ?? '0') === '0')
}

function planUsed(
  pool: IPPool,
  isManaged: boolean,
  users: readonly NetworkDefinition[],
  context: BlockNetworkContext,
): PoolPlan {
  const { name } = pool.metadata
  const wanted = wantedPool(name, users, context.state.isNamespaced)
  if (wanted.kind === 'problem') return conflict(name, wanted.problem, users, context)
  const { spec } = wanted.pool
  if (pool.spec.domain !== spec.domain) {
    return conflict(name, `it is in the domain ${pool.spec.domain}, not in ${spec.domain}`, users, context)
  }
  const patch = patchOf(pool, spec)
  if (!isManaged) {
    const message = `IPPool ${name} was made by hand, and is not changed`
    const cause = { reason: 'UnmanagedPool', message: `${message}: it is not as the definition says` } as const
    const differs = patch.spec !== undefined
    return told({ kind: 'unmanaged', message }, name, users, context, differs ? [cause] : [])
  }
  if (patch.spec === undefined && patch.metadata === undefined) {
    return told({ kind: 'ready', message: `IPPool ${name} is as its definitions say` }, name, users, context)
  }
  if (context.isUnchanged(refOf(pool))) return conflict(name, 'the store drops what is written', users, context)
  const plan = told({ kind: 'changed', message: `IPPool ${name} follows its definitions` }, name, users, context)
  return { ...plan, effects: [patchObject(pool, patch, plan.outcome.message), ...plan.effects] }
}

type PoolPatch = { spec?: MergePatch[string]; metadata?: MergePatch[string] }

/**
 * What has to change. Members of a pool that definitions say nothing about are those of an
 * operator of the cluster, and stay: `reserved`, `order`, `sticky`, `reuseAfterSeconds` and others.
 */
function patchOf(pool: IPPool, wanted: IPPoolSpec): MergePatch & PoolPatch {
  const spec: { [field: string]: Json } = {}
  const [subnet] = wanted.subnets
  const before = pool.spec.subnets.find(({ cidr }) => cidr === subnet?.cidr)
  const subnets = [{ ...(before?.reserved && { reserved: before.reserved }), ...subnet }]
  if (!isSame(pool.spec.subnets, subnets)) spec.subnets = subnets as unknown as Json
  const { namespaceSelector: selector } = wanted
  if (!isSame(pool.spec.namespaceSelector, selector)) {
    // a merge patch keeps the members that it does not name
    const { matchLabels = null, matchExpressions = null } = selector ?? {}
    spec.namespaceSelector = selector === undefined ? null : ({ matchLabels, matchExpressions } as unknown as Json)
  }
  const isRetired = pool.metadata.annotations?.[ANNOTATION] === RETIRED
  if (isRetired) spec.disabled = false
  return {
    ...(isRetired && { metadata: { annotations: { [ANNOTATION]: MANAGED } } }),
    ...(Object.keys(spec).length > 0 && { spec }),
  }
}

function isSame(left: unknown, right: unknown): boolean {
  return sameJson((left ?? null) as Json, (right ?? null) as Json)
}

function conflict(
  name: string,
  problem: string,
  users: readonly NetworkDefinition[],
  context: BlockNetworkContext,
): PoolPlan {
  const message = `IPPool ${name} cannot be as its definitions say: ${problem}`
  return told({ kind: 'conflict', message }, name, users, context, [{ reason: 'InvalidPool', message }])
}

/** A plan that reports its causes about the oldest definition, once while they last. */
function told(
  outcome: NetworkPoolOutcome,
  name: string,
  users: readonly NetworkDefinition[],
  { sent }: BlockNetworkContext,
  causes: readonly EventCause<BlockNetworkEventReason>[] = [],
): PoolPlan {
  const [oldest] = users
  if (oldest === undefined) return { outcome, effects: [] }
  return { outcome, effects: sent.newEvents(KEYS.format('IPPool', name), oldest.object, causes) }
}

export function refText(object: KubeObject | undefined): string {
  return `${object?.metadata.namespace ?? ''}/${object?.metadata.name ?? ''}`
}
