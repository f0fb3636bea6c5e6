// The namespace `Address` of ipam-kit/cidr.
export {
  type Address,
  add,
  bitsOf,
  compare,
  distance,
  equals,
  format,
  from4,
  fromBigInt,
  goMessage,
  key,
  next,
  parse,
  previous,
  safeParse,
  toBigInt,
} from '../address.js'
export { fromBytes, reverseName, toBytes, toMapped, unmap } from '../address-forms.js'
export { embeddedIPv4, isGloballyReachable, kindOf as kind, specialPurposeOf } from '../special-purpose.js'
export { warningsForAddress as warningsFor } from '../warnings.js'
export { formatZoned, parseZoned, safeParseZoned } from '../zoned.js'
