import { Pod } from '../../../crd/core/pod.js'
import type { KubeObject, ObjectRef } from '../../../crd/meta/object.js'
import { readPodref } from '../../../crd/whereabouts/index.js'

/** Where the kubelet writes the uid that runtimes know a static Pod by. */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'

/** The uids that a runtime may know a Pod by. */
export function uidsOf({ metadata: { uid, annotations = {} } }: KubeObject): readonly (string | undefined)[] {
  return [uid, annotations[MIRROR_ANNOTATION]]
}

/** The reference to the Pod of a row. */
export function podRefOf(podref: string): ObjectRef | undefined {
  const pod = readPodref(podref)
  const { apiVersion, kind } = Pod.info
  return pod && { apiVersion, kind, namespace: pod.namespace, name: pod.name }
}

/** Whether all containers of a Pod have ended. */
export function isCompleted(pod: KubeObject): boolean {
  const { phase } = (pod.status ?? {}) as { readonly phase?: string }
  return phase === 'Succeeded' || phase === 'Failed'
}
