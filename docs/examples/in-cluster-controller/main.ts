#!/usr/bin/env node
// The in-cluster IPAM provider of Cluster API as a controller: claims, pools and addresses on an API server, through @kubernetes/client-node.
//
//   KUBECONFIG=... tsx main.ts [--ledger objects|blocks] [--metrics PORT] [--concurrency N]
//       [--leader-elect [--namespace NS] [--lease-duration S] [--renew-deadline S] [--retry-period S]]
//
// With IPAddress objects as the ledger one of these works at a time: with --leader-elect any number may run, without it no other may. With blocks as the
// ledger all of them work at once, and none leads. Ends on SIGTERM and SIGINT when everything
// that it has begun is ended; with status 1 when it has lost its lease, with 2 for flags that can not be. rbac.yaml is what it may do.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { describe } from 'ipam-kit/errors'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { Controller, LEASE, LeaderElection, type LeaderTerm, type Timers, taskCaller } from 'ipam-kit/run'
import { openStore } from '../open-store.js'
import { EVENT, EventRecorder } from './events.js'
import { Metrics, problemLine, serveMetrics } from './metrics.js'

const NAME = 'ipam-kit-in-cluster'

const timers: Timers = {
  now: Date.now,
  after(ms, action) {
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}

const log = (text: string) => console.error(`${new Date().toISOString()} ${text}`)

const { values } = parseArgs({
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
})

const leaseDurationSeconds = Number(values['lease-duration'])
const renewDeadlineSeconds = Number(values['renew-deadline'])
// between the two nobody leads: what the last leader has sent must come to its end then, and servers count whole seconds
if (!(leaseDurationSeconds - renewDeadlineSeconds >= 2)) {
  const given = [`--lease-duration (${values['lease-duration']})`, `--renew-deadline (${values['renew-deadline']})`]
  log(`${given.join(' must be 2 s or more above ')}: a write that the last leader has sent must end in between`)
  process.exit(2)
}
const writeTimeoutSeconds = Math.ceil(leaseDurationSeconds - renewDeadlineSeconds) - 1

if (!['objects', 'blocks'].includes(values.ledger) || (values.ledger === 'blocks' && values['leader-elect'])) {
  log(`--ledger (${values.ledger}) is objects or blocks, and with blocks nobody leads: leave --leader-elect out`)
  process.exit(2)
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
const server = values.metrics === '0' ? undefined : serveMetrics(metrics, Number(values.metrics))
const events = new EventRecorder({ store, component: NAME, now: Date.now, unique: randomUUID, log })

/** Works until it has to end, and ends what it has begun. */
async function lead({ ending, lost }: LeaderTerm): Promise<void> {
  log('leading')
  const controller = new Controller<Outcome>({
    store,
    planners,
    outside: onBlocks && taskCaller({ store, tasks: onBlocks.tasks, now: Date.now }),
    identity: onBlocks && identity,
    timers,
    concurrency: Number(values.concurrency),
    onProblem: (problem) => {
      metrics.count(problem)
      log(problemLine(problem))
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
    retryPeriodSeconds: Number(values['retry-period']),
    onProblem: (failure) => log(`lease: ${describe(failure)}`),
  })
  void stopped.then(() => election.stop())
  if ((await election.run(lead)) === 'lost') process.exitCode = 1
} else {
  await lead({ ending: stopped, lost: new Promise(() => {}) })
}
log('ended')
server?.close()
await close()
