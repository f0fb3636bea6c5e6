import type { Address } from '../../../cidr/nouns/address.js'
import { formatRef, refOf } from '../../../crd/meta/object.js'
import {
  type IPPool,
  NodeSlicePool,
  type OverlappingRangeIPReservation,
  type PoolRow,
  poolNamePrefix,
  readPodref,
  reservationReadings,
} from '../../../crd/whereabouts/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import { defineWithoutHoldings, type Watches } from '../../../plan/define-planner.js'
import { Absences, type CachedObjects, type Delta, modelWatch, type Planner, type Watch } from '../../../plan/index.js'
import { CLAIM_UID_ANNOTATION } from '../tasks/holder.js'
import { KEYS, planPool, planReservation, type Sweep, type WhereaboutsSweepOutcome } from './sweep.js'
import {
  type ClaimFacts,
  claimWatch,
  type PodFacts,
  podWatch,
  poolWatch,
  reservationWatch,
  type SweptPool,
  textOf,
} from './watches.js'

export interface WhereaboutsSweepOptions {
  /** The namespace of the pools and reservations. Left out: all namespaces. */
  readonly namespace?: string | undefined
  /**
   * How long a Pod has to report other addresses before an address is freed, in seconds, from 0 to
   * 86,400. Default 900.
   */
  readonly graceSeconds?: number | undefined
  /**
   * Whether Pods in phase Succeeded or Failed keep their addresses as long as they exist. Default
   * `keep`, as upstream.
   */
  readonly completedPods?: 'keep' | 'free' | undefined
  /**
   * Whether Pods that the taint manager evicts keep their addresses as long as they exist. Upstream
   * frees them, although the containers of an unreachable node may still run. Default `keep`.
   */
  readonly evictedPods?: 'keep' | 'free' | undefined
  /**
   * Whether IPAMClaims are watched, and hold rows. Default true. False is for clusters without that
   * kind only: rows that a claim holds would be freed.
   */
  readonly claims?: boolean | undefined
  /**
   * Whether rows without a reservation get one. Only for networks whose configuration has
   * `enable_overlapping_ranges`, which is its default. NodeSlicePools are then watched as well.
   * Default false.
   */
  readonly createReservations?: boolean | undefined
}

const OPTIONS: KindOf<WhereaboutsSweepOptions> = {
  namespace: 'text?',
  graceSeconds: 'number?',
  completedPods: ['one?', { keep: 1, free: 1 }],
  evictedPods: ['one?', { keep: 1, free: 1 }],
  claims: 'flag?',
  createReservations: 'flag?',
}

