import { isDeepStrictEqual } from 'node:util'
import { Prefix } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { type NodeIPAMOptions, planNodeIPAM, readRange } from 'ipam-kit/provider/node-ipam'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { askedOf } from '../consumer-world.js'
import { errorFor, notesOf, rangeAnswers, worldAnswers } from '../node-ipam-answers.js'
import { defaultSpecAnswers, defaultSpecSchema, flagsSchema, optionsOf, servicesOf } from '../node-ipam-flags.js'
import { holdersOf, labelsFor, nodeOf, nodeSchema, rangeOf, rangeSchema } from '../node-ipam-input.js'
import { give, runSteps, sight, stepSchema, UnknownWord } from '../node-ipam-steps.js'
import { NodeIPAMWorld } from '../node-ipam-world.js'
import { readInput } from '../read-input.js'
import { listAnswers } from './nodeipam-network-view.js'

const texts = z.array(z.string())
const ranges = z.array(rangeSchema)
const nodes = z.array(nodeSchema)

/** What a case says of ClusterCIDRs and Nodes, and what happens to them. */
const worldSchema = z.strictObject({
  flags: flagsSchema.optional(),
  clusterCIDRs: ranges.default([]),
  clusterCIDR: rangeSchema.optional(),
  /** The ClusterCIDRs are deleted when everything else is there. */
  deletionTimestamp: z.union([z.boolean(), z.string()]).optional(),
  serviceCIDRs: texts.default([]),
  serviceCIDR: z.string().optional(),
  alreadyAllocated: texts.default([]),
  occupied: texts.default([]),
  nodes: nodes.default([]),
  node: nodeSchema.optional(),
  /** Names of Nodes that get subnets before anything else happens. */
  nodesUsing: texts.default([]),
  nodeHolds: z.string().optional(),
  /** How the Node that holds a subnet is deleted. */
  event: z.string().optional(),
  bootstrap: z
    .strictObject({ flags: flagsSchema.optional(), clusterCIDRs: ranges.default([]), existingNodes: nodes.default([]) })
    .optional(),
  /** ClusterCIDRs that come later. */
  add: rangeSchema.optional(),
  addLater: rangeSchema.optional(),
  steps: z.array(stepSchema).optional(),
  /** Of the Nodes that steps make. */
  labels: z.record(z.string(), z.string()).optional(),
  /** Names of ClusterCIDRs: each time a new Node comes that is for it. */
  allocateFor: texts.optional(),
  attempts: z.int().optional(),
})
type WorldInput = z.output<typeof worldSchema>

/** One range without a name. */
const poolSchema = z.strictObject({ clusterCIDR: z.string(), perNodeHostBits: z.int() })

const inputSchema = z.union([worldSchema, poolSchema, defaultSpecSchema])

/**
 * ClusterCIDRs and Nodes: upstream's multi-CIDR range allocator, on the controller of Nodes'
 * subnets and a store.
 */
export async function nodeipamMulticidrAllocator({ input, expect }: GivenCase): Promise<Answer> {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  try {
    if ('nodeMaskSizes' in data) return answerKeys(expect, defaultSpecAnswers(data))
    if ('perNodeHostBits' in data) return ofPool(data, expect)
    return await ofWorld(data, expect)
  } catch (error) {
    if (error instanceof UnknownWord) return unsupported(error.message)
    throw error
  }
}

async function ofPool({ clusterCIDR, perNodeHostBits }: z.output<typeof poolSchema>, expect: unknown): Promise<Answer> {
  const object = rangeOf({ perNodeHostBits, [clusterCIDR.includes(':') ? 'ipv6' : 'ipv4']: clusterCIDR })
  const read = readRange(ClusterCIDR.parse(object))
  const world = new NodeIPAMWorld({})
  await world.put(object)
  const given = await give(world, nodeOf('node'))
  return answerKeys(expect, {
    ...rangeAnswers([object], undefined),
    first: () => (Array.isArray(given) ? given[0] : null),
    error: (asked) => errorFor(asked, read.ok ? [] : [read.problem]),
    ...notesOf(expect),
  })
}

