import { Address, Prefix } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPPool, NodeSlicePool, OverlappingRangeIPReservation, readRows } from 'ipam-kit/crd/whereabouts'
import { fail, type IpamError, unwrap } from 'ipam-kit/errors'
import {
  type AddOptions,
  add,
  type CheckOutcome,
  check,
  type DelOutcome,
  del,
  type GcRequest,
  gc,
  type InterfaceRequest,
  readWhereaboutsConfig,
  status,
} from 'ipam-kit/provider/whereabouts'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'

const NS = 'kube-system'
/** IPAMClaim, as its definition has it. */
export const IPAMClaim = {
  info: {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    plural: 'ipamclaims',
    namespaced: true,
    statusSubresource: true,
  },
}
export const KINDS = [Pod.info, IPPool.info, OverlappingRangeIPReservation.info, NodeSlicePool.info, IPAMClaim.info]

export interface Who {
  readonly pod?: string
  /** `K8S_POD_UID`. */
  readonly uid?: string
  readonly container?: string
  readonly ifname?: string
  readonly node?: string
  /** Members of the network configuration beside `ipam`. */
  readonly rest?: object
}

/** A store with the objects of whereabouts, and the commands of CNI on it. */
export class World {
  nowMs = Date.parse('2026-01-01T00:00:00Z')
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds: KINDS })
  /** What is sent to the store, as `get IPPool 10.0.0.0-24`. */
  readonly requests: string[] = []
  /** Fails a request instead of sending it: `STORE_IO`. */
  refuse: (request: string) => boolean = () => false

  /** The store that the commands use. */
  readonly client: Store = this.#watched()

  request(
    ipam: object,
    { pod = 'p1', uid, container = pod, ifname = 'net1', node, rest = {} }: Who = {},
  ): InterfaceRequest {
    const network = {
      cniVersion: '1.0.0',
      name: 'lab',
      type: 'macvlan',
      ...rest,
      ipam: { type: 'whereabouts', ...ipam },
    }
    const config = unwrap(readWhereaboutsConfig(network))
    return { config, containerId: container, ifname, podNamespace: 'ns', podName: pod, podUid: uid, nodeName: node }
  }

  async run<O>(task: Parameters<typeof runTask>[0], store: Store = this.client): Promise<O> {
    this.requests.length = 0
    const result = await runTask(task, store, { now: () => this.nowMs })
    if (result.kind !== 'done') throw Object.assign(new Error(result.kind), { failure: result.failure })
    return result.outcome as O
  }

  /** The addresses of the answer, or the kind of another outcome and its message. */
  async add(ipam: object, who?: Who, options?: AddOptions): Promise<readonly string[] | string> {
    const outcome = await this.run<{ kind: string; message: string; addresses?: readonly { prefix: Prefix }[] }>(
      add(this.request(ipam, who), options),
    )
    if (outcome.kind !== 'allocated') return `${outcome.kind}: ${outcome.message}`
    return (outcome.addresses ?? []).map(({ prefix }) => Prefix.format(prefix))
  }

  async del(ipam: object, who?: Who): Promise<string> {
    const outcome = await this.run<DelOutcome>(del(this.request(ipam, who)))
    const addresses = 'addresses' in outcome ? outcome.addresses.map(Address.format) : []
    return [outcome.kind, ...addresses].join(' ')
  }

  async check(ipam: object, who?: Who): Promise<CheckOutcome['kind']> {
    return (await this.run<CheckOutcome>(check(this.request(ipam, who)))).kind
  }

  async gc(ipam: object, request: Partial<GcRequest>): Promise<readonly string[] | string> {
    const { config } = this.request(ipam)
    const outcome = await this.run<{ kind: string; addresses?: readonly Address[] }>(
      gc({ config, nodeName: 'n1', ...request }),
    )
    return outcome.addresses?.map(Address.format) ?? outcome.kind
  }

  async status(ipam: object, who?: Who): Promise<string> {
    const { kind, message } = await this.run<{ kind: string; message: string }>(status(this.request(ipam, who)))
    return kind === 'ready' ? kind : `${kind}: ${message}`
  }

  /** All rows: `10.0.0.1 p1/net1 ns/p1` by pool, in the order of the addresses. */
  async rows(): Promise<readonly string[]> {
    return (await this.#list(IPPool.info.kind)).flatMap((object) =>
      [...readRows(IPPool.parse(object)).rows]
        .sort((left, right) => Address.compare(left.address, right.address))
        .map(({ address, id, ifname, podref }) => `${Address.format(address)} ${id}/${ifname ?? ''} ${podref}`),
    )
  }

  /** All reservations: `10.0.0.1 ns/p1`. */
  async reservations(): Promise<readonly string[]> {
    const objects = await this.#list(OverlappingRangeIPReservation.info.kind)
    return objects.map((object) => `${object.metadata.name} ${OverlappingRangeIPReservation.parse(object).spec.podref}`)
  }

  async get(kind: { readonly apiVersion: string; readonly kind: string }, name: string, namespace = NS) {
    return unwrap(await this.store.get({ apiVersion: kind.apiVersion, kind: kind.kind, name, namespace }))
  }

  async create(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
      const { name } = unwrap(await this.store.create(object)).metadata
      const { apiVersion, kind, metadata, status } = object
      const hasOwnStatus = KINDS.some((info) => info.kind === kind && info.statusSubresource)
      const ref = { apiVersion, kind, namespace: metadata.namespace, name }
      if (hasOwnStatus && status) unwrap(await this.store.patch(ref, { status }, { subresource: 'status' }))
    }
  }

  async remove(
    kind: { readonly apiVersion: string; readonly kind: string },
    name: string,
    namespace = NS,
  ): Promise<void> {
    unwrap(await this.store.delete({ apiVersion: kind.apiVersion, kind: kind.kind, name, namespace }))
  }

  async #list(kind: string): Promise<readonly KubeObject[]> {
    const { apiVersion } = kind === 'IPAMClaim' ? IPAMClaim.info : IPPool.info
    return unwrap(await this.store.list({ apiVersion, kind })).items
  }

  #watched(): Store {
    const seen = <T>(request: string, send: () => Promise<T>): Promise<T> => {
      this.requests.push(request)
      if (!this.refuse(request)) return send()
      return Promise.resolve(fail('STORE_IO', { operation: request, problem: 'forbidden' }) as T)
    }
    return storeOver(this.store, {
      get: (ref) => seen(`get ${ref.kind} ${ref.name}`, () => this.store.get(ref)),
      list: (query, options) => seen(`list ${query.kind}`, () => this.store.list(query, options)),
      create: (object) => seen(`create ${object.kind} ${object.metadata.name}`, () => this.store.create(object)),
      patch: (ref, patch, options) =>
        seen(`patch ${ref.kind} ${ref.name}`, () => this.store.patch(ref, patch, options)),
      delete: (ref, options) => seen(`delete ${ref.kind} ${ref.name}`, () => this.store.delete(ref, options)),
    })
  }
}

