import { performance } from 'node:perf_hooks'

/** The same work done by us and by peers, in one process. */
export interface Row {
  readonly name: string
  /** Prepares all sides afresh. A peer that is a model of an algorithm says so in its name. */
  readonly setUp: () => {
    readonly ours: Side
    readonly peers: { readonly [peer: string]: Side }
  }
}

export interface Side {
  /** How many operations one call of `work` is: a peer may do fewer of a slow one. */
  readonly operations: number
  readonly work: () => unknown
}

export interface Measurement {
  readonly name: string
  readonly peer: string
  readonly oursNs: number
  readonly theirsNs: number
  /** Peer time divided by our time: above 1 we are faster. */
  readonly ratio: number
}

const ROUNDS = 3
const SAMPLES = 7
const SAMPLE_MS = 20

/** Best of three medians of every side, a measurement for each peer. Sides take turns, so that a noisy moment hits all. */
export function measure(row: Row): Measurement[] {
  const best = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round++) {
    const { ours, peers } = row.setUp()
    if (round === 0)
      for (const [peer, theirs] of Object.entries(peers)) sameResult(`${row.name}: ${peer}`, ours, theirs)
    const sides = Object.entries({ ...peers, [OURS]: ours }).map(([name, side]) => ({
      name,
      side,
      calls: calibrate(side.work),
      samples: [] as number[],
    }))
    for (let sample = 0; sample < SAMPLES; sample++) {
      for (const { side, calls, samples } of sides) samples.push(sampleNs(side.work, calls) / side.operations)
    }
    for (const { name, samples } of sides) best.set(name, Math.min(best.get(name) ?? Infinity, median(samples)))
  }
  const oursNs = best.get(OURS)!
  best.delete(OURS)
  return [...best].map(([peer, theirsNs]) => ({ name: row.name, peer, oursNs, theirsNs, ratio: theirsNs / oursNs }))
}

const OURS = 'ours'

/** Work that answers with a number or with texts has to give the same answer on either side. */
function sameResult(title: string, ours: Side, theirs: Side): void {
  if (ours.operations !== theirs.operations) return
  const [left, right] = [comparable(ours.work()), comparable(theirs.work())]
  if (left !== undefined && right !== undefined && left !== right) throw new Error(`${title} gives another result`)
}

function comparable(result: unknown): string | undefined {
  if (typeof result === 'number') return String(result)
  return Array.isArray(result) ? [...result].sort().join() : undefined
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
  return [...values].sort((a, b) => a - b)[values.length >> 1]!
}
