import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, ObjectMeta } from 'ipam-kit/crd/meta'
import { OpenStackServer } from 'ipam-kit/crd/openstack'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect } from 'ipam-kit/plan'
import { floatingServers, serverCloudCaller } from 'ipam-kit/provider/openstack'
import { runUntilQuiet } from 'ipam-kit/run'
import type { MergePatch } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import type { Condition } from '../../../src/crd/meta/schema.js'
import type { FloatingServersOptions } from '../../../src/provider/openstack/floating-servers.js'
import { FakeServers } from './fake-servers.js'

export const ADDRESS = '203.0.113.10'
export const CLAIM = 'w1-floating-ip-address'
export const poolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: 'blue' }
const namespace = 'default'
const models = [OpenStackServer, IPAddressClaim, IPAddress, Cluster] as const

/** A store, a cloud, and a planner of servers that works until there is nothing left to do. */
export class World {
  nowMs = 0
  readonly cloud = new FakeServers()
  readonly events: EventEffect[] = []
  readonly #options: FloatingServersOptions
  readonly store = memoryStore({ now: () => this.nowMs, kinds: models.map(({ info }) => info) })
  planner

  constructor(options: FloatingServersOptions = {}) {
    this.#options = options
    this.planner = floatingServers(options)
  }

  /** Another process takes over. */
  restart(): void {
    this.planner = floatingServers(this.#options)
  }

  /** What became of the server: `released` if it does not exist any more. */
  async work(seconds = 0): Promise<string> {
    this.nowMs += seconds * 1000
    const { outcomes, failures } = await runUntilQuiet(this.store, [this.planner], {
      now: () => this.nowMs,
      external: serverCloudCaller(this.cloud),
      onEvent: (event) => this.events.push(event),
      maxPlansPerKey: 60,
    })
    if (failures.length > 0) throw new Error(JSON.stringify(failures))
    return [...outcomes.entries()].find(([key]) => key.endsWith('OpenStackServer default/w1'))?.[1].kind ?? 'released'
  }

  async create<T extends KubeObject>(object: T): Promise<KubeObject> {
    return unwrap(await this.store.create(object))
  }

  server(spec: object = { floatingIPPoolRef: poolRef }, metadata: Partial<ObjectMeta> = {}): Promise<KubeObject> {
    const { apiVersion, kind } = OpenStackServer.info
    return this.create({ apiVersion, kind, metadata: { name: 'w1', namespace, ...metadata }, spec })
  }

  async get<T extends KubeObject>(
    model: { readonly info: { readonly apiVersion: string; readonly kind: string } },
    name: string,
  ) {
    const { apiVersion, kind } = model.info
    const found = await this.store.get({ apiVersion, kind, namespace, name })
    return found.ok ? (found.value as T) : undefined
  }

  async patch(model: (typeof models)[number], name: string, patch: MergePatch, subresource?: 'status'): Promise<void> {
    const { apiVersion, kind } = model.info
    unwrap(await this.store.patch({ apiVersion, kind, namespace, name }, patch, { subresource }))
  }

  async delete(model: (typeof models)[number], name: string): Promise<void> {
    const { apiVersion, kind } = model.info
    unwrap(await this.store.delete({ apiVersion, kind, namespace, name }))
  }

  /** What a provider does for a claim. */
  async bind(address = ADDRESS, claim = CLAIM): Promise<void> {
    const { apiVersion, kind } = IPAddress.info
    const spec = { claimRef: { name: claim }, poolRef, address, prefix: 32 }
    await this.create({ apiVersion, kind, metadata: { name: claim, namespace }, spec } as KubeObject)
    await this.patch(IPAddressClaim, claim, { status: { addressRef: { name: claim } } }, 'status')
  }

  /** What a machine controller does: the server has an instance. */
  async boot(id = 'i1'): Promise<void> {
    this.cloud.instance(id)
    await this.patch(OpenStackServer, 'w1', { status: { instanceID: id } }, 'status')
  }

  /** Up to a server that has its address. */
  async attached(): Promise<this> {
    await this.server()
    await this.work()
    await this.bind()
    this.cloud.floatingIP(ADDRESS)
    await this.boot()
    await this.work()
    return this
  }

  claim(name = CLAIM): Promise<IPAddressClaim | undefined> {
    return this.get<IPAddressClaim>(IPAddressClaim, name)
  }

  async condition(): Promise<Partial<Condition> | undefined> {
    const server = await this.get<OpenStackServer>(OpenStackServer, 'w1')
    const found = server?.status?.conditions?.find(({ type }) => type === 'FloatingAddressFromPoolReady')
    return found && { status: found.status as 'True', reason: found.reason ?? '', message: found.message ?? '' }
  }
}

/** What a claim of the server is like, as another owner or nobody would have made it. */
export function claimJson(metadata: Partial<ObjectMeta> = {}): KubeObject {
  const { apiVersion, kind } = IPAddressClaim.info
  return { apiVersion, kind, metadata: { name: CLAIM, namespace, ...metadata }, spec: { poolRef } } as KubeObject
}

/** The owner reference to a server of this name. */
export function ownedBy(name: string, uid: string) {
  const { apiVersion, kind } = OpenStackServer.info
  return { ownerReferences: [{ apiVersion, kind, name, uid }] }
}
