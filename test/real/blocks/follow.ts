import { setTimeout as sleep } from 'node:timers/promises'
import { blocksWatch, type KnownBlocks } from 'ipam-kit/provider/blocks'
import { Controller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { timers } from './ground.js'

/** All pools and blocks, listed and then watched until the process ends. */
export async function follow(store: Store): Promise<() => KnownBlocks> {
  const watch = blocksWatch({ now: Date.now })
  const controller = new Controller({
    store,
    planners: [watch],
    timers,
    onProblem: (problem) => console.error(JSON.stringify(problem)),
  })
  controller.run().catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
  while (!controller.load.synced) await sleep(5)
  return () => watch.known
}
