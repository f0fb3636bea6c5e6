// Lists Pods through a Controller, and prints what that took. Started with --expose-gc.
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Controller } from 'ipam-kit/run'
import { timers } from '../blocks/ground.js'
import { openLine, storeOver } from './line.js'
import { digestOf } from './pods.js'
import type { Measured, Variant } from './variant.js'
import { podPlanner, trimmedPods, wholePods } from './watches.js'

const [kubeconfig, variant] = process.argv.slice(2) as [string, string]
const { isTrimmed, inOneRequest, labels, fields }: Variant = JSON.parse(variant)
const selected = { ...(labels === undefined ? {} : { labels }), ...(fields === undefined ? {} : { fields }) }
const watchOf = isTrimmed ? trimmedPods : wholePods

// connections are made, and code is compiled
await read({ labels: { app: 'none' } })
console.log(JSON.stringify(await read(selected)))
process.exit()

async function read(selection: Pick<Variant, 'labels' | 'fields'>): Promise<Measured> {
  const line = await openLine(kubeconfig, (name) => import(name), { inOneRequest })
  const { planner, pods } = podPlanner(watchOf(selection))
  const onProblem = (problem: unknown) => {
    throw new Error(JSON.stringify(problem))
  }
  const controller = new Controller({ store: storeOver(line), planners: [planner], timers, onProblem })
  const heapBefore = heapBytes()
  const before = residentBytes('VmRSS')
  // VmHWM begins anew
  writeFileSync('/proc/self/clear_refs', '5')
  const start = performance.now()
  const cpuBefore = process.cpuUsage()
  const running = controller.run()
  while (!controller.load.synced) await sleep(1)
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpuBefore)
  const peakBytes = residentBytes('VmHWM') - before
  const { length: requests } = line.lists
  const bytes = line.lists.reduce((sum, answer) => sum + answer.bytes, 0)
  const heap = heapBytes() - heapBefore
  const names = [...pods().names()]
  const digest = digestOf(names.map((key) => ({ key, uid: pods().entry(key)?.object.metadata.uid ?? '' })))
  controller.stop()
  await running
  return { pods: names.length, digest, requests, bytes, heapBytes: heap, peakBytes, ms, cpuMs: (user + system) / 1000 }
}

function heapBytes(): number {
  globalThis.gc!()
  globalThis.gc!()
  return process.memoryUsage().heapUsed
}

function residentBytes(field: 'VmRSS' | 'VmHWM'): number {
  const [, kilobytes] =
    new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
