import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { ConditionUpdate } from '../../../claim/index.js'
import { claimAddresses, type IPAMClaim, requestedClaimAddresses } from '../../../crd/ipamclaims/index.js'
import { isDeleting } from '../../../crd/meta/object.js'
import type { InterfaceAddress } from '../../../crd/multinet/index.js'
import { check } from '../../../errors/check.js'
import type { NetworkDefinition } from '../network/definition.js'
import { familiesOf, type NetworkSpace, networkSpace, ofFamily, withLength } from './space.js'

/** A Pod that names a claim and has not ended. */
export interface ClaimPod {
  /** The name of the Pod, in the namespace of the claim. */
  readonly name: string
  /** How many of its interfaces name the claim. */
  readonly interfaces: number
  /** What the interface asks for. Empty: any. */
  readonly requests: readonly InterfaceAddress[]
  /** What the interface has by the annotation of the Pod. Empty: nothing yet. */
  readonly addresses: readonly InterfaceAddress[]
  /** Another Pod that has the MAC address that the interface asks for. Left out: none. */
  readonly macHolder?: string | undefined
  /** Its part in live migrations: see `migrationStage`. Left out: `none`. */
  readonly migration?: 'none' | 'target' | 'migrated' | undefined
}

/** A claim with its network and its Pods, as they are read. */
export interface ClaimSituation {
  readonly claim: IPAMClaim
  /** The definition that decides on the network of the claim. */
  readonly network: NetworkDefinition
  /** The Pods that name the claim, the oldest first. They are served in this order. */
  readonly pods: readonly ClaimPod[]
  /** Whether another holder than this claim and its Pods has the address. */
  readonly isTaken: (address: Address.Address) => boolean
  /** A free address of this set; `undefined`: it has none. */
  readonly next: (within: RangeSet.RangeSet) => Address.Address | undefined
  /** What a new Pod gets of a claim that is being deleted. Default `refuse`; upstream serves it. */
  readonly terminatingClaim?: 'refuse' | 'serve' | undefined
  /** Whether two clusters may have an address of the network at a time. Default false. */
  readonly isStretched?: boolean | undefined
}

/**
 * Why a claim has its addresses, or has none. The first five are those of OVN-Kubernetes.
 *
 * - `SuccessfulAllocation`: the claim has its addresses
 * - `SubnetExhausted`: a family of the network has no free address
 * - `IPAddressConflict`: another holder has an address of the claim, or one that is asked for
 * - `MACAddressConflict`: another Pod has the MAC address that the first Pod of the claim asks for
 * - `InternalError`: a text of the claim is no address, has the length 0, or has an address again
 * - `OutsideNetwork`: the network does not give an address of the claim, or one that is asked for
 * - `FamilyMismatch`: the request has not one address of each family of the network, or the claim
 *   has more addresses of a family than the network has subnets of it
 */
export type ClaimReason =
  | 'SuccessfulAllocation'
  | 'SubnetExhausted'
  | 'IPAddressConflict'
  | 'MACAddressConflict'
  | 'InternalError'
  | 'OutsideNetwork'
  | 'FamilyMismatch'

/**
 * Why a Pod gets nothing of a claim, although the claim is as it should be.
 *
 * - `ClaimTerminating`: the claim is being deleted, and the Pod does not have its addresses yet.
 *   `terminatingClaim: 'serve'` gives them, as upstream does
 * - `SharedByInterfaces`: two interfaces of the Pod name the claim
 * - `AddressesDiffer`: the Pod has other addresses. Those of the claim are never overwritten
 * - `MACAddressConflict`: another Pod has the MAC address that it asks for
 * - `NotOfClaim`: the Pod asks for an address that the claim does not have
 * - `NetworkMismatch`: the claim is of another network
 * - `NotSupported`: no claim holds addresses of the network
 * - `NotStretched`: the machine still runs in another cluster, which has the address
 */
export type PodRefusalReason =
  | 'ClaimTerminating'
  | 'SharedByInterfaces'
  | 'AddressesDiffer'
  | 'MACAddressConflict'
  | 'NotOfClaim'
  | 'NetworkMismatch'
  | 'NotSupported'
  | 'NotStretched'

/** A Pod that gets nothing of a claim. */
export interface PodRefusal {
  readonly pod: string
  readonly reason: PodRefusalReason
  readonly message: string
}

