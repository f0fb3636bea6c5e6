// npm run simulate [-- --system NAME] [--schedules N] [--seed N] [--writers N]
//
// Writers over one store, with faults at every call: as many schedules as wanted, each from a seed of its own. One that goes wrong is printed whole, with the
// command that runs it again. NIGHTLY=1 runs 100,000 of each system.
//
//   in-cluster     the in-cluster provider, 2 to 8 writers of whom one rules, each with up to four plans at a time
//   blocks         2 to 16 writers of blocks, all at once, and one or two operators
//   block-claims   claims of Cluster API on blocks, 2 to 5 writers, all at once
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { blockClaimsSystem, inClusterSystem, type SimulationResult, simulate, simulateBlocks } from 'ipam-kit/testing'

const NIGHTLY_SCHEDULES = 100_000
/** Failures that are printed: the others are counted. */
const MAX_SHOWN = 3

interface Share {
  readonly system: string
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

/** What is simulated, by name. */
interface System {
  /** How many schedules a CI run has. */
  readonly ciSchedules: number
  run(seed: number, writers: number | undefined): Promise<SimulationResult>
}

const systems: { readonly [name: string]: System } = {
  'in-cluster': {
    ciSchedules: 5000,
    run: (seed, writers = 2 + (seed % 7)) => {
      // without and with claims that are removed by force, and the sweep that follows
      const system = inClusterSystem(seed % 2 === 0 ? { sweepAfterSeconds: 1 + (seed % 3) } : {})
      return simulate({ system, seed, writers, concurrency: 2 ** (seed % 3) })
    },
  },
  blocks: { ciSchedules: 10_000, run: (seed, writers) => simulateBlocks({ seed, writers }) },
  'block-claims': {
    ciSchedules: 1000,
    run: (seed, writers = 2 + (seed % 4)) => {
      const concurrency = 2 ** (seed % 3)
      return simulate({
        system: blockClaimsSystem(),
        seed,
        writers,
        mayWrite: 'all',
        concurrency,
        actions: 24,
        maxTurns: 60_000,
      })
    },
  },
}

async function runShare({ system, first, count, step, writers }: Share): Promise<Tally> {
  const { run } = systems[system]!
  const failed: SimulationResult[] = []
  let turns = 0
  let faults = 0
  for (let i = 0; i < count; i++) {
    const seed = first + i * step
    const result = await run(seed, writers)
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
      system: { type: 'string' },
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
  const writers = values.writers === undefined ? undefined : Number(values.writers)
  const names = values.system === undefined ? Object.keys(systems) : [values.system]
  const numbers = [first, Number(values.schedules ?? 1), writers ?? 1]
  if (!numbers.every((value) => Number.isSafeInteger(value) && value >= 0) || !names.every((name) => name in systems)) {
    const known = Object.keys(systems).join(', ')
    console.error(
      `usage: npm run simulate [-- --system NAME] [--schedules N] [--seed N] [--writers N]\nsystems: ${known}`,
    )
    return 2
  }
  let code = 0
  for (const system of names) {
    const wanted = process.env.NIGHTLY ? NIGHTLY_SCHEDULES : systems[system]!.ciSchedules
    const schedules = isOne ? 1 : Number(values.schedules ?? wanted)
    if (!(await runSystem({ system, first, writers }, schedules))) code = 1
  }
  return code
}

/** @returns whether nothing went wrong */
async function runSystem(
  { system, first, writers }: Pick<Share, 'system' | 'first' | 'writers'>,
  schedules: number,
): Promise<boolean> {
  const start = performance.now()
  const threads = Math.min(availableParallelism(), schedules)
  const shares = Array.from({ length: threads }, (_, index): Share => {
    const count = Math.floor(schedules / threads) + (index < schedules % threads ? 1 : 0)
    return { system, first: first + index, count, step: threads, writers }
  })
  const tallies = await Promise.all(threads === 1 ? shares.map(runShare) : shares.map(runElsewhere))
  const failed = tallies.flatMap((tally) => tally.failed).sort((left, right) => left.seed - right.seed)
  for (const { seed, problems, schedule } of failed.slice(0, MAX_SHOWN)) {
    const again = `npm run simulate -- --system ${system} --seed ${seed}`
    console.log(`${schedule.join('\n')}\n\nseed ${seed}:\n${problems.join('\n')}\nagain: ${again}\n`)
  }
  const sum = (field: 'turns' | 'faults') => tallies.reduce((total, tally) => total + tally[field], 0)
  const seconds = ((performance.now() - start) / 1000).toFixed(0)
  const figures = `${sum('turns')} turns, ${sum('faults')} faults, ${seconds} s`
  console.log(`${system}: ${schedules} schedules from seed ${first}: ${figures}`)
  if (sum('faults') === 0 && schedules > 10) throw new Error('there was no fault: nothing was tested')
  console.log(failed.length === 0 ? 'nothing went wrong' : `${failed.length} went wrong`)
  return failed.length === 0
}

process.exitCode = await main()
