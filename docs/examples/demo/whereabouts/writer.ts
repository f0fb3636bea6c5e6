import { Address } from 'ipam-kit/cidr'
import type { Meta } from 'ipam-kit/crd'
import { OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import type { Outcome, Task } from 'ipam-kit/plan'
import { add, del, type InterfaceRequest } from 'ipam-kit/provider/whereabouts'
import { blockAdd, blockDel, dualAdd, dualDel } from 'ipam-kit/provider/whereabouts-blocks'
import { type RunTaskOptions, runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { CountedStore } from '../blocks/counted-store.js'
import { config, network, podRef } from './objects.js'

/** The plugin of a Node. Each call is a process of its own, so it remembers nothing. */
export class Writer {
  readonly node: string
  readonly store: CountedStore
  readonly #options: RunTaskOptions
  /** The addresses that containers were told, by Pod. */
  readonly told = new Map<string, string>()
  readonly surprises: string[] = []
  /** The IPAM type that the definition of the network has for the next ADD. */
  type: 'whereabouts' | 'ipam-kit' = 'whereabouts'
  calls = 0
  readonly #onBlocks = new Set<string>()

  constructor(node: string, store: Store, options: RunTaskOptions) {
    this.node = node
    this.store = new CountedStore(store)
    this.#options = options
  }

  async add(pod: string): Promise<string | undefined> {
    const isOnBlocks = this.type === 'ipam-kit'
    if (isOnBlocks) this.#onBlocks.add(pod)
    const request = this.#request(pod)
    const outcome = await this.#finish(isOnBlocks ? blockAdd({ ...request, network }) : dualAdd(request), this.store)
    if (outcome?.kind === 'allocated') {
      const [first] = outcome.addresses
      if (first !== undefined) this.told.set(pod, Address.format(first.prefix.address))
    } else if (outcome !== undefined) this.surprises.push(`ADD of ${pod}: ${outcome.kind}: ${outcome.message}`)
    return this.told.get(pod)
  }

  /** The runtime calls it with the type that the ADD had. */
  async del(pod: string): Promise<void> {
    const request = this.#request(pod)
    const isOnBlocks = this.#onBlocks.has(pod)
    const outcome = await this.#finish(isOnBlocks ? blockDel({ ...request, network }) : dualDel(request), this.store)
    if (outcome !== undefined && outcome.kind !== 'released') this.surprises.push(`DEL of ${pod}: ${outcome.message}`)
    this.told.delete(pod)
  }

  /** The process ends between its two writes: the row is stored, and the reservation is not sent. */
  async addAndCrash(pod: string): Promise<void> {
    await this.#crash(add(this.#request(pod)), 'create')
  }

  /** The reservation is deleted, and the row stays. */
  async delAndCrash(pod: string): Promise<void> {
    await this.#crash(del(this.#request(pod)), 'patch')
    this.told.delete(pod)
  }

  async #crash(task: Task<Outcome>, verb: CrashingVerb): Promise<void> {
    const { ended, store } = crashAt(this.store, verb)
    await Promise.race([ended, this.#finish(task, store)])
  }

  async #finish<O extends Outcome>(task: Task<O>, store: Store): Promise<O | undefined> {
    this.calls++
    const result = await runTask(task, store, this.#options)
    if (result.kind === 'done') return result.outcome
    this.surprises.push(`${this.node}: ${result.failure.message}`)
    return undefined
  }

  #request(pod: string): InterfaceRequest {
    const { namespace } = podRef(pod)
    return { config, containerId: `c-${pod}`, ifname: 'net1', podNamespace: namespace, podName: pod }
  }
}

/** The second write of an ADD creates a reservation, that of a DEL patches the pool. */
type CrashingVerb = 'create' | 'patch'

/** A store whose process ends before it sends the second write of a task: no answer comes. */
function crashAt(store: Store, verb: CrashingVerb): { readonly ended: Promise<void>; readonly store: Store } {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const isReservation = (object: Meta.KubeObject) => object.kind === OverlappingRangeIPReservation.info.kind
  const never = <T>() => {
    end()
    return new Promise<T>(() => {})
  }
  const crashing: Store = {
    capabilities: store.capabilities,
    get: (ref) => store.get(ref),
    list: (query, options) => store.list(query, options),
    watch: (query, options) => store.watch(query, options),
    update: (object, options) => store.update(object, options),
    patch: (ref, patch, options) => (verb === 'patch' ? never() : store.patch(ref, patch, options)),
    create: (object) => (verb === 'create' && isReservation(object) ? never() : store.create(object)),
    delete: (ref, options) => store.delete(ref, options),
  }
  return { ended, store: crashing }
}
