/**
 * CustomResourceDefinitions from models: `crdManifest` answers the object that `kubectl apply`
 * takes.
 *
 * @module ipam-kit/crd/manifest
 */
export { type ConversionWebhook, type CrdManifest, crdManifest, type ManifestOptions } from './crd-manifest.js'
export type { StructuralSchema } from './structural-schema.js'
