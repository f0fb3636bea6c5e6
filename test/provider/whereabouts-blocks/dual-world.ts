import { Address } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPPool as OldPool, OverlappingRangeIPReservation, readRows } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import type { AddOptions, AddOutcome, DelOutcome, GcRequest, InterfaceRequest } from 'ipam-kit/provider/whereabouts'
import {
  blockAdd,
  blockDel,
  dualAdd,
  dualCheck,
  dualDel,
  dualGc,
  dualStatus,
  poolsOf,
} from 'ipam-kit/provider/whereabouts-blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { NAMESPACE, oldNetwork, oldPool } from './old-objects.js'

const kinds = [Pod, OldPool, OverlappingRangeIPReservation, IPPool, IPBlock, IPDomain].map(({ info }) => info)

export type Phase = 'dual-write' | 'blocks' | null

export interface Who {
  readonly pod?: string
  readonly container?: string
  readonly ifname?: string
  /** `K8S_POD_UID`. Empty: the runtime does not say it. */
  readonly uid?: string
}

/** A store with a pool of whereabouts, the pools of blocks of its networks, and the dual commands. */
export class DualWorld {
  nowMs = Date.parse('2026-01-01T00:00:00Z')
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds })
  /** What the last command has sent, as `get IPPool 10.0.0.0-29`. */
  readonly requests: string[] = []
  /** Called before each request of a command, with its number from 0. */
  before: (request: number) => Promise<void> | void = () => {}

  /** Makes the pools of blocks of a network, and takes them into their domains. */
  async prepare(ipam: object): Promise<this> {
    for (const pool of unwrap(poolsOf({ config: oldNetwork(ipam), pools: [] }))) unwrap(await this.store.create(pool))
    return this.operate()
  }

  async operate(): Promise<this> {
    const { failures } = await runUntilQuiet(this.store, [blocksOperator({ emptySeconds: 0 })], {
      now: () => this.nowMs,
    })
    if (failures.length > 0) throw new Error(JSON.stringify(failures))
    return this
  }

  /** Makes a pool of whereabouts. */
  async pool(range: string, phase: Phase, rows: { readonly [key: string]: unknown } = {}): Promise<this> {
    const annotations = phase === null ? {} : { 'ipam-kit.dev/upgrade': phase }
    unwrap(await this.store.create(oldPool(range, rows, { annotations })))
    return this
  }

  async setPhase(name: string, phase: string | null): Promise<void> {
    await this.#patchPool(name, { metadata: { annotations: { 'ipam-kit.dev/upgrade': phase } } })
  }

  /** Writes rows of a pool of whereabouts; `null` removes one. */
  async setRows(name: string, allocations: { readonly [key: string]: unknown }): Promise<void> {
    await this.#patchPool(name, { spec: { allocations } })
  }

  /** Disables a pool of blocks. */
  async disable(name: string): Promise<void> {
    const { apiVersion, kind } = IPPool.info
    unwrap(await this.store.patch({ apiVersion, kind, name }, { spec: { disabled: true } } as never))
  }

  async deletePool(name: string): Promise<void> {
    unwrap(await this.store.delete(oldRef(name)))
  }

  async #patchPool(name: string, patch: object): Promise<void> {
    unwrap(await this.store.patch(oldRef(name), patch as never))
  }

  request(ipam: object, { pod = 'a', container = `c-${pod}`, ifname = 'net1', uid = `uid-${pod}` }: Who = {}) {
    return { config: oldNetwork(ipam), containerId: container, ifname, podNamespace: 'ns', podName: pod, podUid: uid }
  }

  /** The addresses of the answer, or the kind of another outcome. */
  async add(ipam: object, who?: Who, options?: AddOptions): Promise<string> {
    return textOf(await this.run<AddOutcome>(dualAdd(this.request(ipam, who), options)))
  }

  async del(ipam: object, who?: Who): Promise<string> {
    return textOf(await this.run<DelOutcome>(dualDel(this.request(ipam, who))))
  }

  async check(ipam: object, who?: Who, addresses?: readonly string[]): Promise<string> {
    const given = addresses?.map((text) => Address.parse(text))
    return (await this.run(dualCheck({ ...this.request(ipam, who), addresses: given }))).kind
  }

  async gc(ipam: object, request: Partial<GcRequest>): Promise<string> {
    const outcome = await this.run(dualGc({ config: oldNetwork(ipam), nodeName: 'n1', ...request }))
    return outcome.kind === 'collected' ? outcome.addresses.map(Address.format).join(' ') : outcome.kind
  }

  async status(ipam: object): Promise<string> {
    const { kind, message } = await this.run(dualStatus({ config: oldNetwork(ipam) }))
    return kind === 'ready' ? kind : `${kind}: ${message}`
  }

  /** As the definition of type `ipam-kit` does it. */
  async blockAdd(ipam: object, who?: Who): Promise<string> {
    return textOf(await this.run<AddOutcome>(blockAdd(this.#onBlocks(this.request(ipam, who)))))
  }

  async blockDel(ipam: object, who?: Who): Promise<string> {
    return textOf(await this.run<DelOutcome>(blockDel(this.#onBlocks(this.request(ipam, who)))))
  }

  #onBlocks(request: InterfaceRequest) {
    return { ...request, network: { config: request.config, pools: [] } }
  }

  async run<O extends Outcome>(task: Task<O>, store: Store = this.client()): Promise<O> {
    this.requests.length = 0
    const ended = await runTask(task, store, { now: () => this.nowMs })
    if (ended.kind !== 'done') throw Object.assign(new Error(ended.kind), { failure: ended.failure })
    return ended.outcome
  }

  /** The store, with `before` called before each request. */
  client(before = (request: number) => this.before(request)): Store {
    const below = this.store
    let requests = 0
    const sent = async <T>(what: string, go: () => Promise<T>): Promise<T> => {
      this.requests.push(what)
      await before(requests++)
      return go()
    }
    return storeOver(below, {
      get: (ref) => sent(`get ${ref.kind} ${ref.name}`, () => below.get(ref)),
      list: (query, options) => sent(`list ${query.kind}`, () => below.list(query, options)),
      create: (object) => sent(`create ${object.kind} ${object.metadata.name}`, () => below.create(object)),
      patch: (ref, patch, options) => sent(`patch ${ref.kind} ${ref.name}`, () => below.patch(ref, patch, options)),
      delete: (ref, options) => sent(`delete ${ref.kind} ${ref.name}`, () => below.delete(ref, options)),
    })
  }

  /** The rows of all pools of whereabouts: `10.0.0.1 ns/a c-a/net1`. */
  async oldRows(): Promise<readonly string[]> {
    const pools = unwrap(await this.store.list(OldPool.info)).items.map((object) => readRows(OldPool.parse(object)))
    return pools
      .flatMap(({ rows }) => rows)
      .map(({ address, podref, id, ifname }) => `${Address.format(address)} ${podref} ${id}/${ifname}`)
      .sort()
  }

  /** As a roll-back: the pool gets the rows of the blocks, and loses its others. */
  async makeEqual(name: string, first: Address): Promise<void> {
    const [old, blocks] = [await this.oldRows(), await this.blockRows()]
    const changes = [...old, ...blocks].flatMap((row) => {
      const [text = '', podref, holder = ''] = row.split(' ')
      const address = Address.parse(text)
      if (address.family !== first.family) return []
      const [id, ifname] = holder.split('/')
      const key = String(Address.distance(first, address))
      return [[key, blocks.includes(row) ? { id, podref, ifname } : null] as const]
    })
    await this.setRows(name, Object.fromEntries(changes))
  }

  /** The addresses that are reserved. */
  async reservations(): Promise<readonly string[]> {
    return unwrap(await this.store.list(OverlappingRangeIPReservation.info)).items.map(({ metadata }) => metadata.name)
  }

  /** The rows of the blocks, as `oldRows`. */
  async blockRows(): Promise<readonly string[]> {
    const blocks = unwrap(await this.store.list(IPBlock.info)).items.map((object) => IPBlock.parse(object))
    return blocks
      .flatMap(({ spec }) => {
        const first = Address.parse(spec.cidr.replace(/\/.*/u, ''))
        return Object.entries(spec.rows).map(
          ([unit, { owner, container, interface: name }]) =>
            `${Address.format(Address.add(first, Number(unit)))} ${owner} ${container}/${name}`,
        )
      })
      .sort()
  }

  /** @returns its uid */
  async makePod(name: string): Promise<string> {
    const { apiVersion, kind } = Pod.info
    const object = { apiVersion, kind, metadata: { name, namespace: 'ns' } } as KubeObject
    return unwrap(await this.store.create(object)).metadata.uid as string
  }

  async removePod(name: string): Promise<void> {
    const { apiVersion, kind } = Pod.info
    unwrap(await this.store.delete({ apiVersion, kind, namespace: 'ns', name }))
  }
}

function oldRef(name: string) {
  const { apiVersion, kind } = OldPool.info
  return { apiVersion, kind, namespace: NAMESPACE, name }
}

export function textOf(outcome: AddOutcome | DelOutcome): string {
  if (outcome.kind === 'allocated')
    return outcome.addresses.map(({ prefix }) => Address.format(prefix.address)).join(' ')
  return outcome.kind === 'released'
    ? ['released', ...outcome.addresses.map(Address.format)].join(' ')
    : `${outcome.kind}: ${outcome.message}`
}