/**
 * Frees addresses of whereabouts that no Pod and no IPAMClaim has: rows of IPPools, and
 * OverlappingRangeIPReservations. It does the work of the reconciler and of the Pod watcher of
 * upstream, for all nodes, and needs no NetworkAttachmentDefinitions.
 *
 * | the Pod of the row | the row |
 * |---|---|
 * | does not exist in the store | is freed at once |
 * | is Running, and its network status has other addresses | is freed after the grace period |
 * | has no network status yet, or one that cannot be read | stays |
 * | is being deleted | stays until the Pod does not exist |
 * | has ended, or is evicted | as the options say |
 *
 * A row that an IPAMClaim holds stays as long as the claim exists. A row that another owner holds,
 * such as a VirtualMachine, stays until an operator removes it: the sweep does not read such
 * objects. A row without a Pod, and a row that cannot be understood, stay. A reservation stays
 * while a row of its Pod has the address in its network; without such a row it is treated as a row.
 *
 * Addresses are compared by value. A network status names no pool. If a Pod has rows with one
 * address in two networks, the row of the reported interface stays, and that of another interface
 * is freed after the grace period. Two rows of one interface both stay.
 *
 * Each write requires the version of the pool that was read, and a read of the Pod right before it.
 * O(rows of a pool) a plan.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function whereaboutsSweep(options: WhereaboutsSweepOptions = {}): Planner<WhereaboutsSweepOutcome> {
  check('whereaboutsSweep', 'options', options, OPTIONS)
  const { namespace, graceSeconds = 900, completedPods = 'keep', evictedPods = 'keep', claims = true } = options
  if (!(graceSeconds >= 0 && graceSeconds <= 86_400))
    refuse('whereaboutsSweep', 'graceSeconds', 'seconds, 0 to 86400', graceSeconds)
  const createReservations = options.createReservations === true
  const pools = poolWatch(namespace)
  const reservations = reservationWatch(namespace)
  const slices = slicePoolWatch(namespace)
  const watches: Watches = {
    pools,
    reservations,
    pods: podWatch,
    ...(claims ? { claims: claimWatch } : {}),
    ...(createReservations ? { slices } : {}),
  }
  return defineWithoutHoldings<WhereaboutsSweepOutcome, Watches, Sweep>({
    name: 'whereabouts-sweep',
    watches,
    state: (cache) => {
      const slicePools = createReservations ? cache.open(slices) : undefined
      return {
        pools: cache.open(pools),
        reservations: cache.open(reservations),
        pods: cache.open(podWatch),
        claims: claims ? cache.open(claimWatch) : undefined,
        rules: { completedPods, evictedPods },
        reservationsOf: slicePools && ((pool) => networkOf(pool, slicePools)),
        absences: new Absences(graceSeconds),
        refusals: new Map(),
      }
    },
    // which part of its range a pool gives is in configurations, which no planner reads
    usage: ({ state }) =>
      Array.from(state.pools, ({ object, read }) => ({
        pool: formatRef(refOf(object)),
        family: object.spec.range.includes(':') ? (6 as const) : (4 as const),
        total: undefined,
        free: undefined,
        used: BigInt(new Set(read.rows.map(({ address }) => textOf(address))).size),
      })),
    wakes: {
      pools: (delta, { state }) => [KEYS.format('pool', delta.ref), ...keysAtRows(delta, state)],
      reservations: (delta, { state }) => [
        KEYS.format('reservation', delta.ref),
        // a row can be that of another network, by its reservation there
        ...reservationReadings(delta.ref.name).flatMap(({ address }) => keysOfReservations(address, state)),
        ...poolsOfClaim(delta, state),
        ...(delta.now === undefined && createReservations ? poolsAtReservation(delta, state) : []),
      ],
      pods: (delta, { state }) => keysOfPod(delta, state),
      ...(claims
        ? { claims: (delta: Delta<ClaimFacts>, { state }: { state: Sweep }) => keysOfClaim(delta, state) }
        : {}),
      ...(createReservations
        ? { slices: (_: Delta<NodeSlicePool>, { state }: { state: Sweep }) => keysOfPools(state.pools) }
        : {}),
    },
    plan(key, { state }, time) {
      const read = KEYS.read(key)
      if (read === undefined) return undefined
      return read.kind === 'pool' ? planPool(key, read.name, state, time) : planReservation(key, read.name, state, time)
    },
    refused(key, _, { state: { refusals } }) {
      refusals.set(key, (refusals.get(key) ?? 0) + 1)
      return undefined
    },
    isAggregate: () => true,
  })
}

function slicePoolWatch(namespace: string | undefined): Watch<NodeSlicePool> {
  return modelWatch(NodeSlicePool, {
    namespace,
    indexes: { slice: ({ status }) => (status?.allocations ?? []).map(({ sliceRange }) => sliceRange) },
  })
}

/**
 * The network of a pool, by its name. What stands before the range is the network, unless the pool
 * is that of a node slice. `undefined`: the name is not that of a pool of upstream.
 */
function networkOf({ metadata, spec }: IPPool, slicePools: CachedObjects<NodeSlicePool>) {
  const prefix = poolNamePrefix(metadata.name, spec.range)
  if (prefix === undefined) return undefined
  for (const { metadata: slicePool, status } of slicePools.by('slice', spec.range)) {
    for (const { nodeName, sliceRange } of status?.allocations ?? []) {
      if (sliceRange !== spec.range || nodeName === '') continue
      if (prefix === nodeName) return { networkName: '' }
      if (prefix === `${slicePool.name}-${nodeName}`) return { networkName: slicePool.name }
    }
  }
  return { networkName: prefix }
}

