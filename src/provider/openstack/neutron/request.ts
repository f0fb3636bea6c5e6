/** A request to Keystone or Neutron. */
export interface CloudRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  /** JSON. */
  readonly body?: string | undefined
  /** After this time the request has to be aborted, with an error. */
  readonly timeoutMs: number
}

/** The answer to a {@link CloudRequest}, of any status. */
export interface CloudResponse {
  readonly status: number
  /** By name, in any case. */
  readonly headers: { readonly [name: string]: string }
  readonly text: string
}

/**
 * Sends a request, for example with `fetch`. It throws if there is no answer. It must not follow a
 * redirect to another host: the headers contain the token.
 */
export type SendRequest = (request: CloudRequest) => Promise<CloudResponse>

/** The value of a header, whatever the case of its name. */
export function headerOf({ headers }: CloudResponse, name: string): string | undefined {
  for (const [found, value] of Object.entries(headers)) if (found.toLowerCase() === name) return value
  return undefined
}

/** A query for a URL: a list repeats its name. */
export function queryOf(members: { readonly [name: string]: string | readonly string[] | undefined }): string {
  const parts: string[] = []
  for (const [name, value] of Object.entries(members)) {
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) {
      parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(one)}`)
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`
}
