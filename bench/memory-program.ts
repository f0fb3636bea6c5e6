// Started by memory.ts with --expose-gc. Prints what each value takes.

import { Address, type Prefix, PrefixMap, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { modelWatch, ObjectCache, type Watch } from 'ipam-kit/plan'
import { type NodeIPAMPlanner, nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { RangeTree } from '../src/allocator/slots/range-tree.js'
import { Draws, once, parsedPrefixes, prefixes4, prefixes6 } from './corpora.js'
import type { Memory } from './memory.js'
import { annotationsOf, definition } from './persistent-machines.js'
import { keptPods, listInto, PAGE, pageOfPods, wholePods } from './pods.js'
import { attached } from './secondary-pods.js'
import { MILLION, takenAtRandom } from './slots.js'

const COPIES = 10
const NODES = 5000

const distinct4 = once(() => new Set(prefixes4()).size)

console.log(
  JSON.stringify([
    each('memory of a set, each IPv4 range', rangesOf(prefixes4()), () => setOf(prefixes4())),
    each('memory of a set, each IPv6 range', rangesOf(prefixes6()), () => setOf(prefixes6())),
    each('memory of a map, each IPv4 prefix', distinct4(), () => mapOf(parsedPrefixes(prefixes4()))),
    each('memory of a bitmap half full at random, each slot', MILLION, () =>
      takenAtRandom(MILLION, MILLION / 2, new Draws(2)),
    ),
    each('memory of a range tree, each free range', rangesIn(denseTree()), denseTree),
    each('memory of a range tree beyond 2^32, each free range', rangesIn(sparseTree()), sparseTree),
    each('memory of 30,000 watched Pods of 6 kB, each', 3000, () => listInto(wholePods, pagesOf(3000))),
    each('memory of 30,000 watched Pods of 6 kB with keep, each', 3000, () => listInto(keptPods, pagesOf(3000))),
    each('memory of the whereabouts sweep with 30,000 Pods of 6 kB, each', 3000, () => sweptPods(3000)),
    each('memory of persistent IPs with 30,000 Pods of 6 kB, each', 3000, () => servedPods(3000)),
    each('memory of 5,000 watched Nodes of 20 kB, each', NODES, () => nodesIn(modelWatch(Node))),
    each('memory of node IPAM with 5,000 Nodes of 20 kB, each', NODES, () => nodesIn(nodeIPAM())),
    { what: 'peak memory of a first list of 30,000 Pods in one request, each', bytes: peakOf([30_000]) / 30_000 },
    { what: 'peak memory of a first list of 30,000 Pods in pages, each', bytes: peakOf(Array(60).fill(PAGE)) / 30_000 },
  ] satisfies Memory[]),
)

function each(what: string, parts: number, build: () => unknown): Memory {
  return { what, bytes: bytesOf(build) / parts }
}

function rangesOf(texts: readonly string[]): number {
  return RangeSet.ranges(setOf(texts)).length
}

// Questions make what waits for them: the first search builds a directory, the first count sums.

function setOf(texts: readonly string[]): RangeSet {
  const set = RangeSet.fromPrefixes(parsedPrefixes(texts))
  const first = RangeSet.first(set)!
  RangeSet.contains(set, first)
  RangeSet.size(set)
  return set
}

/** From each prefix to its place in the list. */
function mapOf(prefixes: readonly Prefix[]): PrefixMap<number> {
  const map = new PrefixMap<number>()
  for (const [index, prefix] of prefixes.entries()) map.set(prefix, index + 1)
  map.longestMatch(Address.parse('10.0.0.1'))
  return map
}

function rangesIn(tree: RangeTree): number {
  return [...tree.freeRanges()].length
}

/** Nine of ten slots taken, one after the other, anywhere: about 10,000 free ranges, in parts that are as full as they happen to be. */
function denseTree(): RangeTree {
  return treeAtRandom({ used: 100_800, apart: 1 })
}

/** As many free ranges between slots that lie far apart. */
function sparseTree(): RangeTree {
  return treeAtRandom({ used: 10_000, apart: 2 ** 20 })
}

function treeAtRandom({ used, apart }: { readonly used: number; readonly apart: number }): RangeTree {
  const places = 112_000
  const draws = new Draws(5)
  const tree = new RangeTree(places * apart)
  while (tree.used < used) tree.take(draws.below(places) * apart)
  return tree
}

/** What a cache of whole Nodes takes, or a planner of their subnets. */
function nodesIn(reader: NodeIPAMPlanner | Watch<Node>): unknown {
  const cache = new ObjectCache()
  const objects = 'plan' in reader ? undefined : cache.open(reader)
  for (let nth = 0; nth < NODES; nth++) {
    // each text anew, as it comes from the network
    const change = { kind: 'present', object: JSON.parse(textOfNode(nth)) as KubeObject } as const
    if ('plan' in reader) reader.observe(change)
    else cache.apply(change)
  }
  return objects ?? reader
}

/** A sweep with Pods that have a network status. */
function sweptPods(count: number): unknown {
  const planner = whereaboutsSweep()
  let nth = 0
  for (const page of pagesOf(count)) {
    const { items } = JSON.parse(page) as { readonly items: readonly KubeObject[] }
    for (const pod of items) planner.observe({ kind: 'present', object: attached(pod, nth++) })
  }
  return planner
}

/** The network side of persistent IPs, with Pods that have an address. */
function servedPods(count: number): unknown {
  const planner = persistentIPs()
  planner.observe({ kind: 'present', object: definition() })
  let nth = 0
  for (const page of pagesOf(count)) {
    const { items } = JSON.parse(page) as { readonly items: readonly KubeObject[] }
    for (const pod of items) {
      const annotations = { ...pod.metadata.annotations, ...annotationsOf(nth++) }
      planner.observe({ kind: 'present', object: { ...pod, metadata: { ...pod.metadata, annotations } } })
    }
  }
  return planner
}

/** A Node of 20 kB, most of it the names of images. */
function textOfNode(nth: number): string {
  const podCIDR = `10.${nth >> 8}.${nth & 255}.0/24`
  const images = Array.from({ length: 50 }, (_, image) => ({ names: [`example.com/${nth}/${image}`.padEnd(380, 'x')] }))
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${nth}`, uid: `${nth}`, resourceVersion: `${nth + 1}`, labels: { zone: 'a' } },
    spec: { podCIDR, podCIDRs: [podCIDR] },
    status: { images },
  })
}

/** Made as they are read, as a client does. */
function* pagesOf(count: number): Generator<string> {
  for (let from = 0; from < count; from += PAGE) yield pageOfPods(from, PAGE)
}

/** The most that is in use while a list in pages of these sizes is read, with its text and the objects of a page. */
function peakOf(sizes: readonly number[]): number {
  function* pages(): Generator<string> {
    let from = 0
    for (const size of sizes) {
      yield pageOfPods(from, size)
      from += size
    }
  }
  const before = inUse()
  let most = 0
  listInto(keptPods, pages(), () => {
    most = Math.max(most, inUse() - before)
  })
  return most
}

/** The bytes of what `build` makes. */
function bytesOf(build: () => unknown): number {
  build()
  const values: unknown[] = Array.from({ length: COPIES }, () => undefined)
  const before = inUse()
  for (let copy = 0; copy < COPIES; copy++) values[copy] = build()
  const after = inUse()
  return values.includes(undefined) ? Number.NaN : (after - before) / COPIES
}

function inUse(): number {
  if (globalThis.gc === undefined) throw new Error('start with --expose-gc')
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
