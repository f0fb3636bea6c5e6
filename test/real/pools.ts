import type { Failure, Result } from 'ipam-kit/errors'
import type { Store, WatchEvent } from 'ipam-kit/store'

// Objects for tests of stores beyond the conformance suite.

const kind = { apiVersion: 'x.dev/v1', kind: 'Pool' }

export const pools = { ...kind, namespace: 'n' }

export function pool(name: string, spec: object = {}) {
  return { ...kind, metadata: { namespace: 'n', name }, spec }
}

export function ref(name: string) {
  return { ...pools, name }
}

export function codeOf(result: Result<unknown>): string {
  return result.ok ? 'no failure' : result.failure.code
}

export function problemOf(result: Result<unknown>): string {
  if (result.ok) return 'no failure'
  const { context } = result.failure as Failure
  return 'problem' in context ? String(context.problem) : ''
}

export function versionOf(result: Result<{ readonly metadata: { readonly resourceVersion?: string | undefined } }>) {
  if (!result.ok) throw new Error(`${result.failure.code}: ${problemOf(result)}`)
  return result.value.metadata.resourceVersion!
}

/** The first events of a watch, bookmarks left out. */
export async function eventsOf(store: Store, resourceVersion: string, count: number): Promise<WatchEvent[]> {
  const seen: WatchEvent[] = []
  for await (const event of store.watch(pools, { resourceVersion })) {
    if (event.type === 'BOOKMARK') continue
    seen.push(event)
    if (seen.length === count || event.type === 'ERROR') break
  }
  return seen
}

export function outline(events: readonly WatchEvent[]): string[] {
  return events.map((event) => {
    if (event.type === 'ERROR') return event.failure.code
    return 'object' in event ? `${event.type} ${event.object.metadata.name}` : event.type
  })
}
