/**
 * The functions of `Prefix` by themselves. With `import * as Prefix`, a bundler that keeps a noun
 * whole, such as esbuild, bundles only the functions in use.
 *
 * @module ipam-kit/cidr/prefix
 */

export type { Address4, Address6, AddressValue, PrefixTextOptions, RangeValue, Result, TextWarning } from '../index.js'
export * from '../nouns/prefix.js'
