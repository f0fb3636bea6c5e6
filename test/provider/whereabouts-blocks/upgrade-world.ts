import { Address } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { type KubeObject, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import { IPPool as OldPool, OverlappingRangeIPReservation, readRows } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { add, del, status, type WhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import {
  blockAdd,
  blockDel,
  copyRows,
  cutOver,
  dualAdd,
  dualDel,
  finishUpgrade,
  type PhaseOutcome,
  poolsOf,
  rollBack,
  startUpgrade,
  type UpgradeOutcome,
  verifyUpgrade,
} from 'ipam-kit/provider/whereabouts-blocks'
import { LEASE, runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { NAMESPACE, oldNetwork, pod } from './old-objects.js'

const models = [Pod, OldPool, OverlappingRangeIPReservation, IPPool, IPBlock, IPDomain]
const kinds = [...models.map(({ info }) => info), LEASE]

/** A process that ends in the middle of its work. */
class Crash extends Error {}

/** The store for a writer that does not read the phases of an upgrade. */
function withoutPhases(below: Store): Store {
  const hidden = (object: KubeObject): KubeObject => {
    const { 'ipam-kit.dev/upgrade': _, ...annotations } = object.metadata.annotations ?? {}
    return { ...object, metadata: { ...object.metadata, annotations } }
  }
  type Answer = Awaited<ReturnType<Store['get']>>
  const answer = async (found: Promise<Answer>): Promise<Answer> => {
    const one = await found
    return one.ok ? { ok: true, value: hidden(one.value) } : one
  }
  return storeOver(below, {
    get: (ref) => answer(below.get(ref)),
    patch: (ref, patch, options) => answer(below.patch(ref, patch, options)),
  })
}

function podRef(name: string): ObjectRef {
  const { apiVersion, kind } = Pod.info
  return { apiVersion, kind, namespace: 'ns', name }
}

/** A store with pools of whereabouts and blocks, and what writes to them. */
export class UpgradeWorld {
  nowMs = Date.parse('2026-01-01T00:00:00Z')
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds })
  readonly networks: readonly WhereaboutsConfig[]
  /** The phase that each pool of whereabouts gets when it is created. */
  phase: string | undefined
  /** Whether the tasks on pools of whereabouts see the phase of a pool. */
  knowsPhases = false
  /** Called before each request of `copyRows` and `verifyUpgrade`, with its number from 0. */
  before: (request: number) => Promise<void> | void = () => {}

  constructor(ipams: readonly object[]) {
    this.networks = ipams.map((ipam) => oldNetwork(ipam))
  }

  /** Makes the pools of blocks, and takes them into their domains. */
  async prepare({ accepted = true } = {}): Promise<this> {
    for (const config of this.networks) {
      for (const pool of unwrap(poolsOf({ config, pools: [] }))) await this.store.create(pool)
    }
    if (!accepted) return this
    const { failures } = await runUntilQuiet(this.store, [blocksOperator({ emptySeconds: 0 })], {
      now: () => this.nowMs,
    })
    if (failures.length > 0) throw new Error(JSON.stringify(failures))
    return this
  }

  async put(object: KubeObject): Promise<void> {
    unwrap(await this.store.create(object))
    if (object.kind === OldPool.info.kind && object.apiVersion === OldPool.info.apiVersion) await this.#setPhase()
  }

  async #setPhase(): Promise<void> {
    if (this.phase === undefined) return
    for (const object of unwrap(await this.store.list(OldPool.info)).items) {
      const annotations = { 'ipam-kit.dev/upgrade': this.phase }
      if (object.metadata.annotations === undefined) {
        unwrap(await this.store.patch(refOf(object), { metadata: { annotations } } as never))
      }
    }
  }

  /**
   * Adds an interface by the tasks on pools of whereabouts, as a writer does that knows no phases
   * of an upgrade. Its Pod then reports the address.
   */
  async add(name: string, container = `c-${name}`, network = 0, store = this.store): Promise<string> {
    const request = this.request(name, container, network)
    const client = this.knowsPhases ? store : withoutPhases(store)
    const ended = await runTask(add(request), client, { now: () => this.nowMs })
    if (ended.kind !== 'done') return ended.kind
    if (ended.outcome.kind !== 'allocated') return ended.outcome.kind
    const address = Address.format(ended.outcome.addresses[0]!.prefix.address)
    await this.#setPhase()
    await this.report(name, [`net1=${address}`])
    return address
  }

  async del(name: string, container = `c-${name}`, network = 0, store = this.store): Promise<void> {
    await runTask(del(this.request(name, container, network)), withoutPhases(store), { now: () => this.nowMs })
  }

  /** Adds an interface by the tasks on blocks. */
  async blockAdd(name: string, network = 0, store = this.store): Promise<string> {
    const found = await this.store.get(podRef(name))
    const podUid = (found.ok && found.value.metadata.uid) || `uid-${name}`
    const request = { ...this.request(name, `c-${name}`, network), podUid }
    const task = blockAdd({ ...request, network: { config: this.networks[network]!, pools: [] } })
    const ended = await runTask(task, store, { now: () => this.nowMs })
    if (ended.kind !== 'done' || ended.outcome.kind !== 'allocated') return ended.kind
    return Address.format(ended.outcome.addresses[0]!.prefix.address)
  }

  /** Adds an interface by the tasks for pools in an upgrade. */
  async dualAdd(name: string, store = this.store): Promise<string> {
    const found = await this.store.get(podRef(name))
    const podUid = (found.ok && found.value.metadata.uid) || `uid-${name}`
    const task = dualAdd({ ...this.request(name, `c-${name}`, 0), podUid })
    const ended = await runTask(task, store, { now: () => this.nowMs })
    if (ended.kind !== 'done' || ended.outcome.kind !== 'allocated') return ended.kind
    const address = Address.format(ended.outcome.addresses[0]!.prefix.address)
    await this.report(name, [`net1=${address}`])
    return address
  }

  async dualDel(name: string, store = this.store): Promise<void> {
    await runTask(dualDel(this.request(name, `c-${name}`, 0)), store, { now: () => this.nowMs })
  }

  /** The phase of the pool of whereabouts. `undefined`: it has none, or does not exist. */
  async phaseOf(pool: string): Promise<string | undefined> {
    const { apiVersion, kind } = OldPool.info
    const found = await this.store.get({ apiVersion, kind, namespace: NAMESPACE, name: pool })
    return found.ok ? found.value.metadata.annotations?.['ipam-kit.dev/upgrade'] : undefined
  }

  /** The Pod with what it reports; it is created if it does not exist. */
  async report(name: string, reports: readonly string[] | undefined): Promise<void> {
    const object = pod(name, reports)
    const { apiVersion, kind, metadata } = object
    const ref = podRef(name)
    const made = await this.store.create({ apiVersion, kind, metadata } as KubeObject)
    if (!made.ok) unwrap(await this.store.patch(ref, { metadata: { annotations: metadata.annotations } } as never))
  }

  /** The addresses that Pods report. */
  async reported(): Promise<ReadonlySet<string>> {
    const pods = unwrap(await this.store.list(Pod.info)).items
    const statuses = pods.map(({ metadata }) => metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '[]')
    return new Set(statuses.flatMap((text) => (JSON.parse(text) as { ips: string[] }[]).flatMap(({ ips }) => ips)))
  }

  async removePod(name: string): Promise<void> {
    await this.store.delete(podRef(name))
  }

  /** As `add`, with other work before one of its requests. */
  addWith(name: string, at: number, meanwhile: () => Promise<void>): Promise<string> {
    const before = (request: number) => (request === at ? meanwhile() : undefined)
    return this.add(name, `c-${name}`, 0, this.client(before))
  }

  async status(network = 0): Promise<string> {
    const ended = await runTask(status({ config: this.networks[network]! }), this.store, { now: () => this.nowMs })
    return ended.kind === 'done' ? ended.outcome.kind : ended.kind
  }

  start(pool: string): Promise<PhaseOutcome> {
    return this.run(startUpgrade({ pool, networks: this.networks }))
  }

  /** Gives the Lease of upstream another record. `null`: deletes it. */
  async lease(spec: object | null): Promise<void> {
    const ref = { apiVersion: LEASE.apiVersion, kind: LEASE.kind, namespace: NAMESPACE, name: 'whereabouts' }
    const { apiVersion, kind, ...metadata } = ref
    if (spec === null) unwrap(await this.store.delete(ref))
    else if ((await this.store.get(ref)).ok) unwrap(await this.store.patch(ref, { spec } as never))
    else await this.put({ apiVersion, kind, metadata, spec } as KubeObject)
  }

  async leaseSpec(): Promise<unknown> {
    const { apiVersion, kind } = LEASE
    const found = await this.store.get({ apiVersion, kind, namespace: NAMESPACE, name: 'whereabouts' })
    return found.ok ? found.value.spec : found.failure.code
  }

  /** Releases an interface by the tasks on blocks. */
  async blockDel(name: string, container = `c-${name}`): Promise<void> {
    const task = blockDel({ ...this.request(name, container, 0), network: { config: this.networks[0]!, pools: [] } })
    await runTask(task, this.store, { now: () => this.nowMs })
  }

  cut(pool: string): Promise<PhaseOutcome> {
    return this.run(cutOver({ pool, networks: this.networks }))
  }

  /** Goes back to the phase `dual-write`. */
  back(pool: string): Promise<PhaseOutcome> {
    return this.run(rollBack({ pool, networks: this.networks, to: 'dual-write' }))
  }

  /** Goes back to no phase. */
  leave(pool: string): Promise<PhaseOutcome> {
    return this.run(rollBack({ pool, networks: this.networks, to: 'none' }))
  }

  finish(pool: string): Promise<PhaseOutcome> {
    return this.run(finishUpgrade({ pool, networks: [] }))
  }

  copy(pool: string): Promise<UpgradeOutcome> {
    return this.run(copyRows({ pool, networks: this.networks }))
  }

  verify(pool: string): Promise<UpgradeOutcome> {
    return this.run(verifyUpgrade({ pool, networks: this.networks }))
  }

  /** As a task (`copy`), in a process that ends before a request. @returns whether it was reached */
  async crash(
    pool: string,
    request: number,
    task: 'copy' | 'start' | 'cut' | 'back' | 'leave' | 'finish' = 'copy',
  ): Promise<boolean> {
    const { before } = this
    this.before = (number) => {
      if (number === request) throw new Crash()
    }
    try {
      await this[task](pool)
      return false
    } catch (error) {
      if (error instanceof Crash) return true
      throw error
    } finally {
      this.before = before
    }
  }

  /** The rows of a pool of whereabouts: `address namespace/pod container/interface`. */
  async oldRows(pool: string): Promise<readonly string[]> {
    const { apiVersion, kind } = OldPool.info
    const found = await this.store.get({ apiVersion, kind, namespace: NAMESPACE, name: pool })
    const rows = found.ok ? readRows(OldPool.parse(found.value)).rows : []
    return rows.map(({ address, podref, id, ifname }) => `${Address.format(address)} ${podref} ${id}/${ifname}`).sort()
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

  /** The reservations, as `oldRows`. */
  async reservations(): Promise<readonly string[]> {
    const found = unwrap(await this.store.list(OverlappingRangeIPReservation.info)).items
    return found
      .map((object) => OverlappingRangeIPReservation.parse(object))
      .map(({ metadata, spec }) => `${metadata.name} ${spec.podref} ${spec.containerid}/${spec.ifname}`)
      .sort()
  }

  /** Changes a reservation. `null`: deletes it. */
  async setReservation(name: string, spec: object | null): Promise<void> {
    const { apiVersion, kind } = OverlappingRangeIPReservation.info
    const ref = { apiVersion, kind, namespace: NAMESPACE, name }
    if (spec === null) unwrap(await this.store.delete(ref))
    else unwrap(await this.store.patch(ref, { spec } as never))
  }

  /** Changes members of a row of a pool of whereabouts. */
  async setRow(pool: string, key: number, row: object): Promise<void> {
    const { apiVersion, kind } = OldPool.info
    const ref = { apiVersion, kind, namespace: NAMESPACE, name: pool }
    unwrap(await this.store.patch(ref, { spec: { allocations: { [key]: row } } } as never))
  }

  /** The rows of a pool of whereabouts as they are stored. */
  async stored(pool: string): Promise<unknown> {
    const { apiVersion, kind } = OldPool.info
    return OldPool.parse(unwrap(await this.store.get({ apiVersion, kind, namespace: NAMESPACE, name: pool }))).spec
      .allocations
  }

  /** Writes a row to the only block. */
  async setBlockRow(unit: number, row: object): Promise<void> {
    const [block] = unwrap(await this.store.list(IPBlock.info)).items
    unwrap(await this.store.patch(refOf(block!), { spec: { rows: { [unit]: row }, last: unit } } as never))
  }

  /** All objects of whereabouts as they are stored. */
  async oldObjects(): Promise<string> {
    const lists = [OldPool, OverlappingRangeIPReservation].map(({ info }) => this.store.list(info))
    return JSON.stringify((await Promise.all(lists)).map((list) => unwrap(list).items))
  }

  async run<O extends Outcome>(task: Task<O>): Promise<O> {
    const ended = await runTask(task, this.client(), { now: () => this.nowMs })
    if (ended.kind !== 'done') throw new Error(JSON.stringify(ended.failure))
    return ended.outcome
  }

  /** The store, with work before each request. */
  client(before = (request: number) => this.before(request)): Store {
    const below = this.store
    let requests = 0
    const then = async <T>(go: () => Promise<T>): Promise<T> => {
      await before(requests++)
      return go()
    }
    return storeOver(below, {
      get: (ref) => then(() => below.get(ref)),
      list: (query, options) => then(() => below.list(query, options)),
      create: (object) => then(() => below.create(object)),
      patch: (ref, patch, options) => then(() => below.patch(ref, patch, options)),
      delete: (ref, options) => then(() => below.delete(ref, options)),
    })
  }

  request(podName: string, containerId: string, network = 0) {
    return { config: this.networks[network]!, containerId, ifname: 'net1', podNamespace: 'ns', podName }
  }
}
