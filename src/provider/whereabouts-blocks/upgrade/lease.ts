import { asObject } from '../../../crd/meta/json.js'
import type { KubeObject, ObjectRef } from '../../../crd/meta/object.js'
import { leaseName } from '../../../crd/whereabouts/index.js'
import { unwrap } from '../../../errors/index.js'
import { type CreateEffect, type MergePatchEffect, patchObject } from '../../../plan/index.js'

// The Lease that each ADD and DEL of upstream waits for. client-go since 1.27 waits as long as the
// record of the Lease says. Older ones wait for 1.5 s, and then name themselves in the Lease.

const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const
/** The longest duration that an API server accepts: 68 years. */
const DURATION_SECONDS = 2_147_483_647
const DEFAULT_HOLDER = 'ipam-kit-upgrade'
const FREE = { kind: 'free' } as const

export type LeaseState = { readonly kind: 'ours' | 'held'; readonly holder: string } | { readonly kind: 'free' }

export function leaseRef(namespace: string): ObjectRef {
  return { ...LEASE, namespace, name: unwrap(leaseName()) }
}

export function holderOf(leaseHolder: string | undefined): string {
  return leaseHolder || DEFAULT_HOLDER
}

/** Which taking of the Lease it is: another one after each interruption, also if it was deleted. */
export function markOf(lease: KubeObject | null): string {
  const { leaseTransitions = 0 } = asObject(lease?.spec) ?? {}
  return `${leaseTransitions}/${lease?.metadata.uid ?? ''}`
}

/** Whether the Lease has the duration that an upgrade gives it. */
export function isForever(lease: KubeObject | null): boolean {
  return asObject(lease?.spec)?.leaseDurationSeconds === DURATION_SECONDS
}

/** What a Lease that was read says. `null`: it does not exist. */
export function leaseState(lease: KubeObject | null, holder: string, nowMs: number): LeaseState {
  const { holderIdentity, leaseDurationSeconds, renewTime } = asObject(lease?.spec) ?? {}
  if (typeof holderIdentity !== 'string' || holderIdentity === '') return FREE
  if (holderIdentity === holder) return isForever(lease) ? { kind: 'ours', holder } : FREE
  const renewedMs = typeof renewTime === 'string' ? Date.parse(renewTime) : Number.NaN
  const durationMs = typeof leaseDurationSeconds === 'number' ? leaseDurationSeconds * 1000 : 0
  return nowMs <= renewedMs + durationMs ? { kind: 'held', holder: holderIdentity } : FREE
}

/** Takes a Lease that is free, for its version. */
export function takeLease(
  lease: KubeObject | null,
  namespace: string,
  holder: string,
  nowMs: number,
): CreateEffect | MergePatchEffect {
  const now = microTime(nowMs)
  const { leaseTransitions } = asObject(lease?.spec) ?? {}
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: DURATION_SECONDS,
    acquireTime: now,
    renewTime: now,
    leaseTransitions: typeof leaseTransitions === 'number' ? leaseTransitions + 1 : 0,
  }
  const why = 'no plugin of upstream writes during the upgrade'
  if (lease !== null) return patchObject(lease, { spec }, why)
  const { apiVersion, kind, ...metadata } = leaseRef(namespace)
  return { kind: 'create', object: { apiVersion, kind, metadata, spec }, why }
}

/** Gives the Lease a new version. `undefined`: it was written at this time. */
export function renewLease(lease: KubeObject | null, nowMs: number): MergePatchEffect | undefined {
  const renewTime = microTime(nowMs)
  if (lease === null || asObject(lease.spec)?.renewTime === renewTime) return undefined
  return patchObject(lease, { spec: { renewTime } }, 'the upgrade continues')
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

/** Gives the Lease up. */
export function giveLeaseUp(lease: KubeObject): MergePatchEffect {
  const spec = { holderIdentity: '', leaseDurationSeconds: 1 }
  return patchObject(lease, { spec }, 'no pool of whereabouts is upgraded any more')
}
