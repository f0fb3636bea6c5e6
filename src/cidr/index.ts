/**
 * Addresses, prefixes, ranges and sets of both families: parse, format, compare, split, subtract,
 * and find the longest match. Text is read as strictly as by Go's net/netip and written as RFC
 * 5952 says.
 *
 * @module ipam-kit/cidr
 */
import * as Address from './nouns/address.js'
import * as Prefix from './nouns/prefix.js'
import * as Range from './nouns/range.js'
import * as RangeSet from './nouns/range-set.js'

// Each noun is a namespace of functions and, under the same name, the type of its values.
type Address = Address.Address
type Prefix = Prefix.Prefix
type Range = Range.Range
type RangeSet = RangeSet.RangeSet

export type { MalformedText, Result } from '../errors/index.js'
export { type PrefixEntry, PrefixMap } from './map/prefix-map.js'
export type { Prefix as PrefixValue, PrefixTextOptions } from './nouns/prefix-core.js'
export type { Range as RangeValue, RangeTextOptions, SubnetRange } from './nouns/range-core.js'
export type { Address as AddressValue, Address4, Address6, Family } from './nouns/types.js'
export {
  type AddressKind,
  type RegistryFlag,
  type SpecialPurposeEntry,
  type SpecialPurposeRegistry,
  specialPurposeRegistry,
} from './registry/special-purpose.js'
export type { RangeSet as RangeSetValue } from './set/range-set.js'
export type { RangeSetBuilder } from './set/range-set-builder.js'
export type { Cover, CoverOptions } from './set/range-set-cover.js'
export type { Ranges4 } from './set/ranges4.js'
export type { Ranges6 } from './set/ranges6.js'
export type { ReserveRule, SubnetEdges } from './set/subnet-edges.js'
export type { TextOptions, TextProfile } from './text/profile.js'
export type { ZonePolicy } from './text/scan.js'
export type { TextWarning } from './text/warnings.js'
export type { ZonedAddress } from './text/zoned.js'
export { Address, Prefix, Range, RangeSet }
