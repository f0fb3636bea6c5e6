import { type AllocationOutcome, Bitmap } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, type Failure, isIpamError } from 'ipam-kit/errors'
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
import { readInput } from '../read-input.js'
import { readRepeats } from '../repeats.js'
import {
  allocateIps,
  edgesOf,
  errorOf,
  nextIps,
  poolsOf,
  RangePool,
  type SubnetPools,
  type SubnetResult,
  strangerOf,
  type UpstreamError,
} from '../subnet-pools.js'

const texts = z.array(z.string())
const subnetFields = {
  subnets: texts,
  excludeSubnets: texts.default([]),
  reservedSubnets: texts.default([]),
}
const subnetStep = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('next') }),
  z.strictObject({ do: z.literal(['allocate', 'release']), ips: texts }),
  z.strictObject({ do: z.literal('configure'), ...subnetFields }),
])

const inputSchema = z.discriminatedUnion('op', [
  z.strictObject({
    op: z.literal('fillReleaseRefill'),
    cidr: z.string(),
    release: z.string(),
    outOfRange: texts,
    taken: z.string(),
  }),
  z.strictObject({ op: z.literal('fill'), cidr: z.string() }),
  z.strictObject({ op: z.literal('forEach'), cidr: z.string(), allocate: texts }),
  z.strictObject({ op: z.literal('reserved'), cidr: z.string(), ip: z.string() }),
  z.strictObject({
    op: z.literal('bitmap'),
    strategy: z
      .enum(['random', 'roundRobin', 'contiguous', ''])
      .default('random')
      .transform((strategy) => strategy || 'random'),
    max: z.int(),
    steps: texts,
  }),
  z.strictObject({
    op: z.literal('subnetAllocator'),
    name: z.string(),
    ...subnetFields,
    steps: z.array(subnetStep),
  }),
])

type Op = z.output<typeof inputSchema>['op']
type Input<O extends Op> = Extract<z.output<typeof inputSchema>, { op: O }>
type SubnetStep = z.output<typeof subnetStep>

/**
 * The allocators of OVN-Kubernetes: of a range and of a set of subnets on pools, of numbers on a
 * bitmap.
 */
