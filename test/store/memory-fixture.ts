import type { KindInfo, KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { type Result, unwrap } from 'ipam-kit/errors'
import type { ListQuery, Store, StoreErrorCode, WatchEvent } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect } from 'vitest'
import type { MemoryStoreOptions } from '../../src/store/memory/memory-store.js'

export const GROUP = 'ipam.example.com'
export const POOL: KindInfo = {
  apiVersion: `${GROUP}/v1`,
  kind: 'Pool',
  plural: 'pools',
  namespaced: true,
  statusSubresource: true,
}
export const REGION: KindInfo = { ...POOL, kind: 'Region', plural: 'regions', namespaced: false }
export const PLAIN: KindInfo = { ...POOL, kind: 'Plain', plural: 'plains', statusSubresource: false }
export const START_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** All pools. */
export const query = { apiVersion: POOL.apiVersion, kind: 'Pool' }

export interface Parts {
  readonly metadata?: object
  readonly spec?: unknown
  readonly status?: unknown
  readonly apiVersion?: string
  readonly kind?: string
}

export function newStore(options: Partial<MemoryStoreOptions> = {}): Store {
  return memoryStore({ now: () => START_MS, kinds: [POOL, REGION, PLAIN], ...options })
}

/** A pool `ns/name` with whatever else. */
export function pool(name: string, parts: Parts = {}): KubeObject {
  const { metadata, ...rest } = parts
  return { ...query, ...rest, metadata: { namespace: 'ns', name, ...metadata } }
}

export function ref(name: string, parts: Partial<ObjectRef> = {}): ObjectRef {
  return { ...query, namespace: 'ns', name, ...parts }
}

export async function createIn(store: Store, name: string, parts: Parts = {}): Promise<KubeObject> {
  return unwrap(await store.create(pool(name, parts)))
}

export async function versionOf(store: Store): Promise<string> {
  return unwrap(await store.list(query)).resourceVersion
}

export function withMeta(object: KubeObject, metadata: object): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...metadata } }
}

/** The code and context of a failure, to be compared with what is expected. */
export function failure(result: Result<unknown, StoreErrorCode>): { code: string; context: object } | 'no failure' {
  return result.ok ? 'no failure' : { code: result.failure.code, context: result.failure.context }
}

/** What {@link failure} gives for an object that is refused; `problem` is a part of the text. */
export function invalidAt(path: string | RegExp, problem = ''): object {
  const context = {
    object: expect.any(String),
    path: typeof path === 'string' ? path : expect.stringMatching(path),
    problem: expect.stringContaining(problem),
  }
  return { code: 'STORE_INVALID', context }
}

/** A watch from now on, behind the bookmark that says where that is. */
export function watchNow(store: Store, asked: ListQuery = query): AsyncIterable<WatchEvent> {
  const iterator = store.watch(asked)[Symbol.asyncIterator]()
  void iterator.next()
  return { [Symbol.asyncIterator]: () => iterator }
}

/** The events that are there, without waiting for more. Ends the watch. */
export async function drain(events: AsyncIterable<WatchEvent>): Promise<WatchEvent[]> {
  const seen: WatchEvent[] = []
  const iterator = events[Symbol.asyncIterator]()
  for (;;) {
    const idle = new Promise<'idle'>((resolve) => setImmediate(() => resolve('idle')))
    const step = await Promise.race([iterator.next(), idle])
    if (step === 'idle' || step.done === true) break
    seen.push(step.value)
  }
  await iterator.return?.()
  return seen
}

/** `TYPE name@resourceVersion`, one an event. */
export function outline(events: readonly WatchEvent[]): string[] {
  return events.map((event) => {
    if (event.type === 'BOOKMARK') return `BOOKMARK @${event.resourceVersion}`
    if (event.type === 'ERROR') return `ERROR ${event.failure.code}`
    return `${event.type} ${event.object.metadata.name}@${event.object.metadata.resourceVersion}`
  })
}
