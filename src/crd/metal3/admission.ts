import * as Address from '../../cidr/nouns/address.js'
import { type Admission, type AdmissionRequest, type Admit, admissionOf, allowed, decision } from '../meta/admission.js'
import { differences } from '../meta/differences.js'
import { type FieldError, goQuote, invalidField } from '../meta/field-error.js'
import type { KubeObject } from '../meta/object.js'
import { entryProblem, isAddressOrEmpty, isInBounds, sizeProblem } from './entries.js'
import { IPAddress } from './ip-address.js'
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
export const admitMetal3IPPool: Admit<Metal3AdmissionRequest<IPPool>> = /* @__PURE__ */ admissionOf(
  'admitMetal3IPPool',
  IPPool,
  judgeIPPool,
)

function judgeIPPool(request: Metal3AdmissionRequest<IPPool>): Admission {
  if (request.operation === 'DELETE') return allowed()
  const { object } = request
  const errors = [
    ...(request.operation === 'UPDATE' ? changeErrors(request.oldObject.spec, object.spec) : []),
    ...poolErrors(object.spec),
    ...boundsErrors(request),
  ]
  return decision(object, errors)
}

/**
 * Decides as metal3 whether a claim is valid (internal/webhooks/v1alpha1/ipclaim_webhook.go): it
 * names a pool, the annotation `ipAddress` is an address, and its spec is immutable.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 */
export const admitMetal3IPClaim: Admit<Metal3AdmissionRequest<IPClaim>> = /* @__PURE__ */ admissionOf(
  'admitMetal3IPClaim',
  IPClaim,
  judgeIPClaim,
)

function judgeIPClaim(request: Metal3AdmissionRequest<IPClaim>): Admission {
  if (request.operation === 'DELETE') return allowed()
  const { object } = request
  const { pool } = object.spec
  const errors: FieldError[] = []
  if (request.operation === 'CREATE' && !pool.name) errors.push(invalidField('spec.pool.name', '', EMPTY))
  if (request.operation === 'UPDATE' && differences('spec', request.oldObject.spec, object.spec).length > 0) {
    errors.push(invalidField('spec', { pool: shownReference(pool) }, MODIFIED))
  }
  return decision(object, [...errors, ...requestedAddressErrors(object)])
}

/**
 * Whether metal3 admits one of its addresses (internal/webhooks/v1alpha1/ipaddress_webhook.go): it
 * is an address, of a pool and for a claim, and none of the three ever changes.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 */
export const admitMetal3IPAddress: Admit<Metal3AdmissionRequest<IPAddress>> = /* @__PURE__ */ admissionOf(
  'admitMetal3IPAddress',
  IPAddress,
  judgeIPAddress,
)

function judgeIPAddress(request: Metal3AdmissionRequest<IPAddress>): Admission {
  if (request.operation === 'DELETE') return allowed()
  const { object } = request
  if (request.operation === 'CREATE') return decision(object, newAddressErrors(object))
  const [before, after] = [request.oldObject.spec, object.spec]
  const references = (['pool', 'claim'] as const).filter((field) => !isSameReference(before[field], after[field]))
  return decision(object, [
    ...(before.address === after.address ? [] : [invalidField('spec.address', after.address, MODIFIED)]),
    ...references.map((field) => invalidField(`spec.${field}`, shownReference(after[field]), MODIFIED)),
  ])
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
  const errors = [...(problem === undefined ? [] : [invalidField(path, '', problem)]), ...settingsErrors(path, entry)]
  if (!isRandom || errors.length > 0) return errors
  const uncountable = sizeProblem(entry)
  if (uncountable === undefined) return []
  return [invalidField(path, '', `cannot be used with allocationStrategy "random": ${uncountable}`)]
}

/** What is kept for claims, or in use by them, and not of the pool. */
function boundsErrors(request: Exclude<AdmissionRequest<IPPool>, { operation: 'DELETE' }>): readonly FieldError[] {
  const { spec } = request.object
  const outside = (addresses: { readonly [claimName: string]: string } = {}) =>
    Object.values(addresses).filter((address) => !isInBounds(spec.pools ?? [], address))
  // the words of the project, with their slip
  const bounds = request.operation === 'CREATE' ? 'bonds' : 'bounds'
  const kept = outside(spec.preAllocations).map((address) =>
    invalidField('spec.preAllocations', address, `is out of ${bounds} of the pools given`),
  )
  if (request.operation === 'CREATE') return kept
  const inUse = outside(request.oldObject.status?.indexes)
  const detail = 'is in use but out of bounds of the pools given'
  return [...kept, ...inUse.map((address) => invalidField('spec.pools', address, detail))]
}

function newAddressErrors(object: IPAddress): readonly FieldError[] {
  const { pool, claim, address } = object.spec
  const errors: FieldError[] = []
  if (!pool.name) errors.push(invalidField('spec.pool.name', '', EMPTY))
  if (!claim.name) errors.push(invalidField('spec.claim.name', '', EMPTY))
  if (address === '') errors.push(invalidField('spec.address', '', EMPTY))
  else if (!isAddressOrEmpty(address)) errors.push(invalidField('spec.address', address, NOT_AN_ADDRESS))
  return [...errors, ...requestedAddressErrors(object)]
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
