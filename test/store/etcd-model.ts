import type { EtcdHttpRequest, EtcdHttpResponse } from '../../src/store/etcd/gateway.js'

interface Entry {
  readonly revision: number
  readonly key: string
  /** Nothing: deleted. */
  readonly value: string | undefined
  readonly created: number
}

type Json = { readonly [field: string]: unknown }

const base64 = (text: string) => Buffer.from(text).toString('base64')
const text = (value: unknown) => Buffer.from(String(value ?? ''), 'base64').toString()

/**
 * etcd behind its JSON, in memory: what it does, and how it writes that. Fields that are 0, false
 * or empty are left out, numbers of 64 bits are texts, a put has no type.
 */
export class EtcdModel {
  revision = 1
  compacted = 0
  /**
   * As in versions of etcd 3.4 and 3.5: a deletion in the very revision of a compaction is gone.
   */
  forgetsTombstones = false
  /** In how small pieces the streams come. */
  pieceBytes = 7
  /** `/v3/kv/txn` and so on, in order. */
  readonly calls: string[] = []
  /** Answers instead of the model, if it gives something. */
  intercept: (path: string, body: Json) => EtcdHttpResponse | Promise<EtcdHttpResponse> | undefined = () => undefined
  readonly #log: Entry[] = []
  readonly #streams = new Set<ModelStream>()

  readonly fetch = async (url: string, request: EtcdHttpRequest): Promise<EtcdHttpResponse> => {
    const path = url.slice(url.indexOf('/v3/'))
    this.calls.push(path)
    const body = JSON.parse(request.body) as Json
    const instead = this.intercept(path, body)
    if (instead !== undefined) return instead
    if (path === '/v3/kv/range') return this.#range(body)
    if (path === '/v3/kv/txn') return this.#txn(body)
    return this.#watch(body.create_request as Json)
  }

