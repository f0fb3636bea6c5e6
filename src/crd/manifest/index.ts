export { type ConversionWebhook, type CrdManifest, crdManifest, type ManifestOptions } from './crd-manifest.js'
export type { StructuralSchema } from './structural-schema.js'
