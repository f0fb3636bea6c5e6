import type { RealKubernetes } from '../../test/real/servers/kubernetes.js'

/** Requests that an API server has answered. */
export interface Requests {
  readonly writes: number
  readonly reads: number
  /** Writes that were refused, as the object had another version or was there already. */
  readonly conflicts: number
  /** Writes by resource, such as `ipaddressclaims/status`. */
  readonly byResource: ReadonlyMap<string, number>
  /** All of them by verb and resource, such as `PATCH nodes`: lists and watches too. */
  readonly byRequest: ReadonlyMap<string, number>
}

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'APPLY'])

/**
 * All requests of objects of some API groups, without lists and watches, since the server started.
 */
export async function requestsOf(server: RealKubernetes, groups: readonly string[]): Promise<Requests> {
  const { body } = await server.request<string>('GET', '/metrics')
  let [writes, reads, conflicts] = [0, 0, 0]
  const byResource = new Map<string, number>()
  const byRequest = new Map<string, number>()
  for (const line of body.split('\n')) {
    if (!line.startsWith('apiserver_request_total{')) continue
    const label = (name: string) => new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1] ?? ''
    if (!groups.includes(label('group'))) continue
    const count = Number(line.slice(line.lastIndexOf(' ')))
    const resource = [label('resource'), label('subresource')].filter((part) => part !== '').join('/')
    add(byRequest, `${label('verb')} ${resource}`, count)
    if (label('verb') === 'GET') reads += count
    if (!WRITES.has(label('verb'))) continue
    writes += count
    if (label('code') === '409') conflicts += count
    add(byResource, resource, count)
  }
  return { writes, reads, conflicts, byResource, byRequest }
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count)
}

/** What was answered between two moments. */
export function requestsBetween(before: Requests, after: Requests): Requests {
  return {
    writes: after.writes - before.writes,
    reads: after.reads - before.reads,
    conflicts: after.conflicts - before.conflicts,
    byResource: between(before.byResource, after.byResource),
    byRequest: between(before.byRequest, after.byRequest),
  }
}

function between(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const counts = [...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
  return new Map(counts.filter(([, count]) => count > 0))
}
