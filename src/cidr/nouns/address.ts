// The namespace `Address` of ipam-kit/cidr.

export { embeddedIPv4, isGloballyReachable, kindOf as kind, specialPurposeOf } from '../registry/special-purpose.js'
export { warningsForAddress as warningsFor } from '../text/warnings.js'
export { formatZoned, parseZoned, safeParseZoned } from '../text/zoned.js'
export {
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
} from './address-core.js'
export { fromBytes, reverseName, toBytes, toMapped, unmap } from './address-forms.js'
export type { Address } from './types.js'