function keysOfPools(pools: Iterable<SweptPool>): readonly string[] {
  return [...pools].map(({ object }) => KEYS.format('pool', object.metadata))
}

/** The rows that a change creates, removes or changes. O(rows of the pool). */
function changedRows({ before, now }: Delta<SweptPool>): readonly PoolRow[] {
  const [old, current] = [before, now].map((entry) => (entry?.ok === true ? entry.value : undefined))
  const had = old?.object.spec.allocations ?? {}
  const has = current?.object.spec.allocations ?? {}
  const created = current?.read.rows.filter(({ key }) => had[key] === undefined) ?? []
  return [...created, ...(old?.read.rows.filter(({ key, stored }) => asText(has[key]) !== asText(stored)) ?? [])]
}

/**
 * The keys of the reservations and of the other pools with the address of a row that a change
 * creates, removes or changes: such a row can have the address in their place.
 */
function keysAtRows(delta: Delta<SweptPool>, { reservations, pools }: Sweep): readonly string[] {
  const own = KEYS.format('pool', delta.ref)
  const addresses = new Set(changedRows(delta).map(({ address }) => textOf(address)))
  return [...addresses].flatMap((address) => [
    ...reservations
      .by('address', address)
      .filter(({ metadata }) => metadata.namespace === delta.ref.namespace)
      .map(({ metadata }) => KEYS.format('reservation', metadata)),
    ...keysOfPools(pools.by('address', address)).filter((key) => key !== own),
  ])
}

function keysOfReservations(address: Address, { reservations }: Sweep): readonly string[] {
  return reservations.by('address', textOf(address)).map(({ metadata }) => KEYS.format('reservation', metadata))
}

function asText(value: unknown): string {
  return JSON.stringify(value) ?? ''
}

/**
 * The keys of the pools with the address of a reservation that is that of another claim or Pod than
 * before.
 */
function poolsOfClaim({ ref, before, now }: Delta<OverlappingRangeIPReservation>, { pools }: Sweep) {
  const [old, current] = [before, now].map((entry) => {
    if (entry?.ok !== true) return undefined
    const { metadata, spec } = entry.value
    const claim = metadata.annotations?.[CLAIM_UID_ANNOTATION]
    return claim && `${claim} ${spec.podref}`
  })
  if (old === current) return []
  return reservationReadings(ref.name).flatMap(({ address }) => keysOfPools(pools.by('address', textOf(address))))
}

function poolsAtReservation({ before }: Delta<{ readonly spec: { readonly podref: string } }>, { pools }: Sweep) {
  return before?.ok === true ? keysOfPools(pools.by('podref', before.value.spec.podref)) : []
}

/** The keys of the rows and reservations of a Pod. None if nothing of interest has changed. */
function keysOfPod({ ref, before, now }: Delta<PodFacts>, { pools, reservations }: Sweep): readonly string[] {
  if (before?.ok === true && now?.ok === true && before.value === now.value) return []
  const podref = `${ref.namespace}/${ref.name}`
  if (readPodref(podref) === undefined) return []
  const own = reservations.by('podref', podref).map(({ metadata }) => KEYS.format('reservation', metadata))
  return [...keysOfPools(pools.by('podref', podref)), ...own]
}

/** The keys of the rows and reservations that a claim holds or held. */
function keysOfClaim({ before, now }: Delta<ClaimFacts>, state: Sweep): readonly string[] {
  const { pools } = state
  const claims = [before, now].flatMap((entry) => (entry?.ok === true ? [entry.value] : []))
  const held = claims.flatMap(({ texts }) => texts.flatMap((text) => pools.by('text', text)))
  // an address of a claim can be in a pool of any namespace
  const addresses = claims.flatMap((claim) => claim.addresses)
  const placed = addresses.flatMap((each) => pools.by('address', textOf(each)))
  // a reservation whose row is lost is held by the address alone
  const reserved = addresses.flatMap((each) => keysOfReservations(each, state))
  return [...new Set([...keysOfPools([...held, ...placed]), ...reserved])]
}
