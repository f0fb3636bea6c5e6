import type { KubeObject, ObjectMeta } from 'ipam-kit/crd/meta'
import type { Dice } from 'ipam-kit/testing'
import type { WorldClock } from './clock.js'
import type { Cluster, Room } from './cluster.js'
import { addressIn, claimObject, claimOf, isAlive, keyOf, MODELS, MOVING, PAUSED, poolOf } from './kinds.js'
import type { Project } from './project.js'
import type { Trace } from './trace.js'

/** On the claim of a server. */
const SERVER_FINALIZER = 'openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim'

/** How late the IPAddress objects are in a move, in milliseconds. */
const LATE_MS = 60_000

export interface SecondClusterWorld {
  readonly clock: WorldClock
  readonly trace: Trace
  readonly project: Project
  /** The claims of addresses whose IPAddress is on its way, by address. */
  readonly promised: Map<string, string>
}

/** A copy of a pool in another cluster, with claims of its own. Addresses of people stay behind. */
export async function copyPool(
  world: SecondClusterWorld,
  pool: KubeObject,
  target: Cluster,
  dice: Dice,
): Promise<void> {
  const copy = copyOf(pool)
  const spec = { ...(copy.spec as object), preAllocatedFloatingIPs: [] }
  if (!(await target.create({ ...copy, spec } as KubeObject))) return
  world.trace.step('people', `copy pool ${keyOf(pool)} to cluster ${target.name}`)
  const { namespace = '', name } = pool.metadata
  for (let nth = 0; nth < 2; nth++) {
    await world.clock.wait(dice.below(20_000))
    const isDone = await target.create(claimObject({ namespace, name: `claim-${nth}` }, name))
    if (isDone) world.trace.step(`people of ${target.name}`, `create claim ${namespace}/claim-${nth}`)
  }
}

/**
 * A move as `clusterctl move` does it, except that the pool and the claims are not paused in the
 * new cluster, and that the IPAddress objects arrive a minute later.
 */
export async function movePool(
  world: SecondClusterWorld,
  key: string,
  { source, target, dice }: { readonly source: Cluster; readonly target: Cluster; readonly dice: Dice },
): Promise<void> {
  const tell = (text: string) => world.trace.step('move', text)
  const pause = { metadata: { annotations: { [PAUSED]: MOVING } } }
  const ofPool = (room: 'claims' | 'addresses') =>
    [...source[room].values()].filter((object) => isAlive(object) && poolOf(object) === key)
  tell(`pause pool ${key} and its claims`)
  await source.patch('pools', key, pause)
  for (const claim of ofPool('claims')) await source.patch('claims', keyOf(claim), pause)
  // what has begun ends
  await world.clock.wait(30_000)
  const pool = source.pools.get(key)
  const [claims, addresses] = [ofPool('claims'), ofPool('addresses')]
  if (!isAlive(pool) || !(await target.create(copyOf(pool)))) return
  for (const address of addresses) world.promised.set(addressIn(address), claimOf(address))
  const uid = target.pools.get(key)?.metadata.uid
  for (const record of world.project.existing) {
    if (record.owner?.cluster === source.name && record.owner.pool === key) {
      record.owner = { cluster: target.name, pool: key, uid }
    }
  }
  for (const claim of claims) await target.create(withoutServer(copyOf(claim)))
  tell(
    `pool ${key} and ${claims.length} claims are in cluster ${target.name}; still to come: ${[...world.promised.keys()].join(' ')}`,
  )
  await world.clock.wait(LATE_MS + dice.below(5000))
  for (const address of addresses) {
    const owner = target.claims.get(claimOf(address))
    const ownerReferences = address.metadata.ownerReferences?.map((each) => ({
      ...each,
      uid: owner?.metadata.uid ?? each.uid,
    }))
    const copy = copyOf(address)
    const isDone = await target.create({ ...copy, metadata: { ...copy.metadata, ownerReferences } } as KubeObject)
    tell(`IPAddress ${keyOf(address)} with ${addressIn(address)} ${isDone ? 'arrives' : 'is there already'}`)
    world.promised.delete(addressIn(address))
  }
  await remove(source, [
    ['claims', claims],
    ['addresses', addresses],
    ['pools', [pool]],
  ])
  tell(`pool ${key} is deleted in cluster ${source.name}`)
}

/** Servers stay behind: nothing in the new cluster takes their finalizer from a claim. */
function withoutServer(claim: KubeObject): KubeObject {
  const { ownerReferences = [], finalizers = [], ...metadata } = claim.metadata
  const isOfServer = ownerReferences.some(({ kind }) => kind === MODELS.servers.info.kind)
  const kept = finalizers.filter((finalizer) => finalizer !== SERVER_FINALIZER)
  return isOfServer ? { ...claim, metadata: { ...metadata, finalizers: kept } } : claim
}

async function remove(source: Cluster, rooms: readonly (readonly [Room, readonly KubeObject[]])[]): Promise<void> {
  for (const [room, objects] of rooms) {
    for (const object of objects) {
      // people may have deleted it and created another one meanwhile
      if (source[room].get(keyOf(object))?.metadata.uid !== object.metadata.uid) continue
      const annotations = { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' }
      await source.patch(room, keyOf(object), { metadata: { finalizers: null, annotations } } as never)
      await source.delete(room, keyOf(object))
    }
  }
}

/** An object as it is created in another cluster: without its status, and not paused. */
function copyOf({ apiVersion, kind, metadata, spec }: KubeObject): KubeObject {
  const {
    namespace,
    name,
    labels,
    annotations: { [PAUSED]: _, ...annotations } = {},
    finalizers,
    ownerReferences,
  } = metadata
  const copied: ObjectMeta = { namespace, name, labels, annotations, finalizers, ownerReferences }
  return { apiVersion, kind, metadata: withoutUndefined(copied), spec } as KubeObject
}

function withoutUndefined(metadata: ObjectMeta): ObjectMeta {
  return Object.fromEntries(
    Object.entries(metadata).filter(([, value]) => value !== undefined),
  ) as unknown as ObjectMeta
}
