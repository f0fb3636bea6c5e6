// The namespace `Prefix` of ipam-kit/cidr.
export { contains, first, format, last, masked, of, type Prefix, parse, safeParse, size } from '../prefix.js'
export {
  addressAt,
  compare,
  equals,
  fromBytes,
  interior,
  overlaps,
  parent,
  sibling,
  split,
  subnetAt,
  subnetCount,
  supernet,
  toBytes,
} from '../prefix-math.js'
export { warningsForPrefix as warningsFor } from '../warnings.js'
