import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { IPAddress } from 'ipam-kit/crd/cluster-api'
import {
  addressSpace,
  InClusterIPPool,
  InClusterPrefixPool,
  isAllocatablePrefix,
  prefixOf,
  prefixSpace,
} from 'ipam-kit/crd/in-cluster'
import { unwrap } from 'ipam-kit/errors'
import { PoolLedger } from 'ipam-kit/provider/in-cluster'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, type GivenCase, refused, those, unsupported } from '../answer.js'
import { countAsUpstream } from '../count.js'
import { readInput } from '../read-input.js'

const texts = z.array(z.string())
const spec = z.record(z.string(), z.unknown())
const prefixText = z.union([z.string(), z.strictObject({ address: z.string(), prefix: z.number().optional() })])
const inUse = z.array(prefixText).default([])

/** An address, range or CIDR in use; or the address and prefix of an IPAddress. */
type InUse = z.output<typeof prefixText>
type HeldText = Exclude<InUse, string>

const inputSchema = z.discriminatedUnion('function', [
  z.strictObject({ function: z.literal(['poolSpecToSet', 'poolSpecToSet+findFree']), spec, inUse }),
  z.strictObject({ function: z.literal(['addressesToSet', 'count']), addresses: texts }),
  z.strictObject({ function: z.literal('addressParses'), address: z.string() }),
  z.strictObject({ function: z.literal('findFree'), pool: texts, inUse }),
  z.strictObject({ function: z.literal('prefixPool'), spec: spec.optional(), config: spec.optional(), inUse }),
  z.strictObject({
    function: z.literal('prefixIsAllocatable'),
    spec: spec.optional(),
    config: spec.optional(),
    prefix: prefixText,
  }),
  z.strictObject({ function: z.literal('prefixFromAddress'), address: z.string(), prefix: z.number().optional() }),
])

type Input<F extends z.output<typeof inputSchema>['function']> = Extract<z.output<typeof inputSchema>, { function: F }>

/**
 * The arithmetic of pools: upstream's package poolutil, on sets and the ledger of a pool of the
 * in-cluster provider.
 */
