import * as z from 'zod'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { check } from '../../errors/check.js'
import { INVALID_OBJECT } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import { defined } from '../meta/json.js'
import type { KubeObject } from '../meta/object.js'
import type { MergePatch } from '../meta/patch.js'
import { READ_AS, readerOf } from '../meta/reader.js'
import type { Condition } from '../meta/schema.js'
import { type Field, fixed, kubeObject, list, NEVER_CHANGES, object, text, withRules } from '../meta/strict.js'
import { condition } from '../meta/strict-conditions.js'
import { API_VERSION } from './names.js'

/**
 * Addresses of one interface that outlive its Pods (k8s.cni.cncf.io/v1alpha1 of ipamclaims,
 * v0.5.1-alpha). A Pod names the claim in its network selection.
 */
export interface IPAMClaim extends KubeObject {
  readonly spec: IPAMClaimSpec
  readonly status?: IPAMClaimStatus | undefined
}

export interface IPAMClaimSpec {
  /** The name of the network: `name` of its CNI configuration. */
  readonly network: string
  /** The name of the interface in the Pod. KubeVirt leaves it empty. */
  readonly interface: string
  /**
   * The addresses that the claim asks for, with their prefix length: at most one of each family.
   * Not in the released definition: an API server drops them. {@link IPAMClaimWithRequests} has
   * them.
   */
  readonly ipRequests?: readonly string[] | undefined
}

export interface IPAMClaimStatus {
  /** Addresses with their prefix length: `10.0.0.7/24`. Empty: none yet. */
  readonly ips: readonly string[]
  /** The Pod that uses the claim. */
  readonly ownerPod?: IPAMClaimOwnerPod | undefined
  readonly conditions?: readonly Condition[] | undefined
}

/** A Pod in the namespace of an {@link IPAMClaim}. */
export interface IPAMClaimOwnerPod {
  readonly name?: string | undefined
}

const info = {
  apiVersion: API_VERSION,
  kind: 'IPAMClaim',
  plural: 'ipamclaims',
  namespaced: true,
  statusSubresource: true,
}

// a reader reads requests, whether the definition has them or not
const reader = /* @__PURE__ */ readerOf<IPAMClaim>(claimWithRequests)

export const IPAMClaim: CrdModel<IPAMClaim> = /* @__PURE__ */ defineCrdModel({
  info,
  schema: reader,
  categories: [],
  versions: [{ apiVersion: API_VERSION, columns: [], schema: claimAsReleased }],
})

/**
 * The same kind with `spec.ipRequests`, for `crdManifest`. ipamclaims has it on a branch and in no
 * release. The spec never changes there. Objects are read as before.
 *
 * @example
 * const claim = {
 *   apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', metadata: { name: 'vm1.net' },
 *   spec: { network: 'lab', interface: '', ipRequests: ['10.0.0.7/24'] },
 * }
 * IPAMClaim.warnings(claim) // ['unknown field "spec.ipRequests"']
 * IPAMClaimWithRequests.warnings(claim) // []
 */
export const IPAMClaimWithRequests: CrdModel<IPAMClaim> = /* @__PURE__ */ defineCrdModel({
  info,
  schema: reader,
  categories: [],
  versions: [{ apiVersion: API_VERSION, columns: [], schema: claimWithRequests }],
})

function claimAsReleased() {
  return ipamClaim(specFields())
}

function claimWithRequests() {
  const { network, interface: name } = specFields()
  const requests = withRules(
    list('The addresses that are asked for.', text('An address, as 10.0.0.7/24.'), { maxItems: 2 }),
    [
      { rule: 'self == oldSelf', message: NEVER_CHANGES },
      { rule: 'self.all(each, isCIDR(each))', message: 'an address with its prefix length' },
      {
        rule: 'size(self) < 2 || !self.all(each, isCIDR(each)) || cidr(self[0]).ip().family() != cidr(self[1]).ip().family()',
        message: 'two addresses are of two families',
      },
    ],
  )
  return ipamClaim({ network: fixed(network), interface: fixed(name), ipRequests: requests.optional() })
}

function specFields() {
  return {
    network: text('The name of the network, as its CNI configuration has it.'),
    interface: text('The name of the interface in the pod.'),
  }
}

function ipamClaim<S extends z.ZodRawShape>(fields: S) {
  const spec = object('The interface that has the addresses.', fields)
  const status = object('The addresses of the interface.', {
    ips: addresses(),
    ownerPod: object('The pod that uses the claim.', { name: text('Its name.').optional() }).optional(),
    conditions: list('What is so of the claim, and why.', condition()).optional(),
  })
  return kubeObject('Addresses of one interface that outlive its pods.', {
    spec: spec.optional(),
    status: status.optional(),
  })
}

