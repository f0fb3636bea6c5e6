/**
 * What a database has to do for {@link engineStore}, which does the rest: keep texts under keys,
 * replace one only if it is still the one that was read, and tell what changed in the order in
 * which it changed. What the texts say is nothing that an engine looks at.
 */
export interface StoreEngine {
  /** What it is called in failures: `postgres`. */
  readonly name: string
  /**
   * The document as it is now: at least as new as every write that any process had an answer to
   * before this call.
   */
  read(key: DocumentKey): Promise<StoredDocument | undefined>
  /**
   * Documents by namespace, then name, in code-unit order.
   *
   * Without `limit`: all of them, as they were at one moment. With it: up to `limit`, and
   * `hasMore` if there are others behind. Every change with a revision up to that of the answer is
   * in it, if it is of that part of the documents.
   */
  scan(scope: DocumentScope, part: ScanPart): Promise<DocumentPage>
  /**
   * Writes or removes one document, and records the change, both or nothing. If the document is no
   * longer the one that is expected, it does nothing and answers `stale`.
   *
   * Rejects only if it is not known whether the write was done: a connection that died with it in
   * flight, a time-out. If the database has said that nothing was written, the answer is `refused`
   * or `too-large`.
   */
  commit(write: DocumentWrite): Promise<Commit>
  /**
   * The changes of a scope after a revision, in order, each once; those that are there already,
   * then those to come, until `stop`. Left out: from now on. Begins with `at`, and may say `at`
   * again whenever nothing has changed up to a revision.
   */
  follow(scope: DocumentScope, after: string | undefined, stop: Stop): AsyncIterable<EngineEvent>
}

/**
 * Where a document is kept. Group, kind, namespace and name are made of letters, digits, `-` and
 * `.`, so that `/` can part them.
 */
export interface DocumentKey {
  /** Of the apiVersion, without the version. Empty for the core group. */
  readonly group: string
  readonly kind: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
}

/** The documents of a kind, of all namespaces or of one. */
export interface DocumentScope {
  readonly group: string
  readonly kind: string
  readonly namespace?: string | undefined
}

/**
 * A text, and the revision of the write that left it so: a whole number above 0, in decimal, that
 * rises with every write to the store.
 */
export interface StoredDocument {
  readonly text: string
  readonly revision: string
}

export interface ScanPart {
  /** Only documents behind this one. */
  readonly after?: { readonly namespace: string; readonly name: string } | undefined
  readonly limit?: number | undefined
}

export interface DocumentPage {
  readonly documents: readonly StoredDocument[]
  /** Of the last write to the store. 0 if there was none. */
  readonly revision: string
  readonly hasMore: boolean
}

export interface DocumentWrite {
  readonly key: DocumentKey
  /** What must be there. `undefined`: nothing. */
  readonly before: StoredDocument | undefined
  /** What is to be there. `undefined`: nothing. */
  readonly after: string | undefined
}

export type Commit =
  /** `revision`: of this write. */
  | { readonly kind: 'done'; readonly revision: string }
  | { readonly kind: 'stale' }
  | { readonly kind: 'too-large'; readonly sizeBytes: number; readonly maxBytes: number }
  | { readonly kind: 'refused'; readonly problem: string; readonly cause?: unknown }
  /** This document can never be written there. Nothing was. */
  | { readonly kind: 'invalid'; readonly problem: string; readonly cause?: unknown }

/** One write of one document. */
export interface DocumentChange {
  readonly revision: string
  readonly before: string | undefined
  readonly after: string | undefined
}

export type EngineEvent =
  | ({ readonly kind: 'change' } & DocumentChange)
  /** Everything up to this revision has been told. */
  | { readonly kind: 'at'; readonly revision: string }
  /**
   * The changes that were asked for are no longer known, or are none of this store. `oldest`: where
   * a watch can begin. The last event.
   */
  | { readonly kind: 'gone'; readonly oldest: string }

/** Signals that the consumer has stopped. */
export interface Stop {
  readonly isStopped: boolean
  /**
   * Calls back once, at once if it has stopped already. What that throws is what `return` of the
   * watch rejects with.
   */
  onStop(callback: () => void): void
}
