import { type LabelSelector, matchesLabels } from '../../../crd/meta/label-selector.js'
import { assertObject } from '../../../errors/checks.js'
import { assertKnown, type KnownBlocks } from '../tasks/known-blocks.js'
import type { AllocationRequest } from '../tasks/request.js'
import type { PoolView } from './pool-view.js'

/**
 * Why a pool gives nothing to an owner. `notReady`: for now; `refused`: as long as neither changes.
 */
export interface Refusal {
  readonly kind: 'notReady' | 'refused'
  readonly message: string
}

/** Whether a pool gives to such an owner, apart from room. O(selectors). */
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
 * The pools that give to such an owner, for who names none: those that can be used now, the one
 * with the highest priority first, and of the same priority by name. O(pools).
 *
 * @example
 * poolsFor(new KnownBlocks({ isComplete: true }), {}) // []
 */
export function poolsFor(
  known: KnownBlocks,
  owner: Pick<AllocationRequest, 'node' | 'namespaceLabels'>,
): readonly string[] {
  assertKnown('poolsFor', known)
  assertObject('poolsFor', 'owner', owner)

  return [...known.pools()]
    .filter((pool) => refusalOf(pool, owner) === undefined)
    .sort(({ name: a, object: left }, { name: b, object: right }) => {
      return right.spec.priority - left.spec.priority || (a < b ? -1 : 1)
    })
    .map(({ name }) => name)
}

/** Labels that are not known are none: who has a selector says who. */
function selects(selector: LabelSelector | undefined, labels: { readonly [key: string]: string } | undefined): boolean {
  return selector === undefined || matchesLabels(selector, labels ?? {})
}
