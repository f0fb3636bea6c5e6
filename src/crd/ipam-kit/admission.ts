import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { Kind } from '../../errors/check.js'
import { type AdmissionRequest, type Admit, isSpecSame } from '../meta/admission.js'
import { type FieldError, type FieldValue, goQuote, invalidField } from '../meta/field-error.js'
import { labelSelectorErrors } from '../meta/label-selector.js'
import { KUBE, type KubeObject } from '../meta/object.js'
import { NEVER_CHANGES } from '../meta/strict.js'
import { type FamilyGrid, type FamilyGridPreferences, gridOf, gridProblem } from './grid.js'
import type { IPBlock } from './ip-block.js'
import { IPDomain } from './ip-domain.js'
import { IPPool, type IPPoolSpec } from './ip-pool.js'
import { admissionBy, BLOCKS, DOMAIN, domainOf, isSame } from './judge.js'
import { MAX_NAME_LENGTH } from './names.js'
import { poolOf, rowsOfPool } from './rows.js'
import { type PoolGrids, type PoolSpace, readPoolSpace } from './space.js'

/**
 * A request to admit a pool. A rule about other objects is skipped if they are left out.
 */
export type IPPoolAdmissionRequest = AdmissionRequest<IPPool> & {
  /** The domain of the pool. Default: it does not exist yet. */
  readonly domain?: IPDomain | undefined
  /** Pools of any domain. The list may include this pool. */
  readonly others?: readonly IPPool[] | undefined
  /** Blocks of any domain. */
  readonly blocks?: readonly IPBlock[] | undefined
}

/** A request to admit a domain. */
export type IPDomainAdmissionRequest = AdmissionRequest<IPDomain> & {
  /** Blocks of any domain. The deletion waits for those of this domain. */
  readonly blocks?: readonly IPBlock[] | undefined
}

/**
 * Decides whether a pool is valid: it fits its schema, its addresses are in its subnets
 * ({@link poolSpace}), and its selectors are valid. Its grid must be the grid of its domain and of
 * the other pools there. Domain and grid are immutable once they are set; the addresses may change.
 * An update without a change of the spec is always allowed.
 *
 * Warnings report overlapping pools, subnets without an address to allocate, allocated addresses
 * that the pool no longer contains, and rows that a deletion waits for. O(size of all arguments).
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation, or a domain of another name
 * @example
 * const subnets = [{ cidr: '10.0.0.0/24', gateway: '10.0.1.1' }]
 * const object = IPPool.parse({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPPool', metadata: { name: 'blue' }, spec: { subnets } })
 * admitIPPool({ operation: 'CREATE', object }).message
 * // 'IPPool.ipam-kit.dev "blue" is invalid: spec.subnets[0].gateway: Invalid value: "10.0.1.1": is not within 10.0.0.0/24'
 */
export const admitIPPool: Admit<IPPoolAdmissionRequest> = /* @__PURE__ */ admissionBy(IPPool, {
  beside: ['open', { domain: DOMAIN, blocks: BLOCKS, others: ['list?', KUBE as Kind] }],
  errors: poolErrors,
  warnings: poolWarnings,
  waitsFor: (pool, { blocks = [] }: IPPoolAdmissionRequest) => waitingForRows(pool, blocks, isOfPool),
})

function poolErrors(
  object: IPPool,
  before: IPPool | undefined,
  request: IPPoolAdmissionRequest,
): readonly FieldError[] {
  const { spec } = object
  const around = neighbourhoodOf(object, request)
  const grids = gridsOf(spec, around)
  return [
    ...nameErrors(object),
    ...(before === undefined ? [] : poolChangeErrors(before.spec, spec)),
    ...gridErrors(4, spec, around),
    ...gridErrors(6, spec, around),
    ...gridProblemErrors(4, grids.ipv4),
    ...gridProblemErrors(6, grids.ipv6),
    ...readPoolSpace(spec, grids).errors,
    ...(['namespaceSelector', 'nodeSelector'] as const).flatMap((field) =>
      labelSelectorErrors(`spec.${field}`, spec[field] ?? {}),
    ),
  ]
}

