import * as z from 'zod'
import type { PrinterColumn, VersionSpec } from '../meta/crd-model.js'
import { READ_AS } from '../meta/reader.js'
import { integer, kubeObject, object, text } from '../meta/strict.js'
import { API_VERSION, API_VERSION_V1ALPHA1, API_VERSION_V1BETA1 } from './names.js'
import { addressConversion as conversion } from './spec-conversion.js'
import { localReference, oldLocalReference, oldPoolReference, poolReference } from './strict-references.js'

/** The versions of an IPAddress, the oldest first. */
export function addressVersions(): readonly VersionSpec[] {
  return [
    { apiVersion: API_VERSION_V1ALPHA1, columns, schema: old, conversion },
    { apiVersion: API_VERSION_V1BETA1, isDeprecated: true, columns, schema: old, conversion },
    { apiVersion: API_VERSION, columns, schema: v1beta2 },
  ]
}

const columns: readonly PrinterColumn[] = [
  { name: 'Address', type: 'string', description: 'The address', jsonPath: '.spec.address' },
  { name: 'Pool Name', type: 'string', description: 'Name of its pool', jsonPath: '.spec.poolRef.name' },
  { name: 'Pool Kind', type: 'string', description: 'Kind of its pool', jsonPath: '.spec.poolRef.kind' },
  { name: 'Age', type: 'date', description: 'How long it is given', jsonPath: '.metadata.creationTimestamp' },
]

const IP_ADDRESS = 'An address, or a prefix, that a pool has given to a claim.'
const SPEC = 'What was given. Never changes.'
const CLAIM = 'The claim that it was given to.'
const POOL = 'The pool that it is of.'
const PREFIX = 'Length of the subnet of the address, or of the prefix itself.'

/** An address without a zone is at most 39 characters long. */
const ADDRESS_TEXT = { minLength: 1, maxLength: 39 } as const

function specOf<S extends z.ZodRawShape>(shape: S) {
  return object(SPEC, {
    address: text('The address, or the first one of the prefix.', ADDRESS_TEXT),
    gateway: text('The router of the subnet.', ADDRESS_TEXT).optional(),
    ...shape,
  })
}

function old() {
  const shape = { claimRef: oldLocalReference(CLAIM), poolRef: oldPoolReference(POOL), prefix: integer(PREFIX) }
  return kubeObject(IP_ADDRESS, { spec: specOf(shape).optional() })
}

export function v1beta2() {
  // a wrong address is read, so that it is counted and stops no pool
  const prefix = integer(PREFIX, { format: 'int32', minimum: 0, maximum: 128 }).register(READ_AS, {
    reader: z.number().optional(),
  })
  return kubeObject(IP_ADDRESS, {
    spec: specOf({ claimRef: localReference(CLAIM), poolRef: poolReference(POOL), prefix }),
  })
}
