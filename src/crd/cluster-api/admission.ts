import * as Address from '../../cidr/nouns/address.js'
import { IpamError, type Result } from '../../errors/index.js'
import {
  type Admission,
  type AdmissionRequest,
  type AdmissionRules,
  admitBy,
  allowed,
  badRequest,
  denied,
  type FieldValidationOptions,
  type Findings,
  isSpecSame,
} from '../meta/admission.js'
import type { CrdModel } from '../meta/crd-model.js'
import { differences } from '../meta/differences.js'
import { type FieldError, forbiddenField, invalidField } from '../meta/field-error.js'
import { asObject } from '../meta/json.js'
import { type KubeObject, versionOf } from '../meta/object.js'
import { IPAddress, type IPAddressSpec } from './ip-address.js'
import { IPAddressClaim } from './ip-address-claim.js'
import { samePool } from './references.js'

/** A request to admit a claim. Objects are in any version. */
export type ClaimAdmissionRequest = AdmissionRequest<KubeObject>

/** The result of the lookup of the claim that an address refers to. */
export type ClaimLookup =
  | { readonly kind: 'found'; readonly claim: KubeObject }
  | { readonly kind: 'absent' }
  /** The lookup failed. `problem` is part of the answer. */
  | { readonly kind: 'failed'; readonly problem: string }

/** A request to admit an address. Objects are in any version. */
export type AddressAdmissionRequest =
  | { readonly operation: 'CREATE'; readonly object: KubeObject; readonly claim: ClaimLookup }
  | { readonly operation: 'UPDATE'; readonly object: KubeObject; readonly oldObject: KubeObject }
  | { readonly operation: 'DELETE'; readonly oldObject: KubeObject }

/**
 * Decides as Cluster API whether a claim is valid (core/webhooks/admission/ipaddressclaim.go): its
 * spec is immutable. The schema checks the pool reference. Claims of v1beta1 and v1alpha1 also need
 * a group, which their schema does not ask for.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation, `OBJECT_KIND_MISMATCH` for an object
 * of another kind
 * @example
 * const claim = (name) => ({
 *   apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', metadata: { name: 'web' },
 *   spec: { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name } },
 * })
 * admitIPAddressClaim({ operation: 'UPDATE', object: claim('blue'), oldObject: claim('red') }).message
 * // 'spec: Forbidden: IPAddressClaim spec is immutable. Diff: spec.poolRef.name: "red" -> "blue"'
 */
export function admitIPAddressClaim(request: ClaimAdmissionRequest, options: FieldValidationOptions = {}): Admission {
  return admitBy('admitIPAddressClaim', IPAddressClaim, claimRules, request, options)
}

const claimRules: AdmissionRules<KubeObject, ClaimAdmissionRequest> = {
  isAnyVersion: true,
  errors: (claim, before) => [...fixedSpecErrors(IPAddressClaim, claim, before), poolGroupErrors(claim)],
  answer: (claim, before) => admitConvertible(IPAddressClaim, claim, before),
  refusal: (_, errors) => denied(errors),
}

/**
 * Decides as Cluster API whether an address is valid (core/webhooks/admission/ipaddress.go). A new
 * address needs a valid address and prefix length, and the pool of its claim. Its spec is
 * immutable. An address without a claim is admitted: `clusterctl move` creates addresses before
 * claims.
 *
 * Not checked, as upstream: that the gateway is of the same family and subnet, that the address is
 * in the pool, and that no other IPAddress has it.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation, `OBJECT_KIND_MISMATCH` for an object
 * of another kind
 * @example
 * const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'blue' }
 * const object = {
 *   apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress', metadata: { name: 'web' },
 *   spec: { claimRef: { name: 'web' }, poolRef, address: '10.0.0.1', prefix: 64 },
 * }
 * admitIPAddress({ operation: 'CREATE', object, claim: { kind: 'absent' } }).message
 * // 'spec.prefix: Invalid value: 64: prefix is too large for an IPv4 address'
 */
export function admitIPAddress(request: AddressAdmissionRequest, options: FieldValidationOptions = {}): Admission {
  return admitBy('admitIPAddress', IPAddress, addressRules, request, options)
}

const addressRules: AdmissionRules<KubeObject, AddressAdmissionRequest> = {
  isAnyVersion: true,
  beside: ['open', { claim: 'object?' }],
  errors: (address, before, request) => [
    ...fixedSpecErrors(IPAddress, address, before),
    addressErrors(address, request.operation === 'CREATE' ? request.claim : { kind: 'absent' }),
  ],
  answer: (address, before) => admitConvertible(IPAddress, address, before),
  refusal: (_, errors) => denied(errors),
}

function addressErrors(address: KubeObject, claim: ClaimLookup): readonly FieldError[] {
  const hub = hubOf(IPAddress, address)
  // the answer says why it cannot be converted
  if (!hub.ok) return []
  const read = IPAddress.safeParse(hub.value)
  if (!read.ok) return readingErrors(hub.value, read.failure)
  const { spec } = read.value
  return [...specErrors(spec), ...poolGroupErrors(address), ...claimErrors(spec, claim)]
}

/**
 * What is wrong with an address that cannot even be read: what the webhook says of the fields that
 * it looks at, in its order, then what the schema says of the others, or else what the reader says.
 */