function poolWarnings(object: IPPool, request: IPPoolAdmissionRequest): readonly string[] {
  const around = neighbourhoodOf(object, request)
  const grids = gridsOf(object.spec, around)
  const { space } = readPoolSpace(object.spec, grids)
  return [
    ...overlapWarnings(space, around.pools, grids),
    ...emptySubnetWarnings(space),
    ...lostRowWarnings(object, space, request.blocks ?? []),
  ]
}

function neighbourhoodOf(object: IPPool, request: IPPoolAdmissionRequest): Neighbourhood {
  const { metadata, spec } = object
  const { others = [] } = request
  const pools = others.filter((pool) => pool.metadata.name !== metadata.name && pool.spec.domain === spec.domain)
  return { domain: domainOf(object, request), pools }
}

function gridsOf(spec: IPPoolSpec, around: Neighbourhood) {
  return { ipv4: gridOfAll(4, spec, around), ipv6: gridOfAll(6, spec, around) }
}

/**
 * Decides whether a domain is valid: its blocks have up to 1,024 units, and its grid is immutable.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 * @example
 * const ipv4 = { blockPrefixLength: 16, allocationPrefixLength: 32 }
 * const ipv6 = { blockPrefixLength: 120, allocationPrefixLength: 128 }
 * const object = IPDomain.parse({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPDomain', metadata: { name: 'lab' }, spec: { ipv4, ipv6 } })
 * admitIPDomain({ operation: 'CREATE', object }).errors.map(({ path, detail }) => `${path}: ${detail}`)
 * // ['spec.ipv4: a block has 65536 units, more than 1024']
 */
export const admitIPDomain: Admit<IPDomainAdmissionRequest> = /* @__PURE__ */ admissionBy(IPDomain, {
  beside: ['open', { blocks: BLOCKS }],
  errors: (object, before) => {
    if (before !== undefined && !isSpecSame(object, before)) {
      return [invalidField('spec', asValue(object.spec), NEVER_CHANGES)]
    }
    return [...nameErrors(object), ...gridProblemErrors(4, object.spec.ipv4), ...gridProblemErrors(6, object.spec.ipv6)]
  },
  waitsFor: (domain, { blocks = [] }: IPDomainAdmissionRequest) => waitingForRows(domain, blocks, isOfDomain),
})

/** An object, as a value of a field error. */
function asValue(object: object): FieldValue {
  return object as FieldValue
}

function nameErrors({ metadata: { name } }: KubeObject): readonly FieldError[] {
  if (name.length <= MAX_NAME_LENGTH) return []
  return [invalidField('metadata.name', name, `has more than ${MAX_NAME_LENGTH} characters`)]
}

/** Changes of immutable fields. A grid may be set later, but not changed. */
function poolChangeErrors(before: IPPoolSpec, after: IPPoolSpec): readonly FieldError[] {
  const errors: FieldError[] = []
  if (after.domain !== before.domain) errors.push(invalidField('spec.domain', after.domain, NEVER_CHANGES))
  for (const field of ['ipv4', 'ipv6'] as const) {
    const [wanted, now] = [before[field], after[field]]
    if (wanted === undefined || (now !== undefined && isSame(wanted, now))) continue
    errors.push(
      invalidField(`spec.${field}`, now === undefined ? null : asValue(now), `${NEVER_CHANGES} once it is set`),
    )
  }
  return errors
}

const GRID_FIELDS = ['blockPrefixLength', 'allocationPrefixLength'] as const

/** The domain of a pool, and its other pools. */
interface Neighbourhood {
  readonly domain: IPDomain | undefined
  /** The other pools of the domain. */
  readonly pools: readonly IPPool[]
}

/** The grid of another object, which a pool must agree with. */
interface Precedent {
  readonly who: string
  readonly grid: FamilyGridPreferences
}

function gridErrors(family: 4 | 6, spec: IPPoolSpec, { domain, pools }: Neighbourhood): readonly FieldError[] {
  const field = `ipv${family}` as const
  const preferences = spec[field] ?? {}
  const precedents: Precedent[] = pools.map((pool) => ({
    who: `pool ${goQuote(pool.metadata.name)}`,
    grid: pool.spec[field] ?? {},
  }))
  if (domain !== undefined) {
    precedents.unshift({ who: `domain ${goQuote(domain.metadata.name)}`, grid: domain.spec[field] })
  }
  return GRID_FIELDS.flatMap((name) => {
    const value = preferences[name]
    const other = precedents.find(({ grid }) => grid[name] !== undefined)
    if (value === undefined || other === undefined || other.grid[name] === value) return []
    return [invalidField(`spec.${field}.${name}`, value, `${other.who} has ${other.grid[name]}`)]
  })
}

