import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { ADDRESS, POOL_REF } from '../../crd/cluster-api/kinds.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import type { OwnerReference } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'

/** The fields of an owner reference that identify an object. */
export type OwnerIdentity = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>

/**
 * Whether two references name the same object: group, kind, name and uid. Versions are ignored, and
 * a reference may have a group without a version. O(1).
 *
 * Source: `isOwnedByExactMachine` of cluster-api-provider-proxmox, pkg/kubernetes/ipam.
 *
 * @example
 * const machine = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1alpha2', kind: 'ProxmoxMachine', name: 'a', uid: 'u1' }
 * isSameOwner(machine, { ...machine, apiVersion: 'infrastructure.cluster.x-k8s.io' }) // true
 * isSameOwner(machine, { ...machine, uid: 'u2' }) // false
 */
export function isSameOwner(want: OwnerIdentity, have: OwnerIdentity): boolean {
  check('isSameOwner', 'want', want, ['open', { apiVersion: 'text', kind: 'text', name: 'text', uid: 'text' }])
  check('isSameOwner', 'have', have, ['open', { apiVersion: 'text', kind: 'text', name: 'text', uid: 'text' }])

  return want.uid === have.uid && isSameOwnerName(want, have)
}

/**
 * Whether two references have the same kind and name: of one object, or of two that had the name
 * one after the other.
 */
export function isSameOwnerName(want: OwnerIdentity, have: OwnerIdentity): boolean {
  return want.kind === have.kind && want.name === have.name && groupText(want.apiVersion) === groupText(have.apiVersion)
}

/**
 * Whether a pool is the expected one: kind, name and group, without versions. An empty expected
 * group matches every group. O(1).
 *
 * @example
 * const found = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }
 * isExpectedPool({ ...found, apiGroup: 'ipam.cluster.x-k8s.io/v1alpha2' }, found) // true
 * isExpectedPool({ ...found, apiGroup: '' }, found) // true
 */
export function isExpectedPool(expected: IPPoolReference, found: IPPoolReference): boolean {
  check('isExpectedPool', 'expected', expected, POOL_REF)
  check('isExpectedPool', 'found', found, POOL_REF)

  const group = groupText(expected.apiGroup)
  const isOfGroup = group === '' || group === groupText(found.apiGroup)
  return isOfGroup && expected.kind === found.kind && expected.name === found.name
}

/**
 * The addresses of a pool among those of its namespace, by name. O(n log n).
 *
 * @example
 * addressesOfPool({ apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }, []) // []
 */
export function addressesOfPool(expected: IPPoolReference, addresses: readonly IPAddress[]): readonly IPAddress[] {
  check('addressesOfPool', 'expected', expected, POOL_REF)
  check('addressesOfPool', 'addresses', addresses, ['list', ADDRESS])

  const found = addresses.filter((address) => isExpectedPool(expected, address.spec.poolRef))
  return found.sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
}

/** The group of `group/version`, or of a group alone. */
export function groupText(text: string): string {
  const slash = text.indexOf('/')
  return slash < 0 ? text : text.slice(0, slash)
}
