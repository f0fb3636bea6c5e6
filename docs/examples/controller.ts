import { timers } from 'ipam-kit/node'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { Controller, ProblemLog } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'

/**
 * Serves claims from in-cluster pools on any store, until `stop` is aborted and everything that was
 * begun is ended.
 */
export async function serveClaims(store: Store, stop: AbortSignal, log = console.error): Promise<void> {
  const problems = new ProblemLog({ timers, log })
  const controller = new Controller({
    store,
    planners: [inCluster()],
    timers,
    onProblem: problems.report,
    onResult: ({ key, outcome }) => log(`${key}: ${outcome?.kind ?? 'gone'}`),
  })
  stop.addEventListener('abort', () => controller.stop(), { once: true })
  await controller.run()
  problems.flush()
}
