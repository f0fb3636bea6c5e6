import { Prefix } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { type NodeIPAMOptions, rankClusterCIDRs, readRange } from 'ipam-kit/provider/node-ipam'
import { type Answers, isRecord } from './answer.js'
import { inAskedOrder } from './asked-order.js'
import { countOrText } from './count.js'
import type { Sight, StepResults } from './node-ipam-steps.js'
import { type NodeIPAMWorld, textsOf } from './node-ipam-world.js'

/** What a case asks about: the objects in a world, at its end. */
export interface WorldAnswersInput {
  readonly world: NodeIPAMWorld
  readonly end: Sight
  /** The Node that a case is about where it names none. */
  readonly node: string | undefined
  readonly steps?: StepResults | undefined
  /** What is there before the controller begins. */
  readonly start: readonly KubeObject[]
}

/**
 * What can be asked of a world: of Nodes and ClusterCIDRs by name, of the Node that it is about, of
 * all that is in use.
 */
export function worldAnswers({ world, end, node, steps, start }: WorldAnswersInput, expect: unknown): Answers {
  const given = [...world.given.keys()]
  const subnetsOf = (name: string | undefined) => (name === undefined ? null : (end.get(name) ?? null))
  const byName = [...end.keys()].map((name) => [name, (asked: unknown) => stateOf(world, end, name, asked)] as const)
  return {
    ...Object.fromEntries(byName),
    podCIDRs: () => subnetsOf(node),
    from: () => world.given.get(node ?? '')?.range ?? null,
    patches: () => Object.fromEntries(given.map((name) => [name, subnetsOf(name)])),
    patchedNodes: (asked) => inAskedOrder(asked, given),
    event: () => world.events.findLast(({ about }) => about.name === node)?.reason ?? null,
    error: (asked) => errorFor(asked, node === undefined ? [] : errorsOf(world, node)),
    startsUp: () => true,
    noThrow: () => true,
    ...usageAnswers(world, isRecord(expect) && expect.startsUp !== undefined ? start : undefined),
    ...deletionAnswers(world, end),
    results: (asked) => (steps?.results ?? []).map((result, i) => likeAsked(result, Array.isArray(asked) && asked[i])),
    checks: (asked) => (steps?.checks ?? []).map((seen, i) => seenOf(seen, world, Array.isArray(asked) && asked[i])),
    ...notesOf(expect),
  }
}

/** What a case says about itself in its expectation. */
export function notesOf(expect: unknown): Answers {
  return isRecord(expect) && typeof expect.note === 'string' ? { note: (asked) => asked } : {}
}

/** The names that the cases have for what can go wrong with a Node. */
function errorsOf(world: NodeIPAMWorld, node: string): readonly string[] {
  const outcome = world.outcome('Node', node)
  if (outcome === undefined) return []
  if (outcome.kind === 'waiting') return ['noneRemaining']
  if (!('problems' in outcome)) return []
  // subnets with host bits are occupied all the same
  const problems = outcome.problems.filter(({ subnets }) => subnets.length > 0)
  const isOutside = problems.some(({ reason }) => reason === 'CIDRNotOwned')
  return [...(isOutside ? ['couldNotOccupy'] : []), ...problems.map(({ message }) => message)]
}

/**
 * The error asked for, if it is one of those that there are, or a part of one; else the first of
 * them.
 */
export function errorFor(asked: unknown, errors: readonly string[]): unknown {
  if (errors.length === 0) return false
  if (asked === true) return true
  return errors.some((error) => error.includes(String(asked))) ? asked : errors[0]
}

/**
 * Of a Node its subnets, or why it has none where a word is asked for; of a ClusterCIDR whether it
 * is there.
 */
function stateOf(world: NodeIPAMWorld, end: Sight, name: string, asked: unknown): unknown {
  const state = end.get(name)
  // of a Node that is deleted: what it had
  if (state === 'absent' && Array.isArray(asked)) return textsOf(world.given.get(name)?.subnets ?? [])
  if (state !== null || typeof asked !== 'string') return state
  if (asked === 'error') return errorsOf(world, name).length > 0 ? asked : null
  return world.events.findLast(({ about }) => about.name === name)?.reason ?? world.outcome('Node', name)?.kind ?? null
}

