import { performance } from 'node:perf_hooks'
import type { Held } from '../gate.js'
import { collectGarbage, type Measurement, median } from '../harness.js'

/** One side of a work that has to wait for answers. */
export interface Side {
  /** Before each sample, and not in its time. */
  begin?(): Promise<void>
  run(count: number): Promise<void>
  end?(): Promise<void>
}

const SAMPLE_MS = 10
/** Work that takes so long for one call is sampled less often. */
const SLOW_MS = 30

/** How long a measurement takes: against floors, and against tenths of them. */
export interface Care {
  readonly samples: number
  readonly slowSamples: number
  /** Until the code is compiled for good: some two thousand calls, where that matters. */
  readonly warmMs: number
}

export const CARE: { readonly [H in Held]: Care } = {
  floors: { samples: 63, slowSamples: 9, warmMs: 1000 },
  tenths: { samples: 7, slowSamples: 3, warmMs: 100 },
}

/** Samples of each side, in nanoseconds for a call. Sides take turns, also in who is first. */
async function sampleSides(sides: readonly Side[], { samples: many, slowSamples, warmMs }: Care): Promise<number[][]> {
  const counts: number[] = []
  for (const side of sides) counts.push(await warm(side, warmMs))
  const samples = sides.map((): number[] => [])
  const times = counts.some((count) => count === 1) ? slowSamples : many
  for (let sample = 0; sample < times; sample++) {
    const order = [...sides.keys()]
    if (sample % 2 === 1) order.reverse()
    for (const index of order) samples[index]!.push(await sampleNs(sides[index]!, counts[index]!))
  }
  return samples
}

/** The median of one side alone, in nanoseconds. */
export async function measureAlone(side: Side, care: Care): Promise<number> {
  const [samples] = (await sampleSides([side], care)) as [number[]]
  return median(samples)
}

export interface Both {
  readonly ours: Side
  readonly raw: Side
  readonly care: Care
}

/**
 * As the harness has it: how long the peer takes, divided by how long we take. Servers and the disk
 * are never quite at rest, and what disturbs lasts longer than two samples: so the ratio is the
 * median of those of neighbours, and not one of the best moment of each side.
 */
export async function measureBoth(work: string, peer: string, { ours, raw, care }: Both): Promise<Measurement> {
  const [left, right] = (await sampleSides([ours, raw], care)) as [number[], number[]]
  const ratio = median(left.map((ns, index) => right[index]! / ns))
  return { work, peer, oursNs: median(left), theirsNs: median(right), ratio }
}

/**
 * @returns how many calls fill a sample. The first calls do not count: connections are made, and
 * code is compiled
 */
async function warm(side: Side, warmMs: number): Promise<number> {
  let spentMs = 0
  let callMs = (await sampleNs(side, 1)) / 1e6
  for (let count = 1; spentMs < warmMs; count = Math.min(Math.ceil(SAMPLE_MS / callMs), count * 4)) {
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