async function ofWorld(input: WorldInput, expect: unknown): Promise<Answer> {
  const { bootstrap } = input
  const flags = optionsOf(input.flags ?? bootstrap?.flags)
  if (!flags.ok) return answerKeys(expect, { error: (asked) => errorFor(asked, flags.problems) })
  const options: NodeIPAMOptions = { ...flags.value, serviceCIDRs: [...flags.value.serviceCIDRs, ...servicesOf(input)] }
  const given = [...(bootstrap?.clusterCIDRs ?? []), ...input.clusterCIDRs, ...[input.clusterCIDR ?? []].flat()]
  const ranges = given.map((range, index) => rangeOf(range, `range-${index}`))
  const world = new NodeIPAMWorld(options)
  const { start, listed } = await fill(world, input, ranges)
  const node = input.node === undefined ? undefined : nodeOf(input.node)
  for (let attempt = 0; node !== undefined && attempt < (input.attempts ?? 1); attempt++) await give(world, node)
  const isReleased = input.event === undefined ? undefined : await isReleasedBy(input.event, world, input.nodeHolds)
  const steps = input.steps ?? (input.allocateFor ?? []).map((name, index) => stepFor(name, index, ranges))
  const ran = await runSteps(world, steps, input.labels)
  const about = node ?? listed.at(-1)
  return answerKeys(expect, {
    ...rangeAnswers(ranges, about),
    ...worldAnswers({ world, end: await sight(world), node: about?.metadata.name, steps: ran, start }, expect),
    ...acceptedAnswers(world, ranges[0], await world.get('ClusterCIDR', ranges[0]?.metadata.name ?? '')),
    view: listAnswers(await world.view(options.serviceCIDRs)),
    created: (asked) => askedOf(asked, createdFrom(options)),
    released: () => isReleased,
  })
}

/**
 * Stores what is there at first, and the Nodes that the case lists among it; then what comes later.
 */
async function fill(world: NodeIPAMWorld, input: WorldInput, ranges: readonly KubeObject[]) {
  const { bootstrap, alreadyAllocated, occupied, nodeHolds } = input
  const holders = holdersOf([...alreadyAllocated, ...occupied, ...[nodeHolds ?? []].flat()])
  const labels = ranges[0] && labelsFor(ranges[0])
  const users = input.nodesUsing.map((name) => nodeOf({ name, labels }))
  const listed = [...(bootstrap?.existingNodes ?? []), ...input.nodes].map((each, i) => nodeOf(each, `node-${i}`))
  const start = [...ranges, ...holders, ...users, ...listed]
  for (const object of start) await world.put(object)
  await world.run()
  for (const later of [input.add, input.addLater]) if (later !== undefined) await world.put(rangeOf(later, 'later'))
  if (input.deletionTimestamp !== undefined && input.deletionTimestamp !== false) {
    for (const { metadata } of ranges) await world.delete('ClusterCIDR', metadata.name)
  }
  await world.run()
  return { start, listed }
}

/** A new Node that a ClusterCIDR selects. */
function stepFor(name: string, index: number, ranges: readonly KubeObject[]): z.output<typeof stepSchema> {
  const range = ranges.find(({ metadata }) => metadata.name === name)
  return { allocateFor: { name: `new-${index}`, labels: range && labelsFor(range) } }
}

/**
 * Whether the subnet is free after the only holder was deleted. `node` and
 * `DeletedFinalStateUnknown(node)`: a watch or a list tells it; another word: something else of
 * that name is told to be deleted.
 */
async function isReleasedBy(event: string, world: NodeIPAMWorld, cidr: string | undefined): Promise<boolean> {
  const [what = event] = /^\w+\((\w+)\)$/.exec(event)?.slice(1) ?? []
  const [name = ''] = world.names('Node')
  if (what === 'node') await world.delete('Node', name)
  else world.planner.observe({ kind: 'absent', ref: { apiVersion: 'v1', kind: what, name } })
  if (what === 'node') await world.run()
  return cidr !== undefined && !world.inUse().some((prefix) => Prefix.overlaps(prefix, Prefix.parse(cidr)))
}

function acceptedAnswers(world: NodeIPAMWorld, given: KubeObject | undefined, stored: KubeObject | undefined): Answers {
  const outcome = given && world.outcome('ClusterCIDR', given.metadata.name)
  return {
    accepted: () => outcome !== undefined && outcome.kind !== 'invalid',
    finalizers: () => stored?.metadata.finalizers ?? [],
    specUnchanged: () => isDeepStrictEqual(stored?.spec, given?.spec),
  }
}

/** The ClusterCIDR that a controller makes of its flags. */
function createdFrom(options: NodeIPAMOptions) {
  const effects = planNodeIPAM({ ...options, nodes: [], nowMs: 0 }).flatMap(({ plan }) => plan.effects)
  const object = effects.find((effect) => effect.kind === 'create')?.object
  return object && { ...object.metadata, spec: object.spec }
}
