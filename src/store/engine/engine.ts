/**
 * The part of a store that a database implements, for {@link engineStore}: it keeps texts under
 * keys, replaces a text only if it is still the one that was read, and reports changes in their
 * order. An engine does not read the texts.
 */
export interface StoreEngine {
  /** The name in failures: `postgres`. */
  readonly name: string
  /**
   * The current document. It is at least as new as every write that was answered to any process
   * before this call.
   */
  read(key: DocumentKey): Promise<StoredDocument | undefined>
  /**
   * Documents by namespace, then name, in code-unit order.
   *
   * Without `limit`: all documents, as of one moment. With it: up to `limit` documents, and
   * `hasMore` if there are more. The answer contains every change of these documents up to its
   * revision.
   */
  scan(scope: DocumentScope, part: ScanPart): Promise<DocumentPage>
  /**
   * Writes or removes one document, and records the change, both or neither. If the document is not
   * the expected one, it does nothing and answers `stale`.
   *
   * Rejects only if the outcome of the write is unknown: a connection that died during the write, a
   * time-out. If the database has confirmed that nothing was written, the answer is `refused` or
   * `too-large`.
   */
  commit(write: DocumentWrite): Promise<Commit>
  /**
   * The changes of a scope after a revision, in order, each once: the existing changes, then later
   * ones, until `stop`. `after` left out: from now on. It begins with `at`, and may repeat `at`
   * when there are no changes up to a revision.
   */
  follow(scope: DocumentScope, after: string | undefined, stop: Stop): AsyncIterable<EngineEvent>
}

/**
 * The place of a document. Group, kind, namespace and name consist of letters, digits, `-` and `.`,
 * so that `/` can separate them.
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
 * A text, and the revision of its last write: a whole number above 0, in decimal, that rises with
 * every write to the store.
 */
export interface StoredDocument {
  readonly text: string
  readonly revision: string
}

export interface ScanPart {
  /** Only documents after this one. */
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
  /** The expected document. `undefined`: none. */
  readonly before: StoredDocument | undefined
  /** The new text. `undefined`: the document is removed. */
  readonly after: string | undefined
}

export type Commit =
  /** `revision`: of this write. */
  | { readonly kind: 'done'; readonly revision: string }
  | { readonly kind: 'stale' }
  | { readonly kind: 'too-large'; readonly sizeBytes: number; readonly maxBytes: number }
  | { readonly kind: 'refused'; readonly problem: string; readonly cause?: unknown }
  /** This document can never be written there. Nothing was written. */
  | { readonly kind: 'invalid'; readonly problem: string; readonly cause?: unknown }

/** One write of one document. */
export interface DocumentChange {
  readonly revision: string
  readonly before: string | undefined
  readonly after: string | undefined
}

export type EngineEvent =
  | ({ readonly kind: 'change' } & DocumentChange)
  /** All changes up to this revision have been reported. */
  | { readonly kind: 'at'; readonly revision: string }
  /**
   * The requested changes are no longer available, or belong to another store. `oldest`: the
   * revision where a watch can begin. The last event.
   */
  | { readonly kind: 'gone'; readonly oldest: string }

/** Signals that the consumer has stopped. */
export interface Stop {
  readonly isStopped: boolean
  /**
   * Calls back once, or at once if it has already stopped. `return` of the watch rejects with what
   * the callback throws.
   */
  onStop(callback: () => void): void
}
