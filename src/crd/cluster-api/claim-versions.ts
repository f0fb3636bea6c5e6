import type { PrinterColumn, VersionSpec } from '../meta/crd-model.js'
import { kubeObject, object, text } from '../meta/strict.js'
import { conditions, legacyConditions } from '../meta/strict-conditions.js'
import { claimFromV1alpha1, claimFromV1beta1 } from './claim-conversion.js'
import { API_VERSION, API_VERSION_V1ALPHA1, API_VERSION_V1BETA1 } from './names.js'
import { localReference, oldLocalReference, oldPoolReference, poolReference } from './strict-references.js'

/** The versions of an IPAddressClaim, the oldest first. */
export function claimVersions(): readonly VersionSpec[] {
  return [
    { apiVersion: API_VERSION_V1ALPHA1, columns, schema: v1alpha1, conversion: claimFromV1alpha1 },
    { apiVersion: API_VERSION_V1BETA1, isDeprecated: true, columns, schema: v1beta1, conversion: claimFromV1beta1 },
    { apiVersion: API_VERSION, columns, schema: v1beta2 },
  ]
}

const columns: readonly PrinterColumn[] = [
  { name: 'Pool Name', type: 'string', description: 'Name of the pool asked', jsonPath: '.spec.poolRef.name' },
  { name: 'Pool Kind', type: 'string', description: 'Kind of the pool asked', jsonPath: '.spec.poolRef.kind' },
  { name: 'Age', type: 'date', description: 'How long the claim exists', jsonPath: '.metadata.creationTimestamp' },
]

const CLAIM = 'A request for one address, or one prefix, of a pool.'
const SPEC = 'What is asked for. Never changes.'
const STATUS = 'What has become of the claim.'
const POOL = 'The pool that the address has to be of: in the namespace of the claim, unless its kind has no namespaces.'
const ADDRESS = 'The IPAddress that fulfils the claim.'
const OLD_CONDITIONS = 'What the provider says of the claim, in the form of Cluster API v1beta1.'

function clusterName() {
  return text('Name of the Cluster that the claim belongs to.', { minLength: 1, maxLength: 63 }).optional()
}

function v1alpha1() {
  return kubeObject(CLAIM, {
    spec: object(SPEC, { poolRef: oldPoolReference(POOL) }).optional(),
    status: object(STATUS, {
      addressRef: oldLocalReference(ADDRESS).optional(),
      conditions: legacyConditions(OLD_CONDITIONS).optional(),
    }).optional(),
  })
}

function v1beta1() {
  return kubeObject(CLAIM, {
    spec: object(SPEC, { clusterName: clusterName(), poolRef: oldPoolReference(POOL) }).optional(),
    status: object(STATUS, {
      addressRef: oldLocalReference(ADDRESS).optional(),
      conditions: legacyConditions(OLD_CONDITIONS).optional(),
      v1beta2: object('What v1beta2 has in the status of a claim.', {
        conditions: conditions('What the provider says of the claim.').optional(),
      }).optional(),
    }).optional(),
  })
}

export function v1beta2() {
  const deprecated = object('What older versions have in the status of a claim.', {
    v1beta1: object('What v1beta1 has in the status of a claim.', {
      conditions: legacyConditions(OLD_CONDITIONS).optional(),
    }).optional(),
  })
  const fields = {
    addressRef: localReference(ADDRESS).optional(),
    conditions: conditions('What the provider says of the claim. Known type: Ready.').optional(),
    deprecated: deprecated.optional(),
  }
  return kubeObject(CLAIM, {
    spec: object(SPEC, { clusterName: clusterName(), poolRef: poolReference(POOL) }),
    status: object(STATUS, fields, { minProperties: 1 }).optional(),
  })
}
