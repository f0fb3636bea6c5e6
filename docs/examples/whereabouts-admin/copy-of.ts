import { isDeleting, type KindInfo, type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

interface Query {
  readonly kind: KindInfo
  readonly namespace?: string | undefined
}

/** A store in memory with all objects of these kinds. They keep their uids. */
export async function copyOf(store: Store, queries: readonly Query[], now: () => number): Promise<Store> {
  const objects: KubeObject[] = []
  for (const { kind: info, namespace } of queries) {
    const { apiVersion, kind } = info
    objects.push(...unwrap(await store.list({ apiVersion, kind, namespace })).items)
  }
  const kinds = queries.map(({ kind }) => kind)
  const uids = objects.map(({ metadata }) => metadata.uid)
  const copy = memoryStore({ now, kinds, uid: (nth) => uids[nth - 1] ?? `created-${nth}` })
  for (const object of objects) {
    const { resourceVersion: _, ...metadata } = object.metadata
    const created = unwrap(await copy.create({ ...object, metadata }))
    const { status } = object as KubeObject & { readonly status?: object }
    const hasStatus = status !== undefined && !('status' in created)
    if (hasStatus) unwrap(await copy.patch(refOf(object), { status }, { subresource: 'status' }))
    if (isDeleting(object) && object.metadata.finalizers?.length) unwrap(await copy.delete(refOf(object)))
  }
  return copy
}
