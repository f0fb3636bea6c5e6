import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { KubernetesClient } from 'ipam-kit/store/kubernetes'

/** Objects of a file: a page has several of them. */
const PAGE = 50
/** Above the versions of all objects. */
const VERSION = '1000000'

/** Writes the objects of each kind to files. */
export function writePages(folder: string, objects: Iterable<KubeObject>): void {
  const open = new Map<string, KubeObject[]>()
  const files = new Map<string, number>()
  const write = (kind: string, items: readonly KubeObject[]) => {
    const file = files.get(kind) ?? 0
    files.set(kind, file + 1)
    writeFileSync(fileOf(folder, kind, file), items.map((item) => JSON.stringify(item)).join(','))
  }
  for (const object of objects) {
    const kind = `${object.kind.toLowerCase()}${object.kind.endsWith('s') ? 'es' : 's'}`
    const items = open.get(kind) ?? []
    open.set(kind, items)
    items.push(object)
    if (items.length === PAGE) write(kind, items.splice(0))
  }
  for (const [kind, items] of open) write(kind, items)
}

/**
 * A client of an API server with these objects. Its answers come without a turn of the event loop,
 * as those of a store in memory: a controller has to end its turns by itself.
 *
 * @param written called for each write: all objects are as they have to be
 */
export function clientOf(folder: string, written: (request: string) => void): KubernetesClient {
  return {
    async request({ method, path }) {
      const { pathname, searchParams } = new URL(path, 'http://server')
      if (method !== 'GET') written(`${method} ${path}`)
      const kind = pathname.split('/').at(-1) as string
      const from = Number(searchParams.get('continue') ?? 0)
      const end = from + Math.max(1, Math.floor(Number(searchParams.get('limit') ?? Number.POSITIVE_INFINITY) / PAGE))
      const parts: string[] = []
      for (let file = from; file < end && existsSync(fileOf(folder, kind, file)); file++) {
        parts.push(readFileSync(fileOf(folder, kind, file), 'utf8'))
      }
      const metadata = {
        resourceVersion: VERSION,
        ...(existsSync(fileOf(folder, kind, end)) && { continue: `${end}` }),
      }
      const items = parts.filter((part) => part !== '').join(',')
      return { status: 200, body: `{"kind":"List","metadata":${JSON.stringify(metadata)},"items":[${items}]}` }
    },
    watch: async () => ({ abort: () => {} }),
  }
}

function fileOf(folder: string, kind: string, page: number): string {
  return join(folder, `${kind}-${page}.json`)
}
