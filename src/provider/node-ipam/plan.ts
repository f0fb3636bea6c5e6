import { hasFinalizer, KUBE, type KubeObject } from '../../crd/meta/object.js'
import { CLUSTER_CIDR_FINALIZER } from '../../crd/node-ipam/index.js'
import { check } from '../../errors/check.js'
import { byAge, type Plan } from '../../plan/index.js'
import { nodeKey, rangeKey } from './context.js'
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
 * subnet. Nodes are planned as if the plans of ClusterCIDRs were executed, which add finalizers:
 * execute these first. O(objects x ranges).
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
  for (const object of [...clusterCIDRs, ...nodes]) planner.observe({ kind: 'present', object })
  const names = (objects: readonly KubeObject[]) => [...objects].sort(byAge).map(({ metadata }) => metadata.name)
  const objects = new Map(clusterCIDRs.map((object) => [rangeKey(object.metadata.name), object]))
  const ranges = new Set(names(clusterCIDRs))
  if (options.range === undefined && options.defaultClusterCIDR !== undefined) ranges.add(DEFAULT_CLUSTER_CIDR)
  return [...[...ranges].map(rangeKey), ...names(nodes).map(nodeKey)].flatMap((key) => {
    const plan = planner.plan(key, { nowMs })
    if (plan === undefined) return []
    // subnets of this plan stay in use for the next ones
    planner.reserve?.(plan)
    const range = objects.get(key)
    if (range !== undefined && plan.outcome.kind === 'active') {
      planner.observe({ kind: 'present', object: withFinalizer(range) })
    }
    for (const effect of plan.effects) {
      if (effect.kind === 'create') planner.observe({ kind: 'present', object: effect.object })
    }
    return [{ key, plan }]
  })
}

function withFinalizer(object: KubeObject): KubeObject {
  if (hasFinalizer(object, CLUSTER_CIDR_FINALIZER)) return object
  const { finalizers = [] } = object.metadata
  const metadata = {
    ...object.metadata,
    resourceVersion: undefined,
    finalizers: [...finalizers, CLUSTER_CIDR_FINALIZER],
  }
  return { ...object, metadata }
}
