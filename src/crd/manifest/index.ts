/**
 * CustomResourceDefinitions from models: `crdManifest` returns the object that `kubectl apply`
 * takes.
 *
 * @module ipam-kit/crd/manifest
 */
export { type CrdManifest, crdManifest } from './crd-manifest.js'
