import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** One comparison: the same work done by us and by peers, in one process. */
export interface Work {
  readonly name: string
  readonly ours: () => Side
  /** By name; models of an algorithm say so in it. */
  readonly peers: Readonly<Record<string, () => Side>>
}

/** One side of it, prepared afresh. */
export interface Side {
  /** Does the work `operations` times. */
  readonly run: () => unknown
  /** A peer may do fewer of a slow one. */
  readonly operations: number
  /** What came out, in a form that all sides share: if it differs, they did not do the same work. */
  readonly answer: () => unknown
}

export interface Measurement {
  readonly work: string
  readonly peer: string
  readonly oursNs: number
  readonly theirsNs: number
  /** Peer time divided by our time: above 1 we are faster. */
  readonly ratio: number
}

setFlagsFromString('--expose-gc')
/** What one side leaves behind is cleared before the next one has its turn: nobody pays for the garbage of another. */
export const collectGarbage = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void

const SAMPLES = 7
const SAMPLE_MS = 20
/** Work that takes so long for one call is sampled less often. */
const SLOW_MS = 100
const SLOW_SAMPLES = 3
/** Best of so many medians. */
export const ROUNDS = 3

/** Best of some medians of each side. Sides take turns, so that a noisy moment hits all of them. */
export function measure(work: Work, peers: readonly string[], rounds: number): Measurement[] {
  const makers = [work.ours, ...peers.map((peer) => work.peers[peer]!)]
  const best = makers.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < rounds; round++) {
    const sides = makers.map((make) => make())
    if (round === 0) assertSameAnswer(work.name, peers, sides)
    for (const [index, ns] of medians(sides).entries()) best[index] = Math.min(best[index]!, ns)
  }
  const oursNs = best[0]!
  return peers.map((peer, index) => measurement(work.name, peer, oursNs, best[index + 1]!))
}

export function measurement(work: string, peer: string, oursNs: number, theirsNs: number): Measurement {
  return { work, peer, oursNs, theirsNs, ratio: theirsNs / oursNs }
}

/** The median time of one operation of each side, in nanoseconds. */
export function medians(sides: readonly Side[]): number[] {
  const calls = sides.map((side) => calibrate(side.run))
  const samples = sides.map((): number[] => [])
  for (let sample = 0; sample < SAMPLES; sample++) {
    for (const [index, { run, operations }] of sides.entries()) {
      const { count, slow } = calls[index]!
      if (slow && sample >= SLOW_SAMPLES) continue
      collectGarbage({ type: 'minor' })
      samples[index]!.push(sampleNs(run, count) / operations)
    }
  }
  return samples.map(median)
}

/** Calls that fill a sample. The first calls do not count: they may grow a table, or be compiled. */
function calibrate(run: () => unknown): { readonly count: number; readonly slow: boolean } {
  // twice: a pause of the machine makes one call slow
  const isSlow = () => sampleNs(run, 1) * 1e-6 > SLOW_MS
  if (isSlow() && isSlow()) return { count: 1, slow: true }
  sampleNs(run, 2)
  let count = 1
  for (;;) {
    const tookMs = Math.min(sampleNs(run, count), sampleNs(run, count)) * count * 1e-6
    if (tookMs >= SAMPLE_MS || count >= 2 ** 24) return { count, slow: false }
    count = tookMs < SAMPLE_MS / 8 ? count * 4 : count * 2
  }
}

/** What the work returned last: keeps the optimiser from dropping it. */
const sink: { value: unknown } = { value: undefined }

function sampleNs(run: () => unknown, calls: number): number {
  const start = performance.now()
  for (let call = 0; call < calls; call++) sink.value = run()
  return ((performance.now() - start) * 1e6) / calls
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number
}

function assertSameAnswer(work: string, peers: readonly string[], sides: readonly Side[]): void {
  const [ours, ...theirs] = sides.map(({ answer }) => JSON.stringify(answer()))
  for (const [index, answer] of theirs.entries()) {
    if (answer === ours) continue
    const [peer, got, want] = [peers[index], answer.slice(0, 200), ours?.slice(0, 200)]
    throw new Error(`${work}: ${peer} does not do the same work: its answer is ${got}, ours ${want}`)
  }
}

/** A run that does `work` for each item and returns what came out last. */
export function each<T>(items: readonly T[], work: (item: T) => unknown): () => unknown {
  return compiled('let last; for (let i = 0; i < items.length; i++) last = work(items[i]); return last', items, work)
}

/** A run that adds up what `work` makes of each item. */
export function sum<T>(items: readonly T[], work: (item: T) => number): () => number {
  return compiled('let sum = 0; for (let i = 0; i < items.length; i++) sum += work(items[i]); return sum', items, work)
}

/** Reads the last character, so that a text that is only a plan to join pieces is joined. */
export function ending(text: string): number {
  return text.length * 256 + text.charCodeAt(text.length - 1)
}

/** A number that stands for texts: FNV-1a over their characters, 32 bits, with the end of a line behind each. */
export function hashOf(texts: readonly string[]): number {
  let hash = 0x811c9dc5
  for (const character of texts.map((text) => `${text}\n`).join('')) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0
  }
  return hash
}

/**
 * Compiles a loop for one caller. V8 learns for each place in the source what is called there, and inlines that: at a place that all
 * benchmarks share it would have seen too much.
 */
function compiled<T, Out>(body: string, items: readonly T[], work: (item: T) => Out): () => Out {
  return new Function('items', 'work', `return () => { ${body} }`)(items, work)
}
