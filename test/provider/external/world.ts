import { stateOf } from 'ipam-kit/claim'
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, Model, ObjectRef } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import type { EventEffect } from 'ipam-kit/plan'
import { cloudCaller, IDENTITY_ANNOTATION } from 'ipam-kit/provider/external'
import { floatingIPPools } from 'ipam-kit/provider/openstack'
import { type ExternalCaller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { FakeCloud } from 'ipam-kit/testing'
import type { QuietResult } from '../../../src/run/run-until-quiet.js'

export const kinds = [IPAddressClaim, IPAddress, Cluster, OpenStackFloatingIPPool].map((model) => model.info)
export const NAMESPACE = 'team-a'
const { apiVersion, kind } = OpenStackFloatingIPPool.info
export const blue: ObjectRef = { apiVersion, kind, namespace: NAMESPACE, name: 'blue' }

/** A store, a cloud and a clock that stands still unless it is moved. */
export class World {
  nowMs = Date.UTC(2026, 0, 1)
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds })
  readonly cloud: FakeCloud
  readonly network: string
  readonly external: ExternalCaller
  /** The calls that were sent. */
  readonly sent: { readonly operation: string; readonly atMs: number; readonly input: unknown }[] = []

  constructor({ size = 24 } = {}) {
    this.cloud = new FakeCloud({ now: () => this.nowMs })
    this.network = this.cloud.addNetwork({ name: 'public', cidrs: [`203.0.113.0/${size}`], isExternal: true }).id
    const caller = cloudCaller(this.cloud)
    this.external = (call) => {
      this.sent.push({ operation: call.operation, atMs: this.nowMs, input: call.input })
      return caller(call)
    }
  }

  /** A provider as a new process has it. */
  start({ callSeconds = 10, ...options }: Partial<Parameters<typeof floatingIPPools>[0]> = {}) {
    return floatingIPPools({ callSeconds, ...options })
  }

  async run({
    planner = this.start(),
    store = this.store,
    external = this.external,
    onEvent = (_: EventEffect) => {},
  } = {}): Promise<QuietResult> {
    return runUntilQuiet(store, [planner], { now: () => this.nowMs, external, onEvent })
  }

  /** Runs again whenever a plan wants that, for so many seconds. */
  async runFor(
    seconds: number,
    planner = this.start(),
    of: ExternalCaller | { readonly external: ExternalCaller; readonly store: Store } = this.external,
  ): Promise<void> {
    const { external, store } = typeof of === 'function' ? { external: of, store: this.store } : of
    const endMs = this.nowMs + seconds * 1000
    for (;;) {
      const { requeueAfterSeconds = seconds } = await this.run({ planner, external, store })
      const nextMs = this.nowMs + Math.max(1, requeueAfterSeconds) * 1000
      if (nextMs > endMs) break
      this.nowMs = nextMs
    }
    this.nowMs = endMs
  }

  async create(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) unwrap(await this.store.create(object))
  }

  /** Creates a pool that a process has served before, and that has had these uids too. @returns its uid */
  async served(
    spec: Partial<Spec> = {},
    { ids = [], ...metadata }: { readonly ids?: readonly string[] } & Parameters<typeof pool>[1] = {},
  ): Promise<string> {
    const { uid = '' } = unwrap(await this.store.create(pool(spec, metadata))).metadata
    const identity = { pool: `${NAMESPACE}/blue`, ids: [...ids, uid], network: this.network }
    await this.patch(blue, { metadata: { annotations: { [IDENTITY_ANNOTATION]: JSON.stringify(identity) } } })
    return uid
  }

  /** Creates floating IPs by hand, each with a marker; empty: none. @returns their ids */
  marked(floatingIPs: { readonly [address: string]: string }, network = this.network): readonly string[] {
    return Object.entries(floatingIPs).map(([address, marker]) =>
      this.cloud.byHand.create({ network, address, ...(marker !== '' && { description: `ipam-kit ${marker}` }) }),
    )
  }

  /** Attaches a floating IP to a port of its own. */
  attach(id: string): void {
    const { network } = this
    this.cloud.byHand.attach(id, this.cloud.addPort({ device: 'server', network, fixedIPs: [] }).id)
  }

  idOf(address: string): string {
    return this.cloud.floatingIPs.find((each) => each.address === address)?.id ?? ''
  }

  /** The markers in the cloud, by address. */
  get markers(): { readonly [address: string]: string } {
    const textOf = (description: string) => description.replace(/^.*ipam-kit /, '')
    return Object.fromEntries(this.cloud.floatingIPs.map(({ address, description }) => [address, textOf(description)]))
  }

  /** What the condition of the pool says. */
  async said(name = 'blue'): Promise<string> {
    const conditions = (await this.pool(name))?.status?.conditions
    const { reason, message } = conditions?.find(({ type }) => type.includes('PoolReady')) ?? {}
    return `${reason}: ${message}`
  }

  /** What the condition Ready of a claim says. */
  async saidBy(name: string): Promise<string> {
    const found = (await this.list(IPAddressClaim)).find(({ metadata }) => metadata.name === name)
    const { reason, message } = found?.status?.conditions?.find(({ type }) => type === 'Ready') ?? {}
    return `${reason}: ${message}`
  }

  async remove(model: Model<KubeObject>, name: string): Promise<void> {
    const { apiVersion, kind } = model.info
    unwrap(await this.store.delete({ apiVersion, kind, namespace: NAMESPACE, name }))
  }

  async patch(ref: ObjectRef, patch: object): Promise<void> {
    unwrap(await this.store.patch(ref, patch as never))
  }

  async list<T>(model: Model<T & KubeObject>): Promise<readonly T[]> {
    return unwrap(await this.store.list(model.info)).items.map((object) => model.parse(object))
  }

  async pool(name = 'blue'): Promise<OpenStackFloatingIPPool | undefined> {
    return (await this.list(OpenStackFloatingIPPool)).find(({ metadata }) => metadata.name === name)
  }

  /** What each claim has, or where it stands. */
  async claims(): Promise<{ readonly [name: string]: string }> {
    const addresses = new Map((await this.list(IPAddress)).map(({ metadata, spec }) => [metadata.name, spec.address]))
    const claims = await this.list(IPAddressClaim)
    return Object.fromEntries(
      claims.map((claim) => {
        const state = stateOf(claim)
        const reason = 'reason' in state && state.reason !== undefined ? ` ${state.reason}` : ''
        return [
          claim.metadata.name,
          state.phase === 'Bound' ? `${addresses.get(claim.metadata.name)}` : `${state.phase}${reason}`,
        ]
      }),
    )
  }

  /** The addresses in the cloud. */
  get outside(): readonly string[] {
    return this.cloud.floatingIPs.map(({ address }) => address).sort()
  }
}

type Spec = OpenStackFloatingIPPool['spec']

export function pool(spec: Partial<Spec> = {}, { name = 'blue', ...metadata }: Partial<KubeObject['metadata']> = {}) {
  return {
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1alpha1',
    kind: 'OpenStackFloatingIPPool',
    metadata: { namespace: NAMESPACE, name, ...metadata },
    spec: { identityRef: { name: 'cloud', cloudName: 'openstack', type: 'Secret' }, reclaimPolicy: 'Delete', ...spec },
  } as KubeObject
}

export function claim(
  name: string,
  { pool: poolName = 'blue', ...metadata }: { pool?: string; [field: string]: unknown } = {},
) {
  return {
    apiVersion: IPAddressClaim.info.apiVersion,
    kind: 'IPAddressClaim',
    metadata: { namespace: NAMESPACE, name, ...metadata },
    spec: {
      poolRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: poolName },
    },
  } as KubeObject
}

export function unwrap<T>(
  result: { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: unknown },
): T {
  if (!result.ok) throw new Error(JSON.stringify(result.failure))
  return result.value
}
