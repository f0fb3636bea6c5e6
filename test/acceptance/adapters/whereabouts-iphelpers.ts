import { Address, Prefix } from 'ipam-kit/cidr'
import { type Failure, isIpamError, unwrap } from 'ipam-kit/errors'
import { allocatableRange, chooseAddress, parseNodeSliceSize } from 'ipam-kit/provider/whereabouts'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, type GivenCase, refusedWith, unsupported } from '../answer.js'
import { countOrText } from '../count.js'
import { readInput } from '../read-input.js'

const bound = z.string().nullable().default(null)

const inputSchema = z.discriminatedUnion('fn', [
  z.strictObject({ fn: z.literal('compare'), a: z.string(), b: z.string() }),
  z.strictObject({ fn: z.literal('offset'), a: z.string(), b: z.string() }),
  z.strictObject({ fn: z.literal('inRange'), ip: z.string(), start: z.string(), end: z.string() }),
  z.strictObject({ fn: z.literal('bounds'), cidr: z.string() }),
  z.strictObject({ fn: z.literal('usable'), cidr: z.string() }),
  z.strictObject({ fn: z.literal(['increment', 'decrement']), ip: z.string() }),
  z.strictObject({ fn: z.literal('effectiveRange'), cidr: z.string(), rangeStart: bound, rangeEnd: bound }),
  z.strictObject({ fn: z.literal('addOffset'), ip: z.string(), offset: z.union([z.string(), z.int()]) }),
  z.strictObject({ fn: z.literal('divide'), cidr: z.string(), size: z.union([z.string(), z.int()]) }),
])

type Input<F extends z.output<typeof inputSchema>['fn']> = Extract<z.output<typeof inputSchema>, { fn: F }>

/**
 * The arithmetic of whereabouts: its package iphelpers, on the ranges of the provider, and on
 * addresses and prefixes.
 */
export function whereaboutsIphelpers({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  try {
    return answerKeys(expect, answersTo(known.data))
  } catch (error) {
    if (error instanceof Refusal) return refusedWith(expect, error.message)
    if (isIpamError(error))
      return refusedWith(expect, upstreamWords({ code: error.code, context: error.context } as Failure))
    throw error
  }
}

function answersTo(input: z.output<typeof inputSchema>): Answers {
  switch (input.fn) {
    case 'compare':
      return { result: () => Math.sign(Address.compare(readAddress(input.a), readAddress(input.b))) }
    case 'inRange':
      return inRange(input)
    case 'bounds': {
      const prefix = Prefix.parse(input.cidr)
      return { network: textOf(Prefix.first(prefix)), last: textOf(Prefix.last(prefix)) }
    }
    case 'usable':
      return usable(input)
    case 'increment':
      return neighbour(Address.next(readAddress(input.ip)))
    case 'decrement':
      return neighbour(Address.previous(readAddress(input.ip)))
    case 'effectiveRange':
      return effectiveRange(input)
    case 'offset':
      return offset(input)
    case 'addOffset':
      return { result: textOf(Address.add(readAddress(input.ip), wholeNumber(input.offset))) }
    case 'divide':
      return divide(input)
  }
}

function inRange(input: Input<'inRange'>): Answers {
  const [ip, start, end] = [input.ip, input.start, input.end].map(readAddress)
  const result = Address.compare(start!, ip!) <= 0 && Address.compare(ip!, end!) <= 0
  return { result: () => result }
}

/** An address as Go's net.IP has it, to which IPv4-mapped IPv6 is IPv4. */
function readAddress(text: string): Address {
  return Address.unmap(Address.parse(text))
}

function usable(input: Input<'usable'>): Answers {
  const prefix = Prefix.parse(input.cidr)
  const usable = allocatableRange({ prefix })
  if (usable === undefined) return { hasUsable: () => false, ...errorAnswers(tooShort(prefix)) }
  return { hasUsable: () => true, first: textOf(usable.first), last: textOf(usable.last), error: () => false }
}

/** Upstream wraps around where there is no neighbour. */
function neighbour(address: Address | undefined): Answers {
  if (address === undefined) throw new Refusal('there is no such address')
  return { result: textOf(address) }
}

/** The first and last address to hand out. */
function effectiveRange(input: Input<'effectiveRange'>): Answers {
  const prefix = Prefix.parse(input.cidr)
  const [start, end] = [input.rangeStart, input.rangeEnd].map((text) => (text ? readAddress(text) : undefined))
  const range = allocatableRange({ prefix, start, end })
  if (range === undefined) throw new Refusal(tooShort(prefix))
  return { first: textOf(range.first), last: textOf(range.last), error: () => false }
}

function offset(input: Input<'offset'>): Answers {
  const distance = Address.distance(readAddress(input.a), readAddress(input.b))
  return { offset: () => String(distance < 0n ? -distance : distance), error: () => false }
}

/** So many subnets can a case list. Of more it asks for the first, the last and how many. */
const MOST_LISTED = 65_536n

function divide(input: Input<'divide'>): Answers {
  const length = parseNodeSliceSize(String(input.size))
  if (length === undefined) throw new Refusal(`not a prefix length: ${input.size}`)
  const parsed = Prefix.safeParse(input.cidr)
  if (!parsed.ok) throw new Refusal(`error parsing CIDR ${input.cidr}: ${upstreamWords(parsed.failure)}`)
  const prefix = parsed.value
  if (!Prefix.equals(prefix, Prefix.masked(prefix))) throw new Refusal('netCIDR is not a valid network address')
  const count = Prefix.subnetCount(prefix, length)
  return {
    result: () => (count > MOST_LISTED ? null : Array.from(Prefix.split(prefix, length), Prefix.format)),
    count: () => countOrText(count),
    first: () => Prefix.format(Prefix.subnetAt(prefix, length, 0)),
    last: () => Prefix.format(Prefix.subnetAt(prefix, length, count - 1n)),
    error: () => false,
  }
}

function textOf(address: Address): () => string {
  return () => Address.format(address)
}

/** Upstream's number in a text. */
function wholeNumber(text: string | number): bigint {
  const digits = String(text)
  if (!/^[+-]?\d+$/.test(digits)) throw new Refusal(`not a whole number: ${digits}`)
  return BigInt(digits.replace('+', ''))
}

/** What upstream refuses in words of its own. */
class Refusal extends Error {}

function errorAnswers(words: string): Answers {
  return {
    error: (asked) => (asked === true ? true : words),
    errorPrefix: (asked) => (words.startsWith(String(asked)) ? asked : words),
  }
}

/** One of our failures in the words of upstream, as far as they are known; in ours otherwise. */
function upstreamWords(failure: Failure): string {
  switch (failure.code) {
    case 'FAMILY_MISMATCH': {
      const [left, right] = [failure.context.left, failure.context.right].map((text) => unwrap(Address.safeParse(text)))
      const of = (address: Address) => `(${Address.format(address)})`
      return `cannot calculate offset between IPv${left!.family} ${of(left!)} and IPv${right!.family} address ${of(right!)}`
    }
    case 'MALFORMED_PREFIX':
      return `invalid CIDR address: ${failure.context.text}`
    case 'INVALID_PREFIX_LENGTH':
      return failure.context.length < (failure.context.min ?? 0)
        ? 'subnetMaskSize must be greater or equal than netMaskSize'
        : failure.message
    default:
      return failure.message
  }
}

/** The sentence of the provider for a subnet without a usable address. */
function tooShort(prefix: Prefix): string {
  const choice = chooseAddress({ prefix, exclude: [] })
  return choice.kind === 'tooSmall' ? choice.message : `not refused: ${choice.kind}`
}
