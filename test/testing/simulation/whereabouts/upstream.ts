import type { KubeObject } from 'ipam-kit/crd/meta'
import type { JsonPatch, Store } from 'ipam-kit/store'
import type { Dice } from 'ipam-kit/testing'
import type { Scheduler } from '../../../../src/testing/simulation/scheduler.js'
import { type Attachment, podrefOf } from './attachments.js'
import { LEASE, NAMESPACE, POOL, poolRef, RESERVATION, reservationRef } from './kinds.js'
import type { Answer } from './kubelet.js'
import { addressAt, addressesOf, keyOf, type NetworkRange, poolNameOf, reservationNameOf } from './networks.js'

/** What a process of upstream's plugin works with. */
export interface UpstreamProcess {
  readonly name: string
  readonly store: Store
  readonly scheduler: Scheduler
  readonly dice: Dice
  readonly now: () => number
  /** How many changes there were: what it waits for. */
  readonly changes: () => number
  /**
   * Whether it has the defects that are known: a success without a row, ranges that a DEL leaves,
   * reservations of others that it deletes, an address for two interfaces of a Pod.
   */
  readonly hasDefects: boolean
  /** Whether its client-go waits as long as the record of the Lease says, as since 1.27. */
  readonly honoursRecord: boolean
}

type StoredRow = { readonly id: string; readonly podref: string; readonly ifname?: string }
type Rows = { readonly [key: string]: StoredRow }

/** Upstream's own duration of the Lease. The record says it in whole seconds. */
const LEASE_MS = 1500
const MAX_TRIES = 30
const MAX_WAITS = 40
/** How long it waits for a Lease that does not change. */
const TIMEOUT_MS = 60_000

/**
 * ADD as whereabouts 0.9.4 does it: under the one Lease, for each range the pool first, by a JSON
 * patch that tests its version, and the reservation second, without a roll-back.
 */
export async function upstreamAdd(process: UpstreamProcess, attachment: Attachment): Promise<Answer> {
  return underLease(process, async () => {
    await process.store.list({ ...POOL, namespace: NAMESPACE })
    const addresses: string[] = []
    for (const range of attachment.network.ranges) {
      const given = await give(process, attachment, range)
      if (given.kind !== 'addresses') return given
      addresses.push(...given.addresses)
    }
    return { kind: 'addresses', addresses }
  })
}

/** DEL as whereabouts does it: the row of the container and the interface, then the reservation. */
export async function upstreamDel(process: UpstreamProcess, attachment: Attachment): Promise<Answer> {
  return underLease(process, async () => {
    for (const range of attachment.network.ranges) {
      const ended = await take(process, attachment, range)
      if (ended === 'failed') return { kind: 'failed', why: 'the store' }
      if (ended === 'nothing' && process.hasDefects) return { kind: 'done' }
    }
    return { kind: 'done' }
  })
}

async function give(process: UpstreamProcess, attachment: Attachment, range: NetworkRange): Promise<Answer> {
  const { store } = process
  const { network } = attachment
  const name = poolNameOf(network, range)
  const skipped = new Set<string>()
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const pool = await poolNamed(store, name, range)
    if (pool === undefined) continue
    const chosen = chooseAddress(process, attachment, { range, rows: rowsOf(pool), skipped })
    if (chosen === undefined) return { kind: 'failed', why: 'full' }
    const isReserved = network.overlap ? await reservationOf(process, attachment, chosen.address) : 'own'
    if (isReserved === 'failed') return { kind: 'failed', why: 'the store' }
    if (isReserved === 'foreign') {
      // upstream looks at its own row again and again, until its time is over
      if (chosen.isOwn) return { kind: 'failed', why: 'its own row' }
      skipped.add(chosen.address)
      continue
    }
    const row = { id: attachment.sandbox.id, podref: podrefOf(attachment), ifname: attachment.ifname }
    const patched = await patchRow(store, pool, chosen.key, { before: rowsOf(pool)[chosen.key], after: row })
    if (patched === 'again') continue
    // the defect: the write of the reservation decides alone
    if (patched === 'failed' && !(process.hasDefects && network.overlap)) return { kind: 'failed', why: 'the store' }
    if (network.overlap && isReserved === 'free') {
      const created = await store.create(reservation(attachment, chosen.address))
      if (!created.ok) return { kind: 'failed', why: created.failure.code }
    }
    return { kind: 'addresses', addresses: [chosen.address] }
  }
  return { kind: 'failed', why: 'too many tries' }
}

