import { refOf } from 'ipam-kit/crd/meta'
import type { Planner } from 'ipam-kit/plan'
import { readAgain, runPlan } from 'ipam-kit/run'
import type { Store, WatchEvent } from 'ipam-kit/store'

/**
 * A controller around a planner: list, watch, plan, write, on any store. One worker, as a planner wants it: its next plan is made when it has
 * seen what became of the last one. Ends when `stop` is aborted.
 */
export async function controllerLoop(store: Store, planner: Planner, stop: AbortSignal): Promise<void> {
  const queue = new Set<string>()
  let wake = () => {}
  const enqueue = (keys: Iterable<string>) => {
    for (const key of keys) queue.add(key)
    wake()
  }

  const watches: AsyncIterator<WatchEvent>[] = []
  stop.addEventListener('abort', () => {
    for (const watch of watches) void watch.return?.()
    wake()
  })

  for (const kind of planner.watches) {
    const listed = await store.list(kind)
    if (!listed.ok) throw new Error(`can not list ${kind.plural}: ${listed.failure.code}`)
    for (const object of listed.value.items) enqueue(planner.observe({ kind: 'present', object }))
    const watch = store.watch(kind, { resourceVersion: listed.value.resourceVersion })[Symbol.asyncIterator]()
    watches.push(watch)
    void follow(watch)
  }

  async function follow(watch: AsyncIterator<WatchEvent>): Promise<void> {
    for (let next = await watch.next(); !next.done; next = await watch.next()) {
      const event = next.value
      if (event.type === 'BOOKMARK') continue
      if (event.type === 'ERROR') throw new Error(`the watch has ended: ${event.failure.code}: list again`)
      const { object } = event
      enqueue(
        planner.observe(
          event.type === 'DELETED'
            ? { kind: 'absent', ref: refOf(object), uid: object.metadata.uid }
            : { kind: 'present', object },
        ),
      )
    }
  }

  while (!stop.aborted) {
    const key = nextOf(queue, planner)
    if (key === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      continue
    }
    queue.delete(key)
    const plan = planner.plan(key, { nowMs: Date.now() })
    if (plan === undefined) continue
    // what was just written is in use, whether or not the watch has told of it yet
    const ended = await runPlan(plan, store, { onChange: (change) => enqueue(planner.observe(change)) })
    if (ended.kind === 'conflict') {
      // before anything else is planned: what is stored now? It may not even be known whether the write was done
      let again = await readAgain(store, ended.effect)
      while (!again.ok && !stop.aborted) {
        await new Promise((resolve) => setTimeout(resolve, 1000))
        again = await readAgain(store, ended.effect)
      }
      if (again.ok) enqueue([key, ...planner.observe(again.value)])
    } else if (ended.kind === 'failed') setTimeout(() => enqueue([key]), 1000)
    else if (plan.requeueAfterSeconds !== undefined) {
      // timers take no more than 2^31 ms: look again after a day at the latest
      setTimeout(() => enqueue([key]), Math.min(plan.requeueAfterSeconds, 86_400) * 1000)
    }
  }
}

/** Claims before the counts of their pools. */
function nextOf(queue: ReadonlySet<string>, planner: Planner): string | undefined {
  for (const key of queue) if (!planner.isSummary(key)) return key
  return queue.values().next().value
}