export function persistentAllocators({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  try {
    return answerTo(known.data, expect)
  } catch (error) {
    if (error instanceof Unknown) return unsupported(error.message)
    const sentence = sentenceOf(error)
    if (sentence === undefined) throw error
    return refusedWith(expect, sentence)
  }
}

/** What the library says of an input that it refuses; `undefined` of any other exception. */
function sentenceOf(error: unknown): string | undefined {
  return isIpamError(error) ? describe({ code: error.code, context: error.context } as Failure) : undefined
}

function answerTo(input: z.output<typeof inputSchema>, expect: unknown): Answer {
  switch (input.op) {
    case 'fillReleaseRefill':
      return answerKeys(expect, { error: () => false, ...fillReleaseRefill(input) })
    case 'fill':
      return answerKeys(expect, { error: () => false, ...fill(input) })
    case 'forEach':
      return answerKeys(expect, { error: () => false, ...forEach(input) })
    case 'reserved': {
      const reserved = isReserved(input)
      return answerKeys(expect, { error: () => false, reserved: () => reserved })
    }
    case 'bitmap':
      return answerKeys(expect, bitmapAnswers(input))
    case 'subnetAllocator':
      return subnetAllocator(input, expect)
  }
}

/** What a case says that is not known here. */
class Unknown extends Error {}

function rangeOf(cidr: string): RangePool {
  const subnet = Prefix.parse(cidr)
  return new RangePool(subnet, { reserved: edgesOf([subnet]), strategy: { kind: 'random', seed: 1 } })
}

/** All that a range gives, one by one. */
function drained(range: RangePool): Address[] {
  const given: Address[] = []
  for (let outcome = range.next(); outcome.kind === 'allocated'; outcome = range.next()) given.push(outcome.address)
  return given
}

function fillReleaseRefill(input: Input<'fillReleaseRefill'>): Answers {
  const range = rangeOf(input.cidr)
  const { pool, subnet } = range
  const released = Address.parse(input.release)
  const atStart = pool.counts()
  const given = drained(range).filter((address) => Prefix.contains(subnet, address))
  const afterFull = range.next()
  range.release(released)
  const afterRelease = pool.counts()
  const next = range.next()
  range.release(released)
  const outside = input.outOfRange.map((text) => namedOutcome(range.allocate(Address.parse(text))))
  const taken = range.allocate(Address.parse(input.taken))
  range.allocate(released)
  const atEnd = pool.counts()
  return {
    freeAtStart: () => countOrText(atStart.free),
    usedAtStart: () => countOrText(atStart.used),
    distinctAllocations: () => new Set(given.map(Address.key)).size,
    afterFull: () => namedOutcome(afterFull),
    freeAfterRelease: () => countOrText(afterRelease.free),
    usedAfterRelease: () => countOrText(afterRelease.used),
    nextAfterRelease: () => namedOutcome(next),
    outOfRangeError: () => (new Set(outside).size === 1 ? outside[0] : outside),
    takenError: () => namedOutcome(taken),
    freeAtEnd: () => countOrText(atEnd.free),
    usedAtEnd: () => countOrText(atEnd.used),
  }
}

function fill(input: Input<'fill'>): Answers {
  const range = rangeOf(input.cidr)
  const { free } = range.pool.counts()
  const given = drained(range)
  const full = namedOutcome(range.next())
  const again = given.map((address) => namedOutcome(range.allocate(address)))
  return {
    free: () => countOrText(free),
    allocated: (asked) => inAskedOrder(asked, given.map(Address.format)),
    allocateNext: () => (given[0] === undefined ? full : Address.format(given[0])),
    allocateAgain: () => (new Set(again).size === 1 ? again[0] : again),
    afterFull: () => full,
    afterFullRepeats: (asked) => {
      const times = Array.from({ length: Number(asked) }, () => namedOutcome(range.next()))
      return times.filter((name) => name === full).length
    },
  }
}

function forEach(input: Input<'forEach'>): Answers {
  const range = rangeOf(input.cidr)
  for (const text of input.allocate) range.allocate(Address.parse(text))
  const visited = range.pool.entries().map(({ address }) => Address.format(address))
  return { visited: (asked) => inAskedOrder(asked, visited) }
}

function isReserved({ cidr, ip }: Input<'reserved'>): boolean {
  return RangeSet.contains(edgesOf([Prefix.parse(cidr)]), Address.parse(ip))
}

/** The address that was given, or the name of the error upstream. */
function namedOutcome(outcome: AllocationOutcome): string {
  if (outcome.kind === 'allocated') return Address.format(outcome.address)
  return errorOf(outcome).name ?? outcome.kind
}

/**
 * The next free number. Any free one is as good as a random one, if it follows from what is taken:
 * no answer is about which it is.
 */
const nextOf: Readonly<Record<Input<'bitmap'>['strategy'], (bitmap: Bitmap, cursor: number) => number>> = {
  random: (bitmap) => bitmap.freeAt((bitmap.used * 7919) % Math.max(1, bitmap.size - bitmap.used)),
  roundRobin: (bitmap, cursor) => bitmap.nextFreeAround(cursor),
  contiguous: (bitmap) => bitmap.nextFree(0),
}

/** What the steps on a bitmap have led to. */
interface BitmapRun {
  bitmap: Bitmap
  /** Behind the number that was given last. */
  cursor: number
  snapshot: Uint8Array | undefined
  /** The number that a step named last. */
  named: number | undefined
  /** Whether each step that asks for a number got it. */
  readonly ok: boolean[]
  readonly given: number[]
  /** By the word of a step: whether its number was taken behind it. */
  readonly hasAfter: { hasAfterAllocate?: boolean; hasAfterRelease?: boolean }
}

function bitmapAnswers({ max, strategy, steps }: Input<'bitmap'>): Answers {
  const run: BitmapRun = {
    bitmap: new Bitmap(max),
    cursor: 0,
    snapshot: undefined,
    named: undefined,
    ok: [],
    given: [],
    hasAfter: {},
  }
  for (const { text, times } of readRepeats(steps, isBitmapStep)) {
    for (let i = 0; i < times; i++) doStep(text, run, nextOf[strategy])
  }
  const { bitmap, named, ok, given, hasAfter } = run
  const isInUse = (offset: number | undefined) => offset !== undefined && inside(() => bitmap.has(offset))
  return {
    ok: () => ok,
    lastOk: () => ok.at(-1) ?? null,
    offsets: () => given,
    count: () => bitmap.used,
    free: () => bitmap.size - bitmap.used,
    visited: (asked) => inAskedOrder(asked, taken(bitmap)),
    has: (asked) => those(asked, (offset) => bitmap.has(Number(offset))),
    hasAfterAllocate: () => hasAfter.hasAfterAllocate ?? false,
    hasAfterRelease: () => hasAfter.hasAfterRelease ?? false,
    hasAtEnd: () => isInUse(named),
  }
}

/** A step of a bitmap that names its number. */
const NUMBERED = /^(allocate|release) (\d+)$/

function isBitmapStep(text: string): boolean {
  return NUMBERED.test(text) || ['next', 'snapshot', 'restore into a new map'].includes(text)
}

function doStep(step: string, run: BitmapRun, next: (bitmap: Bitmap, cursor: number) => number): void {
  const [, word, number] = NUMBERED.exec(step) ?? []
  if (word !== undefined) {
    const offset = Number(number)
    const isDone = inside(() => (word === 'allocate' ? run.bitmap.take(offset) : run.bitmap.release(offset)))
    if (word === 'allocate') run.ok.push(isDone)
    run.named = offset
    run.hasAfter[word === 'allocate' ? 'hasAfterAllocate' : 'hasAfterRelease'] = inside(() => run.bitmap.has(offset))
    return
  }
  switch (step) {
    case 'next': {
      const offset = next(run.bitmap, run.cursor)
      run.ok.push(offset >= 0 && run.bitmap.take(offset))
      if (offset < 0) return
      run.given.push(offset)
      run.cursor = offset + 1
      return
    }
    case 'snapshot':
      run.snapshot = Bitmap.encode(run.bitmap)
      return
    case 'restore into a new map':
      if (run.snapshot === undefined) throw new Unknown('steps: a map that is restored without a snapshot')
      run.bitmap = Bitmap.decode(run.snapshot)
      run.cursor = 0
      return
    default:
      throw new Unknown(`steps: ${step}`)
  }
}

/** The answer of a bitmap, and false for a number that it does not have. */
function inside(call: () => boolean): boolean {
  try {
    return call()
  } catch (error) {
    if (isIpamError(error) && error.code === 'INDEX_OUT_OF_RANGE') return false
    throw error
  }
}

function taken(bitmap: Bitmap): number[] {
  const all: number[] = []
  for (const { first, last } of bitmap.usedRanges()) {
    for (let offset = first; offset <= last; offset++) all.push(offset)
  }
  return all
}

function subnetAllocator(input: Input<'subnetAllocator'>, expect: unknown): Answer {
  const stranger = strangerOf(input)
  if (stranger !== undefined) return refusedWith(expect, strangerText(stranger, input.name))
  const run: SubnetRun = { name: input.name, pools: poolsOf(input) }
  const results: SubnetResult[] = []
  for (const [index, step] of input.steps.entries()) results.push(trySubnetStep(step, run, `step-${index}`))
  return resultAnswers(expect, results)
}

/** A set of subnets under its name. */
interface SubnetRun {
  readonly name: string
  pools: SubnetPools
}

/** A step whose texts cannot be read changes nothing. */
function trySubnetStep(step: SubnetStep, run: SubnetRun, uid: string): SubnetResult {
  try {
    return doSubnetStep(step, run, uid)
  } catch (error) {
    const text = sentenceOf(error)
    if (text === undefined) throw error
    return { ips: [], error: { text } }
  }
}

function strangerText(subnet: string, name: string): string {
  return `failed to exclude subnet ${subnet} for ${name}: not contained in any of the subnets`
}

function doSubnetStep(step: SubnetStep, run: SubnetRun, uid: string): SubnetResult {
  const { name, pools } = run
  switch (step.do) {
    case 'next':
      return nextIps(pools, uid, name)
    case 'allocate':
      return allocateIps(step.ips.map(addressOf), pools, uid, name)
    case 'release': {
      const addresses = step.ips.map(addressOf)
      for (const range of [...pools.named, ...pools.ranges]) {
        for (const address of addresses) range.release(address)
      }
      return { ips: [] }
    }
    case 'configure': {
      const stranger = strangerOf(step)
      if (stranger === undefined) {
        run.pools = poolsOf(step)
        return { ips: [] }
      }
      return { ips: [], error: { text: strangerText(stranger, name) } }
    }
  }
}

/** An address, with the mask of its subnet or without. */
function addressOf(text: string): Address {
  return text.includes('/') ? Prefix.parse(text).address : Address.parse(text)
}

function resultAnswers(expect: unknown, results: readonly SubnetResult[]): Answer {
  const asked = isRecord(expect) && Array.isArray(expect.results) ? expect.results : []
  const got: unknown[] = []
  for (const [index, { ips, error }] of results.entries()) {
    const answers: Answers = { ips: () => ips, error: (wanted) => errorAnswer(wanted, error) }
    const answer = answerKeys(asked[index], answers, `expect.results[${index}]`)
    if (answer.kind !== 'answered') return answer
    got.push(answer.got)
  }
  return answerKeys(expect, { error: () => false, results: () => got })
}

/**
 * What is asked of an error: nothing but that there is one, a part of its text, its name or all of
 * its text.
 */
function errorAnswer(asked: unknown, error: UpstreamError | undefined): unknown {
  if (error === undefined) return null
  const { name, text } = error
  const [, part] = /^contains: (.*)$/s.exec(String(asked)) ?? []
  if (part !== undefined) return text.includes(part) ? asked : text
  if (asked === 'any error') return asked
  return /^Err[A-Z]/.test(String(asked)) ? (name ?? text) : text
}
