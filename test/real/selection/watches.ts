import { Pod } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { type Delta, definePlanner, type Planner, type Selection, type TrimmedWatch, type Watch } from 'ipam-kit/plan'
import type { AnyWatch } from '../../../src/plan/cached-objects.js'

type PodSpec = NonNullable<Pod['spec']>
type PodStatus = NonNullable<Pod['status']>

type Selected = Pick<Selection, 'labels' | 'fields'>

/** Annotations that a planner reads. */
const ANNOTATIONS = ['k8s.v1.cni.cncf.io/networks', 'example.com/claim', 'example.com/sticky']

/** The Nodes of some Pods, over whole objects. */
export function wholePods(selected: Selected = {}): Watch<string> {
  return { ...Pod.info, ...selected, parse: (object) => ({ ok: true, value: specOf(object).nodeName ?? '' }) }
}

/** The same over what {@link keepPod} keeps of each Pod. */
export function trimmedPods(selected: Selected = {}): TrimmedWatch<string> {
  return { ...Pod.info, ...selected, keep: keepPod, parse: (pod) => ({ ok: true, value: specOf(pod).nodeName ?? '' }) }
}

/** The name, uid, Node, phase, addresses, owners and three annotations of a Pod. */
function keepPod({ apiVersion, kind, metadata, spec, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, ownerReferences } = metadata
  const { nodeName } = (spec ?? {}) as PodSpec
  const { phase, podIPs } = (status ?? {}) as PodStatus
  const annotations = keepAnnotations(metadata.annotations)
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      creationTimestamp,
      deletionTimestamp,
      annotations,
      ownerReferences,
    },
    spec: { nodeName },
    status: { phase, podIPs },
  }
}

function keepAnnotations(annotations: KubeObject['metadata']['annotations'] = {}) {
  const kept: { [key: string]: string } = {}
  for (const key of ANNOTATIONS) if (annotations[key] !== undefined) kept[key] = annotations[key]
  return kept
}

function specOf({ spec }: KubeObject): PodSpec {
  return (spec ?? {}) as PodSpec
}

/** A planner that plans nothing, and says how each Pod of a watch has changed. */
export function podPlanner(watch: AnyWatch<string>, told: (delta: Delta<string>) => void = () => {}) {
  const watches = { pods: watch }
  const wakes = {
    pods(delta: Delta<string>) {
      told(delta)
      return []
    },
  }
  const planner = definePlanner({ name: 'pods', watches, wakes, plan: () => undefined })
  return { planner: planner as Planner, pods: () => planner.context.cache.pods }
}
