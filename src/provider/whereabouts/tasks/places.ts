import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import { IPPool, NodeSlicePool, nodeSliceName, poolName } from '../../../crd/whereabouts/index.js'
import type { Step } from '../../../plan/index.js'
import { allocatableRange } from '../choose/space.js'
import type { WhereaboutsRange } from '../config/types.js'
import { refTo, type TaskObjects } from './objects.js'
import { DEFAULT_NAMESPACE, type NetworkRequest } from './request.js'

type Address = Address.Address

/** Where a range of a configuration has its rows. */
export interface Place {
  /** The range to choose from. With node slices its CIDR is the slice of the Node. */
  readonly range: WhereaboutsRange
  /** Whether the slice has none of the addresses that the range gives. */
  readonly isEmpty: boolean
  /** The prefix length of an address in the answer: that of the configured range. */
  readonly length: number
  readonly pool: ObjectRef
  /** `spec.range` of a new pool. */
  readonly poolRange: string
}

/** The places of all ranges, a step that has to come before, or why a range has none. */
export type Places =
  | { readonly kind: 'places'; readonly places: readonly Place[] }
  | { readonly kind: 'step'; readonly step: Extract<Step, { kind: 'get' }> }
  | { readonly kind: 'noSlice' | 'refused'; readonly message: string; readonly places: readonly Place[] }

/** The places of a request, with those that it has also where others have none. */
export function placesOf(request: NetworkRequest, objects: TaskObjects): Places {
  const { config } = request
  const namespace = request.namespace || DEFAULT_NAMESPACE
  if (config.nodeSliceSize !== undefined) return slicesOf(request, objects)
  return collect(config.ranges, (range) => {
    const text = Prefix.format(range.prefix)
    return placeAt(range, range, { text, namespace, networkName: config.networkName })
  })
}

type Made = Place | { readonly kind: 'noSlice' | 'refused'; readonly message: string }

function collect(ranges: readonly WhereaboutsRange[], make: (range: WhereaboutsRange) => Made): Places {
  const made = ranges.map(make)
  const places = made.flatMap((one) => ('pool' in one ? [one] : []))
  const failed = made.find((one) => 'kind' in one)
  return failed !== undefined && 'kind' in failed ? { ...failed, places } : { kind: 'places', places }
}

function placeAt(
  configured: WhereaboutsRange,
  range: WhereaboutsRange & { readonly isEmpty?: boolean },
  {
    text,
    namespace,
    ...parts
  }: {
    readonly text: string
    readonly namespace: string
    readonly networkName?: string | undefined
    readonly nodeName?: string
  },
): Made {
  const name = poolName({ range: text, ...parts })
  if (!name.ok) return { kind: 'refused', message: name.failure.message }
  return {
    range,
    isEmpty: range.isEmpty ?? false,
    length: configured.prefix.length,
    pool: refTo(IPPool.info, namespace, name.value),
    poolRange: text,
  }
}

function slicesOf(request: NetworkRequest, objects: TaskObjects): Places {
  const { config, nodeName } = request
  const namespace = request.namespace || DEFAULT_NAMESPACE
  const { name = '', networkName, ranges } = config
  const slicePool = nodeSliceName({ name, networkName })
  if (!slicePool.ok) return { kind: 'refused', message: slicePool.failure.message, places: [] }
  if (nodeName === undefined || nodeName === '') {
    return { kind: 'refused', message: 'node slices need the name of the Node', places: [] }
  }
  const ref = refTo(NodeSlicePool.info, namespace, slicePool.value)
  const step = objects.read([ref], 'the slices of the Nodes')
  if (step !== undefined) return { kind: 'step', step }
  const object = objects.get(ref)
  const read = object ? NodeSlicePool.safeParse(object) : undefined
  const noSlice = (problem: string) =>
    ({
      kind: 'noSlice',
      message: `Node ${nodeName} has no slice: NodeSlicePool ${slicePool.value} ${problem}`,
    }) as const
  const allocations = read?.ok ? (read.value.status?.allocations ?? []) : []
  return collect(ranges, (range) => {
    if (!object) return noSlice('does not exist')
    const own = allocations
      .filter((one) => one.nodeName === nodeName)
      .map(({ sliceRange }) => Prefix.safeParse(sliceRange))
    const slice = own.find((one) => one.ok && Prefix.contains(range.prefix, one.value))
    if (!slice?.ok) return noSlice(`has none of ${Prefix.format(range.prefix)} for it`)
    const prefix = Prefix.masked(slice.value)
    const text = Prefix.format(prefix)
    return placeAt(range, inSlice(range, prefix), { text, namespace, networkName, nodeName })
  })
}

/** The part of a range that is in a slice: the bounds and the excludes count there too. */
function inSlice(range: WhereaboutsRange, prefix: Prefix.Prefix): WhereaboutsRange & { readonly isEmpty: boolean } {
  const [all, usable] = [allocatableRange(range), allocatableRange({ prefix })]
  if (all === undefined || usable === undefined) return { ...range, prefix, isEmpty: true }
  const start = later(all.first, usable.first)
  const end = Address.compare(all.last, usable.last) < 0 ? all.last : usable.last
  return { prefix, start, end, exclude: range.exclude, isEmpty: Address.compare(start, end) > 0 }
}

export function later(left: Address, right: Address): Address {
  return Address.compare(left, right) > 0 ? left : right
}
