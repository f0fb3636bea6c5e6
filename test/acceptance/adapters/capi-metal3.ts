import { AddressPool, type AllocationOutcome, explainRefusal, type Strategy, type Want } from 'ipam-kit/allocator'
import { Address, Range, RangeSet } from 'ipam-kit/cidr'
import type { Admission } from 'ipam-kit/crd/meta'
import { admitMetal3IPPool, IPPool } from 'ipam-kit/crd/metal3'
import * as z from 'zod'
import { admissionAnswers } from '../admission.js'
import { type Answer, answerKeys, type GivenCase, isRecord, refusedWith, unsupported } from '../answer.js'
import { countOrText } from '../count.js'
import { addressesOf, type EntryTexts, readAddress, readEntry } from '../metal3-entry.js'
import { caught } from '../outcome.js'
import { readInput } from '../read-input.js'

const text = z.string().nullish()
const texts = z.array(z.string())
const entryTexts = { start: text, end: text, subnet: text }
/** What an address comes with. An entry has its own, or else those of the pool. */
const settings = { prefix: z.int().optional(), gateway: text, dnsServers: texts.nullish() }
const entry = z.strictObject({ ...entryTexts, ...settings })
const pool = z.strictObject(entryTexts)
const index = z.union([z.int(), z.string().regex(/^\d+$/).transform(BigInt)])

const poolSpec = z.strictObject({
  ...settings,
  pools: z.array(entry).default([]),
  preAllocations: z.record(z.string(), z.string()).default({}),
  allocationStrategy: z.enum(['sequential', 'random', '']).default('sequential'),
  namePrefix: z.string().optional(),
  clusterName: text,
})

const inputSchema = z.discriminatedUnion('function', [
  z.strictObject({ function: z.literal('validateCreate'), spec: poolSpec }),
  z.strictObject({
    function: z.literal('validateUpdate'),
    spec: poolSpec,
    oldSpec: poolSpec,
    allocations: z.record(z.string(), z.string()).default({}),
  }),
  z.strictObject({ function: z.literal('validateDelete'), spec: poolSpec }),
  z.strictObject({ function: z.literal('addressAtIndex'), pool, index }),
  z.strictObject({ function: z.literal('addOffset'), ip: z.string(), offset: index, end: text }),
  z.strictObject({ function: z.literal('poolSize'), pool }),
  z.strictObject({ function: z.literal('validateEntry'), pool: entry }),
  z.strictObject({
    function: z.literal('allocate'),
    spec: poolSpec,
    claim: z.strictObject({
      name: z.string(),
      kind: z.string().optional(),
      namespace: z.string().optional(),
      annotations: z.record(z.string(), z.string()).default({}),
    }),
    inUse: texts.default([]),
  }),
])

type Input<F extends z.output<typeof inputSchema>['function']> = Extract<z.output<typeof inputSchema>, { function: F }>
type Settings = Pick<z.output<typeof entry>, keyof typeof settings>

/**
 * What metal3 admits of an IPPool, and its addresses: its entries are ranges, of each of which
 * there is a pool.
 */
