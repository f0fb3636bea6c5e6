import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { isIpamError } from 'ipam-kit/errors'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, type GivenCase, isRecord, refusedWith, unsupported } from '../answer.js'
import { type ChildCounts, ChildSet, OutOfRange } from '../child-set.js'
import { countOrText } from '../count.js'
import { readInput } from '../read-input.js'
import { readRepeats } from '../repeats.js'

const texts = z.array(z.string())
const wholeNumber = z.union([z.int(), z.string().regex(/^\d+$/)])

const network = {
  clusterCIDR: z.string(),
  subnetPrefix: z.int().optional(),
  /** Another way to say the length of a child. */
  perNodeHostBits: z.int().optional(),
}
const networkSchema = z.strictObject(network)

const opSchema = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('allocate') }),
  z.strictObject({ op: z.literal('allocateMany'), count: z.int(), as: z.string().optional() }),
  z.strictObject({ op: z.literal(['occupy', 'release']), cidr: z.string() }),
])

const oneSchema = z.strictObject({
  ...network,
  occupied: texts.optional(),
  alreadyAllocated: texts.optional(),
  index: wholeNumber.optional(),
  cidr: z.string().optional(),
  occupy: z.string().optional(),
  test: z.string().optional(),
  ops: z.array(opSchema).optional(),
  steps: texts.optional(),
})

const dualSchema = z.strictObject({ v4: networkSchema, v6: networkSchema, steps: texts })

const inputSchema = z.union([oneSchema, dualSchema])

type One = z.output<typeof oneSchema>
type Op = z.output<typeof opSchema>

/**
 * The subnets of nodes: upstream's packages cidrset and multicidrset, on an allocator of prefixes.
 */
