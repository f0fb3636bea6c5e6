import { IPBlock, IPDomain, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import type { IPPoolFamilyStatus, IPPoolSpec } from '../../../src/crd/ipam-kit/ip-pool.js'
import type { AllocationRequest } from '../../../src/provider/blocks/tasks/request.js'

export const kinds = [IPDomain.info, IPPool.info, IPBlock.info, IPHandle.info] as const

export function blockStore(): Store {
  return memoryStore({ kinds, now: () => 0, uid: (n) => `uid-${n}` })
}

export interface Grids {
  readonly ipv4?: IPPoolFamilyStatus
  readonly ipv6?: IPPoolFamilyStatus
}

const GRIDS: Grids = {
  ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 },
  ipv6: { blockPrefixLength: 124, allocationPrefixLength: 128 },
}

/** A pool that was taken into its domain. */
export async function poolIn(
  store: Store,
  name: string,
  spec: Partial<IPPoolSpec> & Pick<IPPoolSpec, 'subnets'>,
  grids: Grids = GRIDS,
): Promise<IPPool> {
  const { apiVersion, kind } = IPPool.info
  unwrap(await store.create({ apiVersion, kind, metadata: { name }, spec }))
  const status = { domainUID: 'domain', ...grids }
  const ref = { apiVersion, kind, name }
  return IPPool.parse(unwrap(await store.patch(ref, { status }, { subresource: 'status' })))
}

export function request(uid: string, more: Partial<AllocationRequest> = {}): AllocationRequest {
  return { owner: { uid, name: `ns/${uid}` }, pools: ['blue'], families: [4], ...more }
}

export async function blocksIn(store: Store): Promise<readonly IPBlock[]> {
  const { apiVersion, kind } = IPBlock.info
  return unwrap(await store.list({ apiVersion, kind })).items.map((object) => IPBlock.parse(object))
}

/** What a store was asked for. */
export interface Requests {
  gets: number
  lists: number
  writes: number
}

/** A store that counts what it is asked for. */
export function countingStore(below: Store): { readonly store: Store; readonly requests: Requests } {
  const requests = { gets: 0, lists: 0, writes: 0 }
  const counted = <T>(what: keyof Requests, answer: T): T => {
    requests[what]++
    return answer
  }
  return {
    requests,
    store: storeOver(below, {
      get: (ref) => counted('gets', below.get(ref)),
      list: (query, options) => counted('lists', below.list(query, options)),
      create: (object) => counted('writes', below.create(object)),
      update: (object, options) => counted('writes', below.update(object, options)),
      patch: (ref, patch, options) => counted('writes', below.patch(ref, patch, options)),
      delete: (ref, options) => counted('writes', below.delete(ref, options)),
    }),
  }
}
