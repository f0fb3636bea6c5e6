import * as Address from './nouns/address.js'
import * as Prefix from './nouns/prefix.js'
import * as Range from './nouns/range.js'
import * as RangeSet from './nouns/range-set.js'

// Each noun is a namespace of functions and, under the same name, the type of its values.
type Address = Address.Address
type Prefix = Prefix.Prefix
type Range = Range.Range
type RangeSet = RangeSet.RangeSet

export { PrefixMap } from './map/prefix-map.js'
export type { Address4, Address6, Family } from './nouns/types.js'
export { specialPurposeRegistry } from './registry/special-purpose.js'
export type { TextOptions } from './text/profile.js'
export { Address, Prefix, Range, RangeSet }
