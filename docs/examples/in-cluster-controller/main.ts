#!/usr/bin/env node
// The in-cluster IPAM provider of Cluster API as a controller: claims, pools and addresses on an API server, through @kubernetes/client-node.
//
//   KUBECONFIG=... tsx main.ts [--ledger objects|blocks] [--metrics PORT] [--concurrency N]
//       [--leader-elect [--namespace NS] [--lease-duration S] [--renew-deadline S] [--retry-period S]]
//
// With IPAddress objects as the ledger one of these works at a time: with --leader-elect any number may run, without it no other may. With blocks as the
// ledger all of them work at once, and none leads. Ends on SIGTERM and SIGINT when everything
// that it has begun is ended; with status 1 when it has lost its lease or cannot start, with 2 for wrong flags. rbac.yaml is what it may do.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { describe, isIpamError } from 'ipam-kit/errors'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { Controller, LEASE, LeaderElection, type LeaderTerm, type Timers, taskCaller } from 'ipam-kit/run'
import { openStore, StoreNotOpened } from '../open-store.js'
import { EVENT, EventRecorder } from './events.js'
import { Metrics, problemLine, problemNames, serveMetrics } from './metrics.js'
import { ProblemLog } from './problem-log.js'

const NAME = 'ipam-kit-in-cluster'

const timers: Timers = {
  now: Date.now,
  after(ms, action) {
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}
/** The same, and no reason for the process to stay. */
const idleTimers: Timers = {
  now: Date.now,
  after(ms, action) {
    const timer = setTimeout(action, ms).unref()
    return () => clearTimeout(timer)
  },
}

const log = (text: string) => console.error(`${new Date().toISOString()} ${text.replace(/\s*[\r\n]+\s*/g, ' ')}`)
const problems = new ProblemLog(idleTimers, log)

/** Ends the process with one line. */
function end(status: 1 | 2, text: string): never {
  problems.flush()
  log(text)
  process.exit(status)
}

// what the program foresees is one line; anything else is a bug, and its stack is needed
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.once(event, (error: unknown) => {
    const isForeseen = error instanceof StoreNotOpened || isIpamError(error)
    end(
      1,
      isForeseen || !(error instanceof Error)
        ? String((error as Error)?.message ?? error)
        : (error.stack ?? error.message),
    )
  })
}

function readFlags() {
  return parseArgs({
    options: {
      /** What says which address is whose: IPAddress objects, or blocks. */
      ledger: { type: 'string', default: 'objects' },
      'leader-elect': { type: 'boolean', default: false },
      /** Of the Lease. */
      namespace: { type: 'string', default: 'ipam-system' },
      'lease-duration': { type: 'string', default: '15' },
      'renew-deadline': { type: 'string', default: '10' },
      'retry-period': { type: 'string', default: '2' },
      /** 0: none. */
      metrics: { type: 'string', default: '8080' },
      concurrency: { type: 'string', default: '8' },
    },
  }).values
}

function flagsOrEnd(): ReturnType<typeof readFlags> {
  try {
    return readFlags()
  } catch (error) {
    return end(2, (error as Error).message)
  }
}

const values = flagsOrEnd()

/** The number of a flag, or the end. */
function numberOf(
  flag: 'lease-duration' | 'renew-deadline' | 'retry-period' | 'metrics' | 'concurrency',
  what: string,
  isIt: (n: number) => boolean,
): number {
  const text = values[flag]
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  return isIt(number) ? number : end(2, `--${flag} (${text}) must be ${what}`)
}

