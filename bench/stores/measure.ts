import { performance } from 'node:perf_hooks'
import { collectGarbage, type Measurement, median } from '../harness.js'

/** One side of a work that has to wait for answers. */
export interface Side {
  /** Before each sample, and not in its time. */
  begin?(): Promise<void>
  run(count: number): Promise<void>
  end?(): Promise<void>
}

const SAMPLES = 63
const SAMPLE_MS = 10
/** Work that takes so long for one call is sampled less often. */
const SLOW_MS = 30
const SLOW_SAMPLES = 9
/** Until the code is compiled for good: some two thousand calls. */
const WARM_MS = 1000

/** Samples of each side, in nanoseconds for a call. Sides take turns, also in who is first. */
async function sampleSides(sides: readonly Side[]): Promise<number[][]> {
  const counts: number[] = []
  for (const side of sides) counts.push(await warm(side))
  const samples = sides.map((): number[] => [])
  const times = counts.some((count) => count === 1) ? SLOW_SAMPLES : SAMPLES
  for (let sample = 0; sample < times; sample++) {
    const order = [...sides.keys()]
    if (sample % 2 === 1) order.reverse()
    for (const index of order) samples[index]!.push(await sampleNs(sides[index]!, counts[index]!))
  }
  return samples
}

/** The median of one side alone, in nanoseconds. */
export async function measureAlone(side: Side): Promise<number> {
  const [samples] = (await sampleSides([side])) as [number[]]
  return median(samples)
}

/**
 * As the harness has it: how long the peer takes, divided by how long we take. Servers and the disk are never quite at rest, and what disturbs
 * lasts longer than two samples: so the ratio is the median of those of neighbours, and not one of the best moment of each side.
 */
export async function measureBoth(work: string, peer: string, ours: Side, raw: Side): Promise<Measurement> {
  const [left, right] = (await sampleSides([ours, raw])) as [number[], number[]]
  const ratio = median(left.map((ns, index) => right[index]! / ns))
  return { work, peer, oursNs: median(left), theirsNs: median(right), ratio }
}

/** @returns how many calls fill a sample. The first calls do not count: connections are made, and code is compiled */
async function warm(side: Side): Promise<number> {
  let spentMs = 0
  let callMs = (await sampleNs(side, 1)) / 1e6
  for (let count = 1; spentMs < WARM_MS; count = Math.min(Math.ceil(SAMPLE_MS / callMs), count * 4)) {
    callMs = (await sampleNs(side, count)) / 1e6
    spentMs += callMs * count
  }
  return callMs > SLOW_MS ? 1 : Math.ceil(SAMPLE_MS / callMs)
}

async function sampleNs(side: Side, count: number): Promise<number> {
  await side.begin?.()
  collectGarbage({ type: 'minor' })
  const start = performance.now()
  await side.run(count)
  const tookMs = performance.now() - start
  await side.end?.()
  return (tookMs * 1e6) / count
}
