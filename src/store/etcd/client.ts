/**
 * What is needed of a client: three calls of the API of etcd v3, with keys and values as texts, and
 * 64-bit numbers as texts of digits. For servers that offer JSON, {@link etcdGateway} is one.
 * Around a client of gRPC it takes some lines, in which these go wrong easily: 64-bit numbers that
 * become numbers of 53; a `range_end` that is left out, and one that is empty, which means all keys
 * from there on.
 *
 * Each call is made once: a client that repeats a `txn` mistakes a write whose answer was lost for
 * a conflict. If etcd answers with an error, the call rejects with an error that has the status of
 * gRPC as a number in `code`, as those of @grpc/grpc-js have; without it, it is not known whether a
 * write was done. So have etcd3 repeat nothing (`faultHandling`), and expect no refusals of it: its
 * errors have no `code`.
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
  /** KV.Range, linearizable: as new as every write that was answered. */
  range(request: EtcdRangeRequest): Promise<EtcdRangeResponse>
  /** KV.Txn. */
  txn(request: EtcdTxnRequest): Promise<EtcdTxnResponse>
  /**
   * Watch.Watch with one watch, with `prev_kv` and, if it can be had, `progress_notify`. With
   * `fragment`, the parts of a revision that comes in several have to be put together.
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
  /** The first key behind the range. Left out: only `key`. */
  readonly rangeEnd?: string | undefined
  /** How many at most. Left out: all. */
  readonly limit?: number | undefined
  /** As it was at this revision. Left out: as it is now. */
  readonly revision?: string | undefined
  /** Without values: they may be empty texts. */
  readonly keysOnly?: boolean | undefined
}

export interface EtcdRangeResponse {
  /** `header.revision`: of the last write to the server, whatever revision was asked for. */
  readonly revision: string
  /** By key, byte by byte. */
  readonly kvs: readonly EtcdKeyValue[]
  readonly more: boolean
}

export interface EtcdTxnRequest {
  /** All have to hold: the key's `mod_revision` is equal, `0` if there is no such key. */
  readonly compare: readonly { readonly key: string; readonly modRevision: string }[]
  /** Done if they do. */
  readonly success: readonly EtcdOperation[]
}

/** One of both. */
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
  /** The first revision that is told. */
  readonly startRevision: string
}

/** The answers to a watch, until it ends in whatever way. */
export interface EtcdWatch extends AsyncIterable<EtcdWatchResponse> {
  /**
   * Ends the watch, also before it has begun and while nothing comes. May be called more than once.
   */
  cancel(): void
}

export interface EtcdWatchResponse {
  /** `header.revision`. */
  readonly revision: string
  /**
   * It is the answer to the request, and watching begins. If it is never told, a watch to which
   * nothing comes cannot be told from one that is not answered: it ends with `STORE_IO` after some
   * minutes in which others have written.
   */
  readonly created?: boolean | undefined
  /** The server has ended the watch. */
  readonly canceled?: boolean | undefined
  /**
   * The oldest revision that is still known, if the watch was to begin before it. `0` or left out:
   * that is not why it ended.
   */
  readonly compactRevision?: string | undefined
  readonly cancelReason?: string | undefined
  /** Whole revisions. */
  readonly events: readonly EtcdEvent[]
}

export interface EtcdEvent {
  readonly type: 'PUT' | 'DELETE'
  /** Of a deletion only key and `modRevision` count. */
  readonly kv: EtcdKeyValue
  /** As it was before. Left out: there was none, or it is no longer known. */
  readonly prevKv?: EtcdKeyValue | undefined
}