/** The grid of the domain, or the grid that the preferences of all of its pools give. */
function gridOfAll(family: 4 | 6, spec: IPPoolSpec, { domain, pools }: Neighbourhood): FamilyGrid {
  const field = `ipv${family}` as const
  if (domain !== undefined) return domain.spec[field]
  const all = [spec, ...pools.map((pool) => pool.spec)].map((one) => one[field])
  const preferred = (name: (typeof GRID_FIELDS)[number]) => all.find((one) => one?.[name] !== undefined)?.[name]
  const blockPrefixLength = preferred('blockPrefixLength')
  const allocationPrefixLength = preferred('allocationPrefixLength')
  const use = spec.affinity === undefined ? 'shared' : 'node'
  return gridOf(family, { blockPrefixLength, allocationPrefixLength }, use)
}

function gridProblemErrors(family: 4 | 6, grid: FamilyGrid): readonly FieldError[] {
  const problem = gridProblem(family, grid)
  return problem === undefined ? [] : [invalidField(`spec.ipv${family}`, asValue(grid), problem)]
}

/** The maximum number of names in a warning: an API server truncates long warnings. */
const MAX_TOLD = 5

function overlapWarnings(space: PoolSpace, pools: readonly IPPool[], grids: PoolGrids): readonly string[] {
  const known = all(space)
  const overlapping = pools.filter(({ spec }) => RangeSet.overlaps(known, all(readPoolSpace(spec, grids).space)))
  if (overlapping.length === 0) return []
  const names = overlapping.map(({ metadata }) => metadata.name).sort()
  const told = names.slice(0, MAX_TOLD).join(', ')
  const more = names.length > MAX_TOLD ? ` and ${names.length - MAX_TOLD} more` : ''
  return [`has addresses in common with ${told}${more}: each address is allocated by one of them only`]
}

/** All addresses that a pool can allocate, reserved ones included. */
function all({ given, reserved }: PoolSpace): RangeSet.RangeSet {
  return RangeSet.union(given, reserved)
}

function emptySubnetWarnings(space: PoolSpace): readonly string[] {
  const known = all(space)
  const idle = space.subnets.filter(({ prefix }) => !RangeSet.overlaps(known, prefix))
  return idle.length === 0 ? [] : [`${idle.length} of ${space.subnets.length} subnets have no address to allocate`]
}

function lostRowWarnings(pool: IPPool, space: PoolSpace, blocks: readonly IPBlock[]): readonly string[] {
  const known = all(space)
  const lost = blocks
    .filter(({ spec }) => spec.domain === pool.spec.domain)
    .flatMap((block) => rowsOfPool(block, pool.metadata.name))
    .filter(({ row, range }) => row.state === undefined && !RangeSet.contains(known, range))
  return lost.length === 0
    ? []
    : [`rows whose addresses the pool no longer contains: ${lost.length}. They stay until they are released`]
}

function isOfPool(pool: IPPool, block: IPBlock): number {
  if (block.spec.domain !== pool.spec.domain) return 0
  return Object.values(block.spec.rows).filter((row) => poolOf(block, row) === pool.metadata.name).length
}

function isOfDomain(domain: IPDomain, block: IPBlock): number {
  return block.spec.domain === domain.metadata.name ? Object.keys(block.spec.rows).length : 0
}

/** The rows that a deletion waits for, if the finalizers are set. */
function waitingForRows<T extends KubeObject>(
  object: T,
  blocks: readonly IPBlock[],
  countRows: (object: T, block: IPBlock) => number,
): readonly string[] {
  const counts = blocks.map((block) => countRows(object, block)).filter((count) => count > 0)
  if (counts.length === 0) return []
  const rows = counts.reduce((sum, count) => sum + count, 0)
  return [`deletion waits for the release of its rows: ${rows} (blocks: ${counts.length})`]
}
