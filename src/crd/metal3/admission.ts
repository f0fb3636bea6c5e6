import * as Address from '../../cidr/nouns/address.js'
import {
  type AdmissionRequest,
  type Admit,
  admissionOf,
  allowed,
  errorWarnings,
  isSpecSame,
} from '../meta/admission.js'
import { differences } from '../meta/differences.js'
import { type FieldError, goQuote, invalidField } from '../meta/field-error.js'
import type { KubeObject } from '../meta/object.js'
import { boundsOf, entryProblem, isAddressOrEmpty, sizeProblem } from './entries.js'
import { IPAddress, type IPAddressSpec } from './ip-address.js'
import { IPClaim } from './ip-claim.js'
import { IPPool, type IPPoolEntry, type IPPoolSettings, type IPPoolSpec } from './ip-pool.js'
import { REQUESTED_ADDRESS_ANNOTATION } from './names.js'
import { type ObjectReference, shownReference } from './references.js'

/** A request to admit an object of one kind. */
export type Metal3AdmissionRequest<T extends IPPool | IPClaim | IPAddress> = AdmissionRequest<T>

const NOT_AN_ADDRESS = 'is not a valid IP address'
const EMPTY = 'cannot be empty'
const MODIFIED = 'cannot be modified'

/**
 * Decides as metal3 whether a pool is valid (internal/webhooks/v1alpha1/ippool_webhook.go). It
 * needs addresses, in order, and a number of them that fits the random strategy. Preallocated
 * addresses and addresses in use must be in the pool. Name prefix, Cluster and strategy are
 * immutable.
 *
 * Not checked, as upstream: that entries do not overlap, that a gateway is of the subnet, and that
 * no claim uses a deleted pool.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 * @example
 * const pool = (spec) => IPPool.parse({
 *   apiVersion: 'ipam.metal3.io/v1alpha1', kind: 'IPPool', metadata: { name: 'blue' }, spec: { namePrefix: 'blue', ...spec },
 * })
 * admitMetal3IPPool({ operation: 'CREATE', object: pool({ pools: [{ start: '10.0.0.9', end: '10.0.0.1' }] }) }).message
 * // 'IPPool.ipam.metal3.io "blue" is invalid: spec.pools[0]: Invalid value: "": end IP 10.0.0.1 is before start IP 10.0.0.9'
 */
export const admitMetal3IPPool: Admit<Metal3AdmissionRequest<IPPool>> = /* @__PURE__ */ admissionOf<
  IPPool,
  Metal3AdmissionRequest<IPPool>
>('admitMetal3IPPool', IPPool, {
  errors: ({ spec }, before, { operation }) => [
    [
      ...(before === undefined ? [] : changeErrors(before.spec, spec)),
      ...poolErrors(spec),
      ...boundsErrors(spec, operation),
      ...(before === undefined ? [] : lostErrors(before, spec)),
    ],
  ],
  answer: ({ spec }, before) => {
    const lost = before === undefined ? [] : outsideOf(spec, before.status?.indexes)
    return allowed(errorWarnings(lost.map((address) => invalidField('spec.pools', address, LOST))))
  },
})

/**
 * Decides as metal3 whether a claim is valid (internal/webhooks/v1alpha1/ipclaim_webhook.go): it
 * names a pool, the annotation `ipAddress` is an address, and its spec is immutable.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 */
export const admitMetal3IPClaim: Admit<Metal3AdmissionRequest<IPClaim>> = /* @__PURE__ */ admissionOf<
  IPClaim,
  Metal3AdmissionRequest<IPClaim>
>('admitMetal3IPClaim', IPClaim, {
  errors: (claim, before) => {
    const { pool } = claim.spec
    const isChanged = before !== undefined && !isSpecSame(claim, before)
    return [
      [
        ...(isChanged ? [invalidField('spec', { pool: shownReference(pool) }, MODIFIED)] : []),
        ...(isChanged || pool.name ? [] : [invalidField('spec.pool.name', '', EMPTY)]),
        ...requestedAddressErrors(claim),
      ],
    ]
  },
})

/**
 * Whether metal3 admits one of its addresses (internal/webhooks/v1alpha1/ipaddress_webhook.go): it
 * is an address, of a pool and for a claim, and none of the three ever changes.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 */
export const admitMetal3IPAddress: Admit<Metal3AdmissionRequest<IPAddress>> = /* @__PURE__ */ admissionOf<
  IPAddress,
  Metal3AdmissionRequest<IPAddress>
>('admitMetal3IPAddress', IPAddress, {
  errors: (address, before, { operation }) => [
    before === undefined ? [] : movedErrors(before.spec, address.spec),
    // as upstream, an update may have any annotation
    [...addressErrors(address), ...(operation === 'UPDATE' ? [] : requestedAddressErrors(address))],
  ],
})

function movedErrors(before: IPAddressSpec, after: IPAddressSpec): readonly FieldError[] {
  const references = (['pool', 'claim'] as const).filter((field) => !isSameReference(before[field], after[field]))
  return [
    ...(before.address === after.address ? [] : [invalidField('spec.address', after.address, MODIFIED)]),
    ...references.map((field) => invalidField(`spec.${field}`, shownReference(after[field]), MODIFIED)),
  ]
}