export function capiPoolutil({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  switch (known.data.function) {
    case 'poolSpecToSet':
    case 'poolSpecToSet+findFree':
      return addressPool(known.data, expect)
    case 'addressesToSet':
    case 'count':
      return addresses(known.data, expect)
    case 'addressParses':
      return addressParses(known.data, expect)
    case 'findFree':
      return findFree(known.data, expect)
    case 'prefixPool':
      return prefixPool(known.data, expect)
    case 'prefixIsAllocatable':
      return prefixIsAllocatable(known.data, expect)
    case 'prefixFromAddress':
      return prefixFromAddress(known.data, expect)
  }
}

function addressPool(input: Input<'poolSpecToSet' | 'poolSpecToSet+findFree'>, expect: unknown): Answer {
  const pool = InClusterIPPool.safeParse(poolOf(InClusterIPPool.info, input.spec))
  if (!pool.ok) return refused(expect, pool.failure.message)
  const space = addressSpace(pool.value.spec)
  if (!space.ok) return refused(expect, space.failure.message)
  const ledger = PoolLedger.build(pool.value, input.inUse.flatMap(textsOf).map(ipAddressOf))
  const found = ledger.next()?.address
  return answerKeys(expect, {
    ...setAnswers(space.value.available),
    total: () => countAsUpstream(ledger.counts()?.total ?? 0),
    outOfRange: () => ledger.counts()?.outOfRange,
    ...(input.function === 'poolSpecToSet' ? { error: () => false } : freeAddressAnswers(found)),
  })
}

function addresses(input: Input<'addressesToSet' | 'count'>, expect: unknown): Answer {
  const set = RangeSet.safeParse(input.addresses, { zone: 'drop' })
  if (!set.ok) return refused(expect, set.failure.message)
  return answerKeys(expect, { ...setAnswers(set.value), error: () => false })
}

function addressParses(input: Input<'addressParses'>, expect: unknown): Answer {
  return answerKeys(expect, { valid: () => parsesAsEntry(input.address) })
}

function findFree(input: Input<'findFree'>, expect: unknown): Answer {
  const ranges = RangeSet.safeParse(input.pool, { zone: 'drop' })
  if (!ranges.ok) return refused(expect, ranges.failure.message)
  const held = input.inUse.flatMap(textsOf)
  for (const { address } of held) {
    const read = Address.safeParse(address, { zone: 'drop' })
    if (!read.ok) return refused(expect, read.failure.message)
  }
  // of a bare set all addresses are given
  const spec = {
    addresses: RangeSet.ranges(ranges.value).map(Range.format),
    prefix: 0,
    allocateReservedIPAddresses: true,
  }
  const pool = InClusterIPPool.parse(poolOf(InClusterIPPool.info, spec))
  const ledger = PoolLedger.build(pool, held.map(ipAddressOf))
  return answerKeys(expect, {
    ...setAnswers(ranges.value),
    total: () => countAsUpstream(ledger.counts()?.total ?? 0),
    outOfRange: () => countAsUpstream(ledger.counts()?.outOfRange ?? 0),
    ...freeAddressAnswers(ledger.next()?.address),
  })
}

function prefixPool(input: Input<'prefixPool'>, expect: unknown): Answer {
  const space = prefixSpaceOf(input)
  if (typeof space === 'string') return refused(expect, space)
  const held = input.inUse.flatMap(prefixTextsOf).map(ipAddressOf)
  const unread = input.config && held.find(({ spec }) => prefixOf(spec) === undefined)
  if (unread !== undefined) return refused(expect, `in use, and not a prefix: ${unread.spec.address}`)
  if (isWithoutLength(input)) return answerKeys(expect, prefixPoolAnswers(0, undefined))
  const pool = InClusterPrefixPool.parse(poolOf(InClusterPrefixPool.info, input.config ?? input.spec))
  const ledger = PoolLedger.build(pool, held)
  const offer = ledger.next()
  const found = offer && Prefix.of(offer.address, offer.prefix)
  return answerKeys(expect, {
    ...prefixPoolAnswers(ledger.counts()?.total ?? 0, found),
    outOfRange: () => ledger.counts()?.outOfRange,
  })
}

function prefixIsAllocatable(input: Input<'prefixIsAllocatable'>, expect: unknown): Answer {
  const space = prefixSpaceOf(input)
  const prefix = readPrefix(input.prefix)
  // upstream answers no, rather than with an error, for what it cannot read
  if (typeof space === 'string' || prefix === undefined) return answerKeys(expect, { allocatable: () => false })
  const allocatable = !isWithoutLength(input) && isAllocatablePrefix(space, prefix)
  return answerKeys(expect, { allocatable: () => allocatable })
}

function prefixFromAddress(input: Input<'prefixFromAddress'>, expect: unknown): Answer {
  const prefix = prefixOf(ipAddressOf(input, 0).spec)
  if (prefix === undefined) return refused(expect, `not a prefix: ${input.address}`)
  return answerKeys(expect, { prefix: () => Prefix.format(prefix), error: () => false })
}

/** What can be asked of a set of addresses. An entry asked for is an address, a range or a CIDR. */
function setAnswers(set: RangeSet): Answers {
  const contains = (entry: string) => RangeSet.contains(set, unwrap(RangeSet.safeParseEntry(entry)))
  // upstream's own assertion for a range that is not contained: not all of it is
  const notContains = (entry: string) => !contains(entry)
  return {
    contains: (asked) => those(asked, contains),
    notContains: (asked) => those(asked, notContains),
    containsRange: (asked) => those(asked, contains),
    notContainsRange: (asked) => those(asked, notContains),
    count: () => countAsUpstream(RangeSet.size(set)),
    total: () => countAsUpstream(RangeSet.size(set)),
    available: () => RangeSet.format(set),
  }
}

function freeAddressAnswers(found: Address | undefined): Answers {
  const address = () => (found === undefined ? null : Address.format(found))
  return { address, firstFree: address, ...exhaustionAnswers(found, 'no address available') }
}

function prefixPoolAnswers(total: bigint | number, found: Prefix | undefined): Answers {
  const prefix = () => (found === undefined ? null : Prefix.format(found))
  return {
    total: () => countAsUpstream(total),
    candidateCount: () => countAsUpstream(total),
    prefix,
    firstFree: prefix,
    ...exhaustionAnswers(found, 'no prefix available'),
  }
}

/** Nothing free is an error with these words upstream, and no address or prefix here. */
function exhaustionAnswers(found: unknown, words: string): Answers {
  const error = (asked: unknown) => (found !== undefined ? false : asked === true ? true : words)
  return { error, freeError: error }
}

type Space = Extract<ReturnType<typeof prefixSpace>, { readonly ok: true }>['value']

/**
 * The space of a prefix pool, or why there is none. Upstream's inner form, `config`, has the fields
 * of a spec.
 */
function prefixSpaceOf(input: { readonly spec?: unknown; readonly config?: unknown }): Space | string {
  const pool = InClusterPrefixPool.safeParse(poolOf(InClusterPrefixPool.info, input.config ?? input.spec))
  if (!pool.ok) return pool.failure.message
  const space = prefixSpace(pool.value.spec)
  return space.ok ? space.value : space.failure.message
}

/**
 * A `config` says the length outright: no length is the length 0 there, which no prefix of a pool
 * has.
 */
function isWithoutLength({ config }: { readonly config?: { readonly [field: string]: unknown } | undefined }): boolean {
  return config !== undefined && (config.allocationPrefixLength ?? 0) === 0
}

function poolOf(info: { readonly apiVersion: string; readonly kind: string }, spec: unknown) {
  return {
    apiVersion: info.apiVersion,
    kind: info.kind,
    metadata: { namespace: 'default', name: 'pool', uid: 'pool' },
    spec,
  }
}

/** An IPAddress of the pool, with the text as it is. */
function ipAddressOf({ address, prefix }: HeldText, index: number): IPAddress {
  const name = `address-${index}`
  return IPAddress.parse({
    apiVersion: IPAddress.info.apiVersion,
    kind: IPAddress.info.kind,
    metadata: { namespace: 'default', name, uid: name },
    spec: {
      claimRef: { name },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'Pool', name: 'pool' },
      address,
      prefix,
    },
  })
}

