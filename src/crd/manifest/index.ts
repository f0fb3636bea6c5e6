export { type CrdManifest, crdManifest } from './crd-manifest.js'
