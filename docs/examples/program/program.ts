import { once } from 'node:events'
import { hostname } from 'node:os'
import { formatRef, type KindInfo } from 'ipam-kit/crd/meta'
import { now, timers, uid } from 'ipam-kit/node'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { ControllerMetrics, poolMetrics, prometheusText } from 'ipam-kit/render'
import {
  Controller,
  type ControllerOptions,
  EVENT,
  EventRecorder,
  LEASE,
  LeaderElection,
  type LeaderTerm,
  ProblemLog,
} from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { type OpenStore, openStore } from '../open-store.js'
import {
  COMMON_FLAGS,
  FlagError,
  type FlagOptions,
  type FlagValues,
  parseFlags,
  readSettings,
  type Settings,
} from './flags.js'
import { foreseen } from './foreseen.js'
import { type Figures, serveMetrics } from './metrics.js'

/**
 * A controller as a program: planners at work on an API server, through @kubernetes/client-node.
 */
export interface Program<F extends FlagOptions> {
  /** Names its Lease, and the source of its Events. */
  readonly name: string
  /** Its own flags, beside {@link COMMON_FLAGS}. */
  readonly flags: F
  /**
   * What its flags ask for.
   *
   * @throws FlagError
   */
  readonly work: (values: FlagValues<F>, settings: Settings) => Work
  /**
   * Ends the process this many milliseconds after SIGTERM, also if something that it has begun is
   * not ended. For planners whose plans may stop after any request. Left out: it waits.
   */
  readonly mostEndingMs?: number | undefined
}

/** What a program does. */
export interface Work {
  readonly planners: readonly Planner<Outcome>[]
  /** Metrics of its own, beside those of each controller. */
  readonly figures?: Figures | undefined
  /** Kinds that it reads beside those that its planners watch. */
  readonly kinds?: readonly KindInfo[] | undefined
  /** Sentences for the log. */
  readonly warnings?: readonly string[] | undefined
  /**
   * Serves something beside its controller from the start, also while another process leads.
   *
   * @returns ends it
   */
  readonly serve?: ((parts: ServiceParts) => () => Promise<void>) | undefined
  /** Further options of its controller. */
  readonly controller?:
    | ((parts: ControllerParts) => Pick<ControllerOptions<Outcome>, 'external' | 'identity'>)
    | undefined
}

export interface ControllerParts extends Pick<ControllerOptions, 'canWrite'> {
  readonly store: Store
  /** Names this process, and no other. */
  readonly identity: string
}

export interface ServiceParts extends Pick<ControllerOptions, 'store' | 'timers' | 'onProblem'> {
  readonly log: (text: string) => void
}

const log = (text: string) => console.error(`${new Date().toISOString()} ${text.replace(/\s*[\r\n]+\s*/g, ' ')}`)
const problems = new ProblemLog({ timers, log })

/**
 * Runs a program with the arguments of the process until SIGTERM or SIGINT, and until everything
 * that it has begun is ended. Ends the process with status 1 when it cannot start or has lost its
 * lease, with 2 for wrong flags.
 */
export async function runProgram<F extends FlagOptions>(program: Program<F>): Promise<void> {
  // what the program foresees is one line; anything else is a bug, and its stack is needed
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.once(event, (error: unknown) => end(1, foreseen(error)))
  }
  const { settings, work } = workOrEnd(program)
  for (const warning of work.warnings ?? []) log(warning)
  await new Run(program, settings, work).run()
}

/** Ends the process with one line. */
function end(status: 1 | 2, text: string): never {
  problems.flush()
  log(text)
  process.exit(status)
}

function workOrEnd<F extends FlagOptions>({ flags, work }: Program<F>) {
  try {
    const values = parseFlags({ ...COMMON_FLAGS, ...flags }, process.argv.slice(2))
    const settings = readSettings(values as FlagValues<typeof COMMON_FLAGS>)
    return { settings, work: work(values as FlagValues<F>, settings) }
  } catch (error) {
    if (error instanceof FlagError) return end(2, error.message)
    throw error
  }
}

class Run {
  readonly #name: string
  readonly #mostEndingMs: number | undefined
  readonly #settings: Settings
  readonly #work: Work
  readonly #identity = `${hostname()}_${uid()}`
  readonly #metrics = new ControllerMetrics()
  /** Set while this process leads. */
  #controller: Controller | undefined

