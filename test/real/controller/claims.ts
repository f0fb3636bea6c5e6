import assert from 'node:assert/strict'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { waitFor } from '../servers/tools.js'
import { type Client, eachOf } from './client.js'

export const GROUP = 'ipam.cluster.x-k8s.io'
/** How many objects are created at a time. */
export const AT_ONCE = 8

/** The paths of the objects of a namespace. */
export function pathsOf(namespace: string) {
  const path = (version: string, plural: string) => `/apis/${GROUP}/${version}/namespaces/${namespace}/${plural}`
  return {
    claims: path('v1beta2', 'ipaddressclaims'),
    addresses: path('v1beta2', 'ipaddresses'),
    pools: path('v1alpha2', 'inclusterippools'),
  }
}

/**
 * Creates the pools `p0`, `p1` and so on: of 10.0.0.0, 10.1.0.0 and so on, whose second address is
 * the gateway.
 *
 * @returns their uids
 */
export function makePools(client: Client, namespace: string, count: number, prefix: number): Promise<string[]> {
  const make = async (nth: number) => {
    const spec = { addresses: [`10.${nth}.0.0/${prefix}`], prefix, gateway: `10.${nth}.0.1` }
    const body = { apiVersion: `${GROUP}/v1alpha2`, kind: 'InClusterIPPool', metadata: { name: `p${nth}` }, spec }
    return (await client.send<KubeObject>('POST', pathsOf(namespace).pools, { body })).metadata.uid!
  }
  return Promise.all(Array.from({ length: count }, (_, nth) => make(nth)))
}

export interface ClaimParts {
  readonly namespace: string
  readonly name: string
  /** The number of its pool. */
  readonly pool: number
  readonly poolKind?: string | undefined
}

export function claimOf({ namespace, name, pool, poolKind: kind = 'InClusterIPPool' }: ClaimParts): KubeObject {
  const spec = { poolRef: { apiGroup: GROUP, kind, name: `p${pool}` } }
  return { apiVersion: `${GROUP}/v1beta2`, kind: 'IPAddressClaim', metadata: { namespace, name }, spec }
}

export async function createClaims(client: Client, claims: readonly KubeObject[]): Promise<readonly KubeObject[]> {
  const made: KubeObject[] = []
  await eachOf(claims, AT_ONCE, async (body) => {
    made.push(await client.send<KubeObject>('POST', pathsOf(body.metadata.namespace!).claims, { body }))
  })
  return made
}

/** When claims became Bound, as a watch tells. */
export interface BoundClaims {
  /** By name, in milliseconds of `performance.now()`. */
  readonly atMs: ReadonlyMap<string, number>
  stop(): void
}

/**
 * Watches the claims of a namespace from now on. @param isWanted whether a claim of this name
 * counts
 */
export async function watchBound(
  client: Client,
  namespace: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<BoundClaims> {
  const { claims } = pathsOf(namespace)
  const atMs = new Map<string, number>()
  const told = ({ metadata: { name }, status }: KubeObject) => {
    const isBound = (status as { addressRef?: object } | undefined)?.addressRef !== undefined
    if (isBound && isWanted(name) && !atMs.has(name)) atMs.set(name, performance.now())
  }
  let stop = () => {}
  const watch = () => client.watch(claims, (_, object) => told(object), again)
  // a server whose cache begins anew ends its watches: what changed meanwhile is in a list
  async function again() {
    stop = await watch()
    for (const object of await client.list(claims)) told(object)
  }
  stop = await watch()
  return { atMs, stop: () => stop() }
}

export async function untilBound(
  { atMs }: BoundClaims,
  count: number,
  { seconds, lines }: { readonly seconds: number; readonly lines: () => readonly string[] },
): Promise<void> {
  await waitFor(() => atMs.size >= count || undefined, {
    seconds,
    else: `${count} claims are not Bound`,
    explain: () => `${atMs.size} are\n${lines().join('\n')}`,
  })
}

/** Waits until the counts of the pools are the number of addresses that exist. */
export async function untilCounted(client: Client, namespace: string, seconds: number): Promise<void> {
  const { pools, addresses } = pathsOf(namespace)
  await waitFor(
    async () => {
      const used = (await client.list(pools)).map(({ status }) => {
        return (status as { ipAddresses?: { used?: number } } | undefined)?.ipAddresses?.used ?? Number.NaN
      })
      const total = await client.count(addresses)
      return used.reduce((sum, count) => sum + count, 0) === total || undefined
    },
    { seconds, else: 'pools do not count what they have given' },
  )
}

/**
 * Asserts that there are so many addresses in a namespace, and that no two of a pool are the same.
 */
export async function assertDistinct(client: Client, namespace: string, count: number): Promise<void> {
  const addresses = (await client.list(pathsOf(namespace).addresses)).map(({ spec }) => {
    const { address, poolRef } = spec as { address: string; poolRef: { name: string } }
    return `${poolRef.name} ${address}`
  })
  assert.equal(addresses.length, count)
  assert.equal(new Set(addresses).size, count)
}
