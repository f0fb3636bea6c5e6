// Started by measure.ts with --expose-gc: a controller that lists and plans what is stored, and has nothing to write.
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { Node } from 'ipam-kit/crd/core'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { now, sleep, timers } from 'ipam-kit/node'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { Controller, taskCaller } from 'ipam-kit/run'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import type { Started } from './measure.js'
import type { System } from './objects.js'
import { clientOf } from './pages.js'

const [system, folder, wanted] = process.argv.slice(2) as [System, string, string]
const models = [Cluster, IPAddress, IPAddressClaim, Node, IPBlock, IPDomain, IPPool, ClusterCIDR, ...poolModels]
const problems: unknown[] = []
const client = clientOf(folder, (request) => problems.push({ written: request }))
const store = kubernetesStore(client, { sleep: () => new Promise(() => {}), kinds: models.map(({ info }) => info) })
let planned = 0
const controller = new Controller<Outcome>({
  ...partsOf(system),
  ...{ store, timers },
  onProblem: (problem) => problems.push(problem),
  onResult: () => planned++,
})

const before = memory()
let [turnMs, longestMs, mostRss] = [threadMs(), 0, 0]
let isOver = false
const turn = () => {
  const nowMs = threadMs()
  longestMs = Math.max(longestMs, nowMs - turnMs)
  mostRss = Math.max(mostRss, process.memoryUsage.rss())
  // what this function takes does not count
  turnMs = threadMs()
  if (!isOver) setImmediate(turn)
}
const [began, cpu] = [performance.now(), process.cpuUsage()]
setImmediate(turn)
const running = controller.run()
while (problems.length === 0 && !(controller.load.synced && planned >= Number(wanted) && isQuiet())) await sleep(20)
isOver = true
const { user, system: kernel } = process.cpuUsage(cpu)
const tookMs = performance.now() - began
const after = memory()
if (problems.length > 0) throw new Error(`${system}: ${JSON.stringify(problems[0])}`)
controller.stop()
await running
const started: Started = {
  ...{ longestMs, cpuMs: (user + kernel) / 1000, tookMs, planned },
  heapBytes: after.heap - before.heap,
  rssBytes: mostRss,
}
console.log(JSON.stringify(started))
// watches of the client never end
process.exit(0)

function partsOf(of: System) {
  if (of === 'in-cluster') return { planners: [inCluster()] as Planner<Outcome>[] }
  if (of === 'node-ipam') return { planners: [nodeIPAM()] as Planner<Outcome>[] }
  const blocks = inClusterBlocks()
  return {
    planners: [blocks, blocksOperator(), blocksSweep({ owners: [IPAddressClaim.info] })] as Planner<Outcome>[],
    external: taskCaller({ store, tasks: blocks.tasks, now }),
    identity: 'a',
  }
}

function isQuiet(): boolean {
  const { waiting, running: busy, calling } = controller.load
  return waiting + busy + calling === 0
}

function memory(): { readonly heap: number } {
  globalThis.gc?.()
  globalThis.gc?.()
  return { heap: process.memoryUsage().heapUsed }
}

/** What the thread of the event loop has computed, without what others of the machine take from it. */
function threadMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6
  } catch {
    const { user, system: kernel } = process.cpuUsage()
    return (user + kernel) / 1000
  }
}
