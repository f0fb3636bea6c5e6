import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../test/real/controller/client.js'

// A model of what an ADD of whereabouts sends: ten requests, under one Lease for all writers of the
// cluster. Without its start, its logs and its choice of the address: an estimate on the fast side.

const NAMESPACE = 'kube-system'
const GROUP = `/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/${NAMESPACE}`
const POOLS = `${GROUP}/ippools`
const RESERVATIONS = `${GROUP}/overlappingrangeipreservations`
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`
const LEASE = `${LEASES}/whereabouts`

/** How often upstream asks for a Lease that another process holds, in milliseconds. */
const RETRY_MS = 500
/** Of a retry up to 1.2 times as long again, as client-go does it. */
const JITTER = 1.2
const CONFLICT = 409

interface Lease {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string }
  readonly spec: { readonly holderIdentity: string }
}

interface Pool {
  readonly metadata: { readonly resourceVersion: string }
  readonly spec: { readonly allocations: { readonly [offset: string]: object } }
}

/** One row of a pool. */
export interface Row {
  readonly id: string
  readonly podref: string
  readonly ifname: string
}

/** The Lease that all writers share. */
export async function makeLease(client: Client): Promise<void> {
  const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'whereabouts' }, spec: {} }
  await client.send('POST', LEASES, { body, also: [CONFLICT] })
}

/** A pool with its first addresses given. */
export async function makePool(client: Client, name: string, range: string, rows: number): Promise<void> {
  const row = (offset: number): Row => ({
    id: `c${offset}`.padEnd(64, '0'),
    podref: `default/pod-${offset}`,
    ifname: 'net1',
  })
  const allocations = Object.fromEntries(Array.from({ length: rows }, (_, nth) => [`${nth + 1}`, row(nth + 1)]))
  const metadata = { name, namespace: NAMESPACE }
  const body = {
    apiVersion: 'whereabouts.cni.cncf.io/v1alpha1',
    kind: 'IPPool',
    metadata,
    spec: { range, allocations },
  }
  await client.send('POST', POOLS, { body })
}

/** One ADD. @returns the requests that it sent */
export async function addAsUpstream(client: Client, pool: string, row: Row): Promise<number> {
  let requests = 0
  const send = async <T>(...args: Parameters<Client['send']>): Promise<T> => {
    requests++
    return client.send<T>(...args)
  }
  await send('GET', `${POOLS}?limit=500`)
  const lease = await lead(send, row.id)
  for (let hasRow = false; !hasRow; ) {
    // a look whether the server answers, then the pool
    await send('GET', POOLS)
    const { metadata, spec } = await send<Pool>('GET', `${POOLS}/${pool}`)
    const offset = lowestFree(spec.allocations)
    const name = `${pool.replace(/\W/g, '-')}-${offset}`
    await send('GET', `${RESERVATIONS}/${name}`, { also: [404] })
    const body = [
      { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'add', path: `/spec/allocations/${offset}`, value: row },
    ]
    const { code } = await send<{ readonly code?: number }>('PATCH', `${POOLS}/${pool}`, {
      body,
      patch: 'json',
      also: [CONFLICT, 422],
    })
    hasRow = code === undefined
    if (hasRow) await send('POST', RESERVATIONS, { body: reservation(name, row) })
  }
  await send('GET', LEASE)
  await send('PUT', LEASE, { body: { ...lease, spec: { holderIdentity: '' } } })
  return requests
}

type Send = <T>(...args: Parameters<Client['send']>) => Promise<T>

/** Holds the Lease when it returns. */
async function lead(send: Send, identity: string): Promise<Lease> {
  for (;;) {
    const lease = await send<Lease>('GET', LEASE)
    if (!lease.spec.holderIdentity) {
      const body = { ...lease, spec: { holderIdentity: identity } }
      const held = await send<Lease & { readonly code?: number }>('PUT', LEASE, { body, also: [CONFLICT] })
      if (held.code === undefined) return held
    }
    await sleep(RETRY_MS * (1 + Math.random() * JITTER))
  }
}

function lowestFree(allocations: Pool['spec']['allocations']): number {
  for (let offset = 1; ; offset++) if (!(offset in allocations)) return offset
}

function reservation(name: string, { podref, id, ifname }: Row): object {
  const [apiVersion, kind] = ['whereabouts.cni.cncf.io/v1alpha1', 'OverlappingRangeIPReservation']
  return { apiVersion, kind, metadata: { name, namespace: NAMESPACE }, spec: { podref, containerid: id, ifname } }
}
