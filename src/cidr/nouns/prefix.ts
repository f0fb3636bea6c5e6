// The namespace `Prefix` of ipam-kit/cidr.

export { warningsForPrefix as warningsFor } from '../text/warnings.js'
export { contains, first, format, last, masked, of, type Prefix, parse, safeParse, size } from './prefix-core.js'
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
} from './prefix-math.js'
