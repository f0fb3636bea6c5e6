/**
 * The client of an `etcdStore`: three calls of the API of etcd v3, with keys and values as texts,
 * and 64-bit numbers as texts of digits. For servers with the JSON gateway, {@link etcdGateway} is
 * one. A client over gRPC takes some lines. Two parts of it easily go wrong: 64-bit numbers that
 * lose their last digits, and an empty `range_end`, which means all keys from there on.
 *
 * Each call is made once: a client that repeats a `txn` mistakes its own write, whose answer was
 * lost, for a conflict. If etcd answers with an error, the call rejects with an error that has the
 * gRPC status as a number in `code`, as the errors of @grpc/grpc-js. Without a `code` the outcome
 * of a write is unknown. So turn off the retries of etcd3 (`faultHandling`). Its errors have no
 * `code`, so no failure of it counts as a refusal.
 *
 * @example
 * // how long each call takes
 * const gateway = etcdGateway({ fetch, url: 'http://127.0.0.1:2379' })
 * const times: number[] = []
 * const timed = async <T>(call: Promise<T>) => {
 *   const start = performance.now()
 *   return call.finally(() => times.push(performance.now() - start))
 * }
 * const client: EtcdClient = {
 *   range: (request) => timed(gateway.range(request)),
 *   txn: (request) => timed(gateway.txn(request)),
 *   watch: (request) => gateway.watch(request),
 * }
 */
export interface EtcdClient {
  /** KV.Range, linearizable: it returns every write that was answered before. */
  range(request: EtcdRangeRequest): Promise<EtcdRangeResponse>
  /** KV.Txn. */
  txn(request: EtcdTxnRequest): Promise<EtcdTxnResponse>
  /**
   * Watch.Watch with one watch, with `prev_kv` and, if available, `progress_notify`. With
   * `fragment`, the fragments of a revision have to be put together.
   */
  watch(request: EtcdWatchRequest): EtcdWatch
}

export interface EtcdKeyValue {
  readonly key: string
  readonly value: string
  readonly createRevision: string
  readonly modRevision: string
}

export interface EtcdRangeRequest {
  readonly key: string
  /** The first key after the range. Left out: only `key`. */
  readonly rangeEnd?: string | undefined
  /** The largest number of keys. Left out: all. */
  readonly limit?: number | undefined
  /** The revision to read at. Left out: the current one. */
  readonly revision?: string | undefined
  /** Without values: they may be empty texts. */
  readonly keysOnly?: boolean | undefined
}

export interface EtcdRangeResponse {
  /** `header.revision`: of the last write to the server, for any requested revision. */
  readonly revision: string
  /** By key, byte by byte. */
  readonly kvs: readonly EtcdKeyValue[]
  readonly more: boolean
}

export interface EtcdTxnRequest {
  /** All must hold: `mod_revision` of the key is equal. `0`: the key does not exist. */
  readonly compare: readonly { readonly key: string; readonly modRevision: string }[]
  /** Carried out if all comparisons hold. */
  readonly success: readonly EtcdOperation[]
}

/** A put or a deletion. */
export interface EtcdOperation {
  readonly put?: { readonly key: string; readonly value: string } | undefined
  readonly deleteRange?: { readonly key: string } | undefined
}

export interface EtcdTxnResponse {
  /** `header.revision`: of this write, if it succeeded. */
  readonly revision: string
  readonly succeeded: boolean
}

export interface EtcdWatchRequest {
  readonly key: string
  readonly rangeEnd: string
  /** The revision of the first event. */
  readonly startRevision: string
}

/** The answers to a watch, until it ends. */
export interface EtcdWatch extends AsyncIterable<EtcdWatchResponse> {
  /** Ends the watch, also before it has begun and while it waits. May be called more than once. */
  cancel(): void
}

export interface EtcdWatchResponse {
  /** `header.revision`. */
  readonly revision: string
  /**
   * Whether this is the answer to the request, and watching begins. Without it, a watch without
   * events looks like an unanswered one. It ends with `STORE_IO` after some minutes in which other
   * writers have written.
   */
  readonly created?: boolean | undefined
  /** The server has ended the watch. */
  readonly canceled?: boolean | undefined
  /**
   * The oldest revision that is still available, if the watch was to begin before it. `0` or left
   * out: the watch ended for another reason.
   */
  readonly compactRevision?: string | undefined
  readonly cancelReason?: string | undefined
  /** Whole revisions only. */
  readonly events: readonly EtcdEvent[]
}

export interface EtcdEvent {
  readonly type: 'PUT' | 'DELETE'
  /** For a deletion only key and `modRevision` are used. */
  readonly kv: EtcdKeyValue
  /** The state before. Left out: the key did not exist, or that state is no longer available. */
  readonly prevKv?: EtcdKeyValue | undefined
}