const metricsPort = numberOf(
  'metrics',
  'a port from 1 to 65535, or 0 for none',
  (n) => Number.isInteger(n) && n <= 65_535,
)
const concurrency = numberOf('concurrency', 'a whole number from 1', (n) => Number.isInteger(n) && n >= 1)
const leaseDurationSeconds = Number(values['lease-duration'])
const renewDeadlineSeconds = Number(values['renew-deadline'])
// between the two nobody leads: what the last leader has sent must come to its end then, and servers count whole seconds
if (!(leaseDurationSeconds - renewDeadlineSeconds >= 2)) {
  const given = [`--lease-duration (${values['lease-duration']})`, `--renew-deadline (${values['renew-deadline']})`]
  end(2, `${given.join(' must be 2 s or more above ')}: a write that the last leader has sent must end in between`)
}
numberOf('lease-duration', 'whole seconds', Number.isInteger)
numberOf('renew-deadline', 'seconds above 0', (n) => n > 0)
const retryPeriodSeconds = numberOf(
  'retry-period',
  'seconds above 0 and below --renew-deadline',
  (n) => n > 0 && n < renewDeadlineSeconds,
)
if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(values.namespace)) {
  end(2, `--namespace (${values.namespace}) must be the name of a namespace`)
}
const writeTimeoutSeconds = Math.ceil(leaseDurationSeconds - renewDeadlineSeconds) - 1

if (!['objects', 'blocks'].includes(values.ledger) || (values.ledger === 'blocks' && values['leader-elect'])) {
  end(2, `--ledger (${values.ledger}) is objects or blocks, and blocks need no leader: leave --leader-elect out`)
}

const identity = `${hostname()}_${randomUUID()}`
const onBlocks = values.ledger === 'blocks' ? inClusterBlocks() : undefined
const planners: readonly Planner<Outcome>[] =
  onBlocks === undefined ? [inCluster()] : [onBlocks, blocksOperator(), blocksSweep({ owners: [IPAddressClaim.info] })]
const { store, close } = await openStore(
  { engine: 'kubernetes', place: '' },
  {
    kinds: [...planners.flatMap(({ watches }) => watches), EVENT, LEASE],
    load: (name) => import(name),
    writeTimeoutSeconds,
  },
)
const metrics = new Metrics()
const server = metricsPort === 0 ? undefined : serveMetrics(metrics, metricsPort)
server?.once('error', (error) => end(1, `metrics cannot be served on port ${metricsPort}: ${error.message}`))
// a port that is in use ends the process before it leads
if (server !== undefined) await once(server, 'listening')
const events = new EventRecorder({
  store,
  component: NAME,
  now: Date.now,
  unique: randomUUID,
  log: (text) => problems.tell(text),
})

/** Works until it has to end, and ends what it has begun. */
async function lead({
  ending,
  lost,
  canWrite,
}: Pick<LeaderTerm, 'ending' | 'lost'> & Partial<LeaderTerm>): Promise<void> {
  log('leading')
  const controller = new Controller<Outcome>({
    store,
    planners,
    canWrite,
    external: onBlocks && taskCaller({ store, tasks: onBlocks.tasks, now: Date.now, canWrite }),
    identity: onBlocks && identity,
    timers,
    concurrency,
    onProblem: (problem) => {
      metrics.count(problem)
      problems.tell(problemLine(problem), problemNames(problem))
    },
    onResult: (result) => metrics.observe(result),
    // that all is well is in the status: an Event of each address would be one write more for it
    onEvent: (event) => event.type === 'Warning' && void events.record(event),
  })
  metrics.controller = controller
  void ending.then(() => controller.stop())
  void lost.then(() => {
    // another one writes now: what is on its way here must not be followed by anything
    log('lost')
    process.exit(1)
  })
  await controller.run()
  metrics.controller = undefined
}

let stop = () => {}
const stopped = new Promise<void>((resolve) => {
  stop = resolve
})
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop())

if (values['leader-elect']) {
  const election = new LeaderElection({
    store,
    timers,
    lease: { namespace: values.namespace, name: NAME },
    identity,
    leaseDurationSeconds,
    renewDeadlineSeconds,
    retryPeriodSeconds,
    writeTimeoutSeconds,
    onProblem: (failure) => problems.tell(`lease: ${describe(failure)}`),
  })
  void stopped.then(() => election.stop())
  if ((await election.run(lead)) === 'lost') process.exitCode = 1
} else {
  await lead({ ending: stopped, lost: new Promise(() => {}) })
}
problems.flush()
log('ended')
server?.close()
await close()
