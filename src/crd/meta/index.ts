/**
 * Models of Kubernetes objects: `defineModel` and `defineCrdModel` make one from a zod schema. A
 * model reads, validates and converts objects, and is a Standard Schema. Metadata, conditions and
 * label selectors are here too.
 *
 * @module ipam-kit/crd/meta
 */
export type { Admission, FieldValidationOptions } from './admission.js'
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
export type { FieldError, FieldErrorType, FieldValue } from './field-error.js'
export { formatFieldError, formatFieldErrorBody } from './field-error.js'
export type { JsonObject } from './json.js'
export { type LabelSelector, matchesLabels } from './label-selector.js'
export type { Model, ModelSpec, ReadResult } from './model.js'
export { defineModel } from './model.js'
export type {
  Json,
  KindInfo,
  KubeObject,
  LabelSelectorRequirement,
  ObjectMeta,
  ObjectRef,
  OwnerReference,
} from './object.js'
export { formatRef, groupOf, hasFinalizer, isDeleting, refOf, versionOf } from './object.js'
export type { Condition, LegacyCondition } from './schema.js'
export { conditionSchema, legacyConditionSchema, objectMetaSchema, ownerReferenceSchema } from './schema.js'
export type { StandardIssue, StandardResult, StandardSchema } from './standard-schema.js'
export type { UnknownField } from './unknown-fields.js'
