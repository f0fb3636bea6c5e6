/**
 * CustomResourceDefinitions from models: `crdManifest` returns the object that `kubectl apply`
 * takes.
 *
 * @module ipam-kit/crd/manifest
 */

export type { CrdModel, KubeObject } from '../meta/index.js'
export {
  type ConversionWebhook,
  type CrdManifest,
  type CrdManifestVersion,
  crdManifest,
  type ManifestOptions,
} from './crd-manifest.js'
export type { StructuralSchema } from './structural-schema.js'
