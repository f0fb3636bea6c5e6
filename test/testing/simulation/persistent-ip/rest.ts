import { Address, RangeSet } from 'ipam-kit/cidr'
import { isDeleting, type KubeObject } from 'ipam-kit/crd/meta'
import { type NetworkDefinition, networkSpace } from 'ipam-kit/provider/persistent-ip'
import { networksOf, type View } from './networks.js'
import { type ChosenOptions, isServed, PRIMARY } from './objects.js'
import { requestReason, wishReason } from './requests.js'
import { rowsOf } from './rows.js'
import {
  type Attachment,
  addressOf,
  attachmentsOf,
  entriesOf,
  ipsOf,
  isUser,
  mayUse,
  READABLE,
  refusedIn,
  type Stored,
} from './stored.js'

/** What is wrong with the addresses when all is quiet. */
export function addressRest(stored: Stored, isOn: boolean, options: ChosenOptions): string | undefined {
  if (!isOn) return undefined
  const view: View = { stored, networks: networksOf(stored), held: stored.held(), options }
  return lacking(view) ?? unnamed(view)
}

/** An interface without addresses, and without a reason. */
function lacking(view: View): string | undefined {
  for (const pod of view.stored.all('Pod')) {
    if (!isServed(pod) || isDeleting(pod)) continue
    const attachments = attachmentsOf(pod) ?? []
    for (const attachment of attachments) {
      if ((entriesOf(pod).get(attachment.key) ?? []).length > 0) continue
      if (reasonOf(pod, attachment, attachments, view) !== undefined) continue
      return `${pod.metadata.namespace}/${pod.metadata.name} has no addresses in ${attachment.key}, without a reason`
    }
  }
  return undefined
}

/** Why an interface can have no addresses. */
function reasonOf(pod: KubeObject, attachment: Attachment, all: readonly Attachment[], view: View): string | undefined {
  const { nad, claim } = attachment
  const named = view.networks.of(nad)
  const network = named && view.networks.named(named.name)
  if (network === undefined) return 'the definition cannot be read'
  const { definition, disagreeing } = network
  if (disagreeing.some((each) => each.nad === nad)) return 'the definition disagrees with that of its network'
  if (definition.addressing !== 'subnets') return 'its addresses come from elsewhere'
  if (nad === PRIMARY && definition.role !== 'primary') return 'its namespace has no primary network'
  const asked = requestReason(pod, attachment, definition, view)
  if (asked !== undefined) return asked
  if (claim === undefined || definition.claims !== 'honoured') return full(definition, view)
  if (all.filter((each) => each.claim === claim).length > 1) return 'T2: two interfaces name the claim'
  const object = view.stored.get('IPAMClaim', pod.metadata.namespace, claim)
  if (object === undefined) return 'the claim does not exist'
  return wishReason(attachment, object, view) ?? claimReason(pod, object, definition, view)
}

function claimReason(
  pod: KubeObject,
  claim: KubeObject,
  definition: NetworkDefinition,
  view: View,
): string | undefined {
  const { network } = claim.spec as { readonly network?: string }
  if (network !== definition.name) return 'the claim is of another network'
  if (!mayUse(pod, claim)) return 'the claim is of another owner'
  if (isDeleting(claim) && view.options.terminatingClaim === 'refuse') return 'T1: the claim is being deleted'
  const ips = ipsOf(claim)
  if ([...entriesOf(pod).values()].flat().some((ip) => ips.map(addressOf).includes(addressOf(ip)))) {
    return 'T2: the Pod has the addresses for another interface'
  }
  const others = view.held.filter((each) => each.network === network && each.holder !== claim)
  if (ips.length > 0) {
    const isBad = ips.some((ip) => !READABLE.test(ip) || ip.endsWith('/0'))
    if (isBad || new Set(ips.map(addressOf)).size < ips.length) return refusedIn(claim, 'InternalError')
    const { addresses } = networkSpace(definition)
    if (ips.some((ip) => !RangeSet.contains(addresses, Address.parse(addressOf(ip)))))
      return refusedIn(claim, 'OutsideNetwork')
    const taken = others.filter(({ address }) => ips.some((ip) => addressOf(ip) === address))
    if (taken.some(({ holder }) => holder.kind === 'IPAMClaim' || !isUser(holder, claim)))
      return refusedIn(claim, 'IPAddressConflict')
    // with blocks, the rows of a claim count, and not what a tenant writes into its status
    const rows = rowsOf(view.stored).filter(({ uid }) => uid === claim.metadata.uid)
    const isEdited = rows.some(({ address }) => !ips.some((ip) => addressOf(ip) === address))
    return isEdited ? refusedIn(claim, 'IPAddressConflict') : undefined
  }
  // what a Pod has from before decides about a claim without addresses
  const users = view.stored.all('Pod').filter((each) => isUser(each, claim) && isServed(each))
  const isDecided = users.some((each) => {
    const own = attachmentsOf(each)?.find((one) => one.claim === claim.metadata.name)
    return (entriesOf(each).get(own?.key ?? '') ?? []).length > 0
  })
  return isDecided ? 'its Pod has other addresses' : full(definition, view)
}

/** Whether a family of a network has no free address. */
function full(definition: NetworkDefinition, { stored, held }: View): string | undefined {
  const all = [...held, ...rowsOf(stored)].filter(({ network }) => network === definition.name)
  const taken = all.map(({ address }) => Address.parse(address))
  const free = RangeSet.subtract(networkSpace(definition).automatic, RangeSet.fromAddresses(taken))
  const families = new Set([...RangeSet.ranges(free)].map(({ first }) => first.family))
  const wanted = new Set(definition.subnets.map(({ prefix }) => prefix.address.family))
  return [...wanted].every((family) => families.has(family)) ? undefined : 'a family has no free address'
}

/** A claim in use that names another Pod than one of those that use it. */
function unnamed({ stored, networks }: View): string | undefined {
  for (const claim of stored.all('IPAMClaim')) {
    const { namespace, name } = claim.metadata
    const { network = '' } = claim.spec as { readonly network?: string }
    const ips = ipsOf(claim)
    const { definition, disagreeing = [] } = networks.named(network) ?? {}
    if (ips.length === 0 || definition?.claims !== 'honoured') continue
    const users = stored.all('Pod').filter((pod) => {
      const own = attachmentsOf(pod)?.filter((each) => each.claim === name) ?? []
      const [first] = own
      if (first === undefined || own.length > 1 || !isServed(pod) || !mayUse(pod, claim)) return false
      if (networks.of(first.nad)?.name !== network || disagreeing.some(({ nad }) => nad === first.nad)) return false
      // one that asks for others as well, by a later change, is refused
      if (!first.ips.every((ip) => ips.map(addressOf).includes(addressOf(ip)))) return false
      return entriesOf(pod).get(first.key)?.join() === ips.join()
    })
    const { ownerPod } = (claim.status ?? {}) as { readonly ownerPod?: { readonly name?: string } }
    if (users.length === 0 || refused(claim)) continue
    if (!users.some(({ metadata }) => metadata.name === ownerPod?.name)) {
      const pods = users.map(({ metadata }) => metadata.name)
      return `${namespace}/${name} names ${ownerPod?.name}, and ${pods} use it`
    }
  }
  return undefined
}

function refused(claim: KubeObject): boolean {
  return ['OutsideNetwork', 'IPAddressConflict', 'InternalError'].some(
    (reason) => refusedIn(claim, reason) !== undefined,
  )
}