function chooseAddress(
  { dice }: UpstreamProcess,
  attachment: Attachment,
  pool: { readonly range: NetworkRange; readonly rows: Rows; readonly skipped: ReadonlySet<string> },
): { readonly key: string; readonly address: string; readonly isOwn: boolean } | undefined {
  const { range, rows, skipped } = pool
  const own = Object.keys(rows).filter((key) => {
    return rows[key]?.podref === podrefOf(attachment) && rows[key]?.ifname === attachment.ifname
  })
  if (own.length > 0) {
    const key = dice.pick(own)
    return { key, address: addressAt(range.range, key), isOwn: true }
  }
  for (const address of addressesOf(attachment.network, range, 'upstream')) {
    const key = keyOf(range.range, address)
    if (rows[key] === undefined && !skipped.has(address)) return { key, address, isOwn: false }
  }
  return undefined
}

async function take(
  process: UpstreamProcess,
  attachment: Attachment,
  range: NetworkRange,
): Promise<'done' | 'nothing' | 'failed'> {
  const { store } = process
  const { network, sandbox, ifname } = attachment
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const pool = await poolNamed(store, poolNameOf(network, range), range)
    if (pool === undefined) continue
    const rows = rowsOf(pool)
    const key = Object.keys(rows).find((each) => rows[each]?.id === sandbox.id && rows[each]?.ifname === ifname)
    if (key === undefined) return 'nothing'
    const patched = await patchRow(store, pool, key, { before: rows[key], after: undefined })
    if (patched === 'again') continue
    if (patched === 'failed') return 'failed'
    if (!network.overlap) return 'done'
    return (await unreserve(process, attachment, addressAt(range.range, key))) ? 'done' : 'failed'
  }
  return 'failed'
}

async function unreserve(process: UpstreamProcess, attachment: Attachment, address: string): Promise<boolean> {
  const { store, hasDefects } = process
  const ref = reservationRef(reservationNameOf(attachment.network, address))
  if (hasDefects) return (await store.delete(ref)).ok
  const found = await store.get(ref)
  if (!found.ok) return found.failure.code === 'STORE_NOT_FOUND'
  const { podref, ifname } = found.value.spec as { readonly podref: string; readonly ifname?: string }
  if (podref !== podrefOf(attachment) || (ifname ?? attachment.ifname) !== attachment.ifname) return true
  const { uid, resourceVersion } = found.value.metadata
  return (await store.delete(ref, { uid, resourceVersion })).ok
}

async function reservationOf(
  process: UpstreamProcess,
  attachment: Attachment,
  address: string,
): Promise<'own' | 'free' | 'foreign' | 'failed'> {
  const found = await process.store.get(reservationRef(reservationNameOf(attachment.network, address)))
  if (!found.ok) return found.failure.code === 'STORE_NOT_FOUND' ? 'free' : 'failed'
  const { podref, ifname } = found.value.spec as { readonly podref: string; readonly ifname?: string }
  if (podref !== podrefOf(attachment)) return 'foreign'
  return process.hasDefects || ifname === attachment.ifname ? 'own' : 'foreign'
}

function reservation(attachment: Attachment, address: string): KubeObject {
  const { apiVersion, kind } = RESERVATION
  const name = reservationNameOf(attachment.network, address)
  const spec = { podref: podrefOf(attachment), ifname: attachment.ifname }
  return { apiVersion, kind, metadata: { namespace: NAMESPACE, name }, spec }
}

/** The pool; `undefined`: it was made, or could not be read. */
async function poolNamed(store: Store, name: string, { range }: NetworkRange): Promise<KubeObject | undefined> {
  const found = await store.get(poolRef(name))
  if (found.ok) return found.value
  if (found.failure.code === 'STORE_NOT_FOUND') {
    const { apiVersion, kind } = POOL
    await store.create({ apiVersion, kind, metadata: { namespace: NAMESPACE, name }, spec: { range, allocations: {} } })
  }
  return undefined
}

