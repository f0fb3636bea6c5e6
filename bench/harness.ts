import { performance } from 'node:perf_hooks'

/** One comparison: the same work done by us and by a peer, in one process. */
export interface Row {
  readonly name: string
  /** What the peer is; models of an algorithm say so. */
  readonly peer: string
  /** Prepares both sides afresh; each returned function does the work `operations` times. */
  readonly setUp: () => {
    readonly ours: () => unknown
    readonly theirs: () => unknown
    readonly operations: Operations
  }
}

/** How many operations one call is: the peer may do fewer of a slow one. */
export interface Operations {
  readonly ours: number
  readonly theirs: number
}

export interface Measurement {
  readonly name: string
  readonly peer: string
  readonly oursNs: number
  readonly theirsNs: number
  /** Peer time divided by our time: above 1 we are faster. */
  readonly ratio: number
}

const SAMPLES = 7
const SAMPLE_MS = 20

/** Best of three medians of either side. Sides take turns, so that a noisy moment hits both. */
export function measure(row: Row): Measurement {
  let oursNs = Number.POSITIVE_INFINITY
  let theirsNs = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3; round++) {
    const { ours, theirs, operations } = row.setUp()
    const ourCalls = calibrate(ours)
    const theirCalls = calibrate(theirs)
    const ourSamples: number[] = []
    const theirSamples: number[] = []
    for (let sample = 0; sample < SAMPLES; sample++) {
      ourSamples.push(sampleNs(ours, ourCalls) / operations.ours)
      theirSamples.push(sampleNs(theirs, theirCalls) / operations.theirs)
    }
    oursNs = Math.min(oursNs, median(ourSamples))
    theirsNs = Math.min(theirsNs, median(theirSamples))
  }
  return { name: row.name, peer: row.peer, oursNs, theirsNs, ratio: theirsNs / oursNs }
}

/** Calls that fill a sample. The first calls do not count: they may grow a table, or be compiled. */
function calibrate(work: () => unknown): number {
  sampleNs(work, 3)
  let calls = 1
  for (;;) {
    const tookMs = Math.min(sampleNs(work, calls), sampleNs(work, calls)) * calls * 1e-6
    if (tookMs >= SAMPLE_MS || calls >= 2 ** 24) return calls
    calls = tookMs < SAMPLE_MS / 8 ? calls * 4 : calls * 2
  }
}

/** What the work returned last: keeps the optimiser from dropping it. */
const sink: { value: unknown } = { value: undefined }

function sampleNs(work: () => unknown, calls: number): number {
  const start = performance.now()
  for (let call = 0; call < calls; call++) sink.value = work()
  return ((performance.now() - start) * 1e6) / calls
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number
}

/** A small generator of numbers from a seed (mulberry32), so that every run does the same work. */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
