/**
 * Other spellings of an address: names of reverse DNS, hosts of URLs and endpoints, and the
 * Teredo, 6to4 and NAT64 addresses that contain an IPv4 address. This is the only entry that
 * depends on ip-address.
 *
 * @module ipam-kit/cidr/forms
 */
import * as Nat64 from './nat64.js'
import * as ReverseName from './reverse-name.js'
import * as SixToFour from './six-to-four.js'
import * as Teredo from './teredo.js'
import * as UrlHost from './url-host.js'

// Each noun is a namespace of functions and, where it has values of its own, the type of them.
type SixToFour = SixToFour.SixToFour
type Teredo = Teredo.Teredo
type UrlHost = UrlHost.UrlHost

export type { Result } from '../../errors/index.js'
export type { Address4, Address6, AddressValue, PrefixValue } from '../index.js'
export type { SixToFour as SixToFourValue } from './six-to-four.js'
export type { Teredo as TeredoValue } from './teredo.js'
export type { UrlHost as UrlHostValue } from './url-host.js'
export { Nat64, ReverseName, SixToFour, Teredo, UrlHost }
