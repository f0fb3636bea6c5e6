/**
 * What is needed of a client: to send a request as it is, and to read an answer that is a stream.
 * Methods, so that whatever has them fits. `fromClientNode` makes one of @kubernetes/client-node;
 * over any `fetch` it is a few lines.
 *
 * Why not the object client of client-node? It has no subresources and no way to send a JSON patch,
 * and of kinds that it has classes for it keeps those fields only that the classes have. Documents
 * have to arrive as they were written.
 */
export interface KubernetesClient {
  /**
   * Sends a request, once: sent twice, a write could be done twice. Credentials, certificates and
   * time-outs are its own business.
   *
   * Rejects only if there is no answer. A write may have been done then, unless the error, or one
   * that caused it, has a `code` that tells that nothing was sent: one of a connection that was not
   * made (`ECONNREFUSED`, `ENOTFOUND`, of a certificate that is not trusted), or `NOT_SENT`.
   */
  request(request: KubernetesRequest): Promise<KubernetesAnswer>
  /**
   * Sends a `GET` with `watch=true`, calls `onEvent` for each line of the answer with its `type`
   * and `object`, and `done` at the end. If the answer is none of lines, `done` gets an error with
   * its status as `statusCode`. `Watch` of client-node does so.
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
  /** Path and query, encoded, behind the address of the server: `/api/v1/nodes?limit=500`. */
  readonly path: string
  readonly headers: { readonly [name: string]: string }
  /** JSON. It has to be sent with `DELETE` too. */
  readonly body?: string | undefined
}

/** Whatever the server has answered, errors too. */
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
