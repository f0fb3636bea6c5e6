import type { KubeObject } from '../../../crd/meta/object.js'
import type { PoolRow } from '../../../crd/whereabouts/index.js'
import type { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { readRowClaim } from '../../whereabouts/tasks/holder.js'
import type { RowDifference } from './compare.js'
import { type OldPool, obstacle } from './old-pools.js'
import { claimProblem, ofRow } from './plan-pool.js'
import type { UpgradeOddity } from './report.js'

/** The pool and the blocks, as they were at one version of the pool. */
export interface Sides {
  readonly object: KubeObject
  readonly old: OldPool
  readonly rows: readonly PoolRow[]
  readonly known: KnownBlocks
  readonly differences: readonly RowDifference[]
}

/** Where the rows of a pool are in blocks. */
export function blocksOf({ ranges }: OldPool): { readonly domain: string; readonly targets: readonly string[] } {
  return { domain: ranges[0]?.domain ?? '', targets: ranges.map(({ name }) => name) }
}

/** What the pool alone says. */
export function odditiesOf({ oddities, read }: OldPool): readonly UpgradeOddity[] {
  const claims = (read?.rows ?? []).flatMap((row) => {
    const claim = readRowClaim(row)
    const { key, address } = row
    return claim === undefined ? [] : [obstacle('claim', claimProblem(claim), { key, address })]
  })
  return [...oddities, ...(read?.oddities ?? []).map(ofRow), ...claims]
}
