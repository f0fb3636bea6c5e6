/**
 * Models of Kubernetes objects: `defineModel` and `defineCrdModel` make one from a zod schema. A
 * model reads, validates and converts objects, and is a Standard Schema. Metadata, conditions and
 * label selectors are here too.
 *
 * @module ipam-kit/crd/meta
 */
export type { Admission } from './admission.js'
export type { CrdModel } from './crd-model.js'
export { defineCrdModel } from './crd-model.js'
export type { FieldError } from './field-error.js'
export { formatFieldError } from './field-error.js'
export { type LabelSelector, matchesLabels } from './label-selector.js'
export type { Model } from './model.js'
export { defineModel } from './model.js'
export type { Json, KindInfo, KubeObject, ObjectMeta, ObjectRef, OwnerReference } from './object.js'
export { formatRef, groupOf, hasFinalizer, isDeleting, refOf } from './object.js'
export { type Condition, conditionSchema, objectMetaSchema } from './schema.js'
