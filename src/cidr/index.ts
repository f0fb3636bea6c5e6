import * as Address from './address.js'
import * as Prefix from './prefix.js'
import * as Range from './range.js'
import * as RangeSet from './range-set.js'

// Each noun is a namespace of functions and, under the same name, the type of its values.
type Address = Address.Address
type Prefix = Prefix.Prefix
type Range = Range.Range
type RangeSet = RangeSet.RangeSet

export type { Address4, Address6, Family } from './address.js'
export type { Ranges4 } from './ranges4.js'
export type { Ranges6 } from './ranges6.js'
export type { ZonePolicy } from './scan.js'
export { Address, Prefix, Range, RangeSet }
