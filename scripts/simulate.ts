// npm run simulate [-- --short] [--system NAME] [--schedules N] [--seed N] [--writers N] [--jobs N]
//   [--faults KIND,KIND|none] [--without KIND,KIND]
//
// Writers over one store, with faults at every call: as many schedules as wanted, each from a seed
// of its own. One that goes wrong is printed whole, with the command that runs it again. --short
// runs a twentieth of them, NIGHTLY=1 100,000 of each system.
//
//   in-cluster     the in-cluster provider, 2 to 8 writers of whom one rules, each with up to four plans at a time
//   blocks         2 to 16 writers of blocks, all at once, and one or two operators
//   block-claims   claims of Cluster API on blocks, 2 to 5 writers, all at once
//   in-cluster-blocks   the in-cluster provider on blocks, 2 to 5 writers, all at once
//   node-ipam      subnets of Nodes from ClusterCIDRs and from flags, 1 to 3 writers of whom one rules, each with up to eight plans at a time
//   floating-ips   pools and servers of one or two clusters in one project of a cloud, 2 processes that elect a leader; --writers N: that many
//   whereabouts    nodes that call the plugin, some of them with upstream's program, sweeps and Pod watches; --writers N: that many nodes
//   whereabouts-upgrade   the same nodes, while operators upgrade the pools to blocks, and back; --writers N: that many nodes
//   persistent-ip   addresses that stay with virtual machines and a StatefulSet, both sides, 1 to 3 writers of whom one rules
//   persistent-ip-blocks   the same on blocks
//   persistent-ip-copies   the same on blocks, with the network side in 2 or 3 writers at once
//   service-ip     addresses of Services and the end of their ranges, 1 to 3 writers, all at once or one that rules
//
// Each schedule of floating-ips has some kinds of fault, which its seed picks and its first line
// names. --faults runs exactly the kinds that are named, to find the cause of what goes wrong, and
// --without picks from the others.
//
// A long run says every minute how far it is, and from which seed on it can be taken up again. The
// last line of a system has a digest of all that its writers did: a change that must not change any
// plan gives the same digest as the commit before it.
import { type ChildProcess, fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import type { SimulationResult } from '../src/testing/simulation/simulate.js'
import { sumOfDigests } from './simulate-digest.js'
import type { Share, ShareMessage, Tally } from './simulate-share.js'
import { type ChosenFaults, type System, systems } from './simulate-systems.js'

const NIGHTLY_SCHEDULES = 100_000
/**
 * Failures that are printed whole; those that are named when they happen. All others are counted.
 */
const MAX_SHOWN = 3
const MAX_NAMED = 20
const PROGRESS_MS = 60_000
const NONE: Tally = { schedules: 0, turns: 0, faults: 0, digest: '' }

/** What is to be run of a system. */
interface Job {
  readonly system: string
  readonly first: number
  readonly schedules: number
  readonly writers: number | undefined
  readonly jobs: number
  readonly faults: ChosenFaults
}

/** A run of a system, in several processes. */
class Run {
  readonly #job: Job
  readonly #tallies: Tally[] = []
  readonly #failed: SimulationResult[] = []
  readonly #children: ChildProcess[] = []
  readonly #startMs = performance.now()
  #wrong = 0

  constructor(job: Job) {
    this.#job = job
  }

  /** @returns whether nothing went wrong */
  async run(program: string): Promise<boolean> {
    const { system, first, schedules, writers, faults } = this.#job
    const jobs = Math.min(this.#job.jobs, schedules)
    const shares = Array.from({ length: jobs }, (_, index): Share => {
      const count = Math.floor(schedules / jobs) + (index < schedules % jobs ? 1 : 0)
      return { system, first: first + index, count, step: jobs, writers, faults }
    })
    this.#tallies.push(...shares.map(() => NONE))
    const progress = setInterval(() => console.log(this.#progress()), PROGRESS_MS)
    const stop = () => {
      console.log(`stopped; ${this.#progress()}`)
      for (const child of this.#children) child.kill()
      process.exit(130)
    }
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
    try {
      await Promise.all(shares.map((share, index) => this.#runShare(program, share, index)))
    } finally {
      clearInterval(progress)
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop)
    }
    this.#report()
    return this.#wrong === 0
  }

  #runShare(program: string, share: Share, index: number): Promise<void> {
    return new Promise((resolve, reject) => {
      // most of what a schedule makes is garbage at its end: with a larger nursery it is not copied
      // before
      const execArgv = ['--max-semi-space-size=32', '--enable-source-maps']
      const child = fork(program, [JSON.stringify(share)], { execArgv })
      this.#children.push(child)
      child.on('message', (message: ShareMessage) => {
        if (message.kind === 'tally') this.#tallies[index] = message.tally
        else this.#note(message.result)
      })
      child.once('error', reject)
      child.once('exit', (code) => {
        if (code === 0 && this.#tallies[index]?.schedules === share.count) resolve()
        else reject(new Error(`a share of the schedules has ended with code ${code}`))
      })
    })
  }

  #note(result: SimulationResult): void {
    const { system } = this.#job
    this.#wrong++
    if (this.#wrong <= MAX_NAMED) console.log(`${system}: seed ${result.seed} went wrong: ${result.problems[0]}`)
    this.#failed.push(result)
    this.#failed.sort((left, right) => left.seed - right.seed).splice(MAX_SHOWN)
  }

  #sum(field: Exclude<keyof Tally, 'digest'>): number {
    return this.#tallies.reduce((total, tally) => total + tally[field], 0)
  }

  /** Every seed before this one is done. */
  #next(): number {
    const { first } = this.#job
    return Math.min(...this.#tallies.map(({ schedules }, index) => first + index + schedules * this.#tallies.length))
  }

  #progress(): string {
    const { system, first, schedules } = this.#job
    const done = this.#sum('schedules')
    const next = Math.min(this.#next(), first + schedules)
    const again = `--seed ${next} --schedules ${first + schedules - next}`
    return `${system}: ${done} of ${schedules} schedules in ${this.#seconds()} s, wrong: ${this.#wrong}; goes on with ${again}`
  }

  #seconds(): string {
    return ((performance.now() - this.#startMs) / 1000).toFixed(0)
  }

  #report(): void {
    const { system, first, schedules, writers, faults } = this.#job
    const same = `${writers === undefined ? '' : ` --writers ${writers}`}${flagsOf(faults)}`
    for (const { seed, problems, schedule } of this.#failed) {
      const again = `npm run simulate -- --system ${system} --seed ${seed}${same}`
      console.log(`${schedule.join('\n')}\n\nseed ${seed}:\n${problems.join('\n')}\nagain: ${again}\n`)
    }
    const figures = `${this.#sum('turns')} turns, ${this.#sum('faults')} faults, ${this.#seconds()} s`
    const digest = sumOfDigests(this.#tallies.map((tally) => tally.digest))
    console.log(
      `${system}: ${schedules} schedules from seed ${first}: ${figures}, digest ${digest}, wrong: ${this.#wrong}`,
    )
    const wantsFaults = faults.faults?.length !== 0
    if (wantsFaults && this.#sum('faults') === 0 && schedules > 10)
      throw new Error('there was no fault: nothing was tested')
  }
}

/**
 * The program of a share in one file, which runs a third faster than it does from its sources:
 * those are wrapped so that each function keeps its name.
 */
async function bundled(folder: string): Promise<string> {
  const outfile = join(folder, 'share.mjs')
  const entry = fileURLToPath(new URL('simulate-share.ts', import.meta.url))
  const options = { bundle: true, platform: 'node', format: 'esm', target: 'node20', sourcemap: 'inline' } as const
  await build({ entryPoints: [entry], outfile, ...options, logLevel: 'warning' })
  return outfile
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      short: { type: 'boolean', default: false },
      system: { type: 'string' },
      schedules: { type: 'string' },
      seed: { type: 'string' },
      writers: { type: 'string' },
      jobs: { type: 'string' },
      faults: { type: 'string' },
      without: { type: 'string' },
    },
  })
  const first = Number(values.seed ?? 1)
  const isOne = values.seed !== undefined && values.schedules === undefined
  const writers = values.writers === undefined ? undefined : Number(values.writers)
  const jobs = Number(values.jobs ?? availableParallelism())
  const names = values.system === undefined ? Object.keys(systems) : [values.system]
  const numbers = [first, Number(values.schedules ?? 1), writers ?? 1, jobs]
  const faults = chosenFaults(names, values)
  const areNumbers = numbers.every((value) => Number.isSafeInteger(value) && value >= 0) && jobs > 0
  if (!areNumbers || faults === undefined || !names.every((name) => Object.hasOwn(systems, name))) {
    const known = Object.keys(systems).join(', ')
    console.error(
      `usage: npm run simulate [-- --short] [--system NAME] [--schedules N] [--seed N] [--writers N] [--jobs N] [--faults KIND,KIND|none] [--without KIND,KIND]\nsystems: ${known}\nkinds of fault of floating-ips: ${systems['floating-ips']?.faults?.join(', ')}`,
    )
    return 2
  }
  const folder = await mkdtemp(join(tmpdir(), 'simulate-'))
  // also where it is stopped
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const program = await bundled(folder)
  let code = 0
  for (const system of names) {
    const { full, short } = (systems[system] as System).schedules
    const wanted = process.env.NIGHTLY ? NIGHTLY_SCHEDULES : values.short ? short : full
    const schedules = isOne ? 1 : Number(values.schedules ?? wanted)
    if (!(await new Run({ system, first, schedules, writers, jobs, faults }).run(program))) code = 1
  }
  return code
}

/**
 * The kinds of fault that the command line names. `undefined`: a system does not know one of them.
 */
function chosenFaults(
  names: readonly string[],
  values: { readonly faults?: string | undefined; readonly without?: string | undefined },
): ChosenFaults | undefined {
  if (values.faults === undefined && values.without === undefined) return {}
  const known = names.length === 1 ? (systems[names[0] as string]?.faults ?? []) : []
  const kindsIn = (text: string | undefined) => (text === undefined || text === 'none' ? [] : text.split(','))
  const [wanted, without] = [kindsIn(values.faults), kindsIn(values.without)]
  if (known.length === 0 || ![...wanted, ...without].every((kind) => known.includes(kind))) return undefined
  if (values.faults === undefined) return { without }
  return { faults: wanted.filter((kind) => !without.includes(kind)) }
}

/** The flags that choose the same kinds of fault. */
function flagsOf({ faults, without }: ChosenFaults): string {
  if (faults !== undefined) return ` --faults ${faults.length === 0 ? 'none' : faults.join(',')}`
  return without === undefined ? '' : ` --without ${without.join(',')}`
}

process.exitCode = await main()
