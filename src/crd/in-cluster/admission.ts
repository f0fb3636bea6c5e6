import type { Family } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as Range from '../../cidr/nouns/range.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { Kind, KindOf } from '../../errors/check.js'
import type { IPAddress } from '../cluster-api/ip-address.js'
import {
  type Admission,
  type AdmissionRules,
  admitBy,
  allowed,
  badRequest,
  FIELD_VALIDATION,
  type FieldValidationOptions,
  type Findings,
  isSpecSame,
  withWarnings,
} from '../meta/admission.js'
import { type FieldError, goQuote, invalidField } from '../meta/field-error.js'
import { KUBE } from '../meta/object.js'
import { DRAIN_ANNOTATION, SKIP_DELETE_VALIDATION_ANNOTATION } from './names.js'
import {
  InClusterIPPool,
  type InClusterIPPoolSpec,
  type InClusterPool,
  type InClusterPrefixPoolSpec,
  isPrefixPool,
  poolModels,
} from './pools.js'
import {
  effectivePrefixLength,
  isAllocatablePrefix,
  type PrefixSpace,
  prefixOf,
  readAddressSpace,
  readPrefixSpace,
} from './space.js'

type Address = Address.Address
type Range = Range.Range
type RangeSet = RangeSet.RangeSet

/**
 * A request to admit a pool. `inUse` are the IPAddress objects of the pool.
 */
export type PoolAdmissionRequest =
  | { readonly operation: 'CREATE'; readonly object: InClusterPool }
  | {
      readonly operation: 'UPDATE'
      readonly object: InClusterPool
      readonly oldObject: InClusterPool
      readonly inUse: readonly IPAddress[]
    }
  | { readonly operation: 'DELETE'; readonly oldObject: InClusterPool; readonly inUse: readonly IPAddress[] }

export interface PoolAdmissionOptions extends FieldValidationOptions {
  /**
   * Whether pools of IPv4 prefixes are admitted too. The provider serves them; upstream's webhook
   * refuses them. All of a pool is of one family then: prefixes, exclusions and gateway. Default
   * false.
   */
  readonly ipv4Prefixes?: boolean | undefined
}

const OPTIONS: KindOf<PoolAdmissionOptions> = { fieldValidation: FIELD_VALIDATION, ipv4Prefixes: 'flag?' }
const IN_USE = ['list', KUBE as Kind] as const

/**
 * Whether the in-cluster provider's webhook admits a pool: the same rules, field paths and messages
 * (internal/webhooks/inclusterippool.go and inclusterprefixpool.go).
 *
 * Unlike upstream a change may take addresses in use out of a pool, if the pool says so:
 * {@link DRAIN_ANNOTATION}. The answer warns of them, and of an annotation that cannot be read.
 *
 * Overlap with other pools is not checked, as upstream; nor that the gateway is in the subnet.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation, an update from another kind, or
 * another `fieldValidation`
 */
export function admitInClusterPool(request: PoolAdmissionRequest, options: PoolAdmissionOptions = {}): Admission {
  const { kind } = (request?.operation === 'DELETE' ? request.oldObject : request?.object) ?? {}
  const model = poolModels.find(({ info }) => info.kind === kind) ?? InClusterIPPool
  const admission = admitBy('admitInClusterPool', model, rules, request, options)
  const isUnread = request.operation === 'UPDATE' && drainedBy(request.object) === undefined
  return withWarnings(admission, isUnread ? [MEANS_NOTHING] : [])
}

const rules: AdmissionRules<InClusterPool, PoolAdmissionRequest, PoolAdmissionOptions> = {
  options: OPTIONS as Kind,
  beside: [
    'by',
    'operation',
    { CREATE: 'object', UPDATE: ['open', { inUse: IN_USE }], DELETE: ['open', { inUse: IN_USE }] },
  ],
  errors: (pool, _before, _request, options) =>
    isPrefixPool(pool) ? prefixPoolErrors(pool.spec, options) : addressPoolErrors(pool.spec),
  answer: (pool, before, request) => {
    const isChanged = request.operation === 'UPDATE' && before !== undefined && !isSpecSame(pool, before)
    const update = isChanged ? judgeUpdate(pool, before, request.inUse) : { warnings: [] }
    if ('refusal' in update) return badRequest(update.refusal)
    const warnings = [...(isPrefixPool(pool) ? prefixPoolWarnings(pool.spec) : []), ...emptyWarnings(pool)]
    return allowed([...update.warnings, ...warnings])
  },
  deletion: (pool, request) => admitDelete(pool, request.operation === 'DELETE' ? request.inUse : []),
}

