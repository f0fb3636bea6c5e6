import { setTimeout as sleep } from 'node:timers/promises'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { Change, Outcome, Planner } from 'ipam-kit/plan'
import { KnownBlocks } from 'ipam-kit/provider/blocks'
import { Controller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { timers } from './ground.js'

/** All pools and blocks, listed and then watched until the process ends. */
export async function follow(store: Store): Promise<KnownBlocks> {
  const known = new KnownBlocks({ isComplete: true })
  const controller = new Controller({
    store,
    planners: [observer((change) => known.observe(change, { nowMs: Date.now() }))],
    timers,
    onProblem: (problem) => console.error(JSON.stringify(problem)),
  })
  controller.run().catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
  while (!controller.load.synced) await sleep(5)
  return known
}

/** Plans nothing: its controller lists, watches, and lists again where that has to be. */
function observer(observe: (change: Change) => void): Planner<Outcome> {
  return {
    name: 'observer',
    watches: [IPPool.info, IPBlock.info],
    observe: (change) => {
      observe(change)
      return []
    },
    plan: () => undefined,
    isSummary: () => false,
    reset: () => {},
  }
}
