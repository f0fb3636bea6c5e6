// Started by memory.ts with --expose-gc. Prints what each value takes.
import { Address, type Prefix, PrefixMap, RangeSet } from 'ipam-kit/cidr'
import { once, parsedPrefixes, prefixes4, prefixes6 } from './corpora.js'
import type { Memory } from './memory.js'

const COPIES = 10

const distinct4 = once(() => new Set(prefixes4()).size)

console.log(
  JSON.stringify([
    each('memory of a set, each IPv4 range', rangesOf(prefixes4()), () => setOf(prefixes4())),
    each('memory of a set, each IPv6 range', rangesOf(prefixes6()), () => setOf(prefixes6())),
    each('memory of a map, each IPv4 prefix', distinct4(), () => mapOf(parsedPrefixes(prefixes4()))),
  ] satisfies Memory[]),
)

function each(what: string, parts: number, build: () => unknown): Memory {
  return { what, bytes: bytesOf(build) / parts }
}

function rangesOf(texts: readonly string[]): number {
  return RangeSet.ranges(setOf(texts)).length
}

// Questions make what waits for them: a directory is built when it pays, and sums with the first count.

function setOf(texts: readonly string[]): RangeSet {
  const set = RangeSet.fromPrefixes(parsedPrefixes(texts))
  const first = RangeSet.first(set)!
  for (let search = 0; search < texts.length; search++) RangeSet.contains(set, first)
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
