import type { KindInfo, KubeObject, ObjectRef } from 'ipam-kit/crd/meta'

// Objects that hold one number each: what the planners of these tests count up.

export const counterKind: KindInfo = {
  apiVersion: 'example.com/v1',
  kind: 'Counter',
  plural: 'counters',
  namespaced: true,
  statusSubresource: false,
}

const { apiVersion, kind } = counterKind

export function counter(name: string, value = 0): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: 'default' }, spec: { value } }
}

export function ref(name: string): ObjectRef {
  return { apiVersion, kind, namespace: 'default', name }
}