/**
 * What is in use; `occupied` before the controller has given anything where a case asks how it
 * starts.
 */
function usageAnswers(world: NodeIPAMWorld, start: readonly KubeObject[] | undefined): Answers {
  const used = world.inUse()
  const isIn = (ranges: readonly Prefix[]) => (prefix: Prefix) => ranges.some((one) => Prefix.contains(one, prefix))
  const { cache, state } = world.planner.context
  const given = [...(cache.ranges ?? [])].flatMap(({ object, read }) => {
    return read.ok && object.metadata.deletionTimestamp === undefined ? [read.value] : []
  })
  const ranges = [state.range ?? [], given].flat().flatMap(({ spaces }) => spaces.map((each) => each.prefix))
  const ofFamily = (family: 4 | 6) => () => textsOf(used.filter(({ address }) => address.family === family))
  const problemsOf = (reason: string) => () =>
    textsOf(world.problems().flatMap((problem) => (problem.reason === reason ? problem.subnets : [])))
  return {
    occupied: () => textsOf(world.inUse(start).filter(isIn(ranges))),
    occupiedV4: ofFamily(4),
    occupiedV6: ofFamily(6),
    orphans: problemsOf('CIDRNotOwned'),
    conflicts: problemsOf('CIDRConflict'),
    mustNotAllocate: (asked) =>
      (Array.isArray(asked) ? asked : [asked]).filter((text) =>
        used.some((prefix) => Prefix.overlaps(prefix, Prefix.parse(String(text)))),
      ),
  }
}

/** What becomes of the first ClusterCIDR that was deleted. */
function deletionAnswers(world: NodeIPAMWorld, end: Sight): Answers {
  const name = world.names('ClusterCIDR').find((each) => end.get(each) !== 'present')
  const outcome = name === undefined ? undefined : world.outcome('ClusterCIDR', name)
  const nodes = outcome !== undefined && 'nodes' in outcome ? outcome.nodes : undefined
  return {
    removeFinalizer: () => name !== undefined && end.get(name) === 'absent',
    terminating: () => name !== undefined && end.get(name) === 'present with deletionTimestamp',
    blockedBy: (asked) => inAskedOrder(asked, nodes ?? []),
  }
}

/** Subnets as a list, or the first one where a text is asked for. */
function likeAsked(result: unknown, asked: unknown): unknown {
  return typeof asked === 'string' && Array.isArray(result) ? result[0] : result
}

/** What is seen of the names asked for; `clusterCIDR` is the first one, `node` the first Node. */
function seenOf(seen: Sight, world: NodeIPAMWorld, asked: unknown): unknown {
  if (!isRecord(asked)) return null
  const nameOf = (key: string) => {
    if (seen.has(key)) return key
    return key === 'clusterCIDR' ? world.names('ClusterCIDR')[0] : world.names('Node')[0]
  }
  return Object.fromEntries(Object.keys(asked).map((key) => [key, seen.get(nameOf(key) ?? '') ?? null]))
}

/**
 * What can be asked of ClusterCIDRs alone: whether they give subnets, how many, and in which order
 * a Node tries them.
 */
export function rangeAnswers(objects: readonly KubeObject[], node: KubeObject | undefined): Answers {
  const parsed = objects.map((object) => ClusterCIDR.safeParse(object))
  const ranges = parsed.flatMap((read) => (read.ok ? [read.value] : []))
  const [first] = ranges.map((range) => readRange(range))
  const order = (by: NodeIPAMOptions['order']) => () =>
    node === undefined ? [] : rankClusterCIDRs(node, ranges, { order: by }).map(({ metadata }) => metadata.name)
  const capacity = () => (first?.ok === true ? countOrText(first.value.capacity) : 0)
  return {
    valid: () => parsed.every((read) => read.ok && readRange(read.value).ok),
    capacity,
    maxNodes: capacity,
    order: order('numeric'),
    numeric: order('numeric'),
    parity: order('upstream'),
  }
}