/** What of a pool never changes. */
function changeErrors(before: IPPoolSpec, after: IPPoolSpec): readonly FieldError[] {
  const errors: FieldError[] = []
  if (after.namePrefix !== before.namePrefix) errors.push(invalidField('spec.namePrefix', after.namePrefix, MODIFIED))
  if (before.clusterName !== undefined && after.clusterName !== before.clusterName) {
    errors.push(invalidField('spec.clusterName', after.clusterName ?? null, MODIFIED))
  }
  if ((after.allocationStrategy ?? 'sequential') !== (before.allocationStrategy ?? 'sequential')) {
    const value = after.allocationStrategy ?? ''
    errors.push(invalidField('spec.allocationStrategy', value, 'cannot be modified after creation'))
  }
  return errors
}

function poolErrors(spec: IPPoolSpec): readonly FieldError[] {
  const isRandom = spec.allocationStrategy === 'random'
  const entries = (spec.pools ?? []).flatMap((entry, index) => entryErrors(`spec.pools[${index}]`, entry, isRandom))
  return [...settingsErrors('spec', spec), ...preAllocationErrors(spec.preAllocations ?? {}), ...entries]
}

function settingsErrors(path: string, { gateway = '', dnsServers = [] }: IPPoolSettings): readonly FieldError[] {
  const texts = [
    [`${path}.gateway`, gateway] as const,
    ...dnsServers.map((text, i) => [`${path}.dnsServers[${i}]`, text] as const),
  ]
  return texts.flatMap(([path, text]) => (isAddressOrEmpty(text) ? [] : [invalidField(path, text, NOT_AN_ADDRESS)]))
}

/** An address is kept for one claim, in whatever form it is written. */
function preAllocationErrors(preAllocations: { readonly [claimName: string]: string }): readonly FieldError[] {
  const claims = new Map<string, string>()
  return Object.entries(preAllocations).flatMap(([name, text]) => {
    const path = `spec.preAllocations.${name}`
    if (!isAddressOrEmpty(text)) return [invalidField(path, text, NOT_AN_ADDRESS)]
    const address = Address.safeParse(text)
    const key = address.ok ? Address.format(address.value) : text
    const other = claims.get(key)
    if (other !== undefined)
      return [invalidField(path, text, `IP address is already pre-allocated to claim ${goQuote(other)}`)]
    claims.set(key, name)
    return []
  })
}

function entryErrors(path: string, entry: IPPoolEntry, isRandom: boolean): readonly FieldError[] {
  if (entry.start === undefined && entry.end === undefined && entry.subnet === undefined) {
    return [invalidField(path, '', 'pool entry must specify at least one of start, end, or subnet')]
  }
  const problem = entryProblem(entry)
  const uncountable = isRandom && problem === undefined ? sizeProblem(entry) : undefined
  return [
    ...(problem === undefined ? [] : [invalidField(path, '', problem)]),
    ...settingsErrors(path, entry),
    ...(uncountable === undefined
      ? []
      : [invalidField(path, '', `cannot be used with allocationStrategy "random": ${uncountable}`)]),
  ]
}

/** What is kept for claims, and not of the pool. */
function boundsErrors(spec: IPPoolSpec, operation: AdmissionRequest<IPPool>['operation']): readonly FieldError[] {
  // the words of the project, with their slip
  const bounds = operation === 'CREATE' ? 'bonds' : 'bounds'
  return outsideOf(spec, spec.preAllocations).map((address) =>
    invalidField('spec.preAllocations', address, `is out of ${bounds} of the pools given`),
  )
}

const LOST = 'is in use but out of bounds of the pools given'

/**
 * What claims have, and an update takes out of the pool. The first entries of a pool have to
 * contain all that is in use.
 */
function lostErrors({ spec: before, status }: IPPool, after: IPPoolSpec): readonly FieldError[] {
  if (differences('pools', before.pools, after.pools).length === 0) return []
  const hadNone = (before.pools ?? []).length === 0
  const isBefore = boundsOf(before.pools ?? [])
  const lost = outsideOf(after, status?.indexes).filter((text) => hadNone || isBefore(text))
  return lost.map((address) => invalidField('spec.pools', address, LOST))
}

function outsideOf({ pools = [] }: IPPoolSpec, addresses: { readonly [claimName: string]: string } = {}) {
  const isWithin = boundsOf(pools)
  return Object.values(addresses).filter((address) => !isWithin(address))
}

function addressErrors(object: IPAddress): readonly FieldError[] {
  const { pool, claim, address } = object.spec
  const errors: FieldError[] = []
  if (!pool.name) errors.push(invalidField('spec.pool.name', '', EMPTY))
  if (!claim.name) errors.push(invalidField('spec.claim.name', '', EMPTY))
  if (address === '') errors.push(invalidField('spec.address', '', EMPTY))
  else if (!isAddressOrEmpty(address)) errors.push(invalidField('spec.address', address, NOT_AN_ADDRESS))
  return errors
}

function requestedAddressErrors({ metadata }: KubeObject): readonly FieldError[] {
  const text = metadata.annotations?.[REQUESTED_ADDRESS_ANNOTATION] ?? ''
  if (isAddressOrEmpty(text)) return []
  return [invalidField(`metadata.annotations.${REQUESTED_ADDRESS_ANNOTATION}`, text, NOT_AN_ADDRESS)]
}

/** Of a reference, name, namespace and kind never change. */
function isSameReference(left: ObjectReference, right: ObjectReference): boolean {
  return (['name', 'namespace', 'kind'] as const).every((field) => (left[field] ?? '') === (right[field] ?? ''))
}