export function capiMetal3({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  switch (known.data.function) {
    case 'validateCreate':
    case 'validateUpdate':
    case 'validateDelete':
      return answerKeys(expect, admissionAnswers(admissionOf(known.data)))
    case 'addressAtIndex':
      return addressAtIndex(known.data, expect)
    case 'addOffset':
      return addOffset(known.data, expect)
    case 'poolSize':
      return poolSize(known.data, expect)
    case 'validateEntry': {
      const problem = readEntry(known.data.pool)
      return answerKeys(expect, {
        valid: () => typeof problem !== 'string',
        error: (asked) => typeof problem === 'string' && (asked === true || problem),
      })
    }
    case 'allocate':
      return allocate(known.data, expect)
  }
}

function admissionOf(input: Input<'validateCreate' | 'validateUpdate' | 'validateDelete'>): Admission {
  const object = poolOf(input.spec)
  switch (input.function) {
    case 'validateCreate':
      return admitMetal3IPPool({ operation: 'CREATE', object })
    case 'validateUpdate':
      return admitMetal3IPPool({ operation: 'UPDATE', object, oldObject: poolOf(input.oldSpec, input.allocations) })
    case 'validateDelete':
      return admitMetal3IPPool({ operation: 'DELETE', oldObject: object })
  }
}

function poolOf(spec: z.output<typeof poolSpec>, indexes: { readonly [claim: string]: string } = {}): IPPool {
  const { apiVersion, kind } = IPPool.info
  return IPPool.parse({ apiVersion, kind, metadata: { namespace: 'default', name: 'pool' }, spec, status: { indexes } })
}

function addressAtIndex({ pool, index }: Input<'addressAtIndex'>, expect: unknown): Answer {
  const set = rangesOf(pool)
  if (typeof set === 'string') return refusedWith(expect, set)
  return addressAnswer(expect, () => RangeSet.at(set, index))
}

function addOffset({ ip, offset, end }: Input<'addOffset'>, expect: unknown): Answer {
  const [start, last] = [readAddress(ip), readAddress(end === '' ? undefined : end)]
  if (!start || last === null) return refusedWith(expect, 'invalid IP address')
  return addressAnswer(expect, () => {
    const address = Address.add(start, offset)
    if (last !== undefined && !Range.contains(Range.of(start, last), address)) return 'IP address out of bounds'
    return address
  })
}

/** The address of a call, or why there is none. */
function addressAnswer(expect: unknown, call: () => Address | string): Answer {
  const found = caught(() => ({ ok: true, value: call() }))
  if (!found.ok) return refusedWith(expect, found.failure.message)
  const { value } = found
  if (typeof value === 'string') return refusedWith(expect, value)
  return answerKeys(expect, { address: () => Address.format(value), error: () => false })
}

/** Upstream counts in a 64-bit int, and has an error where that is not enough. */
const LARGEST_INT = 2n ** 63n - 1n

function poolSize({ pool }: Input<'poolSize'>, expect: unknown): Answer {
  const set = rangesOf(pool)
  if (typeof set === 'string') return refusedWith(expect, set)
  const isBounded = [pool.end, pool.subnet].some((text) => text !== undefined && text !== null)
  if (!isBounded) return refusedWith(expect, 'pool with Start requires End or Subnet to determine size')
  const size = RangeSet.size(set)
  if (size > LARGEST_INT) return refusedWith(expect, 'pool size exceeds int range')
  return answerKeys(expect, { size: () => countOrText(size), error: () => false })
}

/** The addresses of an entry, or why there are none. */
function rangesOf(texts: EntryTexts): RangeSet | string {
  const entry = readEntry(texts)
  return typeof entry === 'string' ? entry : addressesOf(entry)
}

function allocate({ spec, claim, inUse }: Input<'allocate'>, expect: unknown): Answer {
  const requested = readAddress(claim.annotations.ipAddress || undefined)
  if (requested === null) {
    const written = JSON.stringify(claim.annotations.ipAddress)
    return failed(expect, `Invalid ipAddress annotation ${written}: not a valid IP address`)
  }
  const preallocated = new Map<string, Address>()
  for (const [name, text] of Object.entries(spec.preAllocations)) {
    const address = readAddress(text)
    if (address) preallocated.set(name, address)
    else if (name === claim.name) return failed(expect, MESSAGES.preallocatedOutside)
  }
  const held = holdsOf(inUse, preallocated)
  const strategy: Strategy = spec.allocationStrategy === 'random' ? { kind: 'random', seed: 1 } : { kind: 'lowest' }
  const want: Want = requested === undefined ? { kind: 'any' } : { kind: 'address', address: requested }
  let refusal: AllocationOutcome = { kind: 'exhausted' }
  // each entry is used up before the next one
  for (const entry of spec.pools) {
    const ranges = rangesOf(entry)
    if (typeof ranges === 'string') continue
    const pool = caught(() => ({ ok: true, value: new AddressPool({ ranges, strategy, preallocated }) }))
    if (!pool.ok) return failed(expect, pool.failure.message)
    for (const { address, uid } of held) if (pool.value.hasAddress(address)) pool.value.occupy(address, { uid })
    const outcome = pool.value.allocate({ owner: { uid: claim.name }, stickyKey: claim.name, want })
    if ('addresses' in outcome) return given(outcome.address, [entry, spec], expect)
    if (refusal.kind === 'exhausted' || refusal.kind === 'outOfPool') refusal = outcome
  }
  return failed(expect, messageOf(refusal, preallocated.get(claim.name), requested))
}

/**
 * What is in use. Of what is preallocated nobody else is known to have it: upstream lists it as in
 * use from the start.
 */
function holdsOf(inUse: readonly string[], preallocated: ReadonlyMap<string, Address>) {
  return inUse.flatMap((text) => {
    const address = readAddress(text)
    if (!address) return []
    const [owner] = [...preallocated].find(([, one]) => Address.equals(one, address)) ?? []
    return [{ address, uid: owner ?? `whoever has ${text}` }]
  })
}

function given(address: Address, sources: readonly [entry: Settings, spec: Settings], expect: unknown): Answer {
  const [entry, spec] = sources
  return answerKeys(expect, {
    address: () => Address.format(address),
    prefix: () => entry.prefix || spec.prefix || 0,
    gateway: () => entry.gateway ?? spec.gateway ?? null,
    dnsServers: () => (entry.dnsServers?.length ? entry.dnsServers : (spec.dnsServers ?? [])),
    error: () => false,
  })
}

/** What upstream writes into the status of a claim. */
const MESSAGES = {
  conflict: 'PreAllocation and requested ip address are conflicting',
  preallocatedOutside: 'Pre-allocated IP out of bounds',
  notAvailable: 'Requested IP not available',
  exhausted: 'Exhausted IP Pools',
} as const

function messageOf(refusal: AllocationOutcome, own: Address | undefined, requested: Address | undefined): string {
  if (own !== undefined && requested !== undefined && !Address.equals(own, requested)) return MESSAGES.conflict
  switch (refusal.kind) {
    case 'exhausted':
    case 'outOfPool':
      return own === undefined ? MESSAGES.exhausted : MESSAGES.preallocatedOutside
    case 'taken':
      return MESSAGES.notAvailable
    case 'refused':
      return refusal.reason === 'PreallocatedForAnother' ? MESSAGES.notAvailable : MESSAGES.conflict
    default:
      return explainRefusal(refusal) ?? refusal.kind
  }
}

/** An error, and all of its words where a case asks for them. */
function failed(expect: unknown, message: string): Answer {
  if (!isRecord(expect) || !Object.hasOwn(expect, 'message')) return refusedWith(expect, message)
  return answerKeys(expect, { error: (asked) => (asked === true ? true : message), message: () => message })
}