/** Warnings for a pool that can never allocate anything. Upstream admits it without a warning. */
function emptyWarnings(pool: InClusterPool): string[] {
  if (isPrefixPool(pool)) {
    const { space, problems } = readPrefixSpace(pool.spec)
    if (space === undefined || problems.length > 0 || hasChild(space)) return []
    return ['the pool has nothing to allocate: each of its prefixes overlaps spec.excludedPrefixes']
  }
  const { space, problems } = readAddressSpace(pool.spec)
  if (space === undefined || problems.length > 0 || !RangeSet.isEmpty(space.available)) return []
  return [
    'the pool has nothing to allocate: each of its addresses is excluded, the gateway, or the first or last one of the subnet',
  ]
}

/** Whether a prefix of the length that is given fits in what is not excluded. */
function hasChild({ available, childLength }: PrefixSpace): boolean {
  return RangeSet.prefixes(available).some(({ length }) => length <= childLength)
}

function admitDelete(pool: InClusterPool, inUse: readonly IPAddress[]): Admission {
  const { annotations } = pool.metadata
  if (inUse.length === 0 || (annotations && Object.hasOwn(annotations, SKIP_DELETE_VALIDATION_ANNOTATION)))
    return allowed()
  return badRequest('Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.')
}

/** The refusal or the warnings of a change of a pool for addresses in use. */
type Update = { readonly refusal: string } | { readonly warnings: readonly string[] }

/** Addresses in use that were not of the pool before an update are not lost by it. */
function judgeUpdate(pool: InClusterPool, { spec }: InClusterPool, inUse: readonly IPAddress[]): Update {
  const drained = drainedBy(pool) ?? RangeSet.empty
  if (!isPrefixPool(pool)) return judgeAddresses(pool.spec, spec as InClusterIPPoolSpec, inUse, drained)
  const before = spec as InClusterPrefixPoolSpec
  if (effectivePrefixLength(pool.spec) !== effectivePrefixLength(before)) {
    return { refusal: 'spec.allocationPrefixLength is immutable' }
  }
  return judgePrefixes(pool.spec, before, inUse, drained)
}

function judgePrefixes(
  spec: InClusterPrefixPoolSpec,
  before: InClusterPrefixPoolSpec,
  inUse: readonly IPAddress[],
  drained: RangeSet,
): Update {
  const [space, old] = [readPrefixSpace(spec).space, readPrefixSpace(before).space]
  const held = inUse.map((address) => ({ text: address.spec.address, prefix: prefixOf(address.spec) }))
  const outside = held.filter(
    ({ prefix }) => prefix === undefined || space === undefined || !isAllocatablePrefix(space, prefix),
  )
  // what does not parse, and what an unreadable pool had, may have been in the pool
  const lost = outside.filter(({ prefix }) => {
    if (prefix === undefined || old === undefined) return true
    return isAllocatablePrefix(old, prefix) && !RangeSet.contains(drained, Range.fromPrefix(prefix))
  })
  const texts = (list: typeof held) => list.map(({ text }) => text).sort()
  if (lost.length > 0) return { refusal: `existing allocations become non-allocatable: [${texts(lost).join(' ')}]` }
  return { warnings: outside.length === 0 ? [] : [drainWarning(texts(outside))] }
}

function judgeAddresses(
  spec: InClusterIPPoolSpec,
  before: InClusterIPPoolSpec,
  inUse: readonly IPAddress[],
  drained: RangeSet,
): Update {
  const [space, old] = [readAddressSpace(spec).space, readAddressSpace(before).space]
  // what does not parse cannot be in the pool before or after
  const parsed = inUse.map((address) => Address.safeParse(address.spec.address, { zone: 'drop' }))
  const held = RangeSet.fromAddresses(parsed.flatMap((address) => (address.ok ? [address.value] : [])))
  const outside = RangeSet.subtract(held, space?.available ?? RangeSet.empty)
  const had = old === undefined ? outside : RangeSet.intersect(outside, old.available)
  const lost = RangeSet.subtract(had, drained)
  if (!RangeSet.isEmpty(lost)) {
    return { refusal: `pool addresses do not contain allocated addresses: [${RangeSet.format(lost).join(' ')}]` }
  }
  return { warnings: RangeSet.isEmpty(outside) ? [] : [drainWarning(RangeSet.format(outside))] }
}

/**
 * What a pool may lose although it is in use; `undefined` if the annotation does not say it in a
 * form that can be read.
 */