/**
 * What is in use, by address: a range or CIDR means every address in it, any other text is one as
 * it stands.
 */
function textsOf(held: InUse): HeldText[] {
  if (typeof held !== 'string') return [held]
  if (!/[-/]/.test(held) || !parsesAsEntry(held)) return [{ address: held }]
  return addressesIn(unwrap(RangeSet.safeParseEntry(held))).map((address) => ({ address: Address.format(address) }))
}

/**
 * What is in use, by prefix: a CIDR is one, a single address is the longest one, a range means
 * every address in it.
 */
function prefixTextsOf(held: InUse): HeldText[] {
  if (typeof held !== 'string') return [held]
  const prefix = Prefix.safeParse(held)
  if (prefix.ok) return [{ address: Address.format(prefix.value.address), prefix: prefix.value.length }]
  if (!parsesAsEntry(held)) return [{ address: held }]
  return addressesIn(unwrap(RangeSet.safeParseEntry(held))).map((address) => ({
    address: Address.format(address),
    prefix: Address.bitsOf(address.family),
  }))
}

function readPrefix(held: InUse): Prefix | undefined {
  if (typeof held !== 'string') return prefixOf(ipAddressOf(held, 0).spec)
  const prefix = Prefix.safeParse(held)
  return prefix.ok ? prefix.value : undefined
}

function parsesAsEntry(text: string): boolean {
  return RangeSet.safeParseEntry(text, { zone: 'drop' }).ok
}

/** So many addresses can a case have in use by naming their range. */
const MOST_IN_USE = 65_536n

function addressesIn(range: Range): Address[] {
  if (Range.size(range) > MOST_IN_USE) throw new Error(`in use: ${Range.format(range)} is too large to take one by one`)
  const all: Address[] = []
  for (let address: Address | undefined = range.first; address !== undefined; address = Address.next(address)) {
    if (!Range.contains(range, address)) break
    all.push(address)
  }
  return all
}
