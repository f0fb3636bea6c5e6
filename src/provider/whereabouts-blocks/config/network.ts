import { isName } from '../../../crd/ipam-kit/block-name.js'
import { check, type KindOf } from '../../../errors/check.js'
import { INVALID_IPAM_CONFIG } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import type { Result } from '../../../errors/index.js'
import { quote } from '../../../errors/quote.js'
import { refuse } from '../../../errors/refuse.js'
import { type IpamDialect, type ReadConfigOptions, readIpamConfig } from '../../whereabouts/config/config.js'
import type { ConfigIssues } from '../../whereabouts/config/issues.js'
import type { Members } from '../../whereabouts/config/members.js'
import type { ConfigIssue, WhereaboutsConfig } from '../../whereabouts/config/types.js'
import { rangePoolsOf } from './range-pool.js'

/** `ipam.type` of networks on blocks. */
export const BLOCK_IPAM_TYPE = 'ipam-kit'

/** A network whose addresses are rows of blocks. */
export interface BlockNetwork {
  readonly config: WhereaboutsConfig
  /**
   * `ipam.pools`: the names of IPPools of ipam-kit.dev, each gives one address of each of its
   * families. Empty: each range of `config` has a pool whose name follows from it.
   */
  readonly pools: readonly string[]
}

export type ReadBlockNetworkOptions = Omit<ReadConfigOptions, 'rules'>

const OPTIONS: KindOf<ReadBlockNetworkOptions> = {
  use: ['one?', { allocate: 1, release: 1 }],
  flatFile: 'any?',
  args: ['record?', 'text'],
}

/**
 * Reads the configuration of whereabouts whose IPAM `type` is `ipam-kit`. The type is another one
 * because upstream reads a `datastore` and ignores it: a binary of upstream that is left on a Node
 * would give addresses of its own pools beside the blocks. It refuses this type, and this function
 * refuses `whereabouts`. O(n).
 *
 * - `pools` names the pools in place of the ranges: `["blue", "blue6"]`
 * - A configuration with an IPAMClaim is refused: rows of blocks belong to Pods
 * - A range is refused that has the pool of a range before it
 * - Everything else is as with `readWhereaboutsConfig` of `ipam-kit/provider/whereabouts`
 *
 * @param input the text or the value of the configuration
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * const ipam = { type: 'ipam-kit', range: '10.0.0.0/24' }
 * readBlockNetwork({ cniVersion: '1.0.0', name: 'blue', ipam }).ok // true
 */
export function readBlockNetwork(
  input: string | object,
  options: ReadBlockNetworkOptions = {},
): Result<BlockNetwork, 'INVALID_IPAM_CONFIG'> {
  if (typeof input !== 'string' && typeof input !== 'object') {
    refuse('readBlockNetwork', 'input', 'a text or an object', typeof input)
  }
  check<ReadBlockNetworkOptions>('readBlockNetwork', 'options', options, OPTIONS)

  const read = readIpamConfig(input, options, DIALECT)
  if (!read.ok) return read
  const network: BlockNetwork = read.value
  const issues = options.use === 'release' ? [] : issuesOf(network)
  return issues.length === 0 ? { ok: true, value: network } : failWith(INVALID_IPAM_CONFIG, { issues })
}

const DIALECT: IpamDialect = { type: BLOCK_IPAM_TYPE, pools: readPools }

/** Members that only ranges have. */
const OF_RANGES = ['range', 'ipRanges', 'node_slice_size', 'network_name', 'enable_overlapping_ranges'] as const

function readPools(ipam: Members, issues: ConfigIssues): readonly string[] {
  const names = ipam.texts('pools')
  const path = ipam.path('pools')
  names.forEach((name, index) => {
    const at = `${path}[${index}]`
    if (!isName(name)) issues.add(at, `${quote(name)} is not the name of a pool`, `invalid pool: ${name}`)
    if (names.indexOf(name) < index) issues.strict(at, `names ${quote(name)} again`)
  })
  if (names.length === 0) return names
  for (const field of OF_RANGES) {
    const value = ipam.given[field]
    const isGiven = Array.isArray(value) ? value.length > 0 : (value ?? '') !== ''
    if (isGiven) issues.strict(ipam.path(field), `has no effect beside ${path}`)
  }
  return names.filter((name, index) => isName(name) && names.indexOf(name) === index)
}

/** What a network on blocks cannot have. */
function issuesOf({ config, pools }: BlockNetwork): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = []
  if (config.claim !== undefined) {
    issues.push({
      path: 'ipam-claim-reference',
      message: `an IPAMClaim (${config.claim.name}) cannot hold addresses of blocks`,
    })
  }
  if (pools.length > 0) return issues
  const names: string[] = []
  for (const pool of rangePoolsOf(config)) {
    const path = `ranges[${names.length}]`
    if (pool.problem !== undefined) issues.push({ path, message: pool.problem })
    const former = names.indexOf(pool.name)
    if (former >= 0) issues.push({ path, message: `has the addresses of ranges[${former}] again` })
    names.push(pool.name)
  }
  return issues
}
