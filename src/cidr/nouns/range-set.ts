// The namespace `RangeSet` of ipam-kit/cidr.
export {
  complement,
  contains,
  empty,
  equals,
  first,
  fromAddresses,
  fromPrefixes,
  fromRanges,
  intersect,
  isEmpty,
  last,
  overlaps,
  prefixes,
  type RangeSet,
  ranges,
  size,
  subtract,
  union,
} from '../range-set.js'
export { builder } from '../range-set-builder.js'
export { decode, encode, safeDecode } from '../range-set-codec.js'
export { cover } from '../range-set-cover.js'
export { addresses, at, random, rank } from '../range-set-order.js'
export { format, formatPrefixes, parse, safeParse, safeParseEntry } from '../range-set-text.js'
