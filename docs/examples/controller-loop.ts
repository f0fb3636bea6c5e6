import { refOf } from 'ipam-kit/crd/meta'
import type { Change, Planner } from 'ipam-kit/plan'
import { Backoff, runKey, settle } from 'ipam-kit/run'
import type { Store, WatchEvent } from 'ipam-kit/store'

/** Nothing holds a write back for so long: not the server, whose own limit this has to be above, nor a proxy before it. */
const GIVEN_UP_MS = 10 * 60 * 1000

/**
 * A controller around a planner: list, watch, plan, write, on any store. One worker, as a planner wants it: its next plan is made when it has
 * seen what became of the last one. Ends when `stop` is aborted.
 */
export async function controllerLoop(store: Store, planner: Planner, stop: AbortSignal): Promise<void> {
  const queue = new Set<string>()
  const backoff = new Backoff()
  let wake = () => {}
  const enqueue = (keys: Iterable<string>) => {
    for (const key of keys) queue.add(key)
    wake()
  }

  const later = (ms: number, action: () => void) => void setTimeout(action, ms).unref()

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
    // what was just written is in use, whether or not the watch has told of it yet
    const show = (change: Change) => enqueue(planner.observe(change))
    const ended = await runKey(planner, key, store, { now: Date.now, show })
    if (ended.kind === 'done') {
      backoff.succeeded(key)
      // timers take no more than 2^31 ms: look again after a day at the latest
      const seconds = Math.min(ended.requeueAfterSeconds ?? 86_400, 86_400)
      if (ended.requeueAfterSeconds !== undefined) later(seconds * 1000, () => enqueue([key]))
      continue
    }
    if (ended.kind === 'unsettled') {
      // before anything else is planned: what is stored now? It is not even known whether the write was done
      const sinceMs = Date.now()
      let settled = await settle(store, ended.unsettled)
      while (!settled.ok && !stop.aborted) {
        await new Promise((resolve) => setTimeout(resolve, backoff.failed(key)))
        settled = await settle(store, ended.unsettled, { isGivenUp: Date.now() - sinceMs > GIVEN_UP_MS })
      }
      if (settled.ok) show(settled.value.change)
    }
    later(backoff.failed(key), () => enqueue([key]))
  }
}

/** Claims before the counts of their pools. */
function nextOf(queue: ReadonlySet<string>, planner: Planner): string | undefined {
  for (const key of queue) if (!planner.isSummary(key)) return key
  return queue.values().next().value
}
