import { check, type KindOf } from '../../errors/check.js'
import type { CrdModel, KindVersion } from '../meta/crd-model.js'
import { defined, unlessEmpty, unlessEmptyList } from '../meta/json.js'
import { groupOf, type KubeObject, versionOf } from '../meta/object.js'
import { type StructuralSchema, structuralSchema } from './structural-schema.js'

/** A CustomResourceDefinition (apiextensions.k8s.io/v1). */
export interface CrdManifest extends KubeObject {
  readonly spec: {
    readonly group: string
    readonly scope: 'Namespaced' | 'Cluster'
    readonly names: {
      readonly kind: string
      readonly listKind: string
      readonly plural: string
      readonly singular: string
      readonly shortNames?: readonly string[]
      readonly categories?: readonly string[]
    }
    readonly versions: readonly CrdManifestVersion[]
    readonly conversion?: object
  }
}

export interface CrdManifestVersion {
  readonly name: string
  readonly served: boolean
  readonly storage: boolean
  readonly deprecated?: true
  /** Left out of a kind without columns, as an API server does. */
  readonly additionalPrinterColumns?: KindVersion['columns']
  readonly schema: { readonly openAPIV3Schema: StructuralSchema }
  readonly subresources: { readonly status?: object }
  readonly selectableFields?: readonly { readonly jsonPath: string }[]
}

/**
 * Where an API server finds the webhook that answers its ConversionReviews. `caBundle` is PEM in
 * base64.
 */
export type ConversionWebhook =
  | {
      readonly service: {
        readonly namespace: string
        readonly name: string
        /** Default `/`. */
        readonly path?: string
        /** Default 443. */
        readonly port?: number
      }
      readonly caBundle?: string
    }
  | { readonly url: string; readonly caBundle?: string }

export interface ManifestOptions {
  /**
   * A kind with several versions needs one: without, an API server takes an object of one version
   * for one of another as it is.
   */
  readonly conversion?: ConversionWebhook | undefined
  readonly annotations?: { readonly [name: string]: string } | undefined
  /** Beside those that the kind brings along. */
  readonly labels?: { readonly [name: string]: string } | undefined
}

const MANIFEST_OPTIONS: KindOf<ManifestOptions> = { conversion: 'object?', annotations: 'object?', labels: 'object?' }

/**
 * The CustomResourceDefinition of a kind: plain data, to be written as YAML or sent to an API
 * server. Schemas, defaults, columns and names come from the model that reads and validates
 * objects. O(size of the schemas).
 *
 * @example
 * import { IPAddress } from 'ipam-kit/crd/cluster-api'
 * const { metadata, spec } = crdManifest(IPAddress, { annotations: { 'cert-manager.io/inject-ca-from': 'ipam/webhook' } })
 * metadata.name // 'ipaddresses.ipam.cluster.x-k8s.io'
 * spec.versions.map(({ name, storage }) => [name, storage])
 * // [['v1alpha1', false], ['v1beta1', false], ['v1beta2', true]]
 */
export function crdManifest(model: CrdModel<KubeObject>, options: ManifestOptions = {}): CrdManifest {
  check('crdManifest', 'model', model, ['open', { info: 'object', names: 'object', versions: ['list', 'object'] }])
  check('crdManifest', 'options', options, MANIFEST_OPTIONS)

  const { info, names, versions } = model
  const { kind, plural, namespaced } = info
  const group = groupOf(info.apiVersion)
  const { shortNames, categories, singular } = names
  const { conversion } = options
  const webhook = conversion && { conversionReviewVersions: ['v1'], clientConfig: conversion }
  const labels = { ...model.labels, ...options.labels }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      ...defined({ labels: unlessEmpty(labels), annotations: unlessEmpty(options.annotations ?? {}) }),
    },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        ...defined({ shortNames: unlessEmptyList(shortNames), categories: unlessEmptyList(categories) }),
      },
      versions: versions.map((version) => manifestVersion(version, model)),
      ...(webhook && { conversion: { strategy: 'Webhook', webhook } }),
    },
  }
}

function manifestVersion(version: KindVersion, { info }: CrdModel<KubeObject>): CrdManifestVersion {
  const { selectableFields = [], statusSubresource } = info
  const selectable = selectableFields.map((path) => ({ jsonPath: `.${path}` }))
  return {
    name: versionOf(version.apiVersion),
    served: version.isServed,
    storage: version.isStorage,
    ...(version.isDeprecated ? { deprecated: true as const } : {}),
    ...defined({ additionalPrinterColumns: unlessEmptyList(version.columns) }),
    schema: { openAPIV3Schema: structuralSchema(version.schema()) },
    subresources: statusSubresource ? { status: {} } : {},
    ...(selectable.length === 0 ? {} : { selectableFields: selectable }),
  }
}