/** What a claim has, and which Pods get it. */
export interface ClaimPlan {
  /** `Releasing`: the claim is being deleted, and holds its addresses until it is deleted. */
  readonly phase: 'Pending' | 'Bound' | 'Error' | 'Releasing'
  /** The addresses of the claim from now on, each with the length of its subnet. */
  readonly addresses: readonly Prefix.Prefix[]
  /** Whether the addresses are new: the status has to be written before a Pod gets them. */
  readonly isNew: boolean
  /** The condition `IPsAllocated`. Left out: nothing was asked of the claim yet. */
  readonly condition?: (ConditionUpdate & { readonly reason: ClaimReason }) | undefined
  /** The Pods that get the addresses, by name. */
  readonly served: readonly string[]
  /**
   * The Pod that uses the addresses, for `status.ownerPod`: one of those that are served. A Pod
   * that the status names stays while it is served. In a live migration the source is named until
   * the machine runs in the target. Left out: no Pod is served.
   */
  readonly user?: string | undefined
  readonly refused: readonly PodRefusal[]
}

/**
 * Decides what a claim has. Its addresses are never changed and never extended: they are kept while
 * the claim exists, whatever its Pods do. A claim without addresses gets those that its Pod has
 * already, those that are asked for, or free ones: one of each family of the network, or none.
 * O(addresses + Pods).
 *
 * @example
 * import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
 * import { unwrap } from 'ipam-kit/errors'
 * const config = JSON.stringify({
 *   name: 'lab', type: 'ovn-k8s-cni-overlay', topology: 'localnet', netAttachDefName: 'a/blue',
 *   subnets: '10.0.0.0/29', allowPersistentIPs: true,
 * })
 * const network = unwrap(readNetwork({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } }))
 * const claim = {
 *   apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', metadata: { name: 'vm1.net', namespace: 'a' },
 *   spec: { network: 'lab', interface: '' },
 * }
 * const pods = [{ name: 'vm1-x', interfaces: 1, requests: [], addresses: [] }]
 * const free = Address.parse('10.0.0.1')
 * const plan = claimPlan({ claim, network, pods, isTaken: () => false, next: () => free })
 * plan.addresses.map(Prefix.format) // ['10.0.0.1/29']
 * plan.served // ['vm1-x']
 */
export function claimPlan(situation: ClaimSituation): ClaimPlan {
  check<unknown>('claimPlan', 'situation', situation, SITUATION)
  const { claim, network } = situation
  const { name, namespace } = claim.metadata
  if (network.claims !== 'honoured') {
    return refusedAll(situation, 'NotSupported', 'ipam claims not supported on this network')
  }
  if (claim.spec.network !== network.name) {
    const message = `IPAMClaim ${namespace}/${name} is of the network ${claim.spec.network}, not of ${network.name}`
    return refusedAll(situation, 'NetworkMismatch', message)
  }
  const read = claimAddresses(claim)
  if (!read.ok) return failed(situation, 'InternalError', read.failure.message)
  const view = { ...situation, space: networkSpace(network) }
  return read.value.length > 0 ? kept(read.value, view) : chosen(view)
}

const SITUATION = [
  'open',
  {
    claim: ['open', { metadata: ['open', { name: 'text' }], spec: ['open', { network: 'text' }] }],
    network: ['open', { name: 'text', claims: 'text', subnets: 'list' }],
    pods: [
      'list',
      ['open', { name: 'text', interfaces: 'number', requests: 'list', addresses: 'list', macHolder: 'text?' }],
    ],
    isTaken: 'function',
    next: 'function',
    terminatingClaim: ['one?', { refuse: 1, serve: 1 }],
    isStretched: 'flag?',
  },
] as const

type View = ClaimSituation & { readonly space: NetworkSpace }

/** A claim that has addresses. */
function kept(own: readonly InterfaceAddress[], view: View): ClaimPlan {
  const addresses = own.map((one) => withLength(one, view.network))
  const problem = problemOfClaim(own, view)
  if (problem !== undefined) return { ...failed(view, ...problem), addresses }
  return allocated(addresses, view)
}

/** Why a claim cannot have the addresses of its status. */
export function problemOfClaim(
  own: readonly InterfaceAddress[],
  view: Pick<View, 'space' | 'isTaken' | 'network'>,
): readonly [ClaimReason, string] | undefined {
  return problemOf(own, view) ?? surplusOf(own, view.network)
}

