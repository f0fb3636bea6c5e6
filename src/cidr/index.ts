import * as Address from './nouns/address.js'
import * as Prefix from './nouns/prefix.js'
import * as Range from './nouns/range.js'
import * as RangeSet from './nouns/range-set.js'

// Each noun is a namespace of functions and, under the same name, the type of its values.
type Address = Address.Address
type Prefix = Prefix.Prefix
type Range = Range.Range
type RangeSet = RangeSet.RangeSet

export type { Address4, Address6, Family } from './address.js'
export type { PrefixTextOptions } from './prefix.js'
export { type PrefixEntry, PrefixMap } from './prefix-map.js'
export type { TextOptions, TextProfile } from './profile.js'
export type { RangeTextOptions, SubnetRange } from './range.js'
export type { RangeSetBuilder } from './range-set-builder.js'
export type { Cover, CoverOptions } from './range-set-cover.js'
export type { RangeSetTextOptions } from './range-set-text.js'
export type { Ranges4 } from './ranges4.js'
export type { Ranges6 } from './ranges6.js'
export type { ZonePolicy } from './scan.js'
export type { AddressKind, RegistryFlag, SpecialPurposeEntry, SpecialPurposeRegistry } from './special-purpose.js'
export { specialPurposeRegistry } from './special-purpose.js'
export type { TextWarning } from './warnings.js'
export type { ZonedAddress } from './zoned.js'
export { Address, Prefix, Range, RangeSet }
