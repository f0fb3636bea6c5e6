import { asObject } from '../../../crd/meta/json.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import type { Watch } from '../../../plan/index.js'
import { BLOCK_IPAM_TYPE, readBlockNetwork } from '../config/network.js'
import { type RangePool, rangePoolsOf } from '../config/range-pool.js'

/** A NetworkAttachmentDefinition, as far as its IPPools are concerned. */
export type BlockDefinition =
  /** Of another IPAM type, or with its configuration in a file of the Nodes. */
  | { readonly kind: 'ignored'; readonly object: KubeObject }
  | { readonly kind: 'invalid'; readonly object: KubeObject; readonly problem: string }
  /** One pool for each range. A network that names its pools has none. */
  | { readonly kind: 'network'; readonly object: KubeObject; readonly pools: readonly RangePool[] }

/** A definition with pools. */
export type NetworkDefinition = Extract<BlockDefinition, { kind: 'network' }>

/**
 * All definitions. Indexes: `pool`, by the names of their IPPools; `network`, by the
 * `network_name` of their pools; `kind`, by what they are.
 */
export const definitionWatch: Watch<BlockDefinition> = {
  ...NetworkAttachmentDefinition.info,
  parse: (object) => ({ ok: true, value: readDefinition(object) }),
  indexes: {
    pool: (facts) => (facts.kind === 'network' ? facts.pools.map(({ name }) => name) : []),
    network: (facts) => (facts.kind === 'network' ? [...new Set(facts.pools.map(({ network }) => network))] : []),
    kind: ({ kind }) => [kind],
  },
}

/** Never fails: one definition that cannot be read stops no other. */
function readDefinition(object: KubeObject): BlockDefinition {
  const text = asObject(object.spec)?.config
  if (text === undefined || text === '') return { kind: 'ignored', object }
  if (typeof text !== 'string') return { kind: 'invalid', object, problem: 'spec.config is not a text' }
  const read = readBlockNetwork(text)
  if (read.ok)
    return { kind: 'network', object, pools: read.value.pools.length > 0 ? [] : rangePoolsOf(read.value.config) }
  const { issues } = read.failure.context
  const isOther = issues.some(({ path }) => path === 'ipam.type' || path === 'plugins' || path === NO_IPAM)
  // a text that is no JSON may be of any type
  const isUnclear = issues.some(({ path }) => path === 'input') && !text.includes(`"${BLOCK_IPAM_TYPE}"`)
  if (isOther || isUnclear) return { kind: 'ignored', object }
  return { kind: 'invalid', object, problem: read.failure.message }
}

/** The path of a configuration without IPAM. */
const NO_IPAM = 'ipam'
