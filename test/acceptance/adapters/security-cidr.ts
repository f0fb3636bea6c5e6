import { AddressPool } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet, specialPurposeRegistry } from 'ipam-kit/cidr'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { isIpamError, ok, type Result, unwrap } from 'ipam-kit/errors'
import { svgMap } from 'ipam-kit/render'
import { memoryStore } from 'ipam-kit/store/memory'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, partAnswers, unsupported, within } from '../answer.js'
import { caught, outcome, type Readings } from '../outcome.js'

const text = z.string()
const profile = z.enum(['strict', 'k8s-field', 'k8s-field-canonical', 'k8s-legacy-read']).default('strict')
const zone = z.enum(['refuse', 'drop', 'allow']).default('refuse')
const repeat = z.strictObject({
  prefix: text.default(''),
  unit: text,
  count: z.int().nonnegative(),
  suffix: text.default(''),
})
/** A text as it is, as so many copies of another, or something that is no text at all. */
const given = { text: text.optional(), repeat: repeat.optional(), value: z.unknown().optional(), profile, zone }
const pair = { outer: text, inner: text.optional(), text: text.optional() }

const inputSchema = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal(['parseAddress', 'parseCidr', 'parseRange']), ...given }),
  z.strictObject({ op: z.literal(['next', 'previous']), ...given }),
  z.strictObject({ op: z.literal(['size', 'first', 'last', 'masked', 'toPrefixes']), ...given }),
  z.strictObject({ op: z.literal(['classify', 'errorText', 'svgLabel']), ...given }),
  z.strictObject({ op: z.literal('split'), ...given, bits: z.number() }),
  z.strictObject({ op: z.literal('add'), ...given, offset: z.union([text.regex(/^-?\d+$/), z.int()]) }),
  z.strictObject({ op: z.literal(['parseAddressTwice', 'parseCidrTwice', 'parseRangeTwice']), ...listed(), zone }),
  z.strictObject({ op: z.literal(['sort', 'key']), ...listed() }),
  z.strictObject({ op: z.literal('record'), texts: z.array(text) }),
  z.strictObject({ op: z.literal(['contains', 'containsPrefix', 'overlaps']), ...pair }),
  z.strictObject({ op: z.literal(['compare', 'distance']), a: text, b: text }),
])

type AnyInput = z.output<typeof inputSchema>
/** The inputs that have one of the ops. */
type Input<O extends AnyInput['op'], I = AnyInput> = I extends { op: infer P extends O } ? I & { op: P } : never
type Given = z.output<z.ZodObject<typeof given>>

/**
 * Texts of all kinds, hostile ones too: how they are read, what can be done with what was read, and
 * what comes out again.
 */