function drainedBy({ metadata }: InClusterPool): RangeSet | undefined {
  const text = metadata.annotations?.[DRAIN_ANNOTATION] ?? ''
  const entries = text.split(',').map((entry) => entry.trim())
  const read = RangeSet.safeParse(
    entries.filter((entry) => entry !== ''),
    { zone: 'drop' },
  )
  return read.ok ? read.value : undefined
}

const MEANS_NOTHING = `metadata.annotations[${DRAIN_ANNOTATION}] means nothing: expected addresses, ranges and CIDRs with commas between them`

/** How many texts a warning names: an API server cuts long ones off. */
const SHOWN = 5

function drainWarning(texts: readonly string[]): string {
  const more = texts.length > SHOWN ? [`${texts.length - SHOWN} more`] : []
  return `in use, and not given again when their claims are gone: [${[...texts.slice(0, SHOWN), ...more].join(' ')}]`
}

const NOT_AN_ENTRY = 'provided address is not a valid IP, range, nor CIDR'
const MIXED = 'provided addresses are of mixed IP families'

function addressPoolErrors(spec: InClusterIPPoolSpec): Findings {
  const errors: FieldError[] = []
  if (spec.addresses.length === 0) {
    errors.push(invalidField('spec.addresses', spec.addresses, 'addresses is required'))
  }
  if (spec.prefix < 0) errors.push(invalidField('spec.prefix', spec.prefix, 'a valid prefix is required'))

  const addresses = readEntries('spec.addresses', spec.addresses, errors)
  if (isMixed(addresses)) errors.push(invalidField('spec.addresses', spec.addresses, MIXED))

  const gateway = readGateway(spec.gateway, errors)
  if (gateway !== undefined && addresses.some((range) => range.first.family !== gateway.family)) {
    const detail = 'provided gateway and addresses are of mixed IP families'
    errors.push(invalidField('spec.gateway', spec.gateway as string, detail))
  }

  const excludedEntries = spec.excludedAddresses ?? []
  const excluded = readEntries('spec.excludedAddresses', excludedEntries, errors)
  if (isMixed(excluded)) errors.push(invalidField('spec.excludedAddresses', excludedEntries, MIXED))
  else if (addresses.length > 0 && excluded.length > 0 && isMixed([...addresses, ...excluded])) {
    const detail = 'addresses and excluded addresses are of mixed IP families'
    errors.push(invalidField('spec.excludedAddresses', excludedEntries, detail))
  }

  const grace = spec.addressReuseGracePeriodSeconds ?? 0
  if (grace < 0) {
    const detail = 'addressReuseGracePeriodSeconds must not be negative'
    errors.push(invalidField('spec.addressReuseGracePeriodSeconds', grace, detail))
  }
  return [errors, subnetErrors(spec)]
}

/** All entries have to lie in the subnet of the lowest address. */
function subnetErrors({ addresses, prefix }: InClusterIPPoolSpec): FieldError[] {
  const entries = addresses.flatMap((text) => {
    const range = RangeSet.safeParseEntry(text, { zone: 'drop' })
    return range.ok ? [{ text, range: range.value }] : []
  })
  const lowest = RangeSet.first(RangeSet.fromRanges(entries.map(({ range }) => range)))
  if (lowest === undefined || prefix < 0) return []
  if (prefix > Address.bitsOf(lowest.family)) {
    return [invalidField('spec.prefix', prefix, 'provided prefix is not valid')]
  }
  const subnet = Prefix.of(lowest, prefix)
  const detail = 'provided address belongs to a different subnet than others'
  return entries.flatMap(({ text, range }) =>
    Prefix.contains(subnet, range.first) && Prefix.contains(subnet, range.last)
      ? []
      : [invalidField('spec.addresses', text, detail)],
  )
}

function prefixPoolErrors(spec: InClusterPrefixPoolSpec, { ipv4Prefixes = false }: PoolAdmissionOptions): Findings {
  const none = spec.prefixes.length === 0 ? [invalidField('spec.prefixes', spec.prefixes, 'prefixes is required')] : []
  const length = effectivePrefixLength(spec)
  const family = ipv4Prefixes ? familyOf(spec.prefixes) : 6
  const max = Address.bitsOf(family)
  const detail = `allocationPrefixLength must be between 1 and ${max}${family === 4 ? ' for IPv4 prefixes' : ''}`
  const lengths = length < 1 || length > max ? [invalidField('spec.allocationPrefixLength', length, detail)] : []
  const words = ipv4Prefixes ? eitherFamily : ipv6Only
  const errors = spec.prefixes.flatMap((entry) => parentErrors(entry, { childLength: length, family, words }))
  const gateway = readGateway(spec.gateway, errors)
  if (gateway !== undefined && gateway.family !== family) {
    errors.push(invalidField('spec.gateway', spec.gateway as string, words.gateway))
  }
  for (const entry of spec.excludedPrefixes ?? []) {
    const range = RangeSet.safeParseEntry(entry, { zone: 'drop' })
    const path = 'spec.excludedPrefixes'
    if (!range.ok) errors.push(invalidField(path, entry, 'provided entry is not a valid IP, range, nor CIDR'))
    else if (range.value.first.family !== family) errors.push(invalidField(path, entry, words.excluded))
  }
  const grace = spec.addressReuseGracePeriodSeconds ?? 0
  if (grace < 0) {
    const negative = 'addressReuseGracePeriodSeconds must not be negative'
    errors.push(invalidField('spec.addressReuseGracePeriodSeconds', grace, negative))
  }
  return [none, lengths, errors]
}

