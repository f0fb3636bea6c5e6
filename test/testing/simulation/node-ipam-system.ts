import { Prefix } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { isDeleting, type KindInfo, type KubeObject, type ObjectRef } from 'ipam-kit/crd/meta'
import { ServiceCIDR } from 'ipam-kit/crd/networking'
import { ClusterCIDR, type ClusterCIDRSpec } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import { networkViewPlanner } from 'ipam-kit/provider/network-view'
import { flagRange, nodeIPAM, type RangeOrder } from 'ipam-kit/provider/node-ipam'
import type { Store } from 'ipam-kit/store'
import type { Dice, SimulatedSystem } from 'ipam-kit/testing'
import { DEFAULT_CLUSTER_CIDR } from '../../../src/provider/node-ipam/flags.js'
import { spanOf } from '../../../src/testing/simulation/naive-space.js'
import { Combined } from './combined.js'
import type { NaiveRange } from './node-ipam-history.js'
import { NodeIPAMRules } from './node-ipam-rules.js'

export interface NodeIPAMSystemOptions {
  /**
   * The source of ranges: ClusterCIDRs that users create and delete, those and one for the flags,
   * or only flags. Default `objects`.
   */
  readonly ranges?: 'objects' | 'default' | 'flags' | undefined
  /**
   * Whether users create and delete ServiceCIDRs, or the service ranges are given at the start.
   * Default `objects`.
   */
  readonly services?: 'objects' | 'fixed' | undefined
  /** As in the options of `nodeIPAM`. */
  readonly order?: RangeOrder | undefined
  /** Whether users sometimes set subnets of Nodes by hand. Default true. */
  readonly presets?: boolean | undefined
  /**
   * Whether ranges are published first, and used when consumers have accepted them. Default false.
   */
  readonly network?: boolean | undefined
}

const NODES = 9
/** What keeps a Node for a while after its deletion. */
const SLOW = 'example.com/drain'

type Labels = { readonly [key: string]: string }
const LABELS: readonly Labels[] = [{}, { zone: 'a' }, { zone: 'b' }, { zone: 'a', gpu: 'yes' }, { gpu: 'no' }]

const inZone = (zone: string) => ({ matchExpressions: [{ key: 'zone', operator: 'In', values: [zone] }] })
const notInZone = (zone: string) => ({ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: [zone] }] })
const withGPU = { matchExpressions: [{ key: 'gpu', operator: 'Exists' }] }
const named = (name: string) => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] })
const without = (label: string) => ({ matchExpressions: [{ key: label, operator: 'DoesNotExist' }] })

/**
 * Ranges of fewer subnets than there are Nodes: of one family or both, in pieces, over each other,
 * with one family full before the other. The last two give nothing.
 */
const RANGES: readonly ClusterCIDRSpec[] = [
  { ipv4: '10.0.0.0/27', perNodeHostBits: 4 },
  { ipv4: '10.0.0.0/26', perNodeHostBits: 4 },
  { ipv4: '10.0.0.0/27', perNodeHostBits: 3, nodeSelector: { nodeSelectorTerms: [inZone('a')] } },
  { ipv4: '10.0.0.32/27', ipv6: 'fd00::/122', perNodeHostBits: 4 },
  { ipv4: '10.0.0.0/26', ipv6: 'fd00::/123', perNodeHostBits: 4 },
  { ipv4: '10.0.1.0/27', ipv6: 'fd00::20/124', perNodeHostBits: 4, nodeSelector: { nodeSelectorTerms: [withGPU] } },
  { ipv6: 'fd00::20/123', perNodeHostBits: 4 },
  { ipv4: '10.0.2.0/28', perNodeHostBits: 4, nodeSelector: { nodeSelectorTerms: [named('node-1'), inZone('b')] } },
  {
    ipv4: '10.0.0.0/24',
    ipv6: 'fd00::/121',
    perNodeHostBits: 6,
    nodeSelector: { nodeSelectorTerms: [notInZone('a')] },
  },
  { ipv4: '10.0.0.64/30', ipv6: '', perNodeHostBits: 1, nodeSelector: { nodeSelectorTerms: [without('gpu')] } },
  { ipv4: '10.0.0.0/26', ipv6: 'fd00::/127', perNodeHostBits: 4 },
  { ipv4: '10.0.0.0/26', perNodeHostBits: 4, nodeSelector: { nodeSelectorTerms: [] } },
]
const RANGE_NAMES = ['range-a', 'range-b', 'range-c']
const DEFAULT_RANGE: ClusterCIDRSpec = { ipv4: '10.0.3.0/27', ipv6: 'fd00:3::/123', perNodeHostBits: 4 }
const FLAGS = [
  { prefix: '10.0.0.0/26', length: 28, size: 16n },
  { prefix: 'fd00::/122', length: 125, size: 8n },
] as const