function rowsOf({ spec }: KubeObject): Rows {
  return (spec as { readonly allocations?: Rows }).allocations ?? {}
}

async function patchRow(
  store: Store,
  { metadata }: KubeObject,
  key: string,
  { before, after }: { readonly before: StoredRow | undefined; readonly after: StoredRow | undefined },
): Promise<'done' | 'again' | 'failed'> {
  const path = `/spec/allocations/${key}`
  const version = { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion } as const
  const change: JsonPatch =
    after === undefined
      ? [{ op: 'remove', path }]
      : before === undefined
        ? [
            { op: 'test', path, value: null },
            { op: 'add', path, value: after },
          ]
        : [{ op: 'replace', path, value: after }]
  const patched = await store.patch(poolRef(metadata.name), [version, ...change])
  if (patched.ok) return 'done'
  const { code } = patched.failure
  return code === 'STORE_INVALID' || code === 'STORE_CONFLICT' || code === 'STORE_NOT_FOUND' ? 'again' : 'failed'
}

/** Does the work of a process while it holds the Lease, which it gives back in the end. */
async function underLease(process: UpstreamProcess, work: () => Promise<Answer>): Promise<Answer> {
  const { store, name, now } = process
  if (!(await acquire(process))) {
    return { kind: 'failed', why: 'time limit exceeded while waiting to become leader' }
  }
  const answer = await work()
  const found = await store.get(LEASE_REF)
  const record = found.ok && recordOf(found.value)
  if (record && record.holderIdentity === name) {
    await store.update({ ...found.value, spec: leaseOf({ holder: '', nowMs: now() }, record) })
  }
  return answer
}

const LEASE_REF = { apiVersion: LEASE.apiVersion, kind: LEASE.kind, namespace: NAMESPACE, name: 'whereabouts' } as const

/** What a Lease says. */
interface LeaseRecord {
  readonly holderIdentity: string
  readonly leaseDurationSeconds: number
  readonly renewTime: string
  readonly leaseTransitions: number
}

async function acquire(process: UpstreamProcess): Promise<boolean> {
  const { store, name, scheduler, now, changes, honoursRecord } = process
  /** The version of the Lease that it saw last, and since when. */
  let seen: { readonly version: string | undefined; readonly sinceMs: number } = { version: '', sinceMs: 0 }
  for (let waits = 0; waits < MAX_WAITS; waits++) {
    const found = await store.get(LEASE_REF)
    if (!found.ok) {
      if (found.failure.code !== 'STORE_NOT_FOUND') return false
      const { apiVersion, kind, namespace, name: lease } = LEASE_REF
      const spec = leaseOf({ holder: name, nowMs: now() })
      const created = await store.create({ apiVersion, kind, metadata: { namespace, name: lease }, spec })
      if (created.ok) return true
      continue
    }
    const record = recordOf(found.value)
    const version = found.value.metadata.resourceVersion
    if (seen.version !== version) seen = { version, sinceMs: now() }
    const untilMs = seen.sinceMs + (honoursRecord ? record.leaseDurationSeconds * 1000 : LEASE_MS)
    if (record.holderIdentity === '' || untilMs <= now()) {
      const spec = leaseOf({ holder: name, nowMs: now() }, record)
      if ((await store.update({ ...found.value, spec })).ok) return true
      continue
    }
    const before = changes()
    const timeoutMs = now() + TIMEOUT_MS
    await scheduler.turn(
      name,
      'waits for the Lease',
      () => changes() !== before || Math.min(untilMs, timeoutMs) <= now(),
    )
    if (timeoutMs <= now()) return false
  }
  return false
}

function leaseOf({ holder, nowMs }: { readonly holder: string; readonly nowMs: number }, before?: LeaseRecord) {
  const now = new Date(nowMs).toISOString().replace('Z', '000Z')
  const leaseTransitions = before === undefined ? 0 : before.leaseTransitions + (holder === '' ? 0 : 1)
  const leaseDurationSeconds = Math.floor(LEASE_MS / 1000)
  return { holderIdentity: holder, leaseDurationSeconds, acquireTime: now, renewTime: now, leaseTransitions }
}

function recordOf({ spec }: KubeObject): LeaseRecord {
  return spec as LeaseRecord
}
