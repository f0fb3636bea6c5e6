import { Prefix, RangeSet } from 'ipam-kit/cidr'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, isRecord, those } from './answer.js'
import { inAskedOrder } from './asked-order.js'
import { edgesFor, failedFor, NodePool, type NodePoolSpec, nonExisting, type Problem } from './node-pool.js'
import { readRepeats } from './repeats.js'

const texts = z.array(z.string())
const oneOrMany = z.union([z.string().transform((text) => [text]), texts])
const count = z.int().nonnegative()

const poolSchema = z.strictObject({
  v4: texts.default([]),
  v4Mask: z.int().default(24),
  v6: texts.default([]),
  v6Mask: z.int().default(96),
  /** Ranges that no node may have. */
  reserved: texts.default([]),
  allowFirstIP: z.boolean().default(false),
  allowLastIP: z.boolean().default(false),
})
const bothFamilies = texts.transform((cidrs) =>
  poolSchema.parse({ v4: cidrs.filter((cidr) => !cidr.includes(':')), v6: cidrs.filter((cidr) => cidr.includes(':')) }),
)

const needsSchema = z.strictObject({ v4: count.default(0), v6: count.default(0), pool: z.string().optional() })
type Needs = z.output<typeof needsSchema>

/**
 * What a node says: what it has, beyond that what it wants to have, what it has no longer, and how
 * many addresses it needs.
 */
const reportSchema = z.strictObject({
  holds: texts.optional(),
  claims: oneOrMany.default([]),
  releases: oneOrMany.default([]),
  needs: needsSchema.optional(),
})
type Report = z.output<typeof reportSchema>

const STEP = /^(?:(?:delete|upsert) ?pool|(?:remove|restore) v[46])$/i

/** Steps with a comma between them, each in one form: `deletePool`, `remove v4`. */
const steps = z.string().transform((text, context) => {
  const texts = text === '' ? [] : text.split(/\s*,\s*/)
  const repeats = readRepeats(texts, (step) => STEP.test(step))
  const strange = repeats.find((step) => !STEP.test(step.text))
  if (strange !== undefined) context.addIssue({ code: 'custom', message: `step: ${strange.text}` })
  return repeats.flatMap((step) => Array<string>(step.times).fill(step.text.toLowerCase().replace(/ ?pool$/, 'Pool')))
})

/**
 * Pools of CIDRs, what nodes hold of them, what happens to the pools, and what the nodes ask for.
 */
export const nodesSchema = z.strictObject({
  /** The pool, or the name of one that there is not. */
  pool: z.union([poolSchema, z.string()]).optional(),
  pools: z.record(z.string(), z.union([poolSchema, bothFamilies])).optional(),
  /** The name of the pool that nodes ask for. */
  from: z.string().optional(),
  ready: z.boolean().default(true),
  needs: needsSchema.optional(),
  needsEach: needsSchema.optional(),
  nodes: z.record(z.string(), texts).optional(),
  takenByOthers: texts.default([]),
  op: steps.default([]),
  /**
   * The name of a pool that there is no longer, and that of one with the same CIDRs that is made
   * then.
   */
  orphanOf: z.string().optional(),
  upsert: z.string().optional(),
  reports: z.record(z.string(), reportSchema),
})

type Input = z.output<typeof nodesSchema>

const NODE = /^(?<node>node\d*)(?<what>Needs|Claims|Releases)?$/

/**
 * Puts what a case says of each node (`node1`, `node1Needs`, `node1Claims`, `node1Releases`)
 * together, as {@link nodesSchema} has it.
 */
export function withReports(input: unknown): unknown {
  if (!isRecord(input)) return input
  const reports: Record<string, Record<string, unknown>> = {}
  const rest: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(input)) {
    const { node, what = 'Holds' } = NODE.exec(key)?.groups ?? {}
    if (node === undefined) rest[key] = value
    else reports[node] = { ...reports[node], [what.toLowerCase()]: value }
  }
  return { ...rest, reports }
}

/** The node that asks where a case does not say which one. */
const SOME_NODE = 'node1'
const ANOTHER_NODE = 'another node'

/**
 * The pool where a case does not say it, as the cases about orphans do, and the nodes that have a
 * prefix of each family of it.
 */
const SOME_POOL = poolSchema.parse({ v4: ['10.100.0.0/16'], v6: ['fd00:100::/80'] })
const SOME_NODES = [SOME_NODE, 'node2']

