/**
 * The client of a `kubernetesStore`: it sends a request unchanged, and reads an answer that is a
 * stream. `fromClientNode` makes one of @kubernetes/client-node. Over any `fetch` it is a few
 * lines.
 *
 * The object client of client-node does not fit: it has no subresources, cannot send a JSON patch,
 * and drops fields that its classes do not have. Documents have to arrive unchanged.
 */
export interface KubernetesClient {
  /**
   * Sends a request once: a repeated request could be done twice. The client handles credentials,
   * certificates and time-outs.
   *
   * Rejects only if there is no answer. The write may have been done then, unless the error or one
   * of its causes has a `code` that proves that nothing was sent. Such codes are those of a
   * connection that was not made (`ECONNREFUSED`, `ENOTFOUND`, an untrusted certificate), and
   * `NOT_SENT`.
   */
  request(request: KubernetesRequest): Promise<KubernetesAnswer>
  /**
   * Sends a `GET` with `watch=true`. Calls `onEvent` for each line of the answer with its `type`
   * and `object`, and `done` at the end. If the answer has another status than success, `done` gets
   * an error with that status as `statusCode`. `Watch` of client-node does this.
   */
  watch(
    path: string,
    query: KubernetesWatchQuery,
    onEvent: (type: string, object: unknown) => void,
    done: (error: unknown) => void,
  ): Promise<KubernetesWatchConnection>
}

/** One HTTP request to an API server. */
export interface KubernetesRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query, encoded, after the address of the server: `/api/v1/nodes?limit=500`. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  /** JSON. It has to be sent with `DELETE`, too. */
  readonly body?: string | undefined
}

/** The answer of the server, also if it is an error. */
export interface KubernetesAnswer {
  readonly status: number
  /** The body as text. */
  readonly body: string
}

export interface KubernetesWatchQuery {
  [name: string]: string | number | boolean | undefined
}

export interface KubernetesWatchConnection {
  abort(): void
}
