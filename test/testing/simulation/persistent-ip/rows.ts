import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { networkSpace } from 'ipam-kit/provider/persistent-ip'
import { networksOf } from './networks.js'
import { hasEnded, PRIMARY_CLAIM } from './objects.js'
import { allocatedOf, attachmentsOf, type Held, isUser, type Pair, type Stored, type Write } from './stored.js'

interface Row extends Pair {
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
  if (pod.metadata.namespace !== namespace) return false
  // also where the namespace has no primary network
  const isPrimary = pod.metadata.annotations?.[PRIMARY_CLAIM] === name
  return isPrimary || attachmentsOf(pod)?.some(({ claim }) => claim === name) === true
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

/** A row that is removed while an object that the writer knew has its address (T3). */
export function releaseProblem(stored: Stored, { before, now, by }: Write): string | undefined {
  const left = now === undefined ? [] : rowsIn([now])
  const lost = rowsIn(before === undefined ? [] : [before]).filter((row) => !left.some((each) => isSame(each, row)))
  const held = lost.length === 0 ? [] : stored.held().filter(({ isOurs, since }) => isOurs && since < by.knows)
  const other = held.find((each) => lost.some((row) => isSame(each, row)) && isInNetwork(each, stored))
  if (other === undefined) return undefined
  const { network, address, holder } = other
  return `T3: the row of ${address} of ${network} is removed, and ${holder.kind} ${holder.metadata.name} has it`
}

/** False for an address that the definition of its network does not have any more. */
function isInNetwork({ network, address }: Held, stored: Stored): boolean {
  const definition = networksOf(stored).named(network)?.definition
  return definition === undefined || RangeSet.contains(networkSpace(definition).addresses, Address.parse(address))
}

/** An address that an object gets before a row has it. */
export function unrecorded(stored: Stored, name: string, pairs: readonly Pair[]): string | undefined {
  const rows = pairs.length === 0 ? [] : rowsOf(stored)
  const pair = pairs.find((each) => !rows.some((row) => isSame(each, row)))
  return pair && `${name} gets ${pair.address} of ${pair.network} before its row`
}

function isSame(one: Pair, other: Pair): boolean {
  return one.network === other.network && one.address === other.address
}

/** The rows of the blocks of all networks. */
export function rowsOf(stored: Stored): readonly Row[] {
  return rowsIn(stored.all('IPBlock'))
}

function rowsIn(blocks: readonly KubeObject[]): readonly Row[] {
  return blocks.flatMap((object) => {
    const { cidr, domain, rows } = IPBlock.parse(object).spec
    return Object.entries(rows).map(([unit, { owner, uid }]) => ({
      network: domain.replace('persistent-ips.net.', ''),
      address: Address.format(Address.add(Prefix.parse(cidr).address, Number(unit))),
      owner,
      uid,
    }))
  })
}
