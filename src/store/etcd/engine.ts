import { utf8Length } from '../../bytes/utf8.js'
import { refused } from '../engine/document.js'
import type {
  Commit,
  DocumentKey,
  DocumentPage,
  DocumentScope,
  DocumentWrite,
  EngineEvent,
  ScanPart,
  Stop,
  StoredDocument,
  StoreEngine,
} from '../engine/engine.js'
import type { EtcdClient, EtcdKeyValue } from './client.js'
import { classOf } from './errors.js'
import { Follower } from './follow.js'
import { Keys, keyAfter } from './keys.js'

export interface EtcdEngineParts {
  readonly prefix: string
  readonly sleep: (milliseconds: number) => Promise<unknown>
  readonly retryMs: number
  /** The default size of a request in etcd, used if the server has another limit. */
  readonly usualBytes: number
}

/** The approximate size of an answer: many small documents, or a few of the largest. */
const ANSWER_BYTES = 4 * 1024 * 1024
const FIRST_ANSWER = 64
const LARGEST_ANSWER = 5_000
/** How often a list starts again because its revision was compacted. */
const MAX_ATTEMPTS = 5

/** Documents in etcd: a key each, whose `mod_revision` is the revision of the document. */
export class EtcdEngine implements StoreEngine {
  readonly name = 'etcd'
  readonly #client: EtcdClient
  readonly #parts: EtcdEngineParts
  readonly #keys: Keys

  constructor(client: EtcdClient, parts: EtcdEngineParts) {
    this.#client = client
    this.#parts = parts
    this.#keys = new Keys(parts.prefix)
  }

  async read(key: DocumentKey): Promise<StoredDocument | undefined> {
    const { kvs } = await this.#client.range({ key: this.#keys.of(key) })
    return kvs[0] === undefined ? undefined : documentOf(kvs[0])
  }

  async scan(scope: DocumentScope, part: ScanPart): Promise<DocumentPage> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#scan(scope, part)
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || classOf(error) !== 'compacted') throw error
      }
    }
  }

  async commit({ key: place, before, after }: DocumentWrite): Promise<Commit> {
    const key = this.#keys.of(place)
    const operation = after === undefined ? { deleteRange: { key } } : { put: { key, value: after } }
    const compare = [{ key, modRevision: before?.revision ?? '0' }]
    try {
      const { revision, succeeded } = await this.#client.txn({ compare, success: [operation] })
      return succeeded ? { kind: 'done', revision } : { kind: 'stale' }
    } catch (error) {
      const errorClass = classOf(error)
      if (errorClass === 'unknown') throw error
      if (errorClass !== 'too-large') return refused(error)
      const sizeBytes = utf8Length(after ?? '')
      // the limit of this server is unknown: below the default, if this was above it, or else below
      // this size
      return { kind: 'too-large', sizeBytes, maxBytes: Math.min(sizeBytes - 1, this.#parts.usualBytes) }
    }
  }

  follow(scope: DocumentScope, after: string | undefined, stop: Stop): AsyncIterable<EngineEvent> {
    return new Follower(this.#client, this.#keys.in(scope), this.#parts).follow(after, stop)
  }

  /** Several answers, all at the revision of the first. */
  async #scan(scope: DocumentScope, { after, limit = Number.POSITIVE_INFINITY }: ScanPart): Promise<DocumentPage> {
    const range = this.#keys.in(scope)
    const documents: StoredDocument[] = []
    let { key } = range
    if (after !== undefined) {
      const behind = keyAfter(this.#keys.of({ ...scope, ...after }))
      if (behind > key) key = behind
    }
    let revision: string | undefined
    let bytes = 0
    let step = FIRST_ANSWER
    while (key < range.rangeEnd) {
      const asked = Math.min(step, limit - documents.length)
      const page = await this.#client.range({ ...range, key, limit: asked, revision })
      revision ??= page.revision
      for (const kv of page.kvs) {
        documents.push(documentOf(kv))
        bytes += kv.value.length
      }
      const last = page.kvs.at(-1)
      if (!page.more || last === undefined) break
      const isEnough = documents.length >= limit || (Number.isFinite(limit) && bytes >= ANSWER_BYTES)
      if (isEnough) return { documents, revision, hasMore: true }
      step = Math.floor((ANSWER_BYTES * documents.length) / Math.max(bytes, 1))
      step = Math.max(1, Math.min(step, LARGEST_ANSWER))
      key = keyAfter(last.key)
    }
    revision ??= (await this.#client.range({ key, limit: 1, keysOnly: true })).revision
    return { documents, revision, hasMore: false }
  }
}

function documentOf({ value, modRevision }: EtcdKeyValue): StoredDocument {
  return { text: value, revision: modRevision }
}
