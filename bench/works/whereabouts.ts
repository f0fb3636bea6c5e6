import { Address, type Address4, Prefix } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { chooseAddress, whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { lowestFreeText, textOf } from '../peers/whereabouts-model.js'
import { attached, podName, poolsOf } from '../secondary-pods.js'

const ROWS = 50_000
const [MANY, FEW] = [30_000, 300]

export const whereaboutsWorks: readonly Work[] = [
  {
    name: 'whereabouts: choose an address, 50,000 rows',
    ours: choose,
    peers: { "model of upstream's walk": walk },
  },
  {
    name: 'whereabouts sweep: one event of a Pod, 30,000 Pods',
    ours: () => podEvents(MANY),
    peers: { 'the same with 300 Pods': () => podEvents(FEW) },
  },
]

const RANGE = { prefix: Prefix.parse('10.0.0.0/8'), exclude: [] }
const [FIRST, LAST] = [0x0a000001, 0x0afffffe]
const taken = once(() => Array.from({ length: ROWS }, (_, nth) => Address.from4(FIRST + nth)))

function choose(): Side {
  const run = () => chooseAddress(RANGE, { taken: taken() })
  const answer = () => {
    const choice = run()
    return choice.kind === 'chosen' ? (choice.address as Address4).value - FIRST : choice.kind
  }
  return { run, operations: 1, answer }
}

function walk(): Side {
  // rows hold an address as a number of 4 bytes, as ours do; upstream formats each
  const run = () => lowestFreeText(new Set(taken().map(({ value }) => textOf(value))), { first: FIRST, last: LAST })
  return { run, operations: 1, answer: () => (Address.parse(run()!) as Address4).value - FIRST }
}

/** A Pod loses its secondary interface and gets it again, and its pool is planned each time. */
function podEvents(count: number): Side {
  const planner = sweepOf(count)
  let version = count
  let next = 0
  const run = () => {
    next = (next + 7) % FEW
    let waiting = 0
    for (const hasInterface of [false, true]) {
      const keys = planner.observe({ kind: 'present', object: podOf(next, ++version, hasInterface) })
      for (const key of keys) if (planner.plan(key, { nowMs: 0 })?.outcome.kind === 'waiting') waiting++
    }
    return waiting
  }
  return { run, operations: 2, answer: () => run() }
}

function sweepOf(count: number) {
  const planner = whereaboutsSweep()
  for (const object of [...poolsOf(count), ...podsOf(count)]) planner.observe({ kind: 'present', object })
  return planner
}

function podsOf(count: number): readonly KubeObject[] {
  return Array.from({ length: count }, (_, nth) => podOf(nth, nth + 1))
}

function podOf(nth: number, version: number, hasInterface = true): KubeObject {
  const pod = {
    ...{ apiVersion: Pod.info.apiVersion, kind: Pod.info.kind },
    metadata: { ...podName(nth), uid: `${nth}`, resourceVersion: `${version}` },
    spec: { nodeName: `node-${nth % 500}` },
    status: { phase: 'Running', podIPs: [{ ip: '192.168.0.1' }] },
  }
  return attached(pod, nth, hasInterface)
}
