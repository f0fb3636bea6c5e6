import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, ObjectMeta, OwnerReference } from 'ipam-kit/crd/meta'
import type { Plan } from 'ipam-kit/plan'
import type { DesiredClaim } from 'ipam-kit/provider/consumer'
import { runPlan } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import type { PoolRequest } from '../../../src/provider/consumer/desired.js'

export const MACHINE = { apiVersion: 'example.com/v1', kind: 'Machine' }
export const machines = { ...MACHINE, plural: 'machines', namespaced: true, statusSubresource: true }
const MOMENT = '2026-01-01T00:00:00Z'

/** A machine as it would be read, without a store. */
export function machine(name = 'vm', metadata: Partial<ObjectMeta> = {}): KubeObject {
  return { ...MACHINE, metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '7', ...metadata } }
}

export function poolRef(name: string, kind = 'InClusterIPPool'): PoolRequest {
  return { apiGroup: 'ipam.cluster.x-k8s.io', kind, name }
}

export interface ClaimParts {
  readonly owners?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
  readonly isDeleting?: boolean
  readonly addressRef?: string
  readonly pool?: string
  readonly conditions?: readonly object[]
  readonly labels?: { readonly [key: string]: string }
  readonly annotations?: { readonly [key: string]: string }
}

/** A claim as it would be read. What is left out is as the consumer wants it. */
export function claimOf(desired: DesiredClaim, parts: ClaimParts = {}): IPAddressClaim {
  const finalizers = parts.finalizers ?? (desired.finalizer === undefined ? [] : [desired.finalizer])
  return IPAddressClaim.parse({
    apiVersion: IPAddressClaim.info.apiVersion,
    kind: IPAddressClaim.info.kind,
    metadata: {
      name: desired.name,
      namespace: desired.namespace,
      uid: `uid-of-${desired.name}`,
      resourceVersion: '3',
      labels: parts.labels ?? desired.labels,
      annotations: parts.annotations ?? desired.annotations,
      finalizers,
      ownerReferences: parts.owners ?? [desired.ownerReference],
      ...(parts.isDeleting === true ? { deletionTimestamp: MOMENT } : {}),
    },
    spec: { poolRef: parts.pool === undefined ? desired.poolRef : { ...desired.poolRef, name: parts.pool } },
    status: {
      ...(parts.addressRef === undefined ? {} : { addressRef: { name: parts.addressRef } }),
      ...(parts.conditions === undefined ? {} : { conditions: parts.conditions }),
    },
  })
}

export interface AddressParts {
  readonly name?: string
  readonly claim?: string
  readonly pool?: string
  readonly address?: string
  readonly prefix?: number | undefined
  readonly gateway?: string | undefined
  readonly annotations?: { readonly [key: string]: string }
}

/** The address of a claim, as it would be read. */
export function addressOf(desired: DesiredClaim, parts: AddressParts = {}): IPAddress {
  const { name = desired.name, claim = desired.name, pool = desired.poolRef.name, annotations, ...spec } = parts
  return IPAddress.parse({
    apiVersion: IPAddress.info.apiVersion,
    kind: IPAddress.info.kind,
    metadata: { name, namespace: desired.namespace, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      address: '10.0.0.5',
      prefix: 24,
      ...spec,
      claimRef: { name: claim },
      poolRef: { ...desired.poolRef, name: pool },
    },
  })
}

export function ready(status: string, reason = 'Some', message = ''): object {
  return { type: 'Ready', status, reason, message, lastTransitionTime: MOMENT }
}

/** A store with machines, claims and addresses in it. */
export class ConsumerStore {
  readonly store: Store = memoryStore({ now: () => 0, kinds: [machines, IPAddressClaim.info, IPAddress.info] })

  /** Stores an object as it was made up: with its status, and on its way out if it says so. */
  async put<T extends KubeObject>(object: T): Promise<T> {
    const { uid: _uid, resourceVersion: _version, deletionTimestamp, ...metadata } = object.metadata
    const created = must(await this.store.create({ ...object, metadata }))
    const ref = { ...object, namespace: metadata.namespace, name: metadata.name }
    if (object.kind !== IPAddress.info.kind && object.status !== undefined) {
      must(await this.store.patch(ref, { status: object.status }, { subresource: 'status' }))
    }
    if (deletionTimestamp !== undefined) must(await this.store.delete(ref))
    const stored = await this.store.get(ref)
    return (stored.ok ? stored.value : created) as T
  }

  async run(plan: Plan, store: Store = this.store): Promise<void> {
    const ran = await runPlan(plan, store)
    if (ran.kind !== 'done') throw new Error(`${ran.kind}: ${JSON.stringify(ran.failure)}`)
  }

  async claims(): Promise<readonly IPAddressClaim[]> {
    return must(await this.store.list(IPAddressClaim.info)).items.map(IPAddressClaim.parse)
  }

  async addresses(): Promise<readonly IPAddress[]> {
    return must(await this.store.list(IPAddress.info)).items.map(IPAddress.parse)
  }

  async machine(name = 'vm'): Promise<KubeObject> {
    return must(await this.store.get({ ...MACHINE, namespace: 'default', name }))
  }
}

export function must<T>(
  result: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: unknown },
): T {
  if (result.ok) return result.value
  throw new Error(JSON.stringify(result.failure))
}
