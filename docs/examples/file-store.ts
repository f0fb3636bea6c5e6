import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Store } from 'ipam-kit/store'
import {
  type DocumentChange,
  type DocumentKey,
  type DocumentWrite,
  engineStore,
  pollChanges,
  type StoredDocument,
} from 'ipam-kit/store/engine'

/** The documents of one kind, of one namespace or of all. */
type Scope = Pick<DocumentKey, 'group' | 'kind'> & { readonly namespace?: string | undefined }

/** One line of the file: a write, with the key of its document. */
type Line = DocumentChange & { readonly key: DocumentKey }

/**
 * A store in one file that is only ever appended to: a line for every write, on disk before it is
 * answered. For one process, and for as many objects as fit into memory. Everything that a store
 * has to know of Kubernetes comes from `engineStore`.
 */
export function fileStore(
  path: string,
  options: Parameters<typeof engineStore>[1],
): { readonly store: Store; close(): void } {
  const lines: Line[] = []
  const documents = new Map<string, StoredDocument & { readonly key: DocumentKey }>()
  const waiting = new Set<() => void>()
  const revision = () => lines.at(-1)?.revision ?? '0'
  const keep = (line: Line) => {
    lines.push(line)
    const id = idOf(line.key)
    if (line.after === undefined) documents.delete(id)
    else documents.set(id, { key: line.key, text: line.after, revision: line.revision })
  }

  let size = 0
  if (existsSync(path)) {
    // what a crash has left behind the last line end was never answered
    for (const text of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
      keep(JSON.parse(text))
      size += Buffer.byteLength(text) + 1
    }
  }
  const file = openSync(path, existsSync(path) ? 'r+' : 'w')
  ftruncateSync(file, size)

  let isBroken = false
  const append = (text: string) => {
    const bytes = Buffer.from(text)
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, size + at)
      fsyncSync(file)
    } catch (error) {
      // what is there of it must not be left behind a next line that is shorter; if this fails too,
      // there is no next line
      isBroken = true
      ftruncateSync(file, size)
      fsyncSync(file)
      isBroken = false
      throw error
    }
    size += bytes.length
  }

  const log: Parameters<typeof pollChanges>[0] = {
    async changes(scope, after = revision(), limit) {
      if (BigInt(after) > BigInt(revision())) return { kind: 'gone', oldest: '0' }
      // line n has revision n + 1
      const later = lines.slice(Number(after)).filter(({ key }) => isIn(scope, key))
      const changes = later.slice(0, limit)
      const hasMore = later.length > limit
      return { kind: 'page', changes, hasMore, revision: hasMore ? changes.at(-1)!.revision : revision() }
    },
  }
  const subscribe = (wake: () => void) => {
    waiting.add(wake)
    return () => waiting.delete(wake)
  }
  const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms).unref())

  const store = engineStore(
    {
      name: 'file',
      read: async (key) => documents.get(idOf(key)),
      scan: async (scope, { after, limit = Number.POSITIVE_INFINITY }) => {
        const found = [...documents.values()]
          .filter(({ key }) => isIn(scope, key) && (after === undefined || compare(key, after) > 0))
          .sort((left, right) => compare(left.key, right.key))
        return { documents: found.slice(0, limit), revision: revision(), hasMore: found.length > limit }
      },
      // nothing here waits: no other write can come in between
      commit: async ({ key, before, after }: DocumentWrite) => {
        if (documents.get(idOf(key))?.revision !== before?.revision) return { kind: 'stale' }
        if (isBroken) return { kind: 'refused', problem: 'a write has failed and is still in the file: open it again' }
        const line = { revision: String(lines.length + 1), key, before: before?.text, after }
        // a write that fails here may be on disk or not: the store says so
        append(`${JSON.stringify(line)}\n`)
        keep(line)
        for (const wake of waiting) wake()
        return { kind: 'done', revision: line.revision }
      },
      follow: (scope, after, stop) => pollChanges(log, { scope, after, stop }, { sleep, subscribe, pollMs: 60_000 }),
    },
    options,
  )
  return { store, close: () => closeSync(file) }
}

function idOf({ group, kind, namespace, name }: DocumentKey): string {
  return `${group}/${kind}/${namespace}/${name}`
}

function isIn({ group, kind, namespace }: Scope, key: DocumentKey): boolean {
  return key.group === group && key.kind === kind && (namespace === undefined || key.namespace === namespace)
}

/** By namespace, then name. */
function compare(left: Pick<DocumentKey, 'namespace' | 'name'>, right: typeof left): number {
  if (left.namespace !== right.namespace) return left.namespace < right.namespace ? -1 : 1
  return left.name < right.name ? -1 : Number(left.name > right.name)
}
