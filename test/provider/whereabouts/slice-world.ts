import { Node } from 'ipam-kit/crd/core'
import type { KubeObject, MergePatch } from 'ipam-kit/crd/meta'
import { IPPool, NodeSlicePool, poolName } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect } from 'ipam-kit/plan'
import { type NodeSliceOutcome, whereaboutsNodeSlices } from 'ipam-kit/provider/whereabouts'
import { type QuietResult, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

export const NetworkAttachmentDefinition = {
  info: {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    plural: 'network-attachment-definitions',
    namespaced: true,
    statusSubresource: false,
  },
}

const NAMESPACE = 'kube-system'

/** The configuration of a definition, as far as a test says it. */
export interface Ipam {
  readonly type?: string
  readonly range?: string
  readonly node_slice_size?: unknown
  readonly network_name?: string
  readonly exclude?: readonly string[]
  readonly [field: string]: unknown
}

/** A NetworkAttachmentDefinition: `name`, or `namespace/name`. Its configuration has its name. */
export function definition(name: string, ipam: Ipam | undefined, conf: object = {}): KubeObject {
  const [namespace, short] = name.includes('/') ? name.split('/') : ['lab', name]
  const given = ipam && { type: 'whereabouts', ...ipam }
  const config = JSON.stringify({
    cniVersion: '0.3.1',
    name: short,
    type: 'macvlan',
    ...(given && { ipam: given }),
    ...conf,
  })
  return rawDefinition(`${namespace}/${short}`, config)
}

/** A NetworkAttachmentDefinition with any text as its configuration. */
export function rawDefinition(name: string, config: unknown): KubeObject {
  const [namespace, short = ''] = name.split('/')
  const { apiVersion, kind } = NetworkAttachmentDefinition.info
  return { apiVersion, kind, metadata: { namespace, name: short }, spec: { config } }
}

/** Definitions, Nodes, NodeSlicePools and IPPools in a store, with the node slice controller. */
export class SliceWorld {
  readonly store: Store
  readonly events: EventEffect[] = []
  planner = whereaboutsNodeSlices()
  last: QuietResult<NodeSliceOutcome> | undefined
  #seconds = 0

  constructor() {
    const kinds = [Node.info, NetworkAttachmentDefinition.info, NodeSlicePool.info, IPPool.info]
    this.store = memoryStore({ now: () => ++this.#seconds * 1000, kinds })
  }

  /** Stores objects, replaces the spec of those that exist, and works. */
  async put(...objects: readonly KubeObject[]): Promise<this> {
    for (const object of objects) {
      const { apiVersion, kind, metadata } = object
      const { namespace, name } = metadata
      const ref = { apiVersion, kind, ...(namespace !== undefined && { namespace }), name }
      const found = await this.store.get(ref)
      if (found.ok) unwrap(await this.store.patch(ref, { spec: object.spec } as MergePatch))
      else unwrap(await this.store.create(object))
    }
    return this.run()
  }

  nodes(...names: readonly string[]): Promise<this> {
    const { apiVersion, kind } = Node.info
    return this.put(...names.map((name) => ({ apiVersion, kind, metadata: { name }, spec: {} })))
  }

  async delete({ info: { apiVersion, kind } }: { readonly info: Ref }, name: string): Promise<this> {
    const [namespace, short] = name.includes('/') ? name.split('/') : [undefined, name]
    unwrap(await this.store.delete({ apiVersion, kind, ...(namespace !== undefined && { namespace }), name: short! }))
    return this.run()
  }

  /** Sets the number of rows in the pool of a slice. */
  async rows(nodeName: string, range: string, count: number, networkName?: string): Promise<this> {
    const { apiVersion, kind } = IPPool.info
    const name = unwrap(poolName({ range, nodeName, networkName }))
    const row = (index: number) => [`${index + 1}`, { id: 'c', podref: `default/p${index}`, ifname: 'net1' }]
    const allocations = Object.fromEntries(Array.from({ length: count }, (_, index) => row(index)))
    const ref = { apiVersion, kind, namespace: NAMESPACE, name }
    if ((await this.store.get(ref)).ok) unwrap(await this.store.delete(ref))
    const metadata = { namespace: NAMESPACE, name }
    unwrap(await this.store.create({ apiVersion, kind, metadata, spec: { range, allocations } } as KubeObject))
    return this.run()
  }

  /** Another process takes over. */
  restart(): Promise<this> {
    this.planner = whereaboutsNodeSlices()
    return this.run()
  }

  async run(): Promise<this> {
    const onEvent = (event: EventEffect) => void this.events.push(event)
    this.last = await runUntilQuiet(this.store, [this.planner], { now: () => this.#seconds * 1000, onEvent })
    return this
  }

  async pool(name: string): Promise<NodeSlicePool | undefined> {
    const { apiVersion, kind } = NodeSlicePool.info
    const found = await this.store.get({ apiVersion, kind, namespace: NAMESPACE, name })
    return found.ok ? NodeSlicePool.parse(found.value) : undefined
  }

  /** The slices of a NodeSlicePool: `node slice`, or `- slice` for a free one. */
  async slices(name: string): Promise<readonly string[] | undefined> {
    const pool = await this.pool(name)
    return pool?.status?.allocations.map(({ nodeName, sliceRange }) => `${nodeName || '-'} ${sliceRange}`)
  }

  async owners(name: string): Promise<readonly string[]> {
    return ((await this.pool(name))?.metadata.ownerReferences ?? []).map((owner) => owner.name)
  }

  /** The kind of the outcome of a NodeSlicePool, or of a definition as `namespace/name`. */
  outcome(name: string): NodeSliceOutcome | undefined {
    const key = name.includes('/') ? `NetworkAttachmentDefinition ${name}` : `NodeSlicePool ${NAMESPACE}/${name}`
    return this.last?.outcomes.get(key)
  }

  /** The Events so far: `reason name-of-the-object`. */
  get told(): readonly string[] {
    return this.events.map(({ reason, about }) => `${reason} ${about.name}`)
  }
}

interface Ref {
  readonly apiVersion: string
  readonly kind: string
}
