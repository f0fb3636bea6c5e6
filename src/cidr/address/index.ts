/**
 * The functions of `Address` by themselves. With `import * as Address`, a bundler that keeps a noun
 * whole, such as esbuild, bundles only the functions in use.
 *
 * @module ipam-kit/cidr/address
 */

export type {
  Address4,
  Address6,
  AddressKind,
  MalformedText,
  Result,
  SpecialPurposeEntry,
  TextOptions,
  TextWarning,
  ZonedAddress,
} from '../index.js'
export * from '../nouns/address.js'
