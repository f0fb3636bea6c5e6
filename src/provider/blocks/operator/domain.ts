import type { Condition } from '../../../claim/conditions.js'
import { setCondition } from '../../../claim/index.js'
import { type FamilyGrid, gridOf, gridProblem } from '../../../crd/ipam-kit/grid.js'
import { IPDomain, type IPDomainSpec } from '../../../crd/ipam-kit/ip-domain.js'
import type { IPPool } from '../../../crd/ipam-kit/ip-pool.js'
import { BLOCKS_FINALIZER } from '../../../crd/ipam-kit/names.js'
import { hasFinalizer, isDeleting } from '../../../crd/meta/object.js'
import {
  addFinalizer,
  type Effect,
  type Plan,
  type PlanTime,
  patchStatus,
  removeFinalizer,
} from '../../../plan/index.js'
import { timeText } from '../../claims/status.js'
import type { DomainBlocks } from './domain-blocks.js'
import type { OperatorOutcome } from './outcome.js'

type Family = 4 | 6

/** Why the grid of a domain cannot be used. */
export function domainProblem({ spec }: IPDomain): string | undefined {
  const ipv4 = gridProblem(4, spec.ipv4)
  if (ipv4 !== undefined) return `spec.ipv4: ${ipv4}`
  const ipv6 = gridProblem(6, spec.ipv6)
  return ipv6 === undefined ? undefined : `spec.ipv6: ${ipv6}`
}

/**
 * The domain that a pool names and that does not exist. Its grid is that of the existing blocks,
 * else the former grid of the pool, else the one that the pool requests.
 */
export function domainFor(pool: IPPool, blocks: DomainBlocks): IPDomain {
  const { apiVersion, kind } = IPDomain.info
  const spec: IPDomainSpec = {
    ipv4: blocks.gridOf(4) ?? gridFor(pool, 4),
    ipv6: blocks.gridOf(6) ?? gridFor(pool, 6),
  }
  return { apiVersion, kind, metadata: { name: pool.spec.domain, finalizers: [BLOCKS_FINALIZER] }, spec }
}

function gridFor({ spec, status }: IPPool, family: Family): FamilyGrid {
  const [requested, before] = family === 4 ? [spec.ipv4, status?.ipv4] : [spec.ipv6, status?.ipv6]
  if (before !== undefined) {
    const { blockPrefixLength, allocationPrefixLength } = before
    return { blockPrefixLength, allocationPrefixLength }
  }
  return gridOf(family, requested ?? {}, spec.affinity === undefined ? 'shared' : 'node')
}

/** Whether a pool requests another grid than that of its domain. */
export function gridConflict({ spec }: IPPool, domain: IPDomain): string | undefined {
  for (const family of ['ipv4', 'ipv6'] as const) {
    for (const field of ['blockPrefixLength', 'allocationPrefixLength'] as const) {
      const [requested, has] = [spec[family]?.[field], domain.spec[family][field]]
      if (requested !== undefined && requested !== has) {
        return `spec.${family}.${field} is ${requested}, and that of domain ${domain.metadata.name} is ${has}`
      }
    }
  }
  return undefined
}

/**
 * Whether a pool requests another grid than that of a domain that it is not in. The request of a
 * family that has that grid already, as its status keeps it, has no effect: its addresses are given
 * on it.
 */
export function newGridConflict(pool: IPPool, domain: IPDomain): string | undefined {
  const requestOf = (field: 'ipv4' | 'ipv6') => {
    const [before, has] = [pool.status?.[field], domain.spec[field]]
    const isSame =
      before?.blockPrefixLength === has.blockPrefixLength &&
      before.allocationPrefixLength === has.allocationPrefixLength
    return isSame ? undefined : pool.spec[field]
  }
  return gridConflict({ ...pool, spec: { ...pool.spec, ipv4: requestOf('ipv4'), ipv6: requestOf('ipv6') } }, domain)
}

/** Plans a domain itself: it stays while it has pools or blocks. */
export function planDomain(
  {
    domain,
    blocks,
    pools,
  }: {
    readonly domain: IPDomain
    readonly blocks: DomainBlocks
    /** The number of its pools. */
    readonly pools: number
  },
  time: PlanTime,
): Plan<OperatorOutcome> {
  const count = blocks.size
  const isHeld = hasFinalizer(domain, BLOCKS_FINALIZER)
  if (isDeleting(domain)) {
    const unreadable = blocks.unreadable[0]?.name
    if (count + pools > 0 || unreadable !== undefined) {
      const beside = unreadable === undefined ? '' : `, and for block ${unreadable}, which cannot be read`
      const message = `kept for ${count} blocks and ${pools} pools${beside}`
      return { outcome: { kind: 'kept', message }, effects: [] }
    }
    const why = 'no pool or block uses it'
    const effects = isHeld ? [removeFinalizer(domain, BLOCKS_FINALIZER, why)] : []
    return { outcome: { kind: 'going', message: why }, effects }
  }
  const effects: Effect[] = isHeld
    ? []
    : [addFinalizer(domain, BLOCKS_FINALIZER, 'keeps it until its blocks are deleted')]
  const offGrid = blocks.offGridOf(domain.spec)
  const off = offGrid && `block ${offGrid} does not lie on the grid of the domain`
  const problem = domainProblem(domain) ?? off
  const update =
    problem === undefined
      ? ({ type: 'Ready', status: 'True', reason: 'Ready', message: '' } as const)
      : ({ type: 'Ready', status: 'False', reason: 'InvalidGrid', message: problem } as const)
  const conditions: readonly Condition[] | undefined = domain.status?.conditions
  const now = setCondition(conditions, update, timeText(time))
  if (now !== conditions) effects.push(patchStatus(domain, { status: { conditions: now } }, 'its state has changed'))
  const outcome: OperatorOutcome =
    problem === undefined ? { kind: 'ready', message: `${count} blocks` } : { kind: 'broken', message: problem }
  return { outcome, effects }
}
