import { type LabelSelector, matchesLabels } from '../../../crd/meta/label-selector.js'
import { check } from '../../../errors/check.js'
import { assertKnown, type KnownBlocks } from '../tasks/known-blocks.js'
import type { AllocationRequest } from '../tasks/request.js'
import type { PoolView } from './pool-view.js'

/**
 * Why a pool gives nothing to an owner. `notReady`: for now; `refused`: until the pool or the owner
 * changes.
 */
export interface Refusal {
  readonly kind: 'notReady' | 'refused'
  readonly message: string
}

/**
 * Why a pool does not serve an owner, whatever its capacity; `undefined` if it does. O(selectors).
 */
export function refusalOf(
  pool: PoolView,
  { node, namespaceLabels }: Pick<AllocationRequest, 'node' | 'namespaceLabels'>,
): Refusal | undefined {
  if (pool.problem !== undefined) return { kind: 'notReady', message: `pool ${pool.name}: ${pool.problem}` }
  const { namespaceSelector, nodeSelector } = pool.object.spec
  if (!selects(namespaceSelector, namespaceLabels)) {
    return { kind: 'refused', message: `pool ${pool.name} is not for this namespace` }
  }
  if (!selects(nodeSelector, node?.labels))
    return { kind: 'refused', message: `pool ${pool.name} is not for this node` }
  return undefined
}

/**
 * The pools that serve an owner, for callers that name no pool. Those that can be used now, by
 * descending priority, then by name. O(pools).
 *
 * @example
 * poolsFor(new KnownBlocks({ isComplete: true }), {}) // []
 */
export function poolsFor(
  known: KnownBlocks,
  owner: Pick<AllocationRequest, 'node' | 'namespaceLabels'>,
): readonly string[] {
  assertKnown('poolsFor', known)
  check('poolsFor', 'owner', owner, 'object')

  return [...known.pools()]
    .filter((pool) => refusalOf(pool, owner) === undefined)
    .sort(({ name: a, object: left }, { name: b, object: right }) => {
      return right.spec.priority - left.spec.priority || (a < b ? -1 : 1)
    })
    .map(({ name }) => name)
}

/** Labels that are not known match no selector. */
function selects(selector: LabelSelector | undefined, labels: { readonly [key: string]: string } | undefined): boolean {
  return selector === undefined || matchesLabels(selector, labels ?? {})
}
