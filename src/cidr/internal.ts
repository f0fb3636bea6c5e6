// What other folders of this package need of cidr and its users do not. Not an entry of the
// package.
export { PrefixMap } from './map/prefix-map.js'
export { assertPrefix, whyNotPrefix } from './nouns/prefix-core.js'
export { frozenPrefix, frozenSet } from './set/frozen.js'
export { mix } from './set/mix.js'
export { assertSet, eachRange } from './set/range-set.js'
export { readSet, writeSet } from './set/range-set-codec.js'
export type { Cover } from './set/range-set-cover.js'
export { Ranges4 } from './set/ranges4.js'
export { type ReserveRule, type SubnetEdges, subnetEdges } from './set/subnet-edges.js'
export {
  assertAddress,
  assertBytes,
  assertFamily,
  assertLength,
  isBytes,
  notBytes,
  whyNotAddress,
} from './text/checks.js'
