import type { Family } from '../../cidr/index.js'
import type { Service } from '../../crd/core/service.js'
import { type KubeObject, nameKey } from '../../crd/meta/object.js'
import type { ServiceContext } from './state.js'
import { lackedFamily } from './watches.js'

/**
 * Annotation of an IPAddress that this planner has created for a Service, or adopted:
 * `uid/resourceVersion` of the Service at that time. The allocator of a kube-apiserver writes none.
 */
export const ALLOCATED_ANNOTATION = 'ipam-kit.dev/allocated-for'

export type Annotations = Readonly<Record<string, string>>

/** The annotation of an IPAddress for a Service. */
export function allocatedFor({ metadata: { uid = '', resourceVersion = '' } }: Service): Annotations {
  return { [ALLOCATED_ANNOTATION]: `${uid}/${resourceVersion}` }
}

function isMarked({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[ALLOCATED_ANNOTATION] !== undefined
}

/**
 * Whether a Service that has one address may get one of another family: its policy is for two.
 *
 * A kube-apiserver gives the second address with the write that raises the policy, and later none:
 * a Service with PreferDualStack keeps its one address when the cluster gets the other family. A
 * planner cannot see which of the two it was. So such a Service has to name both families, or this
 * planner has to have given it the first one.
 *
 * Source: `initIPFamilyFields` of Kubernetes 1.36.
 */
export function mayGetSecond(service: Service, family: Family | undefined, { cache }: ServiceContext): boolean {
  const { ipFamilyPolicy, ipFamilies = [] } = service.spec
  if (family === undefined || lackedFamily(service) !== family) return false
  if (ipFamilyPolicy === 'RequireDualStack' || ipFamilies.length > 1) return true
  return cache.addresses.by('service', nameKey(service.metadata)).some(({ object }) => isMarked(object))
}

/**
 * The family of which a Service with one address gets a second one now; `undefined`: it gets none.
 * PreferDualStack waits for a range of the family. O(ranges + addresses of the Service).
 */
export function secondFamily(service: Service, context: ServiceContext): Family | undefined {
  const family = lackedFamily(service)
  if (!mayGetSecond(service, family, context)) return undefined
  if (service.spec.ipFamilyPolicy === 'RequireDualStack') return family
  return context.state.ranges.some(({ prefix }) => prefix.address.family === family) ? family : undefined
}

/** Whether an IPAddress was created or adopted for a Service as it is now. */
export function isAllocatedFor({ metadata }: KubeObject, service: Service): boolean {
  return metadata.annotations?.[ALLOCATED_ANNOTATION] === allocatedFor(service)[ALLOCATED_ANNOTATION]
}