export function securityCidr({ input, expect }: GivenCase): Answer | Promise<Answer> {
  const known = inputSchema.safeParse(input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const asked = known.data
  switch (asked.op) {
    case 'parseAddress':
      return outcomeOf(asked, expect, readAddress, addressReadings(asked))
    case 'parseCidr':
      return outcomeOf(asked, expect, readPrefix, prefixReadings(asked))
    case 'parseRange':
      return outcomeOf(asked, expect, readRange, rangeReadings)
    case 'classify':
      return outcomeOf(asked, expect, readAnyAddress, kindReadings)
    case 'size':
    case 'first':
    case 'last':
    case 'masked':
    case 'toPrefixes':
      return outcomeOf(asked, expect, readPrefixOrRange, spanReadings(asked.op))
    case 'next':
    case 'previous':
    case 'add':
      return neighbour(asked, expect)
    case 'split':
      return outcomeOf(asked, expect, (text, how) => subnetsOf(readPrefix(text, how), asked.bits), subnetReadings)
    case 'errorText':
      return errorText(asked, expect)
    case 'svgLabel':
      return svgLabel(asked, expect)
    case 'record':
      return record(asked.texts, expect)
    case 'sort':
    case 'key':
      return addressList(asked, expect)
    case 'parseAddressTwice':
    case 'parseCidrTwice':
    case 'parseRangeTwice':
      return parseTwice(asked, expect)
    case 'contains':
    case 'containsPrefix':
    case 'overlaps':
      return containment(asked, expect)
    case 'compare':
    case 'distance':
      return difference(asked, expect)
  }
}

function listed() {
  return { texts: z.array(text), profile }
}

/**
 * What the case gives. It may be no text: then it goes where a text belongs, as it does in
 * JavaScript.
 */
function textOf({ text, repeat, value }: Given): string {
  if (repeat !== undefined) return repeat.prefix + repeat.unit.repeat(repeat.count) + repeat.suffix
  return text ?? (value as string)
}

type Texts = Pick<Given, 'profile' | 'zone'>
type Reader<T> = (text: string, how: Texts) => Result<T>

function outcomeOf<T>(input: Given, expect: unknown, read: Reader<T>, readings: Readings<T>): Answer {
  const given = textOf(input)
  return outcome(expect, () => read(given, input), readings, { came: given })
}

interface Zoned {
  readonly address: Address
  readonly zone: string
}

/** Only the strict profile knows zones: no field of Kubernetes takes one. */
function readAddress(text: string, { profile, zone }: Texts): Result<Zoned> {
  if (zone === 'allow' && profile === 'strict') return Address.safeParseZoned(text)
  const address = Address.safeParse(text, { profile, zone: zone === 'drop' ? 'drop' : 'refuse' })
  return address.ok ? ok({ address: address.value, zone: '' }) : address
}

/** No prefix has a zone. */
function readPrefix(text: string, { profile }: Texts): Result<Prefix> {
  return Prefix.safeParse(text, { profile })
}

function readRange(text: string, { profile, zone }: Texts): Result<Range> {
  return Range.safeParse(text, { profile, zone: zone === 'drop' ? 'drop' : 'refuse' })
}

function readPrefixOrRange(text: string, how: Texts): Result<Prefix | Range> {
  return typeof text === 'string' && text.includes('-') ? readRange(text, how) : readPrefix(text, how)
}

/** An address, or that of a CIDR. */
function readAnyAddress(text: string, how: Texts): Result<Address> {
  if (typeof text === 'string' && text.includes('/')) {
    const prefix = readPrefix(text, how)
    return prefix.ok ? ok(prefix.value.address) : prefix
  }
  const zoned = readAddress(text, how)
  return zoned.ok ? ok(zoned.value.address) : zoned
}

function addressReadings(input: Given): Readings<Zoned> {
  return {
    family: ({ address }) => address.family,
    canonical: (zoned) => Address.formatZoned(zoned),
    zone: ({ zone }) => zone,
    // a zone is no part of what is odd or not
    warning: () => Address.warningsFor(textOf(input).replace(/%.*$/s, '')).length > 0,
  }
}

function prefixReadings(input: Given): Readings<Prefix> {
  return {
    family: (prefix) => prefix.address.family,
    canonical: (prefix) => Prefix.format(prefix),
    address: (prefix) => Address.format(prefix.address),
    bits: (prefix) => prefix.length,
    masked: (prefix) => Prefix.format(Prefix.masked(prefix)),
    first: (prefix) => Address.format(Prefix.first(prefix)),
    last: (prefix) => Address.format(Prefix.last(prefix)),
    count: (prefix) => String(Prefix.size(prefix)),
    warning: () => Prefix.warningsFor(textOf(input)).length > 0,
  }
}

const rangeReadings: Readings<Range> = {
  family: ({ first }) => first.family,
  canonical: (range) => Range.format(range),
  from: ({ first }) => Address.format(first),
  to: ({ last }) => Address.format(last),
  count: (range) => String(Range.size(range)),
  cidrs: (range) => Range.prefixes(range).map(Prefix.format),
}

/**
 * What can be asked of the addresses of a prefix or range; `canonical` is the one that the case is
 * about.
 */
function spanReadings(op: 'size' | 'first' | 'last' | 'masked' | 'toPrefixes'): Readings<Prefix | Range> {
  const rangeOf = (span: Prefix | Range) => ('first' in span ? span : Range.fromPrefix(span))
  const end = (span: Prefix | Range) => rangeOf(span)[op === 'last' ? 'last' : 'first']
  return {
    family: (span) => rangeOf(span).first.family,
    count: (span) => String(Range.size(rangeOf(span))),
    cidrs: (span) => Range.prefixes(rangeOf(span)).map(Prefix.format),
    canonical: (span) => {
      if (op === 'first' || op === 'last') return Address.format(end(span))
      return 'first' in span ? Range.format(span) : Prefix.format(op === 'masked' ? Prefix.masked(span) : span)
    },
  }
}

interface Subnets {
  readonly of: Prefix
  readonly length: number
  readonly count: bigint
}

function subnetsOf(prefix: Result<Prefix>, length: number): Result<Subnets> {
  return prefix.ok ? ok({ of: prefix.value, length, count: Prefix.subnetCount(prefix.value, length) }) : prefix
}

const subnetReadings: Readings<Subnets> = {
  count: ({ count }) => String(count),
  cidrs: ({ of, length }) => Array.from(Prefix.split(of, length), Prefix.format),
  first: ({ of, length }) => Prefix.format(Prefix.subnetAt(of, length, 0)),
  last: ({ of, length, count }) => Prefix.format(Prefix.subnetAt(of, length, count - 1n)),
}

/** The kinds that the registries tell apart, and the one of what is in none of them. */
const kinds = new Set(['global', ...specialPurposeRegistry.entries.flatMap(({ kind }) => kind ?? [])])

const kindReadings: Readings<Address> = {
  ...Object.fromEntries([...kinds].map((kind) => [kind, (address: Address) => Address.kind(address) === kind])),
  kind: (address) => Address.kind(address),
  globallyReachable: (address) => Address.isGloballyReachable(address),
  embeddedIPv4: (address) => {
    const embedded = address.family === 6 ? Address.embeddedIPv4(address) : undefined
    return embedded === undefined ? null : Address.format(embedded)
  },
  family: (address) => address.family,
  canonical: (address) => Address.format(address),
}

/**
 * The address before, behind or so many further on. None is a result like any other, and none that
 * is ok.
 */
function neighbour(input: Input<'next' | 'previous' | 'add'>, expect: unknown): Answer {
  const step = (address: Address): Address | undefined => {
    if (!('offset' in input)) return input.op === 'next' ? Address.next(address) : Address.previous(address)
    const sum = caught(() => ok(Address.add(address, BigInt(input.offset))))
    if (!sum.ok && sum.failure.code !== 'ADDRESS_OUT_OF_RANGE') unwrap(sum)
    return sum.ok ? sum.value : undefined
  }
  const read: Reader<Address | undefined> = (text, how) => {
    const address = readAddress(text, how)
    return address.ok ? ok(step(address.value.address)) : address
  }
  return outcomeOf(input, expect, read, {
    ok: (address) => address !== undefined,
    none: (address) => address === undefined,
    family: (address) => address?.family ?? null,
    canonical: (address) => (address === undefined ? null : Address.format(address)),
  })
}

/** Texts one after the other, each read as often as it stands there. */
function parseTwice(input: Input<`parse${'Address' | 'Cidr' | 'Range'}Twice`>, expect: unknown): Answer {
  const readers: { readonly [op in typeof input.op]: (text: string) => Result<string> } = {
    parseAddressTwice: (text) => formatted(readAddress(text, input), Address.formatZoned),
    parseCidrTwice: (text) => formatted(readPrefix(text, input), Prefix.format),
    parseRangeTwice: (text) => formatted(readRange(text, input), Range.format),
  }
  const results = input.texts.map((text) => caught(() => readers[input.op](text)))
  return answerKeys(expect, {
    ok: () => results.every((result) => result.ok),
    results: () => results.map((result) => (result.ok ? result.value : null)),
  })
}

function formatted<T>(result: Result<T>, format: (value: T) => string): Result<string> {
  return result.ok ? ok(format(result.value)) : result
}

/** Addresses in order, and how many of them are different. CIDRs are put in order as well. */
function addressList({ texts, profile, op }: Input<'sort' | 'key'>, expect: unknown): Answer {
  if (op === 'sort' && texts.some((text) => text.includes('/'))) {
    const read = () => ok(texts.map((text) => Prefix.parse(text, { profile })))
    return outcome(expect, read, { sorted: (prefixes) => prefixes.toSorted(Prefix.compare).map(Prefix.format) })
  }
  const read = () => ok(texts.map((text) => Address.parse(text, { profile })))
  return outcome(expect, read, {
    sorted: (addresses) => addresses.toSorted(Address.compare).map(Address.format),
    distinct: (addresses) => new Set(addresses.map(Address.key)).size,
  })
}

function containment(input: Input<'contains' | 'containsPrefix' | 'overlaps'>, expect: unknown): Answer {
  const inner = input.inner ?? input.text
  if (inner === undefined) return unsupported('input: neither inner nor text')
  const how: Texts = { profile: 'strict', zone: 'refuse' }
  const read = () => {
    const outer = unwrap(readPrefixOrRange(input.outer, how))
    const other = /[-/]/.test(inner) ? unwrap(readPrefixOrRange(inner, how)) : unwrap(Address.safeParse(inner))
    if (input.op === 'overlaps') {
      const [left, right] = [outer, other].map((value) => RangeSet.fromRanges([rangeOf(value)]))
      return ok(RangeSet.overlaps(left!, right!))
    }
    if ('first' in outer || 'first' in other) return ok(Range.contains(rangeOf(outer), other))
    return ok(Prefix.contains(outer, other))
  }
  return outcome(expect, read, { result: (result) => result })
}

function rangeOf(value: Address | Prefix | Range): Range {
  if ('family' in value) return Range.of(value, value)
  return 'first' in value ? value : Range.fromPrefix(value)
}

function difference({ op, a, b }: Input<'compare' | 'distance'>, expect: unknown): Answer {
  const read = () => {
    const [left, right] = [Address.parse(a), Address.parse(b)]
    return ok(op === 'compare' ? Math.sign(Address.compare(left, right)) : String(Address.distance(left, right)))
  }
  return outcome(expect, read, { result: (result) => result })
}

/** The sentences for a text that is no address, no CIDR, no range and no entry of a set. */
function errorText(input: Given, expect: unknown): Answer {
  const given = textOf(input)
  const results: Result<unknown>[] = [
    readAddress(given, input),
    readPrefix(given, input),
    readRange(given, input),
    RangeSet.safeParse([given]),
  ]
  const sentences = results.flatMap((result) => (result.ok ? [] : [result.failure.message]))
  return answerKeys(expect, {
    ok: () => sentences.length > 0,
    errorTextMaxLength: (asked) => within(asked, Math.max(0, ...sentences.map((sentence) => sentence.length))),
    ...partAnswers(sentences.join(' ')),
  })
}

/** A picture with the text as its title and as the label of an address. */
function svgLabel(input: Given, expect: unknown): Answer {
  const given = textOf(input)
  const addresses = RangeSet.parse(['192.0.2.0/28'])
  const labels = [{ range: Range.parse('192.0.2.4-192.0.2.7'), text: given }]
  const draw = () => ok(svgMap({ addresses, available: addresses, inUse: RangeSet.empty }, { title: given, labels }))
  const drawn = caught(draw)
  return answerKeys(expect, { ok: () => drawn.ok, ...partAnswers(drawn.ok ? drawn.value : '') })
}

/**
 * Texts as keys, wherever a text from outside is one: owners, names and fields of objects. All that
 * was put in is found again.
 */
async function record(texts: readonly string[], expect: unknown): Promise<Answer> {
  const before = prototypeKeys()
  const found = [ownersAreFound(texts), fieldsAreFound(texts), await objectsAreFound(texts)]
  const after = prototypeKeys()
  return answerKeys(expect, {
    ok: () => found.every(Boolean),
    polluted: () => after !== before,
  })
}

function prototypeKeys(): string {
  const prototypes = [Object.prototype, Array.prototype, Function.prototype, Map.prototype]
  return JSON.stringify(prototypes.map((prototype) => Reflect.ownKeys(prototype).map(String)))
}

function ownersAreFound(texts: readonly string[]): boolean {
  const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/8']) })
  if (texts.some((uid) => pool.addressesOf(uid).length > 0)) return false
  // an owner without a uid is refused
  return texts
    .filter((uid) => uid !== '')
    .every((uid) => {
      const given = pool.allocate({ owner: { uid, key: uid } })
      return given.kind === 'allocated' && pool.ownersOf(given.address).some((owner) => owner.uid === uid)
    })
}

/** Fields that no schema knows, as JSON from outside has them. */
function objectWith(texts: readonly string[], name: string) {
  const fields = Object.fromEntries(texts.map((text) => [text, { polluted: true }]))
  const { apiVersion, kind } = InClusterIPPool.info
  const spec = { ...fields, addresses: ['10.0.0.0/8'], prefix: 8 }
  return { apiVersion, kind, metadata: { namespace: 'default', name }, spec }
}

function fieldsAreFound(texts: readonly string[]): boolean {
  const { spec } = InClusterIPPool.parse(objectWith(texts, 'pool'))
  // a field __proto__ may be left out, but is never the prototype
  return Object.getPrototypeOf(spec) === Object.prototype && !('polluted' in spec)
}

async function objectsAreFound(texts: readonly string[]): Promise<boolean> {
  const store = memoryStore({ now: () => 0, kinds: [InClusterIPPool.info] })
  for (const name of texts) {
    const object = objectWith(texts, name)
    const ref = { apiVersion: object.apiVersion, kind: object.kind, namespace: 'default', name }
    const absent = await asked(() => store.get(ref))
    const created = await asked(() => store.create(object))
    // what is no name is refused, and is no name either when it is looked for
    if (absent || (created && !(await asked(() => store.get(ref))))) return false
  }
  return true
}

/** Whether a store says yes. */
async function asked(call: () => Promise<Result<unknown>>): Promise<boolean> {
  try {
    return (await call()).ok
  } catch (error) {
    if (isIpamError(error)) return false
    throw error
  }
}
