// Reads all Pods through a Controller, as the sweep does or whole, and prints the memory that it
// takes. Started with --expose-gc.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { Controller } from 'ipam-kit/run'
import { timers } from '../blocks/ground.js'
import { openLine, storeOver } from '../selection/line.js'
import { podPlanner, wholePods } from '../selection/watches.js'

const [kubeconfig, variant] = process.argv.slice(2) as [string, 'sweep' | 'whole']

const line = await openLine(kubeconfig, (name) => import(name))
const planner = variant === 'sweep' ? (whereaboutsSweep() as Planner<Outcome>) : podPlanner(wholePods({})).planner
const onProblem = (problem: unknown) => {
  throw new Error(JSON.stringify(problem))
}
const store = storeOver(line, planner.watches)
const before = heapBytes()
const controller = new Controller({ store, planners: [planner], timers, onProblem })
const running = controller.run()
while (!controller.load.synced) await sleep(5)
const heap = heapBytes() - before
controller.stop()
await running
console.log(JSON.stringify(heap))
process.exit()

function heapBytes(): number {
  globalThis.gc!()
  globalThis.gc!()
  return process.memoryUsage().heapUsed
}
