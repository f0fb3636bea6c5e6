import type { MergePatch, Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { POOL } from './kinds.js'

/** An API server with the definitions of upstream: it drops other members of a row. */
export function pruned(store: Store): Store {
  return storeOver(store, {
    create: (object) => store.create(object.kind === POOL.kind ? { ...object, ...withoutMembers(object) } : object),
    patch: (ref, patch, options) => {
      const isPool = ref.kind === POOL.kind && !Array.isArray(patch)
      return store.patch(ref, isPool ? withoutMembers(patch as MergePatch) : patch, options)
    },
  })
}

function withoutMembers<T extends { readonly spec?: unknown }>(object: T): T {
  const { allocations, ...spec } = (object.spec ?? {}) as { readonly allocations?: { readonly [key: string]: unknown } }
  if (allocations === undefined) return object
  const rows = Object.entries(allocations).map(([key, row]) => {
    if (row === null) return [key, row]
    const { id, podref, ifname } = row as {
      readonly id?: unknown
      readonly podref?: unknown
      readonly ifname?: unknown
    }
    return [key, { id, podref, ...(ifname !== undefined && { ifname }) }]
  })
  return { ...object, spec: { ...spec, allocations: Object.fromEntries(rows) } }
}
