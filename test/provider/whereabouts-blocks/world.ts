import { Address, Prefix } from 'ipam-kit/cidr'
import { Node, Pod } from 'ipam-kit/crd/core'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { blocksOperator, KnownBlocks } from 'ipam-kit/provider/blocks'
import type { AddOutcome, CheckOutcome, DelOutcome } from 'ipam-kit/provider/whereabouts'
import {
  type BlockGcRequest,
  type BlockInterfaceRequest,
  blockAdd,
  blockCheck,
  blockDel,
  blockGc,
  blockStatus,
  poolsOf,
  readBlockNetwork,
} from 'ipam-kit/provider/whereabouts-blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'

export const NetworkAttachmentDefinition = {
  info: {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    plural: 'network-attachment-definitions',
    namespaced: true,
    statusSubresource: false,
  },
} as const

const kinds = [Pod.info, Node.info, IPPool.info, IPBlock.info, IPDomain.info, NetworkAttachmentDefinition.info]

export interface Who {
  readonly pod?: string
  readonly uid?: string | undefined
  readonly container?: string
  readonly ifname?: string
  readonly node?: string
  readonly namespace?: string
  /** Members of the network configuration beside `ipam`. */
  readonly rest?: object
  readonly args?: { readonly [name: string]: string }
}

export function networkOf(ipam: object, rest: object = {}, args: Who['args'] = {}) {
  const input = { cniVersion: '1.0.0', name: 'lab', type: 'macvlan', ...rest, ipam: { type: 'ipam-kit', ...ipam } }
  return unwrap(readBlockNetwork(input, { args }))
}

/** A store with pools and blocks, and the commands of CNI on it, each by a process that knows nothing. */
export class World {
  nowMs = Date.parse('2026-01-01T00:00:00Z')
  readonly store: Store = memoryStore({ now: () => this.nowMs, kinds })
  /** What is sent to the store, as `get IPPool whereabouts.10.0.0.0-24`. */
  readonly requests: string[] = []
  /** Fails a request instead of sending it: `STORE_IO`. */
  refuse: (request: string) => boolean = () => false
  /** What the process of the commands knows. Left out: each command has a process of its own. */
  known: KnownBlocks | undefined

  /** The store that the commands use. */
  readonly client: Store = this.#watched()

  /** Makes the pools of a network, and takes them into their domains. */
  async prepare(ipam: object, namespace?: string): Promise<void> {
    for (const pool of unwrap(poolsOf(networkOf(ipam), { namespace }))) unwrap(await this.store.create(pool))
    await this.operate()
  }

  /** Makes a pool by hand. */
  async pool(name: string, spec: object): Promise<void> {
    const { apiVersion, kind } = IPPool.info
    unwrap(await this.store.create({ apiVersion, kind, metadata: { name }, spec } as KubeObject))
    await this.operate()
  }

  async operate(): Promise<void> {
    const { failures } = await runUntilQuiet(this.store, [blocksOperator({ emptySeconds: 0 })], {
      now: () => this.nowMs,
    })
    if (failures.length > 0) throw new Error(JSON.stringify(failures))
  }

  /** @returns its uid */
  async makePod(name: string, { status, ...more }: { status?: object } = {}, metadata: object = {}): Promise<string> {
    const { apiVersion, kind } = Pod.info
    const pod = { apiVersion, kind, metadata: { name, namespace: 'ns', ...metadata }, ...more }
    const { uid = '' } = unwrap(await this.store.create(pod as KubeObject)).metadata
    const ref = { apiVersion, kind, namespace: 'ns', name }
    if (status !== undefined) unwrap(await this.store.patch(ref, { status } as never, { subresource: 'status' }))
    return uid
  }

  request(ipam: object, who: Who = {}): BlockInterfaceRequest {
    const { pod = 'p1', container = pod, ifname = 'net1', node, namespace = 'ns', rest, args } = who
    return {
      network: networkOf(ipam, rest, args),
      containerId: container,
      ifname,
      podNamespace: namespace,
      podName: pod,
      podUid: 'uid' in who ? who.uid : `uid-${pod}`,
      nodeName: node,
    }
  }

  async run<O>(task: Parameters<typeof runTask>[0]): Promise<O> {
    this.requests.length = 0
    const result = await runTask(task, this.client, { now: () => this.nowMs })
    if (result.kind !== 'done') throw Object.assign(new Error(result.kind), { failure: result.failure })
    return result.outcome as O
  }

  /** The addresses of the answer, or the kind of another outcome and its message. */
  async add(ipam: object, who?: Who): Promise<readonly string[] | string> {
    const outcome = await this.run<AddOutcome>(blockAdd(this.request(ipam, who), this.#known()))
    if (outcome.kind !== 'allocated') return `${outcome.kind}: ${outcome.message}`
    return outcome.addresses.map(({ prefix }) => Prefix.format(prefix))
  }

  async del(ipam: object, who?: Who): Promise<string> {
    const outcome = await this.run<DelOutcome>(blockDel(this.request(ipam, who), this.#known()))
    const addresses = 'addresses' in outcome ? outcome.addresses.map(Address.format) : []
    return [outcome.kind, ...addresses].join(' ')
  }

  async check(ipam: object, who?: Who, addresses?: readonly string[]): Promise<string> {
    const request = { ...this.request(ipam, who), addresses: addresses?.map((text) => Address.parse(text)) }
    return (await this.run<CheckOutcome>(blockCheck(request, this.#known()))).kind
  }

  async gc(ipam: object, request: Partial<BlockGcRequest>): Promise<readonly string[] | string> {
    const { network } = this.request(ipam)
    const task = blockGc({ network, nodeName: 'n1', ...request }, this.#known())
    const outcome = await this.run<{ kind: string; addresses?: readonly Address[] }>(task)
    return outcome.addresses?.map(Address.format) ?? outcome.kind
  }

  async status(ipam: object): Promise<string> {
    const { network } = this.request(ipam)
    const { kind, message } = await this.run<{ kind: string; message: string }>(blockStatus({ network }, this.#known()))
    return kind === 'ready' ? kind : `${kind}: ${message}`
  }

  /** All rows: `block+offset owner uid container/interface pool`. */
  async rows(): Promise<readonly string[]> {
    const blocks = unwrap(await this.store.list(IPBlock.info)).items.map((object) => IPBlock.parse(object))
    return blocks.flatMap(({ metadata, spec }) =>
      Object.entries(spec.rows).map(
        ([unit, { owner, uid, container, interface: name, pool = spec.pool }]) =>
          `${metadata.name}+${unit} ${owner} ${uid} ${container}/${name} ${pool}`,
      ),
    )
  }

  #known(): KnownBlocks {
    return this.known ?? new KnownBlocks()
  }

  #watched(): Store {
    const below = this.store
    const sent = <T>(what: string, go: () => Promise<T>): Promise<T> => {
      this.requests.push(what)
      if (!this.refuse(what)) return go()
      const failure = { code: 'STORE_IO', context: { operation: what, problem: 'refused by the test' } }
      return Promise.resolve({ ok: false, failure } as T)
    }
    return storeOver(below, {
      get: (ref) => sent(`get ${ref.kind} ${ref.name}`, () => below.get(ref)),
      list: (query, options) => sent(`list ${query.kind}`, () => below.list(query, options)),
      create: (object) => sent(`create ${object.kind} ${object.metadata.name}`, () => below.create(object)),
      patch: (ref, patch, options) => sent(`patch ${ref.kind} ${ref.name}`, () => below.patch(ref, patch, options)),
    })
  }
}