/** A claim of OVN-Kubernetes has an address of each subnet, and never several of one. */
function surplusOf(
  own: readonly InterfaceAddress[],
  { name, subnets }: View['network'],
): readonly [ClaimReason, string] | undefined {
  const family = ([4, 6] as const).find((each) => {
    const most = subnets.filter(({ prefix }) => prefix.address.family === each).length
    return own.filter(isOf(each)).length > Math.max(most, 1)
  })
  return family && ['FamilyMismatch', `${texts(own)}: the network ${name} has fewer IPv${family} subnets`]
}

/** A claim without addresses. */
function chosen(view: View): ClaimPlan {
  const { pods, claim, network, space, next } = view
  const asking = pods.filter((pod) => refusalOf(pod, [], view) === undefined)
  if (asking.length === 0) {
    const refused = refusals([], view)
    const conflict = refused.find(({ reason }) => reason === 'MACAddressConflict')
    const left = conflict ? failed(view, 'MACAddressConflict', conflict.message) : pending(view)
    return { ...left, refused }
  }
  const requested = requestedClaimAddresses(claim)
  if (!requested.ok) return failed(view, 'InternalError', requested.failure.message)
  const wanted = [asking.map(({ addresses }) => addresses), [requested.value], asking.map(({ requests }) => requests)]
    .flat()
    .find((addresses) => addresses.length > 0)
  const families = familiesOf(network)
  if (wanted !== undefined) {
    const isWhole = wanted.length === families.length && families.every((family) => wanted.some(isOf(family)))
    if (!isWhole) {
      const message = `${texts(wanted)}: the network has one address of each of ${families.map((family) => `IPv${family}`).join(', ')}`
      return failed(view, 'FamilyMismatch', message)
    }
    const problem = problemOf(wanted, view)
    if (problem !== undefined) return failed(view, ...problem)
    return {
      ...allocated(
        wanted.map((one) => withLength(one, network)),
        view,
      ),
      isNew: true,
    }
  }
  const free = families.map((family) => next(ofFamily(space.automatic, family)))
  const missing = families.find((_, index) => free[index] === undefined)
  if (missing !== undefined)
    return failed(view, 'SubnetExhausted', `the network ${network.name} has no free IPv${missing} address`)
  const given = free.map((address) => withLength({ address: address as Address.Address }, network))
  return { ...allocated(given, view), isNew: true }
}

function allocated(addresses: readonly Prefix.Prefix[], view: View): ClaimPlan {
  const refused = refusals(addresses, view)
  const message = 'IP addresses successfully allocated'
  const served = view.pods.filter(({ name }) => !refused.some(({ pod }) => pod === name)).map(({ name }) => name)
  return {
    phase: isDeleting(view.claim) ? 'Releasing' : 'Bound',
    addresses,
    isNew: false,
    condition: { type: 'IPsAllocated', status: 'True', reason: 'SuccessfulAllocation', message },
    served,
    user: userOf(view, served),
    refused,
  }
}

/** Exactly one of the Pods that are served. */
function userOf({ claim, pods }: View, served: readonly string[]): string | undefined {
  const all = pods.filter(({ name }) => served.includes(name))
  const migrated = all.findLast(({ migration }) => migration === 'migrated')
  const running = all.filter(({ migration }) => migration !== 'target')
  const [first] = running.length > 0 ? running : all
  const named = (running.length > 0 ? running : all).find(({ name }) => name === claim.status?.ownerPod?.name)
  return (migrated ?? named ?? first)?.name
}

/** The claim cannot give addresses to any Pod. */
function failed(situation: ClaimSituation, reason: ClaimReason, message: string): ClaimPlan {
  const condition = { type: 'IPsAllocated', status: 'False', reason, message } as const
  return { ...pending(situation), phase: isDeleting(situation.claim) ? 'Releasing' : 'Error', condition }
}

function refusedAll(situation: ClaimSituation, reason: PodRefusalReason, message: string): ClaimPlan {
  return { ...pending(situation), refused: situation.pods.map(({ name: pod }) => ({ pod, reason, message })) }
}

function pending({ claim }: ClaimSituation): ClaimPlan {
  const phase = isDeleting(claim) ? 'Releasing' : 'Pending'
  return { phase, addresses: [], isNew: false, served: [], refused: [] }
}