/**
 * What is said of an entry of the wrong family, and of one that is none: in upstream's words where
 * it says something.
 */
interface FamilyWords {
  readonly notOne: string
  readonly parent: string
  readonly gateway: string
  readonly excluded: string
}

const ipv6Only: FamilyWords = {
  notOne: 'provided entry is not a valid IPv6 CIDR',
  parent: 'only IPv6 prefixes are supported',
  gateway: 'provided gateway must be IPv6',
  excluded: 'only IPv6 excluded prefixes are supported',
}

const eitherFamily: FamilyWords = {
  notOne: 'provided entry is not a valid CIDR',
  parent: 'provided prefixes are of mixed IP families',
  gateway: 'provided gateway and prefixes are of mixed IP families',
  excluded: 'prefixes and excluded prefixes are of mixed IP families',
}

/** The family of a pool of prefixes: that of the first entry that is one. */
function familyOf(entries: readonly string[]): Family {
  for (const entry of entries) {
    const parsed = Prefix.safeParse(entry)
    if (parsed.ok) return parsed.value.address.family
  }
  return 6
}

interface ParentRules {
  readonly childLength: number
  readonly family: Family
  readonly words: FamilyWords
}

function parentErrors(entry: string, { childLength, family, words }: ParentRules): FieldError[] {
  const refuse = (detail: string): FieldError => invalidField('spec.prefixes', entry, detail)
  const parsed = Prefix.safeParse(entry)
  if (!parsed.ok) return [refuse(words.notOne)]
  const prefix = parsed.value
  if (prefix.address.family !== family) return [refuse(words.parent)]
  const errors: FieldError[] = []
  if (Prefix.masked(prefix) !== prefix) errors.push(refuse('CIDR must be network-aligned'))
  if (prefix.length > childLength) {
    errors.push(refuse(`CIDR prefix length must be <= allocationPrefixLength (${childLength})`))
  }
  return errors
}

/** What deserves to be told of a prefix pool that hands out single addresses. */
function prefixPoolWarnings(spec: InClusterPrefixPoolSpec): string[] {
  const length = effectivePrefixLength(spec)
  if (length !== Address.bitsOf(familyOf(spec.prefixes))) return []
  const warnings = [
    `spec.allocationPrefixLength=${length} behaves like host-address allocation; consider InClusterIPPool for single-address semantics`,
  ]
  const gateway = spec.gateway ? Address.safeParse(spec.gateway, { zone: 'drop' }) : undefined
  const isInside = (entry: string, address: Address) => {
    const prefix = Prefix.safeParse(entry)
    return prefix.ok && Prefix.contains(prefix.value, address)
  }
  if (gateway?.ok && spec.prefixes.some((entry) => isInside(entry, gateway.value))) {
    warnings.push(
      `spec.gateway is within spec.prefixes and is not reserved; with /${length} allocationPrefixLength it may also be allocated to claims`,
    )
  }
  return warnings
}

function readEntries(path: string, entries: readonly string[], errors: FieldError[]): Range[] {
  const ranges: Range[] = []
  for (const entry of entries) {
    const range = RangeSet.safeParseEntry(entry, { zone: 'drop' })
    if (range.ok) ranges.push(range.value)
    else errors.push(invalidField(path, entry, NOT_AN_ENTRY))
  }
  return ranges
}

function readGateway(gateway: string | undefined, errors: FieldError[]): Address | undefined {
  if (gateway === undefined || gateway === '') return undefined
  const address = Address.safeParse(gateway, { zone: 'drop' })
  if (address.ok) return address.value
  errors.push(invalidField('spec.gateway', gateway, Address.goMessage(address.failure, goQuote)))
  return undefined
}

function isMixed(ranges: readonly Range[]): boolean {
  return ranges.some((range) => range.first.family !== ranges[0]?.first.family)
}
