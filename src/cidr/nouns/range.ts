// The namespace `Range` of ipam-kit/cidr.
export {
  contains,
  format,
  fromPrefix,
  of,
  parse,
  parseInSubnet,
  type Range,
  safeParse,
  safeParseInSubnet,
  size,
} from './range-core.js'
export { compare, equals, fromBytes, intersect, overlaps, prefixes, subtract, toBytes } from './range-math.js'
