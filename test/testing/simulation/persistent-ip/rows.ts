import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { networkSpace } from 'ipam-kit/provider/persistent-ip'
import { networksOf } from './networks.js'
import { hasEnded } from './objects.js'
import { allocatedOf, attachmentsOf, type Held, isUser, type Stored } from './stored.js'

interface Row {
  readonly network: string
  readonly address: string
  readonly owner: string
  readonly uid: string
}

/** What is wrong with the rows of blocks when all is quiet. */
export function rowRest(stored: Stored): string | undefined {
  const rows = rowsOf(stored)
  const held = stored.held()
  const networks = networksOf(stored)
  // an address of a definition that cannot be read counts in all networks
  const isEverywhere = ({ nad }: Held) => nad !== undefined && networks.of(nad) === undefined
  for (const { network, address, owner, uid } of rows) {
    if (held.some((each) => each.address === address && (each.network === network || isEverywhere(each)))) continue
    const object = [...stored.objects.values()].find(({ metadata }) => metadata.uid === uid)
    const isLiving = object !== undefined && !hasEnded(object)
    // a process may be about to write a Pod that names the claim
    const isNamed = stored.all('Pod').some((pod) => !hasEnded(pod) && namesClaim(pod, owner))
    const isReplaced = stored.get('IPAMClaim', ...pairOf(owner)) !== undefined
    if (!isLiving && (!isNamed || isReplaced))
      return `a row of ${address} of ${network} is left of ${owner}, which has ended`
  }
  return withoutRow(stored, held, rows)
}

function namesClaim(pod: Held['holder'], owner: string): boolean {
  const [namespace, name] = pairOf(owner)
  return pod.metadata.namespace === namespace && attachmentsOf(pod)?.some(({ claim }) => claim === name) === true
}

function pairOf(owner: string): readonly [namespace: string, name: string] {
  const [namespace = '', name = ''] = owner.split('/')
  return [namespace, name]
}

/** An address without a row, of a network that has it and of no other holder. */
function withoutRow(stored: Stored, held: readonly Held[], rows: readonly Row[]): string | undefined {
  const networks = networksOf(stored)
  for (const { network, address, holder } of held) {
    const definition = networks.named(network)?.definition
    if (definition?.claims !== 'honoured') continue
    if (!RangeSet.contains(networkSpace(definition).addresses, Address.parse(address))) continue
    if (rows.some((row) => row.network === network && row.address === address)) continue
    const { kind, metadata } = holder
    if (!isServedBy(holder, stored)) continue
    return `${address} of ${network} has no row, and ${kind} ${metadata.namespace}/${metadata.name} has it`
  }
  return undefined
}

/** Whether a holder is planned: a Pod, or a claim that Pods use. */
function isServedBy(holder: Held['holder'], stored: Stored): boolean {
  if (holder.kind === 'IPAMClaim' && allocatedOf(holder)?.status === 'False') return false
  return holder.kind === 'Pod' || stored.all('Pod').some((pod) => !hasEnded(pod) && isUser(pod, holder))
}

/** The rows of the blocks of all networks. */
export function rowsOf(stored: Stored): readonly Row[] {
  return stored.all('IPBlock').flatMap((object) => {
    const { cidr, domain, rows } = IPBlock.parse(object).spec
    return Object.entries(rows).map(([unit, { owner, uid }]) => ({
      network: domain.replace('persistent-ips.net.', ''),
      address: Address.format(Address.add(Prefix.parse(cidr).address, Number(unit))),
      owner,
      uid,
    }))
  })
}
