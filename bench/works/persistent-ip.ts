import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Planner } from 'ipam-kit/plan'
import { admitVMPod, persistentClaims, persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { persistentIPsOnBlocks } from 'ipam-kit/provider/persistent-ip-blocks'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import {
  addressOf,
  blocksOf,
  claimOf,
  definition,
  instanceOf,
  machineOf,
  plainPod,
  podOf,
} from '../persistent-machines.js'

const [MANY, FEW] = [10_000, 100]
/** Pods at a start: each second one has a claim. */
const PODS = 20_000

export const persistentIPWorks: readonly Work[] = [
  {
    name: 'persistent IPs: plans of a machine that starts, 10,000 machines',
    ours: () => starts(MANY, persistentIPs()),
    peers: { 'the same with 100 machines': () => starts(FEW, persistentIPs()) },
  },
  {
    name: 'persistent IPs on blocks: plans of a machine that starts, 10,000 machines',
    ours: () => starts(MANY, persistentIPsOnBlocks()),
    peers: { 'the same with 100 machines': () => starts(FEW, persistentIPsOnBlocks()) },
  },
  {
    name: 'persistent IPs: admission of a Pod of 64 kB',
    ours: () => admission(admitted),
    peers: { 'JSON.parse and JSON.stringify of it': () => admission((pod) => pod) },
  },
]

/** They take tens of seconds. */
export const longPersistentIPWorks: readonly Work[] = [
  {
    name: 'persistent IPs: start with 10,000 claims and 20,000 Pods, until the first address, each object',
    ours: start,
    peers: { 'model that rebuilds the pool at each object': rebuilds },
  },
  {
    name: 'persistent IPs on blocks: start with 10,000 claims and 20,000 Pods, until the first address, each object',
    ours: startOnBlocks,
    peers: { 'model that rebuilds the pool at each object': rebuilds },
  },
]

function see(planner: Planner, object: KubeObject): readonly string[] {
  return planner.observe({ kind: 'present', object })
}

/** A machine has an instance again, and its Pod gets the address of the claim: both sides plan. */
function starts(count: number, addresses: Planner): Side {
  const claims = persistentClaims()
  for (const planner of [claims, addresses]) see(planner, definition())
  if (addresses.watches.some(({ kind }) => kind === 'IPBlock'))
    for (const block of blocksOf(count)) see(addresses, block)
  for (let nth = 0; nth < count; nth++) {
    see(claims, machineOf(nth))
    see(claims, instanceOf(nth))
    for (const planner of [claims, addresses]) see(planner, claimOf(nth))
    see(addresses, podOf(nth, true))
  }
  let version = count
  let next = 0
  const run = () => {
    next = (next + 7) % FEW
    version++
    const changes = [
      [claims, instanceOf(next, version)],
      [addresses, podOf(next, version % 2 === 0, version)],
    ] as const
    const kinds = changes.flatMap(([planner, object]) =>
      see(planner, object).map((key) => planner.plan(key, { nowMs: 0 })?.outcome.kind),
    )
    return kinds.filter((kind) => kind === 'kept' || kind === 'served').length
  }
  return { run, operations: 1, answer: () => run() }
}

const startObjects = once(() => [
  definition(),
  ...Array.from({ length: MANY }, (_, nth) => claimOf(nth)),
  ...Array.from({ length: PODS }, (_, nth) => (nth < MANY ? podOf(nth, true) : plainPod(nth))),
])

/** The first effect for a new Pod. */
function firstEffect(planner: Planner) {
  const { metadata, ...rest } = plainPod(PODS)
  const { 'k8s.ovn.org/pod-networks': _, ...annotations } = metadata.annotations ?? {}
  const [key] = see(planner, { ...rest, metadata: { ...metadata, annotations } })
  return planner.plan(key ?? '', { nowMs: 0 })?.effects[0]
}

const startBlocks = once(() => [...blocksOf(MANY, PODS)])

/** From the first list to the row of a new Pod, which its block gets. */
function startOnBlocks(): Side {
  const run = () => {
    const planner = persistentIPsOnBlocks()
    for (const object of startObjects()) see(planner, object)
    for (const block of startBlocks()) see(planner, block)
    const effect = firstEffect(planner)
    if (effect?.kind !== 'external') return false
    const step = planner.tasks.taskFor(effect.call as never).next({ nowMs: 0, conflicts: 0 })
    const unit = (PODS + 1) % 256
    return step.kind === 'write' && JSON.stringify(step.plan.effects).includes(`"${unit}":{"owner":"ns/pod-${PODS}"`)
  }
  return { run, operations: startObjects().length, answer: () => run() }
}

/** From the first list to the address of a new Pod. */
function start(): Side {
  const run = () => {
    const planner = persistentIPs()
    for (const object of startObjects()) see(planner, object)
    return JSON.stringify(firstEffect(planner)).includes(`\\"${addressOf(PODS)}\\"`)
  }
  return { run, operations: startObjects().length, answer: () => run() }
}

/** The number of rebuilds that are measured: each reads all objects. */
const REBUILDS = 3

function rebuilds(): Side {
  const free = () => {
    const texts = startObjects().flatMap(({ kind, metadata, status }) => {
      if (kind === 'IPAMClaim') return (status as { readonly ips: readonly string[] }).ips
      const text = metadata.annotations?.['k8s.ovn.org/pod-networks'] ?? '{}'
      const all: { readonly [nad: string]: { readonly ip_addresses: readonly string[] } } = JSON.parse(text)
      return Object.values(all).flatMap(({ ip_addresses: own }) => own)
    })
    const taken = RangeSet.fromAddresses(texts.map((text) => Prefix.parse(text).address))
    const pool = RangeSet.subtract(RangeSet.parse(['10.0.0.1-10.15.255.254']), taken)
    return RangeSet.first(pool)!
  }
  const run = () => {
    let last = free()
    for (let times = 1; times < REBUILDS; times++) last = free()
    return `${Address.format(last)}/12` === addressOf(PODS)
  }
  return { run, operations: REBUILDS, answer: () => run() }
}

/** A Pod of a machine as it is sent. Most of it are environment variables and annotations. */
const podText = once(() => {
  const { metadata, ...rest } = podOf(1, false)
  const { 'k8s.v1.cni.cncf.io/networks': _, ...annotations } = metadata.annotations ?? {}
  const env = Array.from({ length: 1000 }, (_, nth) => ({ name: `SETTING_${nth}`, value: `value ${nth}`.padEnd(30) }))
  const own = { ...annotations, 'kubevirt.io/domain': 'vm-1', 'k8s.v1.cni.cncf.io/networks': '[{"name":"blue"}]' }
  const spec = { containers: [{ name: 'compute', env }] }
  return JSON.stringify({ ...rest, metadata: { ...metadata, annotations: own }, spec }).padEnd(65_536)
})

const objects = once(() => {
  const [nad, instance] = [definition(), instanceOf(1)]
  return { instance: () => instance, definition: () => nad, definitionsIn: () => [nad] } as never
})

function admitted(pod: KubeObject): object {
  const { admission } = admitVMPod({ operation: 'CREATE', pod }, objects())
  if (!admission.allowed || !JSON.stringify(admission.patch).includes('vm-1.blue')) throw new Error('no patch')
  return { allowed: true, patch: btoa(JSON.stringify(admission.patch)) }
}

function admission(answered: (pod: KubeObject) => object): Side {
  const run = () => JSON.stringify(answered(JSON.parse(podText()))).length > 0
  return { run, operations: 1, answer: () => run() }
}
