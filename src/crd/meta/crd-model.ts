import type * as z from 'zod'
import { check, type KindOf } from '../../errors/check.js'
import { OBJECT_KIND_MISMATCH } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import type { Conversion, VersionConversion } from './conversion.js'
import type { FieldError } from './field-error.js'
import { defineModel, knownObject, type Model, type ModelSpec } from './model.js'
import type { KubeObject } from './object.js'
import { formatUnknownField, type UnknownField, unknownFieldError, unknownFields } from './unknown-fields.js'
import { fieldErrorsOf } from './validation.js'

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'integer' | 'date'
  readonly description: string
  /** Such as `.spec.poolRef.name`. */
  readonly jsonPath: string
}

export function column(
  name: string,
  description: string,
  jsonPath: string,
  type: PrinterColumn['type'] = 'string',
): PrinterColumn {
  return { name, type, description, jsonPath }
}

/** The column of the age of objects of a kind. */
export function age(what: string): PrinterColumn {
  return column('Age', `How long the ${what} exists`, '.metadata.creationTimestamp', 'date')
}

/** One version in which a kind is served. */
export interface KindVersion {
  readonly apiVersion: string
  readonly isServed: boolean
  /** Whether objects are stored in this version: the hub, through which all conversions go. */
  readonly isStorage: boolean
  /** Whether the API server warns clients of this version. */
  readonly isDeprecated: boolean
  readonly columns: readonly PrinterColumn[]
  /**
   * The schema that an API server enforces for this version, with descriptions and keywords for the
   * manifest. Built at the first use.
   */
  readonly schema: () => z.ZodType
}

/** The names of a kind beside its plural. */
export interface KindNames {
  readonly singular: string
  readonly shortNames: readonly string[]
  /** Groups of kinds that `kubectl get` knows by one name. */
  readonly categories: readonly string[]
}

/**
 * A kind with all its versions, their schemas and the conversions between them.
 */
export interface CrdModel<T extends KubeObject> extends Model<T> {
  readonly names: KindNames
  /** Labels of the CustomResourceDefinition itself. */
  readonly labels: { readonly [name: string]: string }
  readonly versions: readonly KindVersion[]
  /**
   * The object in another version of its kind: what its conversion webhook answers. Metadata is
   * kept, except for labels and annotations that the conversion is about. Fields that no version
   * has are kept. O(size of the object).
   *
   * @throws IpamError `OBJECT_KIND_MISMATCH` for another kind or an unknown version, on either
   *   side; `INVALID_CONVERSION` for an object that has no form in the other version
   * @example
   * import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
   * const pool = {
   *   apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1', kind: 'InClusterIPPool', metadata: { name: 'blue' }, spec: { subnet: '10.0.0.0/24' },
   * }
   * InClusterIPPool.convert(pool, 'ipam.cluster.x-k8s.io/v1alpha2').spec
   * // { addresses: ['10.0.0.1-10.0.0.254'], prefix: 24 }
   */
  convert(object: unknown, apiVersion: string): KubeObject
  /** As `convert`, with the failure as a value. */
  safeConvert(object: unknown, apiVersion: string): ConversionResult
  /**
   * The errors of an object in its own version, with the paths and messages of an API server.
   * `null` counts as absent, and absent fields have their defaults. Names and other metadata are
   * not checked. A text that breaks several rules has an error for each; a server stops at the
   * first.
   *
   * @throws IpamError `OBJECT_KIND_MISMATCH` for another kind or an unknown version
   * @example
   * import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
   * const claim = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', metadata: { name: 'web' }, spec: {} }
   * IPAddressClaim.validate(claim).map(formatFieldError) // ['spec.poolRef: Required value']
   */
  validate(object: unknown, options?: ValidateOptions): readonly FieldError[]
  /**
   * The unknown fields of an object at any depth, as messages of an API server, with suggestions.
   * An API server drops unknown fields, so a pool gives out the addresses of a misspelt exclusion.
   * At most 100 are returned. O(size of the object).
   *
   * @throws IpamError `OBJECT_KIND_MISMATCH` for another kind or an unknown version
   * @example
   * import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
   * const spec = { addresses: ['10.0.0.0/24'], prefix: 24, excludeAddresses: ['10.0.0.9'] }
   * const pool = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', metadata: { name: 'blue' }, spec }
   * InClusterIPPool.warnings(pool) // ['unknown field "spec.excludeAddresses", did you mean "excludedAddresses"?']
   */
  warnings(object: unknown): readonly string[]
  /** As `warnings`, as data. */
  unknownFields(object: unknown): readonly UnknownField[]
}

