import type { RealKubernetes } from '../../test/real/servers/kubernetes.js'

/** Requests that an API server has answered. */
export interface Requests {
  readonly writes: number
  readonly reads: number
  /** Writes that were refused, as the object had another version or was there already. */
  readonly conflicts: number
  /** Writes by resource, such as `ipaddressclaims/status`. */
  readonly byResource: ReadonlyMap<string, number>
}

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'APPLY'])

/** All requests of objects of some API groups, without lists and watches, since the server started. */
export async function requestsOf(server: RealKubernetes, groups: readonly string[]): Promise<Requests> {
  const { body } = await server.request<string>('GET', '/metrics')
  let [writes, reads, conflicts] = [0, 0, 0]
  const byResource = new Map<string, number>()
  for (const line of body.split('\n')) {
    if (!line.startsWith('apiserver_request_total{')) continue
    const label = (name: string) => new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1] ?? ''
    if (!groups.includes(label('group'))) continue
    const count = Number(line.slice(line.lastIndexOf(' ')))
    if (label('verb') === 'GET') reads += count
    if (!WRITES.has(label('verb'))) continue
    writes += count
    if (label('code') === '409') conflicts += count
    const resource = [label('resource'), label('subresource')].filter((part) => part !== '').join('/')
    byResource.set(resource, (byResource.get(resource) ?? 0) + count)
  }
  return { writes, reads, conflicts, byResource }
}

/** What was answered between two moments. */
export function requestsBetween(before: Requests, after: Requests): Requests {
  const byResource = [...after.byResource].map(([resource, count]) => {
    return [resource, count - (before.byResource.get(resource) ?? 0)] as const
  })
  return {
    writes: after.writes - before.writes,
    reads: after.reads - before.reads,
    conflicts: after.conflicts - before.conflicts,
    byResource: new Map(byResource.filter(([, count]) => count > 0)),
  }
}
