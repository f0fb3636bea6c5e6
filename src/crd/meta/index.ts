/**
 * Models of Kubernetes objects: `defineModel` and `defineCrdModel` make one from a zod schema. A
 * model reads, validates and converts objects, and is a Standard Schema. Metadata, conditions and
 * label selectors are here too.
 *
 * @module ipam-kit/crd/meta
 */
export type {
  Admission,
  AdmissionRequest as ObjectAdmissionRequest,
  Admit,
  FieldValidationOptions,
} from './admission.js'
export { annotationsPatch } from './annotations-patch.js'
export type { Conversion, VersionConversion } from './conversion.js'
export type {
  ConversionResult,
  CrdModel,
  CrdModelSpec,
  KindNames,
  KindVersion,
  PrinterColumn,
  ValidateOptions,
  VersionSpec,
} from './crd-model.js'
export { defineCrdModel } from './crd-model.js'
export type { FieldError, FieldValue } from './field-error.js'
export { formatFieldError } from './field-error.js'
export type { JsonObject } from './json.js'
export { type LabelSelector, matchesLabels } from './label-selector.js'
export type { Model, ModelSpec, ReadResult, StandardIssue, StandardResult, StandardSchema, StoreKind } from './model.js'
export { defineModel } from './model.js'
export type {
  Json,
  KindInfo,
  KubeObject,
  LabelSelectorRequirement,
  ObjectMeta,
  ObjectRef,
  OwnerReference,
  Propagation,
} from './object.js'
export { formatRef, groupOf, hasFinalizer, isDeleting, refOf } from './object.js'
export type { JsonPatch, JsonPatchOperation, MergePatch } from './patch.js'
export { type Condition, conditionSchema, type LegacyCondition, objectMetaSchema } from './schema.js'
export type { UnknownField } from './unknown-fields.js'