function readingErrors(
  hub: KubeObject,
  failure: Extract<ReturnType<typeof IPAddress.safeParse>, { ok: false }>['failure'],
): readonly FieldError[] {
  const { address, prefix, gateway } = asObject(hub.spec) ?? {}
  const told = [
    ...(typeof address === 'string' ? specErrors({ address }) : []),
    ...(typeof prefix === 'number' ? prefixErrors(prefix, typeof address === 'string' ? address : '') : []),
    ...(typeof gateway === 'string' ? gatewayErrors(gateway) : []),
  ]
  const paths = new Set(told.map(({ path }) => path))
  const errors = [...told, ...IPAddress.validate(hub).filter(({ path }) => !paths.has(path))]
  if (errors.length > 0 || failure.code !== 'INVALID_OBJECT') return errors
  return failure.context.issues.map(({ path, message }) => invalidField(path, '', message))
}

/** The rule for every update: the specs, as they are stored, are the same. */
function fixedSpecErrors(model: CrdModel<KubeObject>, object: KubeObject, oldObject: KubeObject | undefined): Findings {
  if (oldObject === undefined) return []
  const [before, after] = [hubOf(model, oldObject), hubOf(model, object)]
  const found = before.ok && after.ok ? differences('spec', before.value.spec, after.value.spec) : []
  if (found.length === 0) return []
  return [[forbiddenField('spec', `${model.info.kind} spec is immutable. Diff: ${found.join(', ')}`)]]
}

/** Refuses an object that has no stored form, unless it is as before. */
function admitConvertible(
  model: CrdModel<KubeObject>,
  object: KubeObject,
  oldObject: KubeObject | undefined,
): Admission {
  const comparing = oldObject === undefined ? '' : `failed to compare old and new ${model.info.kind} spec: `
  const problems = [oldObject ?? object, object].flatMap((each) => {
    const hub = hubOf(model, each)
    return hub.ok ? [] : [`${comparing}${hub.failure.message}`]
  })
  const [problem] = problems
  if (problem === undefined) return allowed()
  const isAsBefore =
    oldObject !== undefined &&
    problems.length === 2 &&
    oldObject.apiVersion === object.apiVersion &&
    isSpecSame(object, oldObject)
  return isAsBefore ? allowed([problem]) : badRequest(problem)
}

/** The object as it is stored. One of another kind is a mistake of the caller. */
function hubOf(model: CrdModel<KubeObject>, object: KubeObject): Result<KubeObject, 'INVALID_CONVERSION'> {
  const hub = model.safeConvert(object, model.info.apiVersion)
  if (hub.ok) return hub
  const { failure } = hub
  if (failure.code === 'OBJECT_KIND_MISMATCH') throw new IpamError(failure)
  return { ok: false, failure }
}

const OLD_VERSIONS: readonly string[] = ['v1alpha1', 'v1beta1']

/**
 * What the webhooks of Cluster API refused before v1.11: since then the schema of v1beta2 does, and
 * that of older versions does not.
 */
function poolGroupErrors(object: KubeObject): readonly FieldError[] {
  const group = asObject(asObject(object.spec)?.poolRef)?.apiGroup
  if (!OLD_VERSIONS.includes(versionOf(object.apiVersion)) || (group !== undefined && group !== null)) return []
  return [invalidField('spec.poolRef.apiGroup', null, 'the pool reference needs to contain a group')]
}

const NOT_AN_ADDRESS = 'not a valid IP address'

function specErrors({ address, prefix = 0, gateway = '' }: AddressFields): readonly FieldError[] {
  const errors = isAddress(address) ? [] : [invalidField('spec.address', address, NOT_AN_ADDRESS)]
  return [...errors, ...prefixErrors(prefix, address), ...gatewayErrors(gateway)]
}

type AddressFields = Pick<IPAddressSpec, 'address' | 'prefix' | 'gateway'>

function prefixErrors(prefix: number, address: string): readonly FieldError[] {
  if (prefix < 0) return [invalidField('spec.prefix', prefix, 'prefix cannot be negative')]
  const parsed = Address.safeParse(address, { zone: 'drop' })
  if (!parsed.ok || prefix <= Address.bitsOf(parsed.value.family)) return []
  return [invalidField('spec.prefix', prefix, `prefix is too large for an IPv${parsed.value.family} address`)]
}

function gatewayErrors(gateway: string): readonly FieldError[] {
  return gateway === '' || isAddress(gateway) ? [] : [invalidField('spec.gateway', gateway, NOT_AN_ADDRESS)]
}

function isAddress(text: string): boolean {
  return Address.safeParse(text, { zone: 'drop' }).ok
}

function claimErrors({ poolRef }: IPAddressSpec, lookup: ClaimLookup): readonly FieldError[] {
  if (lookup.kind === 'absent') return []
  const failed = (problem: string): readonly FieldError[] => [
    { type: 'Internal', path: 'spec.claimRef', value: null, detail: `failed to fetch claim: ${problem}` },
  ]
  if (lookup.kind === 'failed') return failed(lookup.problem)
  const claim = IPAddressClaim.safeParse(lookup.claim)
  if (!claim.ok) return failed(claim.failure.message)
  if (samePool(poolRef, claim.value.spec.poolRef)) return []
  const { name, kind, apiGroup } = poolRef
  const detail = 'the referenced pool is different from the pool referenced by the claim this address should fulfill'
  return [invalidField('spec.poolRef', { name, kind, apiGroup }, detail)]
}
