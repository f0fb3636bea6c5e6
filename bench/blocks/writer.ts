// A process that gives addresses of pools, knowing all of their blocks by lists and watches.
import { allocate } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import { follow } from '../../test/real/blocks/follow.js'
import { openStore } from '../../test/real/blocks/ground.js'
import { INTERFACE, work } from './worker.js'

const [kubeconfig] = process.argv.slice(2) as [string]
const { store } = await openStore('kubernetes', kubeconfig, (name) => import(name))
const known = await follow(store)
await work(async (pool, { name, uid, container }) => {
  let conflicts = 0
  const request = { owner: { name, uid }, interface: INTERFACE, container, pools: [pool], families: [4] as const }
  const pause = async () => void conflicts++
  const ended = await runTask(allocate(request, known()), store, { now: Date.now, pause })
  if (ended.kind !== 'done' || ended.outcome.kind !== 'allocated') throw new Error(JSON.stringify(ended))
  return { requests: ended.requests, conflicts }
})
