import { ClusterApi, Meta } from 'ipam-kit/crd'
import { reasonOf } from './admit.js'
import type { Cluster, Wait } from './cluster.js'
import type { Finding } from './finding.js'
import { modelOf, models } from './kinds.js'
import type { PoolView, Snapshot } from './snapshot.js'

/** What came of a deletion when the cluster was at rest again. */
export interface Deletion {
  readonly object: string
  /** The finalizers that the object is still there for; empty if it is gone. */
  readonly heldBy: readonly string[]
  readonly waits: readonly Wait[]
  readonly changes: readonly Change[]
}

/** How an object is shown before and after. */
export interface Change {
  readonly object: string
  readonly before: string
  readonly after: string
}

/** What a client hears of a deletion. */
interface DeletionAnswer {
  readonly isDeleted: boolean
  readonly findings: readonly Finding[]
}

const GONE = 'gone'

/**
 * Deletes an object as a client of the API would. What is in the way is a finding, and so are the
 * warnings.
 */
export async function deleteObject(cluster: Cluster, ref: Meta.ObjectRef): Promise<DeletionAnswer> {
  const object = Meta.formatRef(ref)
  const tell = (action: 'refused' | 'warning', reason: string): Finding => ({
    action,
    where: '--delete',
    object,
    reason,
  })
  const found = await cluster.find(modelOf(ref), ref)
  if (found === undefined) {
    return { isDeleted: false, findings: [tell('refused', `not found${await namesakes(cluster, ref.name)}`)] }
  }
  const deleted = await cluster.delete(ref)
  const warnings = cluster.takeWarnings().map((warning) => tell('warning', warning))
  const refusals = deleted.ok ? [] : [tell('refused', reasonOf(deleted.failure))]
  return { isDeleted: deleted.ok, findings: [...warnings, ...refusals] }
}

/** Why an object is still there that was deleted; nothing if it is gone. */
export async function finalizersOf(cluster: Cluster, ref: Meta.ObjectRef): Promise<readonly string[]> {
  return (await cluster.find(modelOf(ref), ref))?.metadata.finalizers ?? []
}

/**
 * What differs between two moments: claims that came to something else or went, pools that are
 * filled otherwise.
 */
export function changesBetween(before: Snapshot, after: Snapshot): readonly Change[] {
  const [old, now] = [statesOf(before), statesOf(after)]
  return [...old].flatMap(([object, state]) => {
    const then = now.get(object) ?? GONE
    return then === state ? [] : [{ object, before: state, after: then }]
  })
}

function statesOf({ claims, pools }: Snapshot): Map<string, string> {
  const states = new Map<string, string>()
  for (const claim of claims) {
    const object = Meta.formatRef({ kind: ClusterApi.IPAddressClaim.info.kind, ...claim })
    states.set(object, `${claim.phase} ${claim.address ?? claim.reason ?? ''}`.trimEnd())
  }
  for (const view of pools) states.set(Meta.formatRef(Meta.refOf(view.pool)), stateOfPool(view))
  return states
}

function stateOfPool({ counts, problem }: PoolView): string {
  if (problem !== null) return problem
  return counts === undefined ? 'new' : `${counts.used} used, ${counts.free} free`
}

/** Objects of the same name elsewhere: the namespace is what is forgotten most. */
async function namesakes(cluster: Cluster, name: string): Promise<string> {
  const lists = await Promise.all(models.map((model) => cluster.list(model)))
  const found = lists.flat().filter((object) => object.metadata.name === name)
  return found.length === 0 ? '' : `; there is ${found.map((object) => Meta.formatRef(Meta.refOf(object))).join(', ')}`
}
