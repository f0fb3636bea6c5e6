import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { type Admission, type AdmissionRequest, type AdmissionRules, admitBy } from '../meta/admission.js'
import { type FieldError, invalidField } from '../meta/field-error.js'
import { subdomainProblem } from '../meta/names.js'
import { IPAddress, type ParentReference } from './ip-address.js'
import { ServiceCIDR } from './service-cidr.js'

/** A request to admit an object of one kind. */
export type NetworkingAdmissionRequest<T extends ServiceCIDR | IPAddress> = AdmissionRequest<T>

/** In the words of Kubernetes. */
const IMMUTABLE = 'field is immutable'
/** No IPv4-mapped IPv6. */
const FIELD = { profile: 'k8s-field' } as const
const ONE_PER_FAMILY = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'

/**
 * Whether an API server admits a ServiceCIDR (`ValidateServiceCIDR` and its update in Kubernetes
 * 1.36): one or two CIDRs, of different families, each in canonical form without host bits. They
 * never change, but a second one may be added to the first: kubernetes#131263.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 * @example
 * const object = ServiceCIDR.parse({
 *   apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'more' }, spec: { cidrs: ['10.0.0.1/24'] },
 * })
 * admitServiceCIDR({ operation: 'CREATE', object }).allowed // false
 */
export function admitServiceCIDR(request: NetworkingAdmissionRequest<ServiceCIDR>): Admission {
  return admitBy('admitServiceCIDR', ServiceCIDR, serviceCIDRRules, request, {})
}

const serviceCIDRRules: AdmissionRules<ServiceCIDR> = {
  errors: (object, before) => [
    [...serviceCIDRErrors(object), ...(before === undefined ? [] : changeErrors(before.spec.cidrs, object.spec.cidrs))],
  ],
}

/**
 * Whether an API server admits an IPAddress (`ValidateIPAddress` and its update in Kubernetes
 * 1.36): the name is an address in canonical form, and the parent is named and never changes.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 */
export function admitServiceIPAddress(request: NetworkingAdmissionRequest<IPAddress>): Admission {
  return admitBy('admitServiceIPAddress', IPAddress, addressRules, request, {})
}

const addressRules: AdmissionRules<IPAddress> = {
  errors: ({ metadata, spec: { parentRef } }, before) => [
    [
      ...nameErrors(metadata.name),
      ...parentErrors(parentRef),
      ...(before === undefined || isSameParent(before.spec.parentRef, parentRef)
        ? []
        : [invalidField('spec.parentRef', { ...parentRef }, IMMUTABLE)]),
    ],
  ],
}

/** What is wrong with the CIDRs of a ServiceCIDR. O(length of their text). */
export function serviceCIDRErrors({ spec: { cidrs } }: Pick<ServiceCIDR, 'spec'>): readonly FieldError[] {
  const path = 'spec.cidrs'
  if (cidrs.length === 0) return [{ type: 'Required', path, value: null, detail: 'at least one CIDR required' }]
  if (cidrs.length > 2) return [invalidField(path, { cidrs }, 'may only hold up to 2 values')]
  const families = cidrs
    .map((text) => Prefix.safeParse(text))
    .flatMap((read) => (read.ok ? [read.value.address.family] : []))
  if (families.length === 2 && families[0] === families[1]) return [invalidField(path, { cidrs }, ONE_PER_FAMILY)]
  return cidrs.flatMap((text, index) => cidrErrors(`${path}[${index}]`, text))
}

function cidrErrors(path: string, text: string): readonly FieldError[] {
  const read = Prefix.safeParse(text)
  if (!read.ok) return [invalidField(path, text, 'must be a valid CIDR, such as 192.168.0.0/24 or 2001:db8::/64')]
  const masked = Prefix.masked(read.value)
  if (!Prefix.equals(masked, read.value)) {
    return [invalidField(path, text, "wrong CIDR format, IP doesn't match network IP address")]
  }
  const isCanonical = Prefix.format(masked) === text && Prefix.safeParse(text, FIELD).ok
  return isCanonical ? [] : [invalidField(path, text, 'CIDR not in RFC 5952 canonical format')]
}

function changeErrors(before: readonly string[], now: readonly string[]): readonly FieldError[] {
  // to a range of one family a range of the other one may be added
  const isGrown = before.length === 1 && now.length === 2 && now[0] === before[0]
  const isSame = before.length === now.length && before.every((text, index) => text === now[index])
  return isGrown || isSame ? [] : [invalidField('spec.cidrs', now, IMMUTABLE)]
}

function nameErrors(name: string): readonly FieldError[] {
  const path = 'metadata.name'
  const read = Address.safeParse(name, FIELD)
  if (!read.ok) return [invalidField(path, name, 'must be a valid IP address')]
  return Address.format(read.value) === name ? [] : [invalidField(path, name, 'must be a canonical format IP address')]
}

function parentErrors({ group = '', resource, namespace = '', name }: ParentReference): readonly FieldError[] {
  const path = 'spec.parentRef'
  const errors: FieldError[] = []
  const groupProblem = group === '' ? undefined : subdomainProblem(group)
  if (groupProblem !== undefined) errors.push(invalidField(`${path}.group`, group, groupProblem))
  for (const [field, text] of [
    ['resource', resource],
    ['name', name],
    ['namespace', namespace],
  ] as const) {
    if (text === '' && field !== 'namespace')
      errors.push({ type: 'Required', path: `${path}.${field}`, value: null, detail: '' })
    const problem = segmentProblem(text)
    if (problem !== undefined) errors.push(invalidField(`${path}.${field}`, text, problem))
  }
  return errors
}

/** What can be no part of a URL path: `IsValidPathSegmentName` of Kubernetes. */
function segmentProblem(text: string): string | undefined {
  if (text === '.' || text === '..') return `may not be '${text}'`
  const character = /[/%]/.exec(text)?.[0]
  return character === undefined ? undefined : `may not contain '${character}'`
}

function isSameParent(left: ParentReference, right: ParentReference): boolean {
  return (['group', 'resource', 'namespace', 'name'] as const).every(
    (field) => (left[field] ?? '') === (right[field] ?? ''),
  )
}
