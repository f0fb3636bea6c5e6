import { isDeleting, type KindInfo, type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

/** A store in memory with these objects. They keep their uids. */
export async function copyOf(
  objects: readonly KubeObject[],
  kinds: readonly KindInfo[],
  now: () => number,
): Promise<Store> {
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