export function pool(range: string, allocations: object, name = range.replaceAll(/[:/]/g, '-')): KubeObject {
  const { apiVersion, kind } = IPPool.info
  return { apiVersion, kind, metadata: { namespace: NS, name }, spec: { range, allocations } }
}

export function row(pod: string, traits: object = {}): object {
  return { id: pod, podref: `ns/${pod}`, ifname: 'net1', ...traits }
}

export function reservation(name: string, pod: string, spec: object = {}): KubeObject {
  const { apiVersion, kind } = OverlappingRangeIPReservation.info
  return { apiVersion, kind, metadata: { namespace: NS, name }, spec: { podref: `ns/${pod}`, ifname: 'net1', ...spec } }
}

export function podObject(
  name: string,
  traits: { node?: string; phase?: string; labels?: Record<string, string>; networkStatus?: object[] } = {},
): KubeObject {
  const { node = 'n1', phase = 'Running', labels, networkStatus } = traits
  const annotations = networkStatus && { 'k8s.v1.cni.cncf.io/network-status': JSON.stringify(networkStatus) }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'ns', name, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: { nodeName: node },
    status: { phase },
  }
}

export function claim(name: string, status?: object): KubeObject {
  const { apiVersion, kind } = IPAMClaim.info
  return {
    apiVersion,
    kind,
    metadata: { namespace: 'ns', name },
    spec: { network: 'lab', interface: '' },
    ...(status && { status }),
  }
}

export function slices(
  name: string,
  range: string,
  allocations: readonly (readonly [node: string, slice: string])[],
): KubeObject {
  const { apiVersion, kind } = NodeSlicePool.info
  return {
    apiVersion,
    kind,
    metadata: { namespace: NS, name },
    spec: { range, sliceSize: '/26' },
    status: { allocations: allocations.map(([nodeName, sliceRange]) => ({ nodeName, sliceRange })) },
  }
}

/** The failure of a command that the store did not carry out. */
export async function failureOf(command: Promise<unknown>): Promise<string> {
  return command.then(
    (answer) => `answered ${JSON.stringify(answer)}`,
    (error: { failure?: IpamError }) => error.failure?.code ?? String(error),
  )
}
