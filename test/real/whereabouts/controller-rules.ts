import { Address } from 'ipam-kit/cidr'
import { readNetworkStatus } from 'ipam-kit/crd/multinet'
import { type IPPool, readReservationName, readRows } from 'ipam-kit/crd/whereabouts'
import { type Case, type Difference, type Objects, type Rule, statesOf } from '../differences.js'
import { poolsIn } from './calls-in.js'

/** Where the sweep and the node slices differ from what was recorded of upstream's controllers. */
export const controllerRules: readonly Rule[] = [
  {
    heading: 'Freed addresses are an Event about the pool',
    holds: ({ path, theirs, ours }) =>
      /^\.Event\/Pod\/.*\/IPAddressGarbageCollect(ed|ionFailed)\./.test(path) &&
      (theirs === undefined || ours === undefined),
  },
  kept('sweep-keeps-what-is-unreported', ({ pod }) => pod !== undefined && statusOf(pod) === undefined),
  kept('Pods that the taint manager evicts keep their addresses', ({ pod }) => pod !== undefined && isEvicted(pod)),
  kept('Addresses are compared by value', ({ pod, address }) => {
    const reported = pod === undefined ? [] : (statusOf(pod) ?? [])
    return address !== undefined && reported.some((each) => Address.equals(each, address))
  }),
  kept('A reservation is judged by its own Pod', ({ pod, isReservation }) => isReservation && pod !== undefined),
  freed('One bad pool or row stops nothing else', ({ recorded }) =>
    poolsIn(recorded.final).some(({ pool }) => isBad(pool)),
  ),
  freed('One sweep serves all Nodes', ({ recorded }) =>
    statesOf(recorded).some((objects) =>
      podsIn(objects).some(({ spec }) => spec?.nodeName !== undefined && spec.nodeName !== 'node-a'),
    ),
  ),
  {
    heading: 'One sweep serves all Nodes',
    // upstream's watcher of a Node ends if there is no such Node
    holds: ({ path, theirs, ours, recorded }) => {
      const [, step] = /^step (\d+) controllerExited$/.exec(path) ?? []
      const state = step === undefined ? undefined : statesOf(recorded)[Number(step)]
      const hasNode = Object.keys(state ?? {}).some((key) => key.startsWith('Node/'))
      return state !== undefined && !hasNode && theirs === 1 && ours === undefined
    },
  },
  freed(
    'sweep-needs-the-pod-alone',
    ({ own, recorded, podref }) =>
      podref !== undefined && podOf(own.final, podref) === undefined && isOverlooked(recorded, podref),
  ),
  {
    heading: 'Networks without `network_name` are told apart',
    holds: (difference) =>
      isOfSlices(difference) && definitionsIn(difference.recorded).filter(({ named }) => !named).length > 1,
  },
  {
    heading: 'Only definitions of the same namespace own a NodeSlicePool',
    holds: ({ path, recorded, own }) => {
      if (/^\.NodeSlicePool\/\S+\.metadata\.(annotations|ownerReferences)\b/.test(path)) return true
      // it goes with its last definition
      return (
        keyOf(path).startsWith('NodeSlicePool/') && own.final[keyOf(path)] === undefined && sliced(recorded.final) === 0
      )
    },
  },
  {
    heading: 'Slices without a usable address are not listed',
    holds: (difference) =>
      (/\/InvalidNodeSlices\./.test(difference.path) && difference.theirs === undefined) ||
      ((isOfSlices(difference) || difference.path.endsWith('controllerExited')) &&
        definitionsIn(difference.recorded).some(
          ({ size, isV6 }) => isV6 || !/^\/?\d+$/.test(size) || Number(size.replace('/', '')) > 30,
        )),
  },
  {
    heading: 'Rows decide which node has a slice',
    holds: (difference) => isOfSlices(difference) && isEditedByHand(difference.recorded),
  },
  {
    heading: 'A division does not change under live rows',
    holds: (difference) => isOfSlices(difference) && /"SliceChangeRefused"/.test(JSON.stringify(difference.own.final)),
  },
  {
    heading: 'More Nodes than slices are reported',
    holds: ({ path, theirs }) => /\/NoFreeSlice\./.test(path) && theirs === undefined,
  },
]

interface SeenPod {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly spec?: { readonly nodeName?: string }
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[]
  }
}

/**
 * Whether the Pod watcher of upstream frees nothing of a Pod: it sees no deletion, or has no
 * definition of the network or no network status, or looks for a pool without the name of its Node.
 */
function isOverlooked(recorded: Case, podref: string): boolean {
  const seen = statesOf(recorded).flatMap((objects) => podOf(objects, podref) ?? [])
  const hasDefinition = Object.keys(recorded.final).some((key) => key.startsWith('NetworkAttachmentDefinition/'))
  const isOfNode = poolsIn(recorded.final).some(({ pool }) => !isNamedByRange(pool))
  return seen.length === 0 || !hasDefinition || isOfNode || seen.some((pod) => statusOf(pod) === undefined)
}

function isNamedByRange({ metadata, spec }: IPPool): boolean {
  return metadata.name === spec.range.replaceAll(/[:/]/g, '-')
}

/** A row or a reservation that one side has and the other one has not. */
interface Held extends Difference {
  readonly podref: string | undefined
  readonly pod: SeenPod | undefined
  readonly address: Address | undefined
  readonly isReservation: boolean
}

