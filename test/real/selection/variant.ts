/** How a process reads Pods. */
export interface Variant {
  /** Whether it remembers a part of each Pod. */
  readonly isTrimmed: boolean
  /** Whether it lists in one request, and not page by page. */
  readonly inOneRequest: boolean
  readonly labels?: { readonly app: string }
  readonly fields?: { readonly 'spec.nodeName': string }
}

/** What that took, up to the first list. */
export interface Measured {
  readonly pods: number
  /** Of their names and uids. */
  readonly digest: string
  readonly requests: number
  /** Of all answers, as JSON. */
  readonly bytes: number
  /** On the heap after garbage collection, more than before. */
  readonly heapBytes: number
  /** Of the process, at most, more than before. */
  readonly peakBytes: number
  readonly ms: number
  /** Of the processors, for this process alone. */
  readonly cpuMs: number
}
