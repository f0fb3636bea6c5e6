// A process that gives addresses to owners of its own, several at a time, and tells of each when it
// has them. It knows what it lists and watches, and nothing of other processes. What it has given
// it finds again after it was killed.
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { Address } from 'ipam-kit/cidr'
import type { Outcome, Task } from 'ipam-kit/plan'
import { allocate, release } from 'ipam-kit/provider/blocks'
import { objectLocks, runTask } from 'ipam-kit/run'
import { eachOf } from '../controller/client.js'
import { follow } from './follow.js'
import { type Engine, openStore } from './ground.js'
import type { Order, Told } from './told.js'

const [engine, place, from, to, atOnce] = process.argv.slice(2) as [Engine, string, string, string, string]
const { store } = await openStore(engine, place, (name) => import(name))
const known = await follow(store)
const numbers = Array.from({ length: Number(to) - Number(from) }, (_, nth) => Number(from) + nth)
const locks = objectLocks()
tell({ kind: 'ready' })
for await (const order of createInterface({ input: process.stdin })) {
  await eachOf(numbers, Number(atOnce), (order as Order) === 'give' ? give : take)
  tell({ kind: 'end' })
}
// its parent has gone
process.exit()

async function give(number: number): Promise<void> {
  const owner = { uid: `owner-${number}`, name: `ns/pod-${number}` }
  const start = performance.now()
  const { outcome, ...cost } = await carryOut(allocate({ owner, pools: ['blue'], families: [4, 6] }, known()))
  if (!('allocations' in outcome)) throw new Error(`${owner.name}: ${outcome.message}`)
  const addresses = outcome.allocations.map(({ address }) => Address.format(address))
  const ms = performance.now() - start
  tell({ kind: 'has', owner: owner.uid, addresses, isNew: outcome.kind === 'allocated', ms, ...cost })
}

async function take(number: number): Promise<void> {
  const uid = `owner-${number}`
  const { outcome, requests } = await carryOut(release({ owner: { uid } }, known()))
  const count = outcome.kind === 'released' ? outcome.allocations.length : 0
  tell({ kind: 'gone', owner: uid, count, requests })
}

/** Until it is done: also where it was not known for a while what had become of a write. */
async function carryOut<O extends Outcome>(task: Task<O>) {
  let conflicts = 0
  const pause = async (nth: number) => {
    conflicts++
    await setTimeout(Math.random() * Math.min(100, 5 * 2 ** nth))
  }
  const ended = await runTask(task, store, { now: Date.now, pause, maxSettles: Number.POSITIVE_INFINITY, locks })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended.failure))
  return { outcome: ended.outcome, requests: ended.requests, conflicts }
}

function tell(line: Told): void {
  // a parent that is busy is waited for in memory
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