const FIXED_SERVICES = ['10.0.0.16/28', 'fd00::10/124']
const NETWORK = 'pods'
/** A consumer that does not answer has accepted after a while. */
const CONSUMERS = { consumers: [{ name: 'flannel' }], acceptanceSeconds: 20 }

const SERVICES: { readonly [name: string]: readonly string[] } = {
  'services-a': FIXED_SERVICES,
  'services-b': ['10.0.1.0/28'],
  'services-c': ['fd00::30/124'],
}

/**
 * What people write into Nodes: parts of ranges, of several subnets, of none, and what is no subnet
 * at all.
 */
const PRESETS: readonly (readonly string[])[] = [
  ['10.0.0.0/28'],
  ['10.0.0.32/28', 'fd00::/124'],
  ['fd00::20/124'],
  ['10.0.1.16/28'],
  ['192.168.0.0/28'],
  ['10.0.0.0/16'],
  ['10.0.0.37/28'],
  ['10.0.0.48/28', 'nonsense'],
]

/**
 * A system of node IPAM with ranges of a few subnets. Users create Nodes, label them, delete them
 * slowly behind a finalizer, create and delete ClusterCIDRs and ServiceCIDRs, and set subnets of
 * Nodes by hand.
 *
 * Always: no subnet is allocated twice, or in a service range. The subnets of a Node never change.
 * They are one of each family of one range, which matched the Node when they were chosen. A
 * ClusterCIDR keeps its finalizer while a Node has a subnet of it. At rest: every Node that can
 * have subnets has them, each usable ClusterCIDR has its finalizer, no deleted and unused one is
 * left, and an Event was sent about each problem that users have to solve.
 *
 * One writer at a time, which is never suspended between its check that it may write and the write:
 * the Nodes are the ledger, and the API does not prevent that two of them have one subnet.
 */
export function nodeIPAMSystem(options: NodeIPAMSystemOptions = {}): SimulatedSystem {
  const { ranges = 'objects', services = 'objects', order, network = false, presets = true } = options
  const fixedServices = services === 'fixed' ? FIXED_SERVICES : []
  const steps: Steps = {
    ...NODE_STEPS,
    ...(presets && { preset: [2, preset] }),
    ...(ranges !== 'flags' && RANGE_STEPS),
    ...(services === 'objects' && { services: [2, changeServices] }),
    ...(network && { answer: [4, answer] }),
  }
  return {
    kinds: [Node.info, ClusterCIDR.info, ServiceCIDR.info, ClusterNetwork.info],
    planner: () => {
      const subnets = nodeIPAM({
        order,
        ...(network && { network: NETWORK }),
        serviceCIDRs: fixedServices.map((text) => Prefix.parse(text)),
        watchServiceCIDRs: services === 'objects',
        ...(ranges === 'default' && { defaultClusterCIDR: DEFAULT_RANGE }),
        ...(ranges === 'flags' && { range: rangeOfFlags() }),
      })
      return network
        ? new Combined([subnets, networkViewPlanner({ name: NETWORK, detailsSeconds: 1, graceSeconds: 10 })])
        : subnets
    },
    async prepare(store, dice) {
      if (network) await create(store, ClusterNetwork.info, { metadata: { name: NETWORK }, spec: CONSUMERS })
      if (services === 'objects') await changeServices(store, dice)
      for (let count = 0; count < 2; count++) if (ranges !== 'flags') await addRange(store, dice)
      for (let count = 0; count < 3; count++) await join(store, dice)
      if (presets) await preset(store, dice)
    },
    async act(store, dice) {
      await drawStep(steps, dice)(store, dice)
    },
    rules: () =>
      new NodeIPAMRules({
        fixedServices,
        hasNetwork: network,
        hasDefault: ranges === 'default',
        ...(ranges === 'flags' && { flags: naiveFlags() }),
      }),
  }
}

function rangeOfFlags() {
  const read = flagRange(
    FLAGS.map(({ prefix }) => Prefix.parse(prefix)),
    FLAGS.map(({ length }) => length),
  )
  if (!read.ok) throw new TypeError(read.problems.join('; '))
  return read.value
}

function naiveFlags(): NaiveRange {
  return { name: 'flags', spaces: FLAGS.map(({ prefix, size }) => ({ span: spanOf(prefix), size })) }
}

type Step = (store: Store, dice: Dice) => Promise<unknown>
/** What people do, and how often. */
type Steps = { readonly [name: string]: readonly [weight: number, step: Step] }

const NODE_STEPS: Steps = {
  join: [6, joinSeveral],
  leave: [4, leave],
  letGo: [4, letGo],
  relabel: [3, relabel],
  heartbeat: [2, heartbeat],
}
const RANGE_STEPS: Steps = { addRange: [4, addRange], endRange: [3, endRange] }

function drawStep(steps: Steps, dice: Dice): Step {
  const all = Object.values(steps).flatMap(([weight, step]) => Array<Step>(weight).fill(step))
  return dice.pick(all)
}

