import { inCluster } from 'ipam-kit'
import { now, timers, uid } from 'ipam-kit/node'
import { Controller, EventRecorder, LeaderElection, ProblemLog } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'

/**
 * Serves claims while this process holds the Lease, until `stop` is aborted. Any number of
 * processes may run it: one works at a time.
 *
 * @returns `lost`: another process may lead. End this process at once
 */
export async function serveAsLeader(store: Store, stop: AbortSignal, log = console.error): Promise<'stopped' | 'lost'> {
  const problems = new ProblemLog({ timers, log })
  const election = new LeaderElection({
    store,
    timers,
    lease: { namespace: 'ipam-system', name: 'my-ipam' },
    identity: uid(),
    leaseDurationSeconds: 15,
    renewDeadlineSeconds: 10,
    retryPeriodSeconds: 2,
    writeTimeoutSeconds: 4,
    onProblem: (failure) => problems.add(`lease: ${failure.message}`),
  })
  const events = new EventRecorder({
    store,
    now,
    uid,
    component: 'my-ipam',
    onProblem: (failure, about) => problems.add(`event about ${about.name}: ${failure.message}`),
  })
  stop.addEventListener('abort', () => election.stop(), { once: true })

  const end = await election.run(async ({ ending, lost, canWrite }) => {
    const controller = new Controller({
      store,
      timers,
      canWrite,
      planners: [inCluster()],
      onProblem: problems.report,
      onEvent: (event) => void events.record(event),
    })
    void ending.then(() => controller.stop())
    // when the lease is lost, it does not wait for writes in flight: another process may lead
    await Promise.race([controller.run(), lost])
  })
  problems.flush()
  return end
}
