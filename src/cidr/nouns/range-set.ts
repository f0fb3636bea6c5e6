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
} from '../set/range-set.js'
export { builder } from '../set/range-set-builder.js'
export { decode, encode, safeDecode } from '../set/range-set-codec.js'
export { cover } from '../set/range-set-cover.js'
export { addresses, at, random, rank } from '../set/range-set-order.js'
export { format, formatPrefixes, parse, safeParse, safeParseEntry } from '../set/range-set-text.js'