/** Old writers left null, which counts as absent. */
function addresses(): Field<readonly string[]> {
  const field = list('The addresses, each with its prefix length.', text('An address, as 10.0.0.7/24.'))
  READ_AS.add(field, { reader: z.array(z.string()).default([]) })
  return field
}

/** An address of a claim, with the prefix length of its subnet where the claim has one. */
export interface ClaimAddress {
  readonly address: Address.Address
  /** 0 to 32, or 0 to 128. Left out: the text is an address alone. */
  readonly prefixLength?: number | undefined
}

/**
 * The addresses of a claim, in its order. O(addresses).
 *
 * @returns the failure `INVALID_OBJECT` with the path of each text that is no address. An API
 * server stores any text
 * @example
 * import { Address } from 'ipam-kit/cidr'
 * const claim = {
 *   metadata: { name: 'vm1.net' }, status: { ips: ['10.0.0.7/24'] },
 * }
 * const read = claimAddresses(claim)
 * read.ok && read.value.map(({ address, prefixLength }) => [Address.format(address), prefixLength]) // [['10.0.0.7', 24]]
 */
export function claimAddresses(
  claim: Pick<IPAMClaim, 'metadata' | 'status'>,
): Result<readonly ClaimAddress[], 'INVALID_OBJECT'> {
  check('claimAddresses', 'claim', claim, [
    'open',
    { metadata: ['open', { name: 'text' }], status: ['open?', { ips: ['list', 'text'] }] },
  ])
  return addressesOf(claim.metadata.name, 'status.ips', claim.status?.ips ?? [])
}

/**
 * The addresses that a claim asks for, in its order: at most one of each family. O(addresses).
 *
 * @returns the failure `INVALID_OBJECT` with the path of each text that is no address, and of the
 * second one of a family
 * @example
 * const spec = { network: 'lab', interface: '', ipRequests: ['10.0.0.7/24', '10.0.0.8/24'] }
 * const read = requestedClaimAddresses({ metadata: { name: 'vm1.net' }, spec })
 * read.ok ? [] : read.failure.context.issues.map(({ path }) => path) // ['spec.ipRequests[1]']
 */
export function requestedClaimAddresses(
  claim: Pick<IPAMClaim, 'metadata' | 'spec'>,
): Result<readonly ClaimAddress[], 'INVALID_OBJECT'> {
  check('requestedClaimAddresses', 'claim', claim, [
    'open',
    { metadata: ['open', { name: 'text' }], spec: ['open', { ipRequests: ['list?', 'text'] }] },
  ])
  const path = 'spec.ipRequests'
  const read = addressesOf(claim.metadata.name, path, claim.spec.ipRequests ?? [])
  if (!read.ok) return read
  const families = read.value.map(({ address }) => address.family)
  const issues = families.flatMap((family, index) =>
    families.indexOf(family) < index ? [{ path: `${path}[${index}]`, message: `a second IPv${family} address` }] : [],
  )
  return issues.length === 0 ? read : failWith(INVALID_OBJECT, { kind: 'IPAMClaim', name: claim.metadata.name, issues })
}

function addressesOf(
  name: string,
  path: string,
  texts: readonly string[],
): Result<readonly ClaimAddress[], 'INVALID_OBJECT'> {
  const read = texts.map(readAddress)
  const issues = read.flatMap((each, index) =>
    typeof each === 'string' ? [{ path: `${path}[${index}]`, message: each }] : [],
  )
  if (issues.length > 0) return failWith(INVALID_OBJECT, { kind: 'IPAMClaim', name, issues })
  return ok(read as readonly ClaimAddress[])
}

/** An address, or what is wrong with its text. */
function readAddress(text: string): ClaimAddress | string {
  if (text.includes('/')) {
    const prefix = Prefix.safeParse(text)
    return prefix.ok ? { address: prefix.value.address, prefixLength: prefix.value.length } : prefix.failure.message
  }
  const address = Address.safeParse(text)
  return address.ok ? { address: address.value } : address.failure.message
}

/**
 * The merge patch of the status of a claim. An API server refuses a status without `ips`, and one
 * with `null`: without addresses an empty list is written. Conditions that are left out stay.
 *
 * @example
 * claimStatusPatch({ ips: [] }) // { status: { ips: [], ownerPod: null } }
 */
export function claimStatusPatch(status: IPAMClaimStatus): MergePatch {
  check('claimStatusPatch', 'status', status, [
    'open',
    { ips: ['list', 'text'], ownerPod: ['open?', { name: 'text?' }], conditions: 'list?' },
  ])
  const { ips, ownerPod, conditions } = status
  return {
    status: { ips, ownerPod: ownerPod === undefined ? null : defined({ ...ownerPod }), ...defined({ conditions }) },
  }
}