export function nodeipamCidrset({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  try {
    if ('clusterCIDR' in known.data) return ofOne(known.data, expect)
    const sets = { v4: setOf(known.data.v4), v6: setOf(known.data.v6) }
    const run = runSteps(known.data.steps, sets)
    return answerKeys(expect, { v4: countsAnswer(run, 'v4'), v6: countsAnswer(run, 'v6') })
  } catch (error) {
    if (error instanceof UnknownStep) return unsupported(error.message)
    const words = wordsOf(error)
    if (words === undefined) throw error
    return refusedWith(expect, words)
  }
}

function ofOne(input: One, expect: unknown): Answer {
  const set = setOf(input)
  for (const cidr of [...(input.occupied ?? []), ...(input.alreadyAllocated ?? [])]) set.occupy(Prefix.parse(cidr))
  if (input.occupy !== undefined) set.occupy(Prefix.parse(input.occupy))
  const results = input.ops?.map((op) => resultOf(op, set))
  const run = input.steps && runSteps(input.steps, { set })
  const { index, cidr, occupy, test } = input
  return answerKeys(expect, {
    ...stateAnswers(set),
    ...(occupy === undefined ? {} : usedAnswers(set)),
    ...(index === undefined ? {} : always('cidr', Prefix.format(set.childAt(BigInt(index))))),
    ...(cidr === undefined ? {} : always('index', countOrText(set.indexOf(Prefix.parse(cidr))))),
    ...(test === undefined ? {} : always('overlaps', set.overlaps(Prefix.parse(test)))),
    ...(results === undefined ? {} : always('results', results)),
    ...(run === undefined ? {} : stepAnswers(run, expect)),
    ...(results === undefined && run === undefined ? { allocations: (asked) => allocations(set, asked) } : {}),
    error: () => false,
  })
}

function always(key: string, value: unknown): Answers {
  return { [key]: () => value }
}

function setOf({ clusterCIDR, subnetPrefix, perNodeHostBits }: z.output<typeof networkSchema>): ChildSet {
  const cluster = Prefix.parse(clusterCIDR)
  if ((subnetPrefix === undefined) === (perNodeHostBits === undefined)) {
    throw new UnknownStep('input: neither or both of subnetPrefix and perNodeHostBits')
  }
  return new ChildSet(cluster, subnetPrefix ?? Address.bitsOf(cluster.address.family) - perNodeHostBits!)
}

/**
 * What an op gives: a child or nothing, the first and the last of many, or how many are taken after
 * it.
 */
function resultOf(op: Op, set: ChildSet): unknown {
  switch (op.op) {
    case 'allocate':
      return textOf(set.allocate())
    case 'allocateMany': {
      const given = allocateUpTo(op.count, set)
      return given.length === 0 ? null : { first: given[0], last: given.at(-1), count: given.length }
    }
    default:
      return change(op.op, op.cidr, set)
  }
}

function change(how: 'occupy' | 'release', cidr: string, set: ChildSet): unknown {
  try {
    set[how](Prefix.parse(cidr))
  } catch (error) {
    const words = wordsOf(error)
    if (words === undefined) throw error
    return { error: words }
  }
  return { occupied: countOrText(set.occupied) }
}

/** The first children, as many as are asked for. */
function allocations(set: ChildSet, asked: unknown): unknown {
  const count = Array.isArray(asked) ? asked.length : 1
  const given = allocateUpTo(count, set)
  if (given.length < count) throw new NoneRemaining()
  return Array.isArray(asked) ? given : given[0]
}

function allocateUpTo(count: number, set: ChildSet): string[] {
  const given: string[] = []
  while (given.length < count) {
    const child = set.allocate()
    if (child === undefined) break
    given.push(Prefix.format(child))
  }
  return given
}

function stateAnswers(set: ChildSet): Answers {
  return {
    capacity: () => countOrText(set.capacity),
    max: () => countOrText(set.capacity),
    occupiedAtEnd: () => countOrText(set.occupied),
    usage: () => set.counts().usage,
  }
}

/** The first and the last index that is taken, where all between them are. */
function usedAnswers(set: ChildSet): Answers {
  const ranges = RangeSet.ranges(RangeSet.fromPrefixes(set.taken))
  const [range] = ranges
  if (range === undefined || ranges.length > 1) return { usedFrom: () => null, usedTo: () => null }
  const indexOf = (address: Address) => countOrText(set.indexOf(Prefix.of(address, Address.bitsOf(address.family))))
  return { usedFrom: () => indexOf(range.first), usedTo: () => indexOf(range.last) }
}

type Sets = Readonly<Record<string, ChildSet>>

/** What steps in words have led to. */
interface Run {
  /** After each step, by set. */
  readonly after: Readonly<Record<string, ChildCounts>>[]
  /** The children by the names that the steps give them. */
  readonly named: Map<string, Prefix | undefined>
  /** The names of those that are taken, before the first step and after each one. */
  readonly taken: ReadonlySet<string>[]
  /** The names that a step has, by its first word: `release` of `A`. */
  readonly words: { readonly verb: string; readonly name: string | undefined }[]
  readonly overlaps: boolean[]
  /** The children that single allocations gave. */
  readonly given: (string | null)[]
  /** The usage after each of them. */
  readonly usages: number[]
}

interface Step {
  readonly verb: string
  readonly sets: readonly ChildSet[]
  readonly run: Run
  /** What the pattern found in the text behind the verb. */
  readonly found: Readonly<Record<string, string | undefined>>
}

const STEPS: readonly { readonly pattern: RegExp; readonly apply: (step: Step) => void }[] = [
  { pattern: /^(?<verb>allocate)(?: x(?<count>\d+))?(?: -> (?<name>[A-Z]))?$/, apply: allocateStep },
  {
    pattern: /^(?<verb>occupy|release) (?:(?<all>all)(?: of each)?|(?<name>[A-Z])|(?<cidr>\S+\/\d+))$/,
    apply: changeStep,
  },
  { pattern: /^(?<verb>next candidate)(?: (?<name>[A-Z]))?(?: \(not occupied\))?$/, apply: nextStep },
  { pattern: /^(?<verb>overlaps) (?<cidr>\S+\/\d+)\?$/, apply: overlapsStep },
]

/** Steps are `WHAT`, or `SET WHAT` or `SET and SET WHAT` where there is more than one set. */
function runSteps(steps: readonly string[], sets: Sets): Run {
  const run: Run = { after: [], named: new Map(), taken: [new Set()], words: [], overlaps: [], given: [], usages: [] }
  const stepOf = (rest: string) => STEPS.find(({ pattern }) => pattern.test(rest))
  for (const { text, times } of readRepeats(steps, (text) => stepOf(targetsOf(text, sets).rest) !== undefined)) {
    const { targets, rest } = targetsOf(text, sets)
    const step = stepOf(rest)
    const found = step?.pattern.exec(rest)?.groups
    if (step === undefined || found === undefined) throw new UnknownStep(`step: ${text}`)
    const verb = String(found.verb)
    for (let i = 0; i < times; i++) step.apply({ verb, sets: targets, run, found })
    run.words.push({ verb, name: found.name })
    run.after.push(Object.fromEntries(Object.entries(sets).map(([name, set]) => [name, set.counts()])))
    run.taken.push(takenOf(run, sets))
  }
  return run
}

/** The sets that a step is about: those that it begins with, or else all. */
function targetsOf(text: string, sets: Sets): { readonly targets: ChildSet[]; readonly rest: string } {
  const [names = '', rest = ''] = /^(v[46](?: and v[46])*) (.*)$/.exec(text)?.slice(1) ?? ['', text]
  const targets = names === '' ? Object.values(sets) : names.split(' and ').map((name) => sets[name])
  const known = targets.filter((set) => set !== undefined)
  if (known.length < targets.length) throw new UnknownStep(`step about a set that there is not: ${text}`)
  return { targets: known, rest }
}

function takenOf({ named }: Run, sets: Sets): Set<string> {
  const isTaken = (child: Prefix | undefined) =>
    child !== undefined && Object.values(sets).some((set) => set.isTaken(child))
  return new Set([...named].filter(([, child]) => isTaken(child)).map(([name]) => name))
}

function allocateStep({ sets, run, found }: Step): void {
  const count = Number(found.count ?? 1)
  for (const set of sets) {
    for (let i = 0; i < count; i++) {
      const child = set.allocate()
      run.usages.push(set.counts().usage)
      run.given.push(textOf(child))
      if (found.name !== undefined) run.named.set(found.name, child)
    }
  }
}

function changeStep({ verb, sets, run, found }: Step): void {
  const how = verb === 'occupy' ? 'occupy' : 'release'
  for (const set of sets) {
    if (found.name !== undefined && !run.named.has(found.name)) throw new UnknownStep(`no step names ${found.name}`)
    const child = found.name === undefined ? undefined : run.named.get(found.name)
    const cidr = found.all === undefined ? (child ?? Prefix.parse(found.cidr ?? '')) : set.cluster
    // of two sets a CIDR is about the one of its family
    if (sets.length === 1 || cidr.address.family === set.cluster.address.family) set[how](cidr)
  }
}

function nextStep({ sets, run, found }: Step): void {
  for (const set of sets) run.named.set(found.name ?? '', set.next())
}

function overlapsStep({ sets, run, found }: Step): void {
  const cidr = Prefix.parse(found.cidr ?? '')
  run.overlaps.push(sets.some((set) => set.overlaps(cidr)))
}

/** What can be asked after steps on one set. */
function stepAnswers(run: Run, expect: unknown): Answers {
  const asked = isRecord(expect) ? Object.keys(expect) : []
  return {
    after: countsAnswer(run, 'set'),
    overlaps: (overlaps) => (Array.isArray(overlaps) ? run.overlaps : run.overlaps.at(-1)),
    allocated: () => run.given.at(-1),
    usageAfterNthAllocate: (usage) => nthUsage(run, usage),
    ...Object.fromEntries([...run.named].map(([name, child]) => [name, () => textOf(child)])),
    ...Object.fromEntries(asked.flatMap((key) => takenAnswer(run, key))),
  }
}

/** The counts after each step, or after the last one: those of them that are asked for. */
function countsAnswer({ after }: Run, name: string): (asked: unknown) => unknown {
  const those = (asked: unknown, counts: Readonly<Record<string, ChildCounts>> | undefined) => {
    const answer = answerKeys(
      asked,
      Object.fromEntries(Object.entries(counts?.[name] ?? {}).map(([k, v]) => [k, () => v])),
    )
    if (answer.kind !== 'answered') throw new UnknownStep('counts that are not known')
    return answer.got
  }
  return (asked) =>
    Array.isArray(asked) ? after.map((counts, i) => those(asked[i] ?? {}, counts)) : those(asked, after.at(-1))
}

/** The usage after the nth allocation, as `n/256` says it, or as it is. */
function nthUsage({ usages }: Run, asked: unknown): unknown {
  const total = Number(/^n\/(\d+)$/.exec(String(asked))?.[1])
  return usages.length > 0 && usages.every((usage, i) => usage === (i + 1) / total) ? asked : usages
}

/**
 * `allocated(A)`, `allocated(A) before release`, `allocated(A) after release`: whether a child is
 * taken, at the end or around a step.
 */
function takenAnswer({ taken, words, named }: Run, key: string): [string, () => boolean][] {
  const [name, when, verb] = /^allocated\((\w+)\)(?: (before|after) (\w+))?$/.exec(key)?.slice(1) ?? []
  if (name === undefined || !named.has(name)) return []
  if (when === undefined) return [[key, () => taken.at(-1)?.has(name) === true]]
  const index = words.findIndex((step) => step.verb === verb && (step.name ?? name) === name)
  if (index < 0) return []
  return [[key, () => taken[when === 'before' ? index : index + 1]?.has(name) === true]]
}

function textOf(child: Prefix | undefined): string | null {
  return child === undefined ? null : Prefix.format(child)
}

/** The names that the cases have for errors; for what they have none our sentence. */
function wordsOf(error: unknown): string | undefined {
  if (error instanceof NoneRemaining) return 'noneRemaining'
  if (error instanceof OutOfRange) return 'outOfRange'
  if (!isIpamError(error)) return undefined
  return error.code === 'INDEX_OUT_OF_RANGE' || error.code === 'FAMILY_MISMATCH' ? 'outOfRange' : error.message
}

class NoneRemaining extends Error {}

/** A word of the case that is not known. */
class UnknownStep extends Error {}
