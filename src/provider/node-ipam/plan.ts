import { KUBE, type KubeObject } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { byAge, type Plan } from '../../plan/index.js'
import { patched } from '../../plan/patched.js'
import { KEYS } from './context.js'
import { DEFAULT_CLUSTER_CIDR } from './flags.js'
import type { NodeIPAMOutcome } from './outcome.js'
import { type NodeIPAMOptions, nodeIPAM } from './planner.js'

/** The input of node IPAM. */
export interface NodeIPAMInput extends Omit<NodeIPAMOptions, 'watchServiceCIDRs'> {
  readonly nodes: readonly KubeObject[]
  readonly clusterCIDRs?: readonly KubeObject[] | undefined
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

/** The plan for one object. */
export interface NodeIPAMDecision {
  /** `Node name` or `ClusterCIDR name`. */
  readonly key: string
  readonly plan: Plan<NodeIPAMOutcome>
}

/**
 * The plans for all ClusterCIDRs and Nodes, as a {@link nodeIPAM} planner makes them right after
 * its start. First the ClusterCIDRs, then the Nodes, the oldest object first. No two plans give one
 * subnet. Each plan is made as if those before it were executed: execute them in this order.
 * O(objects x ranges).
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function planNodeIPAM(input: NodeIPAMInput): readonly NodeIPAMDecision[] {
  check('planNodeIPAM', 'input', input, [
    'open',
    { nodes: ['list', KUBE], clusterCIDRs: ['list?', KUBE], nowMs: 'number' },
  ])
  const { nodes, clusterCIDRs = [], nowMs, ...options } = input

  const planner = nodeIPAM(options)
  const present = (object: KubeObject) => void planner.observe({ kind: 'present', object })
  const objectsOf = (kind: 'ClusterCIDR' | 'Node', list: readonly KubeObject[]) =>
    [...list].sort(byAge).map((object) => [KEYS.format(kind, object.metadata), object] as const)
  const objects = new Map<string, KubeObject | undefined>(objectsOf('ClusterCIDR', clusterCIDRs))
  const missing = KEYS.format('ClusterCIDR', DEFAULT_CLUSTER_CIDR)
  if (options.defaultClusterCIDR !== undefined && !objects.has(missing)) objects.set(missing, undefined)
  for (const [key, node] of objectsOf('Node', nodes)) objects.set(key, node)
  for (const object of [...clusterCIDRs, ...nodes]) present(object)
  return [...objects].flatMap(([key, object]) => {
    const plan = planner.plan(key, { nowMs })
    if (plan === undefined) return []
    for (const effect of plan.effects) {
      if (effect.kind === 'create') present(effect.object)
      if (effect.kind === 'patch' && object !== undefined) present(withoutVersion(patched(object, effect.patch)))
    }
    return [{ key, plan }]
  })
}

function withoutVersion(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: undefined } }
}
