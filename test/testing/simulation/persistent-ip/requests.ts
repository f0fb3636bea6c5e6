import { Address, RangeSet } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { type NetworkDefinition, networkSpace } from 'ipam-kit/provider/persistent-ip'
import type { View } from './networks.js'
import { type ChosenOptions, isServed, PRIMARY } from './objects.js'
import {
  type Attachment,
  addressOf,
  attachmentsOf,
  ipsOf,
  isUser,
  macsOf,
  networkOf,
  refusedIn,
  type Stored,
  type Write,
} from './stored.js'

/** An interface that asks for addresses gets these. */
export function askedProblem(
  pod: KubeObject,
  name: string,
  key: string,
  ips: readonly string[],
  options: ChosenOptions,
): string | undefined {
  const attachment = attachmentsOf(pod)?.find((each) => each.key === key)
  const asked = attachment === undefined ? [] : requestsOf(attachment, options)
  const isGiven = asked.every((ip) => ips.map(addressOf).includes(addressOf(ip)))
  return isGiven ? undefined : `${name} gets ${ips} in ${key}, and asks for ${asked}`
}

/** A Pod gets no MAC address that another workload has in the network. */
export function macProblem(stored: Stored, { before, now, name, by }: Write): string | undefined {
  if (now === undefined || before === undefined) return undefined
  for (const [key, mac] of macsOf(now)) {
    if (mac === undefined || macsOf(before).get(key) === mac) continue
    const network = networkOf(key, undefined)
    const other = stored.all('Pod').find((pod) => {
      if (pod === now || !isServed(pod) || isOneWorkload(pod, now)) return false
      const since = (at: string) => stored.macSince(pod, at) < by.knows
      return [...macsOf(pod)].some(([at, its]) => its === mac && networkOf(at, undefined) === network && since(at))
    })
    if (other !== undefined) return `${name} gets ${mac} in ${key}, which Pod ${other.metadata.name} has`
  }
  return undefined
}

function isOneWorkload(one: KubeObject, other: KubeObject): boolean {
  if (one.metadata.namespace !== other.metadata.namespace) return false
  const [vm, its] = [one, other].map(({ metadata }) => metadata.annotations?.['kubevirt.io/domain'])
  const claims = attachmentsOf(one)?.flatMap(({ claim }) => claim ?? []) ?? []
  return (
    (vm !== undefined && vm === its) || attachmentsOf(other)?.some(({ claim = '' }) => claims.includes(claim)) === true
  )
}

/** The addresses that an interface asks for. A primary network takes no requests by default. */
function requestsOf({ nad, ips }: Attachment, { staticRequests }: ChosenOptions): readonly string[] {
  return nad === PRIMARY && !staticRequests ? [] : ips
}

/** Why an interface does not get what it asks for, with a claim or without one. */
export function requestReason(
  pod: KubeObject,
  attachment: Attachment,
  definition: NetworkDefinition,
  { stored, held, options }: View,
): string | undefined {
  const { nad, mac, claim } = attachment
  if (mac !== undefined && (nad !== PRIMARY || options.staticRequests)) {
    const others = stored.all('Pod').filter((each) => each !== pod && isServed(each) && !isOneWorkload(each, pod))
    const asks = (each: KubeObject) => attachmentsOf(each)?.some((one) => one.mac === mac) === true
    if (others.some((each) => asks(each) || [...macsOf(each).values()].includes(mac))) return 'its MAC address is taken'
  }
  const asked = requestsOf(attachment, options)
  if (asked.length === 0 || (claim !== undefined && definition.claims === 'honoured')) return undefined
  if (nad !== PRIMARY) return 'the network takes no requests'
  const { addresses } = networkSpace(definition)
  const isOutside = asked.some((ip) => !RangeSet.contains(addresses, Address.parse(addressOf(ip))))
  const isTaken = held.some(
    ({ network, address }) => network === definition.name && asked.map(addressOf).includes(address),
  )
  return isOutside || isTaken || asked.length > 1 ? 'its request cannot be served' : undefined
}

/** Why a claim does not have what its Pods ask for, or what it asks for. */
export function wishReason(attachment: Attachment, claim: KubeObject, { stored, options }: View): string | undefined {
  const own = ipsOf(claim).map(addressOf)
  const asked = requestsOf(attachment, options)
  if (own.length > 0)
    return asked.every((ip) => own.includes(addressOf(ip))) ? undefined : 'it asks for another address'
  const { ipRequests = [] } = (claim.spec ?? {}) as { readonly ipRequests?: readonly string[] }
  const users = stored.all('Pod').filter((each) => isUser(each, claim))
  const wishes = users.flatMap(
    (each) => attachmentsOf(each)?.flatMap(({ ips, mac }) => [...ips, ...(mac ? [mac] : [])]) ?? [],
  )
  if (ipRequests.length + wishes.length === 0) return undefined
  const reasons = ['IPAddressConflict', 'OutsideNetwork', 'FamilyMismatch', 'MACAddressConflict', 'InternalError']
  return reasons.find((reason) => refusedIn(claim, reason) !== undefined)
}
