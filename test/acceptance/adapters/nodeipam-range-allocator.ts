import { Prefix } from 'ipam-kit/cidr'
import { type FlagResult, flagRange, type NodeRange, planNodeIPAM, readFlags } from 'ipam-kit/provider/node-ipam'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { errorFor, worldAnswers } from '../node-ipam-answers.js'
import { servicesOf } from '../node-ipam-flags.js'
import { holdersOf, isReadable, nodeOf, nodeSchema } from '../node-ipam-input.js'
import { give, runSteps, sight, stepSchema, UnknownWord } from '../node-ipam-steps.js'
import { NodeIPAMWorld } from '../node-ipam-world.js'
import { readInput } from '../read-input.js'

const texts = z.array(z.string())

const allocatorSchema = z.strictObject({
  clusterCIDRs: texts,
  nodeMaskSizes: z.array(z.int()),
  serviceCIDR: z.string().optional(),
  secondaryServiceCIDR: z.string().optional(),
  /** Of each range, or of all. */
  alreadyAllocated: z.array(z.union([z.string(), texts])).default([]),
  nodes: z.array(nodeSchema).default([]),
  node: nodeSchema.optional(),
  steps: z.array(stepSchema).optional(),
  /** Which of upstream's allocators reads the flags. */
  allocator: z.string().optional(),
})
type AllocatorInput = z.output<typeof allocatorSchema>

const flagsSchema = z.strictObject({
  allocateNodeCIDRs: z.boolean().optional(),
  clusterCIDR: z.string().optional(),
  nodeCIDRMaskSize: z.int().optional(),
  nodeCIDRMaskSizeIPv4: z.int().optional(),
  nodeCIDRMaskSizeIPv6: z.int().optional(),
  serviceCIDR: z.string().optional(),
  secondaryServiceCIDR: z.string().optional(),
})

const inputSchema = z.union([allocatorSchema, flagsSchema])

/**
 * The range allocator of kube-controller-manager and its flags, on the controller of Nodes' subnets
 * with a range of flags.
 */
export async function nodeipamRangeAllocator({ input, expect }: GivenCase): Promise<Answer> {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  try {
    return 'clusterCIDRs' in data ? await ofAllocator(data, expect) : ofFlags(data, expect)
  } catch (error) {
    if (error instanceof UnknownWord) return unsupported(error.message)
    throw error
  }
}

function ofFlags(flags: z.output<typeof flagsSchema>, expect: unknown): Answer {
  const read = readFlags(flags)
  const warnings = read.ok ? read.value.warnings : []
  return answerKeys(expect, {
    error: (asked) => errorFor(asked, read.ok ? [] : read.problems),
    nodeMaskSizes: () => (read.ok ? read.value.nodeMaskSizes : null),
    clusterCIDRs: () => (read.ok ? read.value.clusterCIDRs.map(Prefix.format) : null),
    serviceCIDRs: () => (read.ok ? read.value.serviceCIDRs.map(Prefix.format) : null),
    warning: (asked) => errorFor(asked, warnings),
  })
}

async function ofAllocator(input: AllocatorInput, expect: unknown): Promise<Answer> {
  const range = rangeOf(input)
  const problems = range.ok ? [] : range.problems
  const isTooBig = problems.length > 0 && problems.every((problem) => problem.includes('65,536'))
  const setError = isTooBig ? 'subnetTooBig' : null
  const ofSet = { fatal: () => isFatal(input, range, isTooBig), setError: () => setError }
  if (!range.ok) {
    const errors = setError === null ? problems : [setError]
    return answerKeys(expect, { ...ofSet, startsUp: () => false, error: (asked) => errorFor(asked, errors) })
  }
  const world = new NodeIPAMWorld({ range: range.value, serviceCIDRs: servicesOf(input) })
  const listed = input.nodes.map((node, index) => nodeOf(node, `node-${index}`))
  const start = [...holdersOf(input.alreadyAllocated.flat()), ...listed]
  for (const object of start) await world.put(object)
  await world.run()
  const node = input.node === undefined ? undefined : nodeOf(input.node)
  if (node !== undefined) await give(world, node)
  const steps = await runSteps(world, input.steps ?? [])
  const about = node ?? listed.at(-1)
  const isInRange = listed.every(isReadable) && world.problems().every(({ reason }) => reason !== 'CIDRNotOwned')
  return answerKeys(expect, {
    ...worldAnswers({ world, end: await sight(world), node: about?.metadata.name, steps, start }, expect),
    ...ofSet,
    // where upstream ends, a Node is reported
    startsUp: () => isInRange,
  })
}

function rangeOf({ clusterCIDRs, nodeMaskSizes }: AllocatorInput): FlagResult<NodeRange> {
  const read = clusterCIDRs.map((text) => ({ text, prefix: Prefix.safeParse(text) }))
  const unread = read.flatMap(({ text, prefix }) => (prefix.ok ? [] : [`${text} is not a CIDR`]))
  const prefixes = read.flatMap(({ prefix }) => (prefix.ok ? [prefix.value] : []))
  return unread.length > 0 ? { ok: false, problems: unread } : flagRange(prefixes, nodeMaskSizes)
}

/**
 * Whether upstream ends with such flags. Its cloud allocator reads no ranges. Its range allocator
 * starts with a service range that leaves nothing for Nodes, its others do not.
 */
function isFatal(input: AllocatorInput, range: FlagResult<NodeRange>, isTooBig: boolean): boolean {
  const { allocator = 'RangeAllocator' } = input
  if (allocator === 'CloudAllocator') return false
  if (!range.ok) return !isTooBig
  if (allocator === 'RangeAllocator') return false
  const nodes = [nodeOf('node')]
  const plans = planNodeIPAM({ nodes, range: range.value, serviceCIDRs: servicesOf(input), nowMs: 0 })
  return plans.some(({ plan }) => plan.outcome.kind === 'waiting')
}
