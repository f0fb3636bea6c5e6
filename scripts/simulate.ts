// npm run simulate [-- --schedules N] [--seed N] [--writers N]
//
// The in-cluster provider with 2 to 8 writers over one store, each with up to four plans at a time, with faults at every call: as many schedules as wanted, each from a seed of its
// own. One that goes wrong is printed whole, with the command that runs it again. NIGHTLY=1 runs 100,000.
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { inClusterSystem, type SimulatedSystem, type SimulationResult, simulate } from 'ipam-kit/testing'

const CI_SCHEDULES = 5000
const NIGHTLY_SCHEDULES = 100_000
/** Failures that are printed: the others are counted. */
const MAX_SHOWN = 3

interface Share {
  readonly first: number
  readonly count: number
  readonly step: number
  readonly writers: number | undefined
}

interface Tally {
  readonly failed: readonly SimulationResult[]
  readonly schedules: number
  readonly turns: number
  readonly faults: number
}

/** 2 to 8, by the seed. */
function writersFor(seed: number): number {
  return 2 + (seed % 7)
}

/** One plan at a time, or two or four side by side, by the seed. */
function concurrencyFor(seed: number): number {
  return 2 ** (seed % 3)
}

/** Without and with claims that are removed by force, and the sweep that follows. */
function systemFor(seed: number): SimulatedSystem {
  return inClusterSystem(seed % 2 === 0 ? { sweepAfterSeconds: 1 + (seed % 3) } : {})
}

async function runShare({ first, count, step, writers }: Share): Promise<Tally> {
  const failed: SimulationResult[] = []
  let turns = 0
  let faults = 0
  for (let i = 0; i < count; i++) {
    const seed = first + i * step
    const parts = { writers: writers ?? writersFor(seed), concurrency: concurrencyFor(seed) }
    const result = await simulate({ system: systemFor(seed), seed, ...parts })
    turns += result.schedule.length
    faults += result.faults
    if (result.problems.length > 0) failed.push(result)
  }
  return { failed, schedules: count, turns, faults }
}

function runElsewhere(share: Share): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ['--share', JSON.stringify(share)])
    child.once('message', (tally) => resolve(tally as Tally))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`a share of the schedules has ended with code ${code}`)))
  })
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      schedules: { type: 'string' },
      seed: { type: 'string' },
      writers: { type: 'string' },
      share: { type: 'string' },
    },
  })
  if (values.share !== undefined) {
    process.send!(await runShare(JSON.parse(values.share) as Share))
    return 0
  }
  const first = Number(values.seed ?? 1)
  const isOne = values.seed !== undefined && values.schedules === undefined
  const wanted = process.env.NIGHTLY ? NIGHTLY_SCHEDULES : CI_SCHEDULES
  const schedules = isOne ? 1 : Number(values.schedules ?? wanted)
  const writers = values.writers === undefined ? undefined : Number(values.writers)
  if (![first, schedules, writers ?? 1].every((value) => Number.isSafeInteger(value) && value >= 0)) {
    console.error('usage: npm run simulate [-- --schedules N] [--seed N] [--writers N]')
    return 2
  }
  const start = performance.now()
  const threads = Math.min(availableParallelism(), schedules)
  const shares = Array.from({ length: threads }, (_, index): Share => {
    const count = Math.floor(schedules / threads) + (index < schedules % threads ? 1 : 0)
    return { first: first + index, count, step: threads, writers }
  })
  const tallies = await Promise.all(threads === 1 ? shares.map(runShare) : shares.map(runElsewhere))
  const failed = tallies.flatMap((tally) => tally.failed).sort((left, right) => left.seed - right.seed)
  for (const { seed, problems, schedule } of failed.slice(0, MAX_SHOWN)) {
    console.log(
      `${schedule.join('\n')}\n\nseed ${seed}:\n${problems.join('\n')}\nagain: npm run simulate -- --seed ${seed}\n`,
    )
  }
  const sum = (field: 'turns' | 'faults') => tallies.reduce((total, tally) => total + tally[field], 0)
  const seconds = ((performance.now() - start) / 1000).toFixed(0)
  console.log(`${schedules} schedules from seed ${first}: ${sum('turns')} turns, ${sum('faults')} faults, ${seconds} s`)
  if (sum('faults') === 0 && schedules > 10) throw new Error('there was no fault: nothing was tested')
  console.log(failed.length === 0 ? 'nothing went wrong' : `${failed.length} went wrong`)
  return failed.length === 0 ? 0 : 1
}

process.exitCode = await main()