/** The pools of a case and the nodes that are known. */
class Cluster {
  readonly pools = new Map<string, NodePool>()
  readonly specs = new Map<string, NodePoolSpec>()
  readonly nodes = new Set<string>()
  readonly #input: Input
  problems: Problem[] = []

  constructor(input: Input) {
    this.#input = input
    const { pool, pools = {} } = input
    for (const [name, config] of Object.entries(pools)) this.#add(name, config)
    if (typeof pool === 'object') this.#add('default', pool)
    const isSaid = pool !== undefined || input.pools !== undefined || input.from !== undefined
    if (!isSaid) this.#add(input.orphanOf ?? 'default', SOME_POOL)
    this.#hold()
  }

  /** The first pool: the one that a case is about where it names none. */
  get main(): NodePool | undefined {
    return this.pools.values().next().value
  }

  /** What a node holds, once: what another pool has as well is no more. */
  heldBy(node: string): string[] {
    const all = [...this.pools.values()].flatMap((pool) => pool.heldBy(node))
    return [...new Set(all.map(Prefix.format))]
  }

  get orphans() {
    return [...this.pools.values()].flatMap((pool) => pool.orphans())
  }

  step(step: string): void {
    const name = this.main?.name ?? ''
    const spec = this.specs.get(name)
    if (this.main === undefined || spec === undefined) return
    const [verb, family] = step.split(' ')
    const isOf = ({ address }: Prefix) => `v${address.family}` === family
    switch (verb) {
      case 'deletePool':
        this.main.delete()
        return
      case 'remove':
        this.main.configure({ ...spec, cidrs: spec.cidrs.filter((cidr) => !isOf(cidr)) })
        return
      default:
        this.main.configure(spec)
    }
  }

  /** Makes a pool of the same CIDRs as the first one, which is gone. */
  replace(name: string): void {
    const spec = this.specs.get(this.main?.name ?? '')
    if (spec === undefined) return
    this.main?.delete()
    const left = this.orphans
    const pool = new NodePool(name, spec, edgesFor({}))
    this.pools.set(name, pool)
    for (const orphan of left) this.#note(pool.adopt(orphan))
  }

  /** All nodes that have something to say do so, those that release something first. */
  ask(): void {
    const { reports, needs, needsEach } = this.#input
    const all = new Map<string, Report>(Object.entries(reports))
    if (needs !== undefined || needsEach !== undefined) {
      all.set(SOME_NODE, { claims: [], releases: [], needs, ...all.get(SOME_NODE) })
    }
    const order = [...all].sort(([, a], [, b]) => b.releases.length - a.releases.length)
    this.problems = []
    for (const [node, report] of order) this.#report(node, report)
  }

  #add(name: string, config: z.output<typeof poolSchema>): void {
    const spec = {
      cidrs: [...config.v4, ...config.v6].map((text) => Prefix.parse(text)),
      lengths: { 4: config.v4Mask, 6: config.v6Mask },
      reserved: RangeSet.parse(config.reserved),
    }
    this.specs.set(name, spec)
    this.pools.set(name, new NodePool(name, spec, edgesFor(config)))
  }

  /**
   * What is held before anybody asks: what is claimed or released without being said to be held is
   * held too.
   */
  #hold(): void {
    const { nodes, takenByOthers, reports, op, orphanOf } = this.#input
    const releasing = Object.entries(reports).find(([, { releases }]) => releases.length > 0)?.[0]
    const isSaid = nodes !== undefined || takenByOthers.length > 0
    for (const [node, cidrs] of Object.entries(nodes ?? {})) this.#claim(node, cidrs)
    this.#claim(ANOTHER_NODE, takenByOthers)
    if (!isSaid && (op.length > 0 || orphanOf !== undefined)) {
      for (const node of SOME_NODES) {
        this.nodes.add(node)
        for (const family of [4, 6] as const) this.main?.supply(node, family, 1)
      }
    } else if (!isSaid && Object.values(reports).every(({ holds }) => holds === undefined)) {
      for (const { claims, releases } of Object.values(reports)) {
        this.#claim(releasing ?? ANOTHER_NODE, [...claims, ...releases])
      }
    }
  }

  #claim(node: string, cidrs: readonly string[]): void {
    if (cidrs.length > 0) this.nodes.add(node)
    for (const text of cidrs) this.#note(this.main?.claim(node, Prefix.masked(Prefix.parse(text))))
  }

  /**
   * A node says what it has, and is given what it needs. What it does not say any more is not its
   * own any more.
   */
  #report(node: string, { holds, claims, releases, needs }: Report): void {
    this.nodes.add(node)
    const held = holds ?? (releases.length > 0 ? this.heldBy(node) : [])
    const said = [...held, ...claims].map((text) => Prefix.masked(Prefix.parse(text)))
    const gone = releases.map((text) => Prefix.masked(Prefix.parse(text)))
    const kept = said.filter((prefix) => !gone.some((one) => Prefix.equals(one, prefix)))
    const found = kept.map((prefix) => this.main?.claim(node, prefix))
    for (const pool of this.pools.values()) pool.retain(node, kept)
    if (!this.#input.ready) {
      // nothing is given before all nodes have said what they have
      this.problems = [{ text: 'allocator not ready', cause: 'allocator not ready' }]
      return
    }
    for (const problem of found) this.#note(problem)
    for (const name of this.#poolsFor(node, needs)) this.#supply(node, name, needs ?? this.#input.needsEach)
  }

  /** The names of the pools that a node asks for. */
  #poolsFor(node: string, needs: Needs | undefined): string[] {
    const { from, pool, needsEach } = this.#input
    if (needsEach !== undefined && node === SOME_NODE) return [...this.pools.keys()]
    const named = needs?.pool ?? from ?? (typeof pool === 'string' ? pool : undefined)
    return needs === undefined ? [] : [named ?? this.main?.name ?? 'default']
  }

  #supply(node: string, name: string, needs: Needs | undefined): void {
    for (const family of [4, 6] as const) {
      const needed = needs?.[`v${family}`] ?? 0
      const pool = this.pools.get(name)
      if (pool !== undefined) this.#note(pool.supply(node, family, needed))
      else if (needed > 0) {
        const { cause } = nonExisting(name)
        this.#note({ cause, text: `${failedFor(node, family, name)}: ${cause}` })
      }
    }
  }

  #note(problem: Problem | undefined): void {
    if (problem !== undefined) this.problems.push(problem)
  }
}

