import { IPBlock, IPDomain, IPPool, type IPPoolFamilyStatus, type IPPoolSpec } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { AllocationRequest } from 'ipam-kit/provider/blocks'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

export const kinds = [IPDomain.info, IPPool.info, IPBlock.info] as const

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