export interface ValidateOptions {
  /** Whether a field that the version does not have is an error: `Forbidden`. Default false. */
  readonly strict?: boolean | undefined
}

const VALIDATE: KindOf<ValidateOptions> = { strict: 'flag?' }

/** The result of a conversion. */
export type ConversionResult = Result<KubeObject, 'OBJECT_KIND_MISMATCH' | 'INVALID_CONVERSION'>

export interface VersionSpec {
  readonly apiVersion: string
  /** Default true. */
  readonly isServed?: boolean | undefined
  /** Default false. */
  readonly isDeprecated?: boolean | undefined
  readonly columns: readonly PrinterColumn[]
  readonly schema: () => z.ZodType
  /** The conversions to the stored version and back. The stored version has none. */
  readonly conversion?: VersionConversion | undefined
}

export interface CrdModelSpec<T extends KubeObject> extends Omit<ModelSpec<T>, 'converts'> {
  /** Left out: the kind in lower case. */
  readonly singular?: string | undefined
  readonly shortNames?: readonly string[] | undefined
  readonly categories: readonly string[]
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly versions: readonly VersionSpec[]
}

/** The model of a kind from its versions. */
export function defineCrdModel<T extends KubeObject>(spec: CrdModelSpec<T>): CrdModel<T> {
  check('defineCrdModel', 'spec', spec, [
    'open',
    {
      categories: 'list',
      versions: ['list', 'object'],
      info: ['open', { apiVersion: 'text', kind: 'text' }],
      schema: 'object',
    },
  ])

  const { info, schema } = spec
  const versions = spec.versions.map((version) => kindVersion(version, info.apiVersion))
  const apiVersions = versions.map((version) => version.apiVersion)
  const conversions: { [apiVersion: string]: VersionConversion } = {}
  for (const { apiVersion, conversion } of spec.versions) if (conversion) conversions[apiVersion] = conversion
  const converts = Object.fromEntries(Object.entries(conversions).map(([version, { toHub }]) => [version, toHub]))

  const safeConvert = (json: unknown, apiVersion: string): ConversionResult => {
    const known = knownObject(json, info.kind, apiVersions)
    if (!known.ok) return known
    if (!apiVersions.includes(apiVersion)) {
      return failWith(OBJECT_KIND_MISMATCH, { expected: apiVersions.join(' or '), got: apiVersion })
    }
    const { value } = known
    if (value.apiVersion === apiVersion) return { ok: true, value: value as unknown as KubeObject }
    const hub = (conversions[value.apiVersion]?.toHub ?? unchanged)(value)
    if (!hub.ok) return hub
    const converted = (conversions[apiVersion]?.fromHub ?? unchanged)({ ...hub.value, apiVersion: info.apiVersion })
    return converted.ok ? { ok: true, value: { ...converted.value, apiVersion } as unknown as KubeObject } : converted
  }

  const strictSchema = (json: unknown) => {
    const known = unwrap(knownObject(json, info.kind, apiVersions))
    const version = versions.find(({ apiVersion }) => apiVersion === known.apiVersion) as KindVersion
    return { known, strict: version.schema() }
  }
  const unknownFieldsOf = (json: unknown): readonly UnknownField[] => {
    const { known, strict } = strictSchema(json)
    return unknownFields(strict, known)
  }

  return {
    ...defineModel({ info, schema, converts }),
    names: {
      singular: spec.singular ?? info.kind.toLowerCase(),
      shortNames: spec.shortNames ?? [],
      categories: spec.categories,
    },
    labels: spec.labels ?? {},
    versions,
    convert: (object, apiVersion) => unwrap(safeConvert(object, apiVersion)),
    safeConvert,
    validate: (object, options = {}) => {
      check(`${info.kind}.validate`, 'options', options, VALIDATE)
      const { strict: refusesUnknown = false } = options
      const { known, strict } = strictSchema(object)
      const errors = fieldErrorsOf(strict, known)
      return refusesUnknown ? [...errors, ...unknownFieldsOf(object).map(unknownFieldError)] : errors
    },
    warnings: (object) => unknownFieldsOf(object).map(formatUnknownField),
    unknownFields: unknownFieldsOf,
  }
}

const unchanged: Conversion = (json) => ({ ok: true, value: json })

function kindVersion(spec: VersionSpec, storage: string): KindVersion {
  const { apiVersion, columns } = spec
  let built: z.ZodType | undefined
  return {
    apiVersion,
    isServed: spec.isServed ?? true,
    isStorage: apiVersion === storage,
    isDeprecated: spec.isDeprecated ?? false,
    columns,
    schema: () => {
      built ??= spec.schema()
      return built
    },
  }
}