export function nodesAnswer(input: Input, expect: unknown): Answer {
  const cluster = new Cluster(input)
  for (const [i, step] of stepsOf(input.op).entries()) {
    // a node that lacks something asks between any two changes
    if (i > 0) cluster.ask()
    cluster.step(step)
  }
  if (input.upsert === undefined) cluster.ask()
  else cluster.replace(input.upsert)
  return answersOf(cluster, expect)
}

/** What comes back was taken away before. */
function stepsOf(op: readonly string[]): string[] {
  return op.flatMap((step, i) => {
    const before = step.replace('restore', 'remove')
    return before === step || op.slice(0, i).includes(before) ? [step] : [before, step]
  })
}

function answersOf(cluster: Cluster, expect: unknown): Answer {
  const heldBy = (node: string) => cluster.heldBy(node)
  const answers: { [key: string]: Answers[string] } = {
    allocated: (asked) =>
      eachOf(asked, cluster.pools.keys(), (name) => cluster.pools.get(name)!.heldBy(SOME_NODE).map(Prefix.format)),
    stillReported: (asked) => eachOf(asked, cluster.nodes, heldBy),
    orphans: () => cluster.orphans.length,
    ...problemAnswers(cluster.problems),
  }
  for (const key of isRecord(expect) ? Object.keys(expect) : []) {
    const node = NODE.exec(key)?.groups
    if (node === undefined || node.what !== undefined) continue
    const name = key === 'node' && !cluster.nodes.has(key) ? SOME_NODE : key
    answers[key] = (asked) => inAskedOrder(asked, heldBy(name))
  }
  return answerKeys(expect, answers)
}

/** What each of some has, where it has anything. */
function eachOf(asked: unknown, names: Iterable<string>, heldBy: (name: string) => string[]): unknown {
  const lists = [...names].map((name) => [name, heldBy(name)] as const).filter(([, list]) => list.length > 0)
  const inOrder = (name: string, list: string[]) => inAskedOrder(isRecord(asked) ? asked[name] : [], list)
  return Object.fromEntries(lists.map(([name, list]) => [name, inOrder(name, list)]))
}

/**
 * What can be asked of problems: that there is one, its text or what is at its bottom, or a part of
 * the text of any.
 */
export function problemAnswers(problems: readonly Problem[]): Answers {
  const isOne = (asked: unknown) => problems.some(({ text, cause }) => text === asked || cause === asked)
  return {
    error: (asked) => {
      if (problems.length === 0) return false
      return asked === true || isOne(asked) ? asked : problems.map(({ text }) => text).join('\n')
    },
    errorContains: (asked) => those(asked, (part) => problems.some(({ text }) => text.includes(part))),
  }
}