function refusals(own: readonly Prefix.Prefix[], view: View): readonly PodRefusal[] {
  return view.pods.flatMap((pod) => {
    const refusal = refusalOf(pod, own, view)
    return refusal === undefined ? [] : [{ pod: pod.name, reason: refusal[0], message: refusal[1] }]
  })
}

/** Why a Pod gets nothing; `own`: the addresses of the claim, none if they are not chosen yet. */
function refusalOf(
  { interfaces, requests, addresses, macHolder, migration }: ClaimPod,
  own: readonly Prefix.Prefix[],
  { claim, network, pods, terminatingClaim, isStretched }: View,
): readonly [PodRefusalReason, string] | undefined {
  const { name, namespace } = claim.metadata
  const what = `IPAMClaim ${namespace}/${name}`
  if (interfaces > 1) return ['SharedByInterfaces', `${interfaces} interfaces name ${what}`]
  const has = ({ address }: InterfaceAddress) => own.some((one) => Address.equals(one.address, address))
  if (own.length > 0 && addresses.length > 0 && (addresses.length !== own.length || !addresses.every(has))) {
    // the sentence of OVN-Kubernetes
    const [before, now] = [own.map(Prefix.format), addresses.map(textOf)].map((all) =>
      all.map((one) => `"${one}"`).join(' '),
    )
    const message = `failed to update IPAMClaim "${namespace}/${name}" - overwriting existing IPs [${before}] with newer IPs [${now}]`
    return ['AddressesDiffer', message]
  }
  if (isDeleting(claim) && addresses.length === 0 && terminatingClaim !== 'serve') {
    return ['ClaimTerminating', `${what} is being deleted`]
  }
  if (migration === 'target' && addresses.length === 0 && isStretched !== true && isOfOtherCluster(claim, own, pods)) {
    return ['NotStretched', `the machine still runs in another cluster, and ${network.name} is not stretched`]
  }
  if (macHolder !== undefined) return ['MACAddressConflict', macConflict(macHolder)]
  const stranger = own.length === 0 ? undefined : requests.find((one) => !has(one))
  return stranger && ['NotOfClaim', `${what} does not have ${textOf(stranger)}`]
}

/** Whether a claim was made with its addresses, and no Pod of this cluster has had them. */
function isOfOtherCluster({ status }: IPAMClaim, own: readonly Prefix.Prefix[], pods: readonly ClaimPod[]): boolean {
  return own.length > 0 && status?.ownerPod === undefined && pods.every(({ migration }) => migration === 'target')
}

export function macConflict(holder: string): string {
  return `${holder} has the MAC address that is asked for`
}

/** Why a claim cannot have some addresses. */
function problemOf(
  addresses: readonly InterfaceAddress[],
  { space, isTaken, network }: Pick<View, 'space' | 'isTaken' | 'network'>,
): readonly [ClaimReason, string] | undefined {
  const flaw = flawOf(addresses)
  if (flaw !== undefined) return ['InternalError', flaw]
  const outside = addresses.find(({ address }) => !RangeSet.contains(space.addresses, address))
  if (outside !== undefined) return ['OutsideNetwork', `the network ${network.name} does not give ${textOf(outside)}`]
  const taken = addresses.find(({ address }) => isTaken(address))
  return taken && ['IPAddressConflict', `another holder has ${textOf(taken)}`]
}

/** What is wrong with addresses in any network: one makes all others local, or is there twice. */
export function flawOf(addresses: readonly InterfaceAddress[]): string | undefined {
  const wide = addresses.find(({ prefixLength }) => prefixLength === 0)
  if (wide !== undefined) return `${textOf(wide)} has the prefix length 0`
  const seen = new Set<string>()
  const again = addresses.find(({ address }) => seen.size === seen.add(Address.format(address)).size)
  return again && `${textOf(again)} is an address that the list has twice`
}

function isOf(family: 4 | 6) {
  return ({ address }: InterfaceAddress) => address.family === family
}

function textOf({ address, prefixLength }: InterfaceAddress): string {
  return prefixLength === undefined ? Address.format(address) : Prefix.format(Prefix.of(address, prefixLength))
}

function texts(addresses: readonly InterfaceAddress[]): string {
  return addresses.map(textOf).join(', ')
}
