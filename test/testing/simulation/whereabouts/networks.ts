import { Address, Prefix } from 'ipam-kit/cidr'
import type { Dice } from 'ipam-kit/testing'

/** A range, as a configuration has it. */
export interface NetworkRange {
  readonly range: string
  readonly range_start?: string
  readonly range_end?: string
  readonly exclude?: readonly string[]
}

/** A secondary network. */
export interface Network {
  readonly name: string
  readonly networkName?: string
  readonly ranges: readonly NetworkRange[]
  readonly gateway?: string
  /** Whether addresses are reserved over all ranges of the network name. */
  readonly overlap: boolean
}

const SMALL: Network = { name: 'small', ranges: [{ range: '10.0.0.0/29' }], overlap: true }
const LARGE: Network = {
  name: 'large',
  ranges: [{ range: '10.0.0.0/28', range_start: '10.0.0.2', exclude: ['10.0.0.8/30', '10.0.0.5'] }],
  gateway: '10.0.0.2',
  overlap: true,
}
const PAIR: Network = { name: 'pair', ranges: [{ range: '10.1.0.0/30' }], overlap: true }
const SIX: Network = { name: 'six', ranges: [{ range: 'fd00::/125' }], gateway: 'fd00::1', overlap: true }
const DUAL: Network = {
  name: 'dual',
  ranges: [{ range: '10.0.0.0/29', range_end: '10.0.0.5' }, { range: 'fd00::/125' }],
  overlap: true,
}
const DUAL_SCARCE: Network = {
  name: 'scarce',
  ranges: [{ range: '10.2.0.0/29' }, { range: 'fd00:1::/126' }],
  overlap: true,
}
const BLUE: Network = { name: 'blue', networkName: 'blue', ranges: [{ range: '10.0.0.0/29' }], overlap: true }
const BLUE_LARGE: Network = {
  name: 'blue-large',
  networkName: 'blue',
  ranges: [{ range: '10.0.0.0/28', range_end: '10.0.0.7' }],
  overlap: true,
}
const PLAIN: Network = { name: 'plain', ranges: [{ range: '10.3.0.0/29' }], gateway: '10.3.0.1', overlap: false }

/** Networks that are there together. Each has few addresses, and most overlap. */
const SETTINGS: readonly (readonly Network[])[] = [
  [SMALL],
  [SMALL, LARGE],
  [SMALL, LARGE],
  [DUAL, LARGE],
  [DUAL, SIX],
  [DUAL_SCARCE],
  [SMALL, BLUE],
  [BLUE, BLUE_LARGE],
  [PAIR, SIX],
  [PLAIN, PAIR],
  [PLAIN],
]

export function pickNetworks(dice: Dice): readonly Network[] {
  return dice.pick(SETTINGS)
}

/** Within a domain an address belongs to one holder; a network without checks is its own. */
export function domainOf({ name, networkName = '', overlap }: Network): string {
  return overlap ? `checked ${networkName}` : `alone ${name}`
}

/** The configuration that a runtime passes to the plugin. */
export function configOf({ name, networkName, ranges, gateway, overlap }: Network, claim?: string): object {
  return {
    cniVersion: '1.0.0',
    name,
    type: 'macvlan',
    ...(claim !== undefined && { args: { cni: { 'ipam-claim-reference': claim } } }),
    ipam: {
      type: 'whereabouts',
      ipRanges: ranges,
      enable_overlapping_ranges: overlap,
      ...(gateway !== undefined && { gateway }),
      ...(networkName !== undefined && { network_name: networkName }),
    },
  }
}

/** `:` and `/` are dashes. A text that ends in a colon gets a zero. */
function dashed(text: string): string {
  return (text.endsWith(':') ? `${text}0` : text).replace(/[:/]/g, '-')
}

export function poolNameOf({ networkName }: Network, { range }: NetworkRange): string {
  return `${networkName === undefined ? '' : `${networkName}-`}${dashed(range)}`
}

export function reservationNameOf({ networkName }: Network, address: string): string {
  return `${networkName === undefined ? '' : `${networkName}-`}${dashed(address)}`
}

/** The addresses that a range gives, lowest first, counted one by one. */
export function addressesOf({ gateway }: Network, range: NetworkRange, rules: 'ours' | 'upstream'): readonly string[] {
  const prefix = Prefix.parse(range.range)
  const [first, last] = [Address.add(Prefix.first(prefix), 1), Prefix.last(prefix)]
  const excluded = (range.exclude ?? []).map((text) => Prefix.parse(text.includes('/') ? text : `${text}/32`))
  const found: string[] = []
  for (let address = first; Address.compare(address, last) < 0; address = Address.add(address, 1)) {
    const text = Address.format(address)
    const isBefore = range.range_start !== undefined && Address.compare(address, Address.parse(range.range_start)) < 0
    const isAfter = range.range_end !== undefined && Address.compare(address, Address.parse(range.range_end)) > 0
    // upstream gives gateways away
    const isKept = rules === 'ours' && text === gateway
    if (isBefore || isAfter || isKept || excluded.some((each) => Prefix.contains(each, address))) continue
    found.push(text)
  }
  return found
}

/** The address of a row. */
export function addressAt(range: string, key: string): string {
  return Address.format(Address.add(Prefix.parse(range).address, Number(key)))
}

/** The key of the row of an address. */
export function keyOf(range: string, address: string): string {
  return String(Address.distance(Prefix.parse(range).address, Address.parse(address)))
}
