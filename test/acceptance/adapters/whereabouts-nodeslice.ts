import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { IPPool, type NodeSliceAllocation, NodeSlicePool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { type NodeSliceOutcome, whereaboutsNodeSlices } from 'ipam-kit/provider/whereabouts'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const NetworkAttachmentDefinition = {
  info: {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    plural: 'network-attachment-definitions',
    namespaced: true,
    statusSubresource: false,
  },
}

const definitionSchema = z.strictObject({
  name: z.string().default('test'),
  /** `network_name`. Left out: the name. */
  network: z.string().optional(),
  ipamType: z.string().default('whereabouts'),
  range: z.string().optional(),
  sliceSize: z.string().optional(),
})

const inputSchema = z.strictObject({
  /** The slices of the NodeSlicePool. Left out: none exists. */
  before: z.array(z.strictObject({ nodeName: z.string(), sliceRange: z.string() })).optional(),
  /** What the definition says now. Left out: as the slices are. */
  range: z.string().optional(),
  sliceSize: z.string().optional(),
  /** The Nodes, in their order. Left out: those that have slices. */
  nodes: z.array(z.string()).optional(),
  /** The names of the definitions that own the NodeSlicePool. Left out: one. */
  owners: z.array(z.string()).optional(),
  nadDeleted: z.string().optional(),
  newNad: definitionSchema.optional(),
  /** The only definition. */
  nad: definitionSchema.optional(),
})
type Definition = z.output<typeof definitionSchema>
type Division = Pick<Definition, 'range' | 'sliceSize'>

const NAMESPACE = 'kube-system'

/** The error of upstream for a definition that is not served. Others are as they are. */
const ERRORS: Partial<Record<NodeSliceOutcome['kind'], string>> = {
  mismatch: 'found IPAM conf mismatch for network-attachment-definitions with same network name',
}

/** The node slice controller of upstream, on the planner and a store. */
export async function whereaboutsNodeslice({ input, expect }: GivenCase): Promise<Answer> {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { before, range, sliceSize, owners = ['test'], nadDeleted, newNad, nad } = known.data
  const division = divisionOf(before)
  const network = newNad?.network ?? nad?.network ?? owners[0] ?? 'test'
  const world = new World()
  const nodes = known.data.nodes ?? (before ?? []).map(({ nodeName }) => nodeName).filter((name) => name !== '')
  for (const name of nodes) await world.create({ ...kindOf(Node), metadata: { name }, spec: {} })
  const first = { range: range ?? division?.range, sliceSize: sliceSize ?? division?.sliceSize }
  const definitions = nad === undefined ? owners.map((name) => ({ name, ipamType: 'whereabouts', ...first })) : [nad]
  if (before !== undefined && division !== undefined) await world.create(poolOf(network, before, division))
  for (const each of definitions) await world.create(definitionOf({ network, ...each }))
  await world.run()
  if (nadDeleted !== undefined)
    await world.delete({ ...kindOf(NetworkAttachmentDefinition), namespace: NAMESPACE, name: nadDeleted })
  if (newNad !== undefined) await world.create(definitionOf({ network, ...newNad }))
  const outcomes = await world.run()
  const pool = await world.pool(network)
  const outcome = outcomes.get(`NodeSlicePool ${NAMESPACE}/${network}`)
  const about = outcomes.get(`NetworkAttachmentDefinition ${NAMESPACE}/${(newNad ?? definitions[0])?.name}`)
  return answerKeys(expect, {
    after: () => pool?.status?.allocations,
    unassigned: () => (outcome !== undefined && 'nodes' in outcome ? outcome.nodes : []),
    deleted: () => pool === undefined,
    owners: () => (pool?.metadata.ownerReferences ?? []).map(({ name }) => name),
    error: (asked) => errorOf(about, asked),
    ignored: () => about?.kind === 'ignored' && pool === undefined,
  })
}

function errorOf(about: NodeSliceOutcome | undefined, asked: unknown): unknown {
  if (about === undefined || about.kind === 'served' || about.kind === 'ignored') return null
  return asked === true ? true : (ERRORS[about.kind] ?? about.message)
}

/** The division that slices are of: their union, and the length of the first one. */
function divisionOf(slices: readonly NodeSliceAllocation[] | undefined): Division | undefined {
  const [first] = slices ?? []
  if (first === undefined) return undefined
  const all = RangeSet.parse((slices ?? []).map(({ sliceRange }) => sliceRange))
  return { range: RangeSet.formatPrefixes(all)[0], sliceSize: `/${Prefix.parse(first.sliceRange).length}` }
}

function definitionOf({ name, network, ipamType, range, sliceSize }: Definition): KubeObject {
  const ipam = { type: ipamType, range, node_slice_size: sliceSize, network_name: network }
  const config = JSON.stringify({ cniVersion: '0.3.1', name, type: 'macvlan', ipam })
  return { ...kindOf(NetworkAttachmentDefinition), metadata: { namespace: NAMESPACE, name }, spec: { config } }
}

function poolOf(name: string, allocations: readonly NodeSliceAllocation[], { range, sliceSize }: Division): KubeObject {
  const metadata = { namespace: NAMESPACE, name }
  return { ...kindOf(NodeSlicePool), metadata, spec: { range, sliceSize }, status: { allocations } }
}

function kindOf({ info: { apiVersion, kind } }: { readonly info: Pick<ObjectRef, 'apiVersion' | 'kind'> }) {
  return { apiVersion, kind }
}

class World {
  #seconds = 0
  readonly #store = memoryStore({
    now: () => ++this.#seconds * 1000,
    kinds: [Node.info, NetworkAttachmentDefinition.info, NodeSlicePool.info, IPPool.info],
  })
  readonly #planner = whereaboutsNodeSlices({ namespace: NAMESPACE })

  async create(object: KubeObject): Promise<void> {
    unwrap(await this.#store.create(object))
  }

  async delete(ref: ObjectRef): Promise<void> {
    unwrap(await this.#store.delete(ref))
  }

  /** Lets the controller work until it has nothing left to do. */
  async run(): Promise<ReadonlyMap<string, NodeSliceOutcome>> {
    return (await runUntilQuiet(this.#store, [this.#planner], { now: () => this.#seconds * 1000 })).outcomes
  }

  async pool(name: string): Promise<NodeSlicePool | undefined> {
    const found = await this.#store.get({ ...kindOf(NodeSlicePool), namespace: NAMESPACE, name })
    return found.ok ? NodeSlicePool.parse(found.value) : undefined
  }
}
