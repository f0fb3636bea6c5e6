import { Pod } from 'ipam-kit/crd/core'
import type { KindInfo, ObjectRef } from 'ipam-kit/crd/meta'

/** The namespace of the objects of whereabouts. */
export const NAMESPACE = 'kube-system'
/** The namespace of all Pods and claims. */
export const PODS = 'default'

const WHEREABOUTS = 'whereabouts.cni.cncf.io/v1alpha1'

export const POOL: KindInfo = {
  apiVersion: WHEREABOUTS,
  kind: 'IPPool',
  plural: 'ippools',
  namespaced: true,
  statusSubresource: false,
}

export const RESERVATION: KindInfo = {
  apiVersion: WHEREABOUTS,
  kind: 'OverlappingRangeIPReservation',
  plural: 'overlappingrangeipreservations',
  namespaced: true,
  statusSubresource: false,
}

export const LEASE: KindInfo = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  statusSubresource: false,
}

export const CLAIM: KindInfo = {
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  plural: 'ipamclaims',
  namespaced: true,
  statusSubresource: true,
}

/** The kinds that are written most come first. */
export const KINDS: readonly KindInfo[] = [POOL, RESERVATION, Pod.info, CLAIM, LEASE]

export function poolRef(name: string): ObjectRef {
  const { apiVersion, kind } = POOL
  return { apiVersion, kind, namespace: NAMESPACE, name }
}

export function reservationRef(name: string): ObjectRef {
  const { apiVersion, kind } = RESERVATION
  return { apiVersion, kind, namespace: NAMESPACE, name }
}

export function podRef(name: string): ObjectRef {
  const { apiVersion, kind } = Pod.info
  return { apiVersion, kind, namespace: PODS, name }
}

export function claimRef(name: string): ObjectRef {
  const { apiVersion, kind } = CLAIM
  return { apiVersion, kind, namespace: PODS, name }
}