/** A rule about rows and reservations that stay here, and are freed there. */
function kept(heading: string, holds: (held: Held) => boolean): Rule {
  return { heading, holds: (difference) => some(heldIn(difference, difference.own, difference.recorded), holds) }
}

/** A rule about rows and reservations that are freed here, and stay there. */
function freed(heading: string, holds: (held: Held) => boolean): Rule {
  return { heading, holds: (difference) => some(heldIn(difference, difference.recorded, difference.own), holds) }
}

function some(held: readonly Held[], holds: (held: Held) => boolean): boolean {
  return held.length > 0 && held.some(holds)
}

/** What a difference is about, if `one` has it and `other` has not. */
function heldIn(difference: Difference, one: Case, other: Case): readonly Held[] {
  const { path } = difference
  const key = keyOf(path)
  const [mine, theirs] = [one.final[key], other.final[key]] as readonly (Readonly<Record<string, never>> | undefined)[]
  if (mine === undefined) return []
  const held = (podref: string | undefined, address: Address | undefined, isReservation: boolean): Held => {
    return {
      ...difference,
      podref,
      address,
      isReservation,
      pod: podref === undefined ? undefined : podOf(one.final, podref),
    }
  }
  if (key.startsWith('OverlappingRangeIPReservation/')) {
    if (theirs !== undefined) return []
    const { podref } = (mine as unknown as { readonly spec: { readonly podref: string } }).spec
    const name = key.split('/').at(-1) ?? ''
    const network = /^(.*)-(?=\d+\.\d+\.\d+\.\d+$)/.exec(name)?.[1]
    const address = readReservationName(name, network ?? '')?.address
    return [held(podref, address, true)]
  }
  if (!/^\.IPPool\/\S+\.spec\.allocations\b/.test(path)) return []
  const [pool, otherPool] = [one, other].map(
    ({ final }) => poolsIn(final).find(({ name }) => `IPPool/${name}` === key)?.pool,
  )
  if (pool === undefined) return []
  const [, row] = /\.spec\.allocations\.([^.]+)\.\w+$/.exec(path) ?? []
  return readRows(pool)
    .rows.filter(
      (each) => (row === undefined || each.key === row) && otherPool?.spec.allocations?.[each.key] === undefined,
    )
    .map(({ podref, address }) => held(podref, address, false))
}

function keyOf(path: string): string {
  return (
    /^\.((?:[A-Z]\w+)\/\S+?)\.(?:apiVersion|kind|metadata|spec|status|type|reason|message|component)\b/.exec(
      path,
    )?.[1] ?? ''
  )
}

function podsIn(objects: Objects): readonly SeenPod[] {
  return Object.entries(objects).flatMap(([key, object]) => (key.startsWith('Pod/') ? [object as SeenPod] : []))
}

function podOf(objects: Objects, podref: string): SeenPod | undefined {
  return podsIn(objects).find(({ metadata }) => metadata.name === podref.split('/').at(-1))
}

/**
 * The addresses that a Pod reports; `undefined`: its network status is missing or cannot be read.
 */
function statusOf({ metadata }: SeenPod): readonly Address[] | undefined {
  const read = readNetworkStatus(metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '')
  return read.ok ? read.value.flatMap(({ ips }) => ips.map(({ address }) => address)) : undefined
}

function isEvicted({ status }: SeenPod): boolean {
  return (status?.conditions ?? []).some(
    (each) => each.type === 'DisruptionTarget' && each.status === 'True' && each.reason === 'DeletionByTaintManager',
  )
}

/** Whether upstream stops at a pool: its range, or a key of a row, cannot be read. */
function isBad(pool: Parameters<typeof readRows>[0]): boolean {
  const { range } = readRows(pool)
  const most = range?.address.family === 6 ? 2n ** 63n : 2n ** 32n
  return (
    range === undefined ||
    Object.keys(pool.spec.allocations ?? {}).some((key) => !/^\d+$/.test(key) || BigInt(key) >= most)
  )
}

function isOfSlices({ path }: Difference): boolean {
  return /^\.NodeSlicePool\/|^\.Event\/NetworkAttachmentDefinition\//.test(path)
}

/** The definitions with node slices that steps have written. */
function definitionsIn({ steps }: Case) {
  return steps.flatMap(({ step }) => {
    const { create, replace } = step as { readonly create?: object; readonly replace?: object }
    const text = JSON.stringify(create ?? replace ?? {})
    if (!text.includes('node_slice_size')) return []
    const [, size = ''] = /node_slice_size\\":\\"([^\\]*)/.exec(text) ?? []
    return [{ size, named: text.includes('network_name'), isV6: /range\\":\\"[0-9a-f]*:/.test(text) }]
  })
}

/** How many definitions with node slices there are. */
function sliced(objects: Objects): number {
  return Object.entries(objects).filter(
    ([key, object]) =>
      key.startsWith('NetworkAttachmentDefinition/') && JSON.stringify(object).includes('node_slice_size'),
  ).length
}

/** Whether a step has written a NodeSlicePool. */
function isEditedByHand({ steps }: Case): boolean {
  return steps.some(({ step }) => /"kind":"NodeSlicePool"/.test(JSON.stringify(step)))
}
