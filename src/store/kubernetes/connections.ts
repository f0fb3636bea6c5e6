import type { ClientNodeConfig, ClientNodeRequest } from './client-node-config.js'

/** What decides who is at the other end of a connection, and as whom it was made. */
const IDENTITY = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'rejectUnauthorized', 'servername'] as const

interface Kept {
  readonly identity: readonly unknown[]
  /**
   * What client-node hands to its HTTP for the connections of a request: 1.x an agent, 2.x a
   * dispatcher.
   */
  readonly agent: unknown
  readonly dispatcher: unknown
}

/**
 * Keeps the connections of client-node, which would make a new one for each request: the handshake
 * of TLS takes both sides more time than the request.
 *
 * They are kept for as long as the certificates are the same: with those of today's file, or of
 * today's login, new ones are made.
 */
export class Connections {
  readonly #config: ClientNodeConfig
  #kept: Kept | undefined

  constructor(config: ClientNodeConfig) {
    this.#config = config
  }

  /** Has a request that has its credentials go over the connections that are kept. */
  async reuse(request: ClientNodeRequest): Promise<void> {
    const [agent, dispatcher] = [request.getAgent?.(), request.getDispatcher?.()]
    if (agent === undefined && dispatcher === undefined) return
    const options = optionsOf(agent) ?? (await this.#options())
    if (options === undefined) return
    const identity = IDENTITY.map((option) => comparable(options[option]))
    const kept = this.#kept
    if (kept?.identity.every((part, index) => part === identity[index])) {
      if (kept.agent !== undefined) request.setAgent?.(kept.agent)
      if (kept.dispatcher !== undefined) request.setDispatcher?.(kept.dispatcher)
      return
    }
    keepAlive(agent)
    this.#kept = { identity, agent, dispatcher }
  }

  /** Of a dispatcher nothing can be read, but where it has it from. */
  async #options(): Promise<Options | undefined> {
    if (this.#config.applyToHTTPSOptions === undefined) return undefined
    const told: Options = {}
    await this.#config.applyToHTTPSOptions(told)
    return told
  }
}

interface Options {
  readonly [option: string]: unknown
}

/** An agent of Node has the options that it was made with. */
function optionsOf(agent: unknown): Options | undefined {
  const { options } = (agent ?? {}) as { readonly options?: unknown }
  return typeof options === 'object' && options !== null ? (options as Options) : undefined
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