  constructor(
    { name, mostEndingMs }: Pick<Program<FlagOptions>, 'name' | 'mostEndingMs'>,
    settings: Settings,
    work: Work,
  ) {
    this.#name = name
    this.#mostEndingMs = mostEndingMs
    this.#settings = settings
    this.#work = work
  }

  async run(): Promise<void> {
    const { metricsPort, elects } = this.#settings
    const opened = await this.#open()
    const server = metricsPort === 0 ? undefined : serveMetrics(() => this.#metricsText(), metricsPort)
    server?.once('error', (error) => end(1, `metrics cannot be served on port ${metricsPort}: ${error.message}`))
    // a port that is in use ends the process before it leads
    if (server !== undefined) await once(server, 'listening')
    const stopped = new Promise<void>((resolve) => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
    })
    void stopped.then(() => this.#endInTime())
    const onProblem = problems.report.bind(problems)
    const endService = this.#work.serve?.({ store: opened.store, timers, onProblem, log })
    if (elects) await this.#elect(opened.store, stopped)
    else await this.#lead(opened.store, { ending: stopped, lost: new Promise(() => {}) })
    problems.flush()
    await endService?.()
    log('ended')
    server?.close()
    await opened.close()
  }

  /** A Lease that is held then expires by itself: what is in flight may still arrive. */
  #endInTime(): void {
    if (this.#mostEndingMs === undefined) return
    const end = () => {
      problems.flush()
      log('ended, with work in flight')
      process.exit()
    }
    setTimeout(end, this.#mostEndingMs).unref()
  }

  #metricsText(): string {
    const { planners, figures } = this.#work
    // what a planner knows is true while it is shown changes
    const pools = this.#controller === undefined ? [] : poolMetrics(planners)
    return prometheusText([...this.#metrics.metrics(this.#controller), ...pools, ...(figures?.metrics() ?? [])])
  }

  #open(): Promise<OpenStore> {
    const { planners, kinds: more = [] } = this.#work
    const { writeTimeoutSeconds } = this.#settings
    const kinds = [...planners.flatMap(({ watches }) => watches), ...more, EVENT, LEASE]
    return openStore({ engine: 'kubernetes', place: '' }, { kinds, load: (name) => import(name), writeTimeoutSeconds })
  }

  async #elect(store: Store, stopped: Promise<void>): Promise<void> {
    const { namespace, leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds, writeTimeoutSeconds } =
      this.#settings
    const election = new LeaderElection({
      store,
      timers,
      lease: { namespace, name: this.#name },
      identity: this.#identity,
      leaseDurationSeconds,
      renewDeadlineSeconds,
      retryPeriodSeconds,
      writeTimeoutSeconds,
      onProblem: (failure) => problems.add(`lease: ${failure.message}`),
    })
    void stopped.then(() => election.stop())
    if ((await election.run((term) => this.#lead(store, term))) === 'lost') process.exitCode = 1
  }

  /** Works until it has to end, and ends what it has begun. */
  async #lead(
    store: Store,
    { ending, lost, canWrite }: Pick<LeaderTerm, 'ending' | 'lost'> & Partial<LeaderTerm>,
  ): Promise<void> {
    log('leading')
    const events = new EventRecorder({
      store,
      component: this.#name,
      now,
      uid,
      onProblem: (failure, about) =>
        problems.add(`no event about ${formatRef(about)}: ${failure.message}`, [about.name]),
    })
    const { planners, figures, controller: more } = this.#work
    const metrics = this.#metrics
    const controller = new Controller<Outcome>({
      store,
      planners,
      canWrite,
      ...more?.({ store, canWrite, identity: this.#identity }),
      timers,
      concurrency: this.#settings.concurrency,
      onProblem: (problem) => {
        metrics.onProblem(problem)
        problems.report(problem)
      },
      onResult: (result) => {
        metrics.onResult(result)
        figures?.observe(result)
      },
      // that all is well is in the objects: an Event of each address would be one write more for it
      onEvent: (event) => event.type === 'Warning' && void events.record(event),
    })
    this.#controller = controller
    void ending.then(() => controller.stop())
    void lost.then(() => {
      // another process writes now: nothing may follow what is in flight here
      log('lost')
      process.exit(1)
    })
    await controller.run()
    this.#controller = undefined
  }
}
