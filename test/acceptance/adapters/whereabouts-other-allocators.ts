import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { isIpamError } from 'ipam-kit/errors'
import { memoryStore } from 'ipam-kit/store/memory'
import * as z from 'zod'
import {
  type Answer,
  type Answers,
  answerKeys,
  type GivenCase,
  isRecord,
  refusedWith,
  those,
  unsupported,
} from '../answer.js'
import { inAskedOrder } from '../asked-order.js'
import { countOrText } from '../count.js'
import { exactCount } from '../exact-count.js'
import { edgesFor, NodePool, usableAddresses } from '../node-pool.js'
import { nodesAnswer, nodesSchema, problemAnswers, withReports } from '../node-steps.js'
import { RangePools } from '../range-pools.js'
import { readInput } from '../read-input.js'

const texts = z.array(z.string())

const rangesSchema = z.strictObject({
  ranges: texts,
  reserved: texts.default([]),
  used: texts.default([]),
  /** Of a run. */
  size: z.int().optional(),
  ips: texts.default([]),
  has: z.string().optional(),
  add: texts.default([]),
  remove: texts.default([]),
  /** Other ranges: to put to them, to take from them, or to look for what both have. */
  merge: texts.optional(),
  separate: texts.optional(),
  intersect: texts.optional(),
})

const prefixSchema = z.strictObject({
  prefix: z.string(),
  allowFirstIP: z.boolean().default(false),
  allowLastIP: z.boolean().default(false),
})

const deleteSchema = z.strictObject({ delete: z.string(), pools: texts.default([]) })

const lengths = (usual: number) =>
  z
    .union([z.int().transform((length) => [length]), z.array(z.int())])
    .default([])
    .transform((all) => (all.length === 0 ? [usual] : all))
const lengthsSchema = z.strictObject({ pool: z.string(), v4Mask: lengths(24), v6Mask: lengths(96) })

/**
 * The allocators of Antrea, Cilium and Kube-OVN: of ranges on pools, of CIDRs for nodes on
 * allocators of prefixes, lists of ranges on sets.
 */
export function whereaboutsOtherAllocators({ input, expect }: GivenCase): Answer | Promise<Answer> {
  const has = (key: string) => isRecord(input) && Object.hasOwn(input, key)
  try {
    if (has('ranges')) return known(rangesSchema, input, (asked) => answerKeys(expect, rangesAnswers(asked)))
    if (has('prefix')) return known(prefixSchema, input, (asked) => answerKeys(expect, prefixAnswers(asked)))
    if (has('delete')) return known(deleteSchema, input, (asked) => deleted(asked, expect))
    if (has('v4Mask') || has('v6Mask')) {
      return known(lengthsSchema, input, (asked) => answerKeys(expect, { error: () => otherLengths(asked) }))
    }
    return known(nodesSchema, withReports(input), (asked) => nodesAnswer(asked, expect))
  } catch (error) {
    if (!isIpamError(error)) throw error
    return refusedWith(expect, error.message)
  }
}

function known<S extends z.ZodType, A>(schema: S, input: unknown, answer: (asked: z.output<S>) => A): A | Answer {
  const read = readInput(schema, input)
  return read.success ? answer(read.data) : unsupported(`input: ${z.prettifyError(read.error)}`)
}

type Ranges = z.output<typeof rangesSchema>

/** Each answer begins with the ranges as they are given. */
function rangesAnswers(input: Ranges): Answers {
  const { ranges, reserved, used, size, has, ips } = input
  const pools = () => {
    const all = new RangePools(ranges, reserved)
    for (const text of used) all.take(Address.parse(text))
    return all
  }
  return {
    error: () => false,
    names: () => pools().names,
    total: () => countOrText(pools().total),
    errors: () => errors(ips, pools()),
    ...(has === undefined ? {} : { result: () => pools().has(Address.parse(has)) }),
    ...(size === undefined ? walkAnswers(pools) : runAnswers(pools, size)),
    ...releaseAnswers(pools),
    ...listAnswers(input),
  }
}

function errors(ips: readonly string[], pools: RangePools): boolean[] {
  return ips.map((text) => !pools.take(Address.parse(text)))
}

function walkAnswers(pools: () => RangePools): Answers {
  const walked = () => pools().rest().map(Address.format)
  return {
    count: () => walked().length,
    first: () => walked()[0] ?? null,
    last: () => walked().at(-1) ?? null,
    next: () => {
      const all = pools()
      all.rest()
      return textOf(all.next()?.address)
    },
  }
}

function runAnswers(pools: () => RangePools, size: number): Answers {
  const given = () => pools().run(size)?.map(Address.format)
  return {
    count: () => given()?.length ?? 0,
    first: () => given()?.[0] ?? null,
    last: () => given()?.at(-1) ?? null,
    error: (asked) => given() === undefined && (asked === true || 'cannot allocate continuous IPs in any range'),
  }
}

