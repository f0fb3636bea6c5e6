import type { Timers } from 'ipam-kit/run'
import type { ListQuery, Store, StoreResult, WatchEvent } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import type { WatchOptions } from '../../src/store/store.js'

export interface SlowStoreOptions {
  readonly timers: Timers
  /** How long a call takes, and how late a watch tells of a change, in milliseconds. */
  readonly latencyMs: () => number
}

/** How a client has used its store. */
export interface Usage {
  readonly calls: { readonly [verb: string]: number }
  readonly conflicts: number
}

/**
 * A client of a store whose every call takes time: half of it before the store does the call, half
 * of it before the client is answered. A watch keeps its order and tells of each change after that
 * time.
 */
export function slowStore(below: Store, { timers, latencyMs }: SlowStoreOptions): Store & { readonly usage: Usage } {
  const calls: { [verb: string]: number } = {}
  const usage = { calls, conflicts: 0 }
  const wait = (ms: number) => new Promise<void>((resolve) => void timers.after(ms, resolve))
  const slow = async <T>(verb: string, call: () => StoreResult<T>): StoreResult<T> => {
    calls[verb] = (calls[verb] ?? 0) + 1
    const halfMs = latencyMs() / 2
    await wait(halfMs)
    const answer = await call()
    if (!answer.ok && ['STORE_CONFLICT', 'STORE_ALREADY_EXISTS'].includes(answer.failure.code)) usage.conflicts++
    await wait(halfMs)
    return answer
  }
  const store = storeOver(below, {
    get: (ref) => slow('get', () => below.get(ref)),
    list: (query, options) => slow('list', () => below.list(query, options)),
    create: (object) => slow('create', () => below.create(object)),
    update: (object, options) => slow('update', () => below.update(object, options)),
    patch: (ref, patch, options) => slow(isGuard(patch) ? 'guard' : 'patch', () => below.patch(ref, patch, options)),
    delete: (ref, options) => slow('delete', () => below.delete(ref, options)),
    watch: (query, options) => late(below, { query, options, timers, latencyMs }),
  })
  return { ...store, usage }
}

function isGuard(patch: object): boolean {
  return Object.keys(patch).length === 0
}

/** The events of a watch, each after a while, in their order. */
function late(
  below: Store,
  {
    query,
    options,
    timers,
    latencyMs,
  }: SlowStoreOptions & { readonly query: ListQuery; readonly options: WatchOptions | undefined },
): AsyncIterable<WatchEvent> {
  return {
    [Symbol.asyncIterator]: () => {
      const source = below.watch(query, options)[Symbol.asyncIterator]()
      const events: { readonly result: IteratorResult<WatchEvent>; readonly dueMs: number }[] = []
      let rang: () => void = () => {}
      let lastMs = 0
      const pump = async () => {
        for (;;) {
          const result = await source.next()
          lastMs = Math.max(lastMs, timers.now() + latencyMs())
          events.push({ result, dueMs: lastMs })
          rang()
          if (result.done === true) return
        }
      }
      let isPumping = false
      return {
        next: async () => {
          if (!isPumping) void pump()
          isPumping = true
          if (events.length === 0) {
            await new Promise<void>((resolve) => {
              rang = resolve
            })
          }
          const { result, dueMs } = events.shift() as (typeof events)[number]
          const leftMs = dueMs - timers.now()
          if (leftMs > 0) await new Promise<void>((resolve) => void timers.after(leftMs, resolve))
          return result
        },
        return: async () => (await source.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}
