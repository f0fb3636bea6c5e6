import type { KubeObject } from 'ipam-kit/crd/meta'

/** An object as a store answers it: with a uid of its own and a version. */
export function stored<T extends KubeObject>(object: T, metadata: object = {}): T {
  const { kind, metadata: own } = object
  return { ...object, metadata: { ...own, uid: `uid-${kind}-${own.name}`, resourceVersion: '7', ...metadata } }
}
