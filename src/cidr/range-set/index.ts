/**
 * The functions of `RangeSet` by themselves. With `import * as RangeSet`, a bundler that keeps a
 * noun whole, such as esbuild, bundles only the functions in use.
 *
 * @module ipam-kit/cidr/range-set
 */

export type {
  Address4,
  Address6,
  AddressValue,
  Cover,
  CoverOptions,
  PrefixValue,
  RangeSetBuilder,
  RangeTextOptions,
  RangeValue,
  Result,
} from '../index.js'
export * from '../nouns/range-set.js'
