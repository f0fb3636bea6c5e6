#!/usr/bin/env node
// The in-cluster IPAM provider of Cluster API as a controller: claims, pools and addresses on an API server, one leader at a time.
//
//   KUBECONFIG=... tsx main.ts [--namespace NS] [--metrics PORT] [--concurrency N]
//
// Ends on SIGTERM and SIGINT when everything that it has begun is ended; with status 1 when it has lost its lease.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { formatRef } from 'ipam-kit/crd/meta'
import { describe } from 'ipam-kit/errors'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { Controller, LEASE, LeaderElection, type Timers } from 'ipam-kit/run'
import { openStore } from '../open-store.js'
import { Metrics, problemLine, serveMetrics } from './metrics.js'

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
    namespace: { type: 'string', default: 'ipam-system' },
    metrics: { type: 'string', default: '8080' },
    concurrency: { type: 'string', default: '8' },
  },
})

const planner = inCluster()
const { store, close } = await openStore(
  { engine: 'kubernetes', place: '' },
  { kinds: [...planner.watches, LEASE], load: (name) => import(name) },
)
const metrics = new Metrics()
const server = serveMetrics(metrics, Number(values.metrics))

const election = new LeaderElection({
  store,
  timers,
  lease: { namespace: values.namespace, name: 'ipam-kit-in-cluster' },
  identity: `${hostname()}_${randomUUID()}`,
  onProblem: (failure) => log(`lease: ${describe(failure)}`),
})
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => election.stop())

const ended = await election.run(async ({ ending, lost }) => {
  log('leading')
  const controller = new Controller({
    store,
    planners: [planner],
    timers,
    concurrency: Number(values.concurrency),
    onProblem: (problem) => {
      metrics.count(problem)
      log(problemLine(problem))
    },
    onResult: (result) => metrics.observe(result),
    onEvent: ({ about, type, reason, message }) => log(`${type} ${reason} ${formatRef(about)}: ${message}`),
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
})
log(ended)
server.close()
await close()
process.exitCode = ended === 'stopped' ? 0 : 1
