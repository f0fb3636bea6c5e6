import * as z from 'zod'
import { check } from '../../errors/check.js'
import type { Json } from '../meta/object.js'
import { object, text } from '../meta/strict.js'
import { GROUP, POOL_KIND } from './names.js'

/**
 * The pool that the floating IP of a server comes from, in the namespace of the server: any kind
 * that serves claims.
 */
export interface FloatingIPPoolReference {
  /**
   * Group without a version. Upstream's definition does not require it, and no claim can be made
   * without it.
   */
  readonly apiGroup?: string | undefined
  readonly kind: string
  readonly name: string
}

/** Which credentials reach the cloud. */
export interface IdentityReference {
  /**
   * `Secret`: in the namespace of the object. `ClusterIdentity`: an OpenStackClusterIdentity. Left
   * out: `Secret`.
   */
  readonly type?: 'Secret' | 'ClusterIdentity' | undefined
  readonly name: string
  /** The entry in `clouds.yaml`. */
  readonly cloudName: string
  /** Overrides that of `clouds.yaml`. Never changes. */
  readonly region?: string | undefined
  readonly [field: string]: Json | undefined
}

export const identityReferenceSchema: z.ZodType<IdentityReference> = z.looseObject({
  type: z.enum(['Secret', 'ClusterIdentity']).optional(),
  name: z.string(),
  cloudName: z.string(),
  region: z.string().optional(),
}) as z.ZodType<IdentityReference>

export const floatingIPPoolReferenceSchema: z.ZodType<FloatingIPPoolReference> = z.looseObject({
  apiGroup: z.string().optional(),
  kind: z.string(),
  name: z.string(),
})

/**
 * Whether the pool of a claim or of a server is an OpenStackFloatingIPPool: by group and kind.
 * O(1).
 *
 * Source: pkg/utils/ipam/predicates.go.
 *
 * @example
 * isFloatingIPPoolReference({ apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool' }) // true
 * isFloatingIPPoolReference({ apiGroup: '', kind: 'OpenStackFloatingIPPool' }) // false
 */
export function isFloatingIPPoolReference(reference: {
  readonly apiGroup?: string | undefined
  readonly kind: string
}): boolean {
  check('isFloatingIPPoolReference', 'reference', reference, ['open', { kind: 'text' }])

  return reference.apiGroup === GROUP && reference.kind === POOL_KIND
}

/** A pool, as an API server validates the reference of a server to it. */
export function strictPoolReference() {
  const shape = {
    apiGroup: text('API group of the pool, without a version.').optional(),
    kind: text('Kind of the pool.'),
    name: text('Name of the pool.'),
  }
  return object('The pool that the floating IP comes from.', shape, { isAtomic: true })
}
