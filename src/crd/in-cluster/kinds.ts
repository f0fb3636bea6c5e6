import type { KindOf } from '../../errors/check.js'
import type { InClusterIPPoolSpec, InClusterPrefixPoolSpec } from './pools.js'

// What checks of arguments hold of the specs of pools. Numbers are judged by the readers of a spec.

export const ADDRESS_SPEC: KindOf<InClusterIPPoolSpec> = [
  'open',
  { addresses: ['list', 'text'], gateway: 'text?', excludedAddresses: ['list?', 'text'] },
]

export const PREFIX_SPEC: KindOf<InClusterPrefixPoolSpec> = [
  'open',
  { prefixes: ['list', 'text'], gateway: 'text?', excludedPrefixes: ['list?', 'text'] },
]
