/** `KubeConfig` of client-node 1.4 and 2. */
export interface ClientNodeConfig {
  /** Makes a client of any class: this is how its configuration can be had. */
  makeApiClient<T extends object>(type: new (configuration: ClientNodeConfiguration) => T): T
  /** Writes the certificates of the current user and cluster, and more, into an empty object. */
  applyToHTTPSOptions?(options: object): Promise<void>
}

export interface ClientNodeConfiguration {
  readonly baseServer: { makeRequestContext(path: string, method: string): ClientNodeRequest }
  readonly httpApi: { send(request: ClientNodeRequest): { toPromise(): Promise<ClientNodeResponse> } }
  readonly authMethods: { readonly default?: ClientNodeAuthentication }
}

export interface ClientNodeRequest {
  setHeaderParam(name: string, value: string): void
  setBody(body: string): void
  setSignal(signal: ClientNodeSignal): void
  /** Of client-node 1. */
  getAgent?(): unknown
  setAgent?(agent: unknown): void
  /** Of client-node 2. */
  getDispatcher?(): unknown
  setDispatcher?(dispatcher: unknown): void
}

/** An `AbortSignal`. */
export interface ClientNodeSignal {
  readonly aborted: boolean
}

export interface ClientNodeResponse {
  readonly httpStatusCode: number
  readonly body: { text(): Promise<string> }
}

export interface ClientNodeAuthentication {
  applySecurityAuthentication(request: ClientNodeRequest): void | Promise<void>
}