/** Nodes come in groups: their plans are made at the same time. */
async function joinSeveral(store: Store, dice: Dice): Promise<void> {
  for (let left = 1 + dice.below(3); left > 0; left--) await join(store, dice)
}

function join(store: Store, dice: Dice): Promise<unknown> {
  const finalizers = dice.chance(0.6) ? [SLOW] : []
  const podCIDRs = dice.chance(0.05) ? dice.pick(PRESETS) : []
  return create(store, Node.info, {
    metadata: { name: `node-${dice.below(NODES)}`, labels: dice.pick(LABELS), finalizers },
    spec: specOf(podCIDRs),
  })
}

function specOf(podCIDRs: readonly string[]): object {
  return podCIDRs.length === 0 ? {} : { podCIDR: podCIDRs[0], podCIDRs }
}

async function leave(store: Store, dice: Dice): Promise<void> {
  const node = await pick(store, dice, Node.info, (each) => !isDeleting(each))
  if (node !== undefined) await store.delete(refTo(Node.info, node.metadata.name))
}

/** Ends a deletion. */
async function letGo(store: Store, dice: Dice): Promise<void> {
  const node = await pick(store, dice, Node.info, isDeleting)
  if (node !== undefined) await store.patch(refTo(Node.info, node.metadata.name), { metadata: { finalizers: [] } })
}

async function relabel(store: Store, dice: Dice): Promise<void> {
  const node = await pick(store, dice, Node.info)
  const labels = { zone: null, gpu: null, ...dice.pick(LABELS) }
  if (node !== undefined) await store.patch(refTo(Node.info, node.metadata.name), { metadata: { labels } })
}

async function heartbeat(store: Store, dice: Dice): Promise<void> {
  const node = await pick(store, dice, Node.info)
  const status = { conditions: [{ type: 'Ready', status: 'True', message: `${dice.below(1000)}` }] }
  if (node !== undefined) await store.patch(refTo(Node.info, node.metadata.name), { status }, { subresource: 'status' })
}

/** Sets subnets of a Node that has none yet: as an API server does, nothing else is admitted. */
async function preset(store: Store, dice: Dice): Promise<void> {
  const node = await pick(store, dice, Node.info, (each) => Node.parse(each).spec.podCIDRs === undefined)
  const spec = { ...specOf(dice.pick(PRESETS)) }
  if (node !== undefined) await store.patch(refTo(Node.info, node.metadata.name), { spec })
}

function addRange(store: Store, dice: Dice): Promise<unknown> {
  return create(store, ClusterCIDR.info, { metadata: { name: dice.pick(RANGE_NAMES) }, spec: dice.pick(RANGES) })
}

async function endRange(store: Store, dice: Dice): Promise<void> {
  const isRare = ({ metadata }: KubeObject) => metadata.name === DEFAULT_CLUSTER_CIDR && dice.chance(0.5)
  const range = await pick(store, dice, ClusterCIDR.info, (each) => !isDeleting(each) && !isRare(each))
  if (range !== undefined) await store.delete(refTo(ClusterCIDR.info, range.metadata.name))
}

/** A consumer accepts or rejects what is published, all of it or some. */
async function answer(store: Store, dice: Dice): Promise<void> {
  const found = await store.get(refTo(ClusterNetwork.info, NETWORK))
  if (!found.ok) return
  const { ranges = [], answers = [] } = ClusterNetwork.parse(found.value).status ?? {}
  const given = ranges
    .filter(() => dice.chance(0.7))
    .map(({ cidr }) => ({ cidr, consumer: 'flannel', accepted: dice.chance(0.8) }))
  const others = answers.filter(({ cidr }) => !given.some((one) => one.cidr === cidr))
  const { resourceVersion } = found.value.metadata
  const status = { answers: [...others, ...given] }
  await store.patch(refTo(ClusterNetwork.info, NETWORK), { status }, { subresource: 'status', resourceVersion })
}

async function changeServices(store: Store, dice: Dice): Promise<void> {
  const name = dice.pick(Object.keys(SERVICES))
  if (dice.chance(0.5)) await store.delete(refTo(ServiceCIDR.info, name))
  else await create(store, ServiceCIDR.info, { metadata: { name }, spec: { cidrs: SERVICES[name] } })
}

/** One of the objects of a kind that are stored. */
async function pick(
  store: Store,
  dice: Dice,
  { apiVersion, kind }: KindInfo,
  isWanted: (object: KubeObject) => boolean = () => true,
): Promise<KubeObject | undefined> {
  const found = unwrap(await store.list({ apiVersion, kind })).items.filter(isWanted)
  return found.length === 0 ? undefined : dice.pick(found)
}

function create(store: Store, { apiVersion, kind }: KindInfo, rest: object): Promise<unknown> {
  return store.create({ apiVersion, kind, ...rest } as KubeObject)
}

function refTo({ apiVersion, kind }: KindInfo, name: string): ObjectRef {
  return { apiVersion, kind, name }
}
