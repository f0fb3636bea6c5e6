import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { type ExternalCaller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { SimulatedCrash, storeOver } from 'ipam-kit/testing'
import { callerOf } from '../../../docs/examples/external-provider/caller.js'
import { FakeIpam } from '../../../docs/examples/external-provider/fake-ipam.js'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import { infoblox } from '../../../docs/examples/external-provider/provider.js'
import type { QuietResult } from '../../../src/run/run-until-quiet.js'

export const NETWORK = '10.20.0.0/30'
export const kinds = [IPAddressClaim, IPAddress, Cluster, InfobloxPool].map((model) => model.info)

/**
 * The provider of docs/examples/external-provider, a store whose clock stands still unless it is
 * moved, and the external system.
 */
export class World {
  nowMs = Date.UTC(2026, 0, 1)
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds })
  readonly ipam = new FakeIpam()
  readonly external: ExternalCaller = callerOf(this.ipam)

  constructor() {
    this.ipam.addNetwork(NETWORK)
  }

  async create(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
      const created = await this.store.create(object)
      if (!created.ok) throw new Error(JSON.stringify(created.failure))
      this.nowMs += 1000
    }
  }

  /**
   * A fresh provider until nothing is left to do, on this store and this outside or on some over
   * them.
   */
  run({ store = this.store, external = this.external, planner = infoblox() } = {}): Promise<QuietResult> {
    return runUntilQuiet(store, [planner], { now: () => this.nowMs, external })
  }

  async runOften(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      await this.run()
      this.nowMs += 400_000
    }
  }

  async list<T>(model: { readonly info: (typeof kinds)[number]; parse(json: unknown): T }): Promise<readonly T[]> {
    const listed = await this.store.list(model.info)
    if (!listed.ok) throw new Error(JSON.stringify(listed.failure))
    return listed.value.items.map((object) => model.parse(object))
  }

  async claim(name: string): Promise<IPAddressClaim> {
    const got = await this.store.get(claimRef(name))
    if (!got.ok) throw new Error(JSON.stringify(got.failure))
    return IPAddressClaim.parse(got.value)
  }

  /**
   * Which claim has which address, and which name in the external system has which: as long as
   * nothing is under way they are the same.
   */
  async bindings(): Promise<{ readonly inside: readonly string[]; readonly external: readonly string[] }> {
    const addresses = await this.list(IPAddress)
    return {
      inside: addresses.map(({ metadata, spec }) => `${metadata.namespace}.${metadata.name} ${spec.address}`).sort(),
      external: this.ipam.records.map(({ name, address }) => `${name} ${address}`).sort(),
    }
  }
}

/**
 * A store and an external system that die at the same moment: at their `at`-th write or call
 * together, before it is done or before its answer is back.
 */
export function dyingAt(world: Pick<World, 'store' | 'external'>, at: number, point: 'before' | 'after') {
  let steps = 0
  const step = async <T>(action: () => Promise<T>): Promise<T> => {
    if (steps >= at) throw new SimulatedCrash('is dead')
    steps++
    if (steps === at && point === 'before') throw new SimulatedCrash(`died before step ${at}`)
    const answer = await action()
    if (steps === at) throw new SimulatedCrash(`died after step ${at}`)
    return answer
  }
  const { store, external } = world
  return {
    steps: () => steps,
    store: storeOver(store, {
      create: (object) => step(() => store.create(object)),
      update: (object, options) => step(() => store.update(object, options)),
      patch: (ref, patch, options) => step(() => store.patch(ref, patch, options)),
      delete: (ref, options) => step(() => store.delete(ref, options)),
    }),
    external: ((call) => step(() => external(call))) satisfies ExternalCaller,
  }
}

export function claim(name: string, metadata: object = {}, poolName = 'lab', spec: object = {}): KubeObject {
  const { apiVersion, kind } = IPAddressClaim.info
  const poolRef = { apiGroup: 'ipam.example.com', kind: 'InfobloxPool', name: poolName }
  return { apiVersion, kind, metadata: { namespace: 'default', name, ...metadata }, spec: { ...spec, poolRef } }
}

export function pool(network = NETWORK, name = 'lab'): KubeObject {
  const { apiVersion, kind } = InfobloxPool.info
  return { apiVersion, kind, metadata: { namespace: 'default', name }, spec: { network, prefix: 30 } }
}

export const claimRef = (name: string): ObjectRef => refTo(IPAddressClaim.info, name)
export const addressRef = (name: string): ObjectRef => refTo(IPAddress.info, name)
export const poolRef = (name = 'lab'): ObjectRef => refTo(InfobloxPool.info, name)

function refTo({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }, name: string): ObjectRef {
  return { apiVersion, kind, namespace: 'default', name }
}
