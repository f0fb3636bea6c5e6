import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { isIpamError } from 'ipam-kit/errors'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, type GivenCase, isRecord, refusedWith, unsupported } from '../answer.js'
import { inAskedOrder } from '../asked-order.js'
import { runBitmap, UnknownStep } from '../bitmap-steps.js'
import { countOrText } from '../count.js'
import { type Given, NetworkLedger } from '../network-range.js'
import { readInput } from '../read-input.js'
import {
  allocateIps,
  errorOf,
  nextIps,
  type SubnetResult,
  Subnets,
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
 * The allocators of OVN-Kubernetes: of a range and of a set of subnets on the addresses of a network,
 * of numbers on a bitmap.
 */
export function persistentAllocators({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  try {
    return answerTo(known.data, expect)
  } catch (error) {
    if (error instanceof UnknownStep) return unsupported(error.message)
    const sentence = sentenceOf(error)
    if (sentence === undefined) throw error
    return refusedWith(expect, sentence)
  }
}

/** What the library says of an input that it refuses; `undefined` of any other exception. */
function sentenceOf(error: unknown): string | undefined {
  return isIpamError(error) ? error.message : undefined
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
      return answerKeys(expect, runBitmap(input.max, input.strategy, input.steps))
    case 'subnetAllocator':
      return subnetAllocator(input, expect)
  }
}

/** All that a range gives, one by one. */
function drained(range: NetworkLedger, subnet: Prefix): Address[] {
  const given: Address[] = []
  for (let next = range.next(subnet); next.kind === 'allocated'; next = range.next(subnet)) given.push(next.address)
  return given
}

function fillReleaseRefill(input: Input<'fillReleaseRefill'>): Answers {
  const subnet = Prefix.parse(input.cidr)
  const range = new NetworkLedger({ subnets: [input.cidr] })
  const released = Address.parse(input.release)
  const atStart = range.counts()
  const given = drained(range, subnet).filter((address) => Prefix.contains(subnet, address))
  const afterFull = range.next(subnet)
  range.release(released)
  const afterRelease = range.counts()
  const next = range.next(subnet)
  range.release(released)
  const outside = input.outOfRange.map((text) => namedOutcome(range.allocate(Address.parse(text))))
  const taken = range.allocate(Address.parse(input.taken))
  range.allocate(released)
  const atEnd = range.counts()
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

function fill({ cidr }: Input<'fill'>): Answers {
  const subnet = Prefix.parse(cidr)
  const range = new NetworkLedger({ subnets: [cidr] })
  const { free } = range.counts()
  const given = drained(range, subnet)
  const full = namedOutcome(range.next(subnet))
  const again = given.map((address) => namedOutcome(range.allocate(address)))
  return {
    free: () => countOrText(free),
    allocated: (asked) => inAskedOrder(asked, given.map(Address.format)),
    allocateNext: () => (given[0] === undefined ? full : Address.format(given[0])),
    allocateAgain: () => (new Set(again).size === 1 ? again[0] : again),
    afterFull: () => full,
    afterFullRepeats: (asked) => {
      const times = Array.from({ length: Number(asked) }, () => namedOutcome(range.next(subnet)))
      return times.filter((name) => name === full).length
    },
  }
}

function forEach({ cidr, allocate }: Input<'forEach'>): Answers {
  const range = new NetworkLedger({ subnets: [cidr] })
  for (const text of allocate) range.allocate(Address.parse(text))
  const visited = range.taken().map(Address.format)
  return { visited: (asked) => inAskedOrder(asked, visited) }
}

function isReserved({ cidr, ip }: Input<'reserved'>): boolean {
  const [subnet, address] = [Prefix.parse(cidr), Address.parse(ip)]
  return (
    Prefix.contains(subnet, address) && !RangeSet.contains(new NetworkLedger({ subnets: [cidr] }).addresses, address)
  )
}

/** The address that was given, or the name of the error upstream. */
function namedOutcome(outcome: Given): string {
  if (outcome.kind === 'allocated') return Address.format(outcome.address)
  return errorOf(outcome).name ?? outcome.kind
}

function subnetAllocator(input: Input<'subnetAllocator'>, expect: unknown): Answer {
  const stranger = strangerOf(input)
  if (stranger !== undefined) return refusedWith(expect, strangerText(stranger, input.name))
  const run: SubnetRun = { name: input.name, subnets: new Subnets(input) }
  const results: SubnetResult[] = []
  for (const step of input.steps) results.push(trySubnetStep(step, run))
  return resultAnswers(expect, results)
}

/** A set of subnets under its name. */
interface SubnetRun {
  readonly name: string
  subnets: Subnets
}

/** A step whose texts cannot be read changes nothing. */
function trySubnetStep(step: SubnetStep, run: SubnetRun): SubnetResult {
  try {
    return doSubnetStep(step, run)
  } catch (error) {
    const text = sentenceOf(error)
    if (text === undefined) throw error
    return { ips: [], error: { text } }
  }
}

function strangerText(subnet: string, name: string): string {
  return `failed to exclude subnet ${subnet} for ${name}: not contained in any of the subnets`
}

function doSubnetStep(step: SubnetStep, run: SubnetRun): SubnetResult {
  const { name, subnets } = run
  switch (step.do) {
    case 'next':
      return nextIps(subnets, name)
    case 'allocate':
      return allocateIps(step.ips.map(addressOf), subnets, name)
    case 'release': {
      for (const address of step.ips.map(addressOf)) subnets.network.release(address)
      return { ips: [] }
    }
    case 'configure': {
      const stranger = strangerOf(step)
      if (stranger === undefined) {
        run.subnets = new Subnets(step)
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