function releaseAnswers(pools: () => RangePools): Answers {
  const rounds = () => {
    const all = pools()
    const first = all.next()
    const releases = [0, 1].map(() => first !== undefined && all.release(first))
    return { first, releases, again: all.next() }
  }
  const saidOf = (isDone: boolean | undefined) => (isDone === true ? 'ok' : 'error')
  return {
    firstRelease: () => saidOf(rounds().releases[0]),
    secondRelease: () => saidOf(rounds().releases[1]),
    sameAddress: () => {
      const { first, again } = rounds()
      return first !== undefined && again !== undefined && Address.equals(first.address, again.address)
    },
  }
}

/** An address, or that there is none. */
function textOf(address: Address | undefined): string {
  return address === undefined ? 'error' : Address.format(address)
}

/** Ranges as a list that addresses and other ranges are put to and taken from. */
function listAnswers({ ranges, add, remove, merge, separate, intersect }: Ranges): Answers {
  let set = RangeSet.parse(ranges)
  const changed: boolean[] = []
  const change = (texts: readonly string[], isAdded: boolean) => {
    for (const address of texts.map((text) => Address.parse(text))) {
      changed.push(RangeSet.contains(set, address) !== isAdded)
      const one = RangeSet.fromAddresses([address])
      set = isAdded ? RangeSet.union(set, one) : RangeSet.subtract(set, one)
    }
  }
  change(add, true)
  change(remove, false)
  if (merge !== undefined) set = RangeSet.union(set, RangeSet.parse(merge))
  if (separate !== undefined) set = RangeSet.subtract(set, RangeSet.parse(separate))
  if (intersect !== undefined) set = RangeSet.intersect(set, RangeSet.parse(intersect))
  const has = (text: string) => RangeSet.contains(set, Address.parse(text))
  return {
    changed: () => changed,
    ranges: () => RangeSet.format(set),
    cidrs: (asked) => inAskedOrder(asked, RangeSet.formatPrefixes(set)),
    in: (asked) => those(asked, has),
    out: (asked) => those(asked, (text) => !has(text)),
  }
}

function prefixAnswers({ prefix, ...edges }: z.output<typeof prefixSchema>): Answers {
  return {
    count: (asked) => {
      const count = usableAddresses(Prefix.parse(prefix), edgesFor(edges))
      return typeof asked === 'string' ? String(count) : exactCount(count)
    },
  }
}

/** Pools are objects: one that a store does not have cannot be deleted. */
async function deleted({ delete: name, pools }: z.output<typeof deleteSchema>, expect: unknown): Promise<Answer> {
  const store = memoryStore({ now: () => 0 })
  const poolOf = (name: string) => ({ apiVersion: 'cilium.io/v2alpha1', kind: 'CiliumPodIPPool', metadata: { name } })
  for (const name of pools) await store.create(poolOf(name))
  const { apiVersion, kind } = poolOf(name)
  const gone = await store.delete({ apiVersion, kind, name })
  if (gone.ok) return answerKeys(expect, problemAnswers([]))
  const isUnknown = gone.failure.code === 'STORE_NOT_FOUND'
  const cause = isUnknown ? `pool ${JSON.stringify(name)} requested for deletion doesn't exist` : gone.failure.message
  return answerKeys(expect, problemAnswers([{ cause, text: cause }]))
}

/**
 * What goes wrong where the prefixes of a pool are to have another length, and nodes have some
 * already.
 */
function otherLengths({ pool: name, v4Mask, v6Mask }: z.output<typeof lengthsSchema>): string | false {
  const cidrs = ['10.0.0.0/8', 'fd00::/48'].map((text) => Prefix.parse(text))
  const count = Math.max(v4Mask.length, v6Mask.length)
  const pool = new NodePool(name, { cidrs: [], lengths: { 4: 32, 6: 128 } }, edgesFor({}))
  const given: Prefix[] = []
  for (let i = 0; i < count; i++) {
    const lengths = { 4: v4Mask[Math.min(i, v4Mask.length - 1)]!, 6: v6Mask[Math.min(i, v6Mask.length - 1)]! }
    pool.configure({ cidrs, lengths })
    for (const family of [4, 6] as const) {
      const problem = pool.supply(`node${i}`, family, 1)
      if (problem !== undefined) return problem.text
    }
    for (const prefix of pool.heldBy(`node${i}`)) {
      const other = given.find((one) => Prefix.overlaps(one, prefix))
      if (other !== undefined) return `${Prefix.format(prefix)} overlaps ${Prefix.format(other)}`
      if (prefix.length !== lengths[prefix.address.family]) return `${Prefix.format(prefix)} has another length`
      given.push(prefix)
    }
  }
  return false
}