  get watches(): readonly { readonly isEnded: boolean }[] {
    return [...this.#streams]
  }

  /** What ends all watches: an error of the connection, or their end. */
  cut(error?: Error): void {
    for (const stream of this.#streams) stream.end(error)
    this.#streams.clear()
  }

  compact(revision: number): void {
    this.compacted = revision
  }

  /** A write of somebody else. */
  put(key: string, value: string | undefined): number {
    const before = this.#at(key, this.revision)
    const revision = ++this.revision
    const created = before?.value === undefined ? revision : before.created
    this.#log.push({ revision, key, value, created })
    for (const stream of this.#streams) this.#tell(stream, revision)
    return revision
  }

  /** To all watches: nothing has happened. */
  progress(): void {
    for (const stream of this.#streams) stream.write({ header: this.#header() })
  }

  say(message: Json): void {
    for (const stream of this.#streams) stream.write(message)
  }

  /** Bytes that are no message, to all watches. */
  sayText(line: string | Uint8Array): void {
    for (const stream of this.#streams) stream.writeText(line, this.pieceBytes)
  }

  #header(): Json {
    return { cluster_id: '1', member_id: '2', revision: String(this.revision), raft_term: '3' }
  }

  #at(key: string, revision: number): Entry | undefined {
    return this.#log.findLast((entry) => entry.key === key && entry.revision <= revision)
  }

  #range({ key, range_end, limit, revision = '0', keys_only }: Json): EtcdHttpResponse {
    const asked = Number(revision)
    if (asked > this.revision) {
      return refusal(400, 11, 'etcdserver: mvcc: required revision is a future revision')
    }
    if (asked > 0 && asked < this.compacted) {
      return refusal(400, 11, 'etcdserver: mvcc: required revision has been compacted')
    }
    const [from, to] = [text(key), text(range_end)]
    const keys = [...new Set(this.#log.map((entry) => entry.key))].sort()
    const found = keys
      .filter((each) => (to === '' ? each === from : each >= from && each < to))
      .map((each) => this.#at(each, asked || this.revision))
      .filter((entry) => entry?.value !== undefined) as Entry[]
    const kvs = found.slice(0, Number(limit) || undefined).map((entry) => keyValue(entry, keys_only === true))
    const more = kvs.length < found.length
    const some = kvs.length > 0 ? { kvs, count: String(found.length) } : {}
    return answer({ header: this.#header(), ...some, ...(more ? { more } : {}) })
  }

  #txn({ compare, success }: Json): EtcdHttpResponse {
    const isAsExpected = (compare as Json[]).every(({ key, mod_revision }) => {
      const entry = this.#at(text(key), this.revision)
      return (entry?.value === undefined ? 0 : entry.revision) === Number(mod_revision)
    })
    if (!isAsExpected) return answer({ header: this.#header() })
    for (const operation of success as Json[]) {
      const put = operation.request_put as Json | undefined
      const remove = operation.request_delete_range as Json | undefined
      if (put !== undefined && String(put.value).length > 2_097_152) {
        return refusal(400, 3, 'etcdserver: request is too large')
      }
      this.put(text((put ?? remove)?.key), put === undefined ? undefined : text(put.value))
    }
    return answer({ header: this.#header(), succeeded: true, responses: [{}] })
  }

  #watch({ key, range_end, start_revision }: Json): EtcdHttpResponse {
    const stream = new ModelStream(this.pieceBytes, { from: text(key), to: text(range_end) })
    this.#streams.add(stream)
    stream.write({ header: this.#header(), created: true })
    const start = Number(start_revision)
    if (start < this.compacted) {
      stream.write({ header: this.#header(), canceled: true, compact_revision: String(this.compacted) })
    } else for (let revision = start; revision <= this.revision; revision++) this.#tell(stream, revision)
    return { status: 200, text: async () => '', body: { getReader: () => stream } }
  }

  #tell(stream: ModelStream, revision: number): void {
    const isForgotten = this.forgetsTombstones && revision === this.compacted
    const entries = this.#log.filter((entry) => {
      return entry.revision === revision && stream.isOf(entry.key) && !(isForgotten && entry.value === undefined)
    })
    const events = entries.map((entry) => {
      const before = this.#at(entry.key, revision - 1)
      const prev = before?.value === undefined ? {} : { prev_kv: keyValue(before) }
      if (entry.value !== undefined) return { kv: keyValue(entry), ...prev }
      return { type: 'DELETE', kv: { key: base64(entry.key), mod_revision: String(revision) }, ...prev }
    })
    if (events.length > 0) stream.write({ header: this.#header(), events })
  }
}

/** The body of a watch: a line for each message, in pieces. */
class ModelStream {
  readonly #pieceBytes: number
  readonly #range: { readonly from: string; readonly to: string }
  #pieces: Uint8Array[] = []
  #end: { readonly error: Error | undefined } | undefined
  #wake: () => void = () => {}

  constructor(pieceBytes: number, range: { readonly from: string; readonly to: string }) {
    this.#pieceBytes = pieceBytes
    this.#range = range
  }

  get isEnded(): boolean {
    return this.#end !== undefined
  }

  isOf(key: string): boolean {
    return key >= this.#range.from && key < this.#range.to
  }

  write(result: Json): void {
    this.writeText(`${JSON.stringify({ result })}\n`)
  }

  writeText(line: string | Uint8Array, pieceBytes = this.#pieceBytes): void {
    const bytes = typeof line === 'string' ? new TextEncoder().encode(line) : line
    for (let at = 0; at < bytes.length; at += pieceBytes) this.#pieces.push(bytes.subarray(at, at + pieceBytes))
    this.#wake()
  }

  end(error: Error | undefined): void {
    this.#end = { error }
    this.#wake()
  }

  async read(): Promise<{ done: boolean; value?: Uint8Array }> {
    for (;;) {
      const value = this.#pieces.shift()
      if (value !== undefined) return { done: false, value }
      if (this.#end?.error !== undefined) throw this.#end.error
      if (this.#end !== undefined) return { done: true }
      await new Promise<void>((wake) => {
        this.#wake = wake
      })
    }
  }

  async cancel(): Promise<void> {
    this.#pieces = []
    this.end(undefined)
  }
}

function keyValue({ key, value = '', revision, created }: Entry, isKeyOnly = false): Json {
  const shown = isKeyOnly || value === '' ? {} : { value: base64(value) }
  return { key: base64(key), create_revision: String(created), mod_revision: String(revision), version: '1', ...shown }
}

function answer(body: Json): EtcdHttpResponse {
  return { status: 200, text: async () => JSON.stringify(body), body: null }
}

export function refusal(status: number, code: number, message: string): EtcdHttpResponse {
  return { status, text: async () => JSON.stringify({ code, message, details: [] }), body: null }
}
