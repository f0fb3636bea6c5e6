import type { ClientNodeConfig, ClientNodeRequest } from './client-node.js'

/** What decides who is at the other end of a connection, and as whom it was made. */
const IDENTITY = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'rejectUnauthorized', 'servername'] as const

/** What client-node hands to its HTTP for the connections of a request: 1.x an agent, 2.x a dispatcher. */
interface Transport {
  readonly agent: unknown
  readonly dispatcher: unknown
}

/**
 * Keeps the connections of client-node, which would make a new one for each request: the handshake of TLS takes both sides more time than the request.
 *
 * They are kept for as long as the certificates are the same: with those of today's file, or of today's login, new ones are made.
 */
export class Connections {
  readonly #config: ClientNodeConfig
  #kept: { readonly identity: readonly unknown[]; readonly transport: Transport } | undefined

  constructor(config: ClientNodeConfig) {
    this.#config = config
  }

  /** What says as whom a connection would be made just now. `undefined`: it can not be told, and nothing is kept. */
  async identity(): Promise<readonly unknown[] | undefined> {
    if (this.#config.applyToHTTPSOptions === undefined) return undefined
    const told: { [option: string]: unknown } = {}
    await this.#config.applyToHTTPSOptions(told)
    return IDENTITY.map((option) => comparable(told[option]))
  }

  /**
   * Has a request that has its credentials go over the connections that are kept.
   *
   * @param identity asked for before the request was given its credentials: if they have changed meanwhile, the next request sees that
   */
  reuse(request: ClientNodeRequest, identity: readonly unknown[] | undefined): void {
    if (identity === undefined) return
    const kept = this.#kept
    if (kept?.identity.every((part, index) => part === identity[index])) {
      if (kept.transport.agent !== undefined) request.setAgent?.(kept.transport.agent)
      if (kept.transport.dispatcher !== undefined) request.setDispatcher?.(kept.transport.dispatcher)
      return
    }
    const transport = { agent: request.getAgent?.(), dispatcher: request.getDispatcher?.() }
    keepAlive(transport.agent)
    this.#kept = { identity, transport }
  }
}

/** An agent of Node closes each connection after its request, unless it is told otherwise. */
function keepAlive(agent: unknown): void {
  const known = agent as { keepAlive?: unknown } | undefined
  if (typeof known?.keepAlive === 'boolean') known.keepAlive = true
}

/** Keys and certificates are texts or bytes, or lists of those. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return JSON.stringify(value.map(comparable))
  return value instanceof Uint8Array ? String(value) : value
}
