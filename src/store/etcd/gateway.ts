import { check, type KindOf } from '../../errors/check.js'
import { assertFunction, mistake } from '../rules/arguments.js'
import type { EtcdAbortController, EtcdAbortSignal } from './abort.js'
import type { EtcdClient } from './client.js'
import { EtcdError } from './errors.js'
import { GatewayWatch } from './gateway-watch.js'
import type { ByteStreamReader } from './lines.js'
import {
  asMessage,
  type FromBase64,
  type Message,
  readRange,
  readTxn,
  writeRange,
  writeTxn,
  writeWatch,
} from './messages.js'

export interface EtcdGatewayOptions {
  /**
   * `fetch` of the platform, or a function around it that adds a time limit, a login or
   * certificates. It must not send a request again.
   */
  fetch(url: string, request: EtcdHttpRequest): Promise<EtcdHttpResponse>
  /**
   * The address of etcd for clients: `http://127.0.0.1:2379`. With several, the next one is used
   * after one has failed to answer.
   */
  readonly url: string | readonly string[]
  /**
   * Decodes Base64 of UTF-8, and throws for anything else. `Buffer` of Node is faster than the
   * default, which uses `atob` and `TextDecoder`.
   */
  readonly fromBase64?: FromBase64 | undefined
  /**
   * `() => new AbortController()`, if `fetch` supports signals: aborts the unanswered request of a
   * watch that has ended. Left out: such a request stays open as long as `fetch` allows. On a
   * network that drops packets there is one more every 20 seconds for each watch.
   */
  readonly abortController?: (() => EtcdAbortController) | undefined
}

const ETCD_GATEWAY_OPTIONS: KindOf<EtcdGatewayOptions> = {
  fetch: 'function',
  url: 'any',
  fromBase64: 'function?',
  abortController: 'function?',
}

export interface EtcdHttpRequest {
  method: 'POST'
  headers: Record<string, string>
  body: string
  /** For a watch, with `options.abortController`: `fetch` has to reject when it is aborted. */
  signal?: EtcdAbortSignal
}

export interface EtcdHttpResponse {
  readonly status: number
  readonly body: { getReader(): ByteStreamReader } | null
  text(): Promise<string>
}

/**
 * A client of etcd over its JSON gateway, version 3.4 or later.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options
 * @example
 * const client = etcdGateway({ fetch, url: 'http://127.0.0.1:2379' })
 * @example
 * // with what Node has
 * const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
 * const fromBase64 = (text: string) => utf8.decode(Buffer.from(text, 'base64'))
 * const client = etcdGateway({ fetch, url: 'http://127.0.0.1:2379', fromBase64, abortController: () => new AbortController() })
 * @example
 * // answers are waited for no longer than five seconds, watches for as long as they last; members take their turns
 * const token = 'what /v3/auth/authenticate has given'
 * const client = etcdGateway({
 *   url: ['https://a:2379', 'https://b:2379', 'https://c:2379'],
 *   abortController: () => new AbortController(),
 *   fetch: (url, request) => {
 *     const headers = { ...request.headers, authorization: token }
 *     return fetch(url, url.endsWith('/watch') ? { ...request, headers } : { ...request, headers, signal: AbortSignal.timeout(5_000) })
 *   },
 * })
 */
export function etcdGateway(options: EtcdGatewayOptions): EtcdClient {
  check('etcdGateway', 'options', options, ETCD_GATEWAY_OPTIONS)
  assertFunction('options.fetch', options.fetch)
  const urls = typeof options.url === 'string' ? [options.url] : options.url
  if (!(Array.isArray(urls) && urls.length > 0 && urls.every((url) => /^https?:\/\/./.test(url)))) {
    throw mistake('options.url', 'http://... or https://..., one or several', options.url)
  }
  const { fromBase64, abortController } = options
  if (fromBase64 !== undefined) assertFunction('options.fromBase64', fromBase64)
  if (abortController !== undefined) assertFunction('options.abortController', abortController)
  const gateway = new Gateway(options.fetch, urls)
  return {
    range: async (request) => readRange(await gateway.ask('kv/range', writeRange(request)), fromBase64),
    txn: async (request) => readTxn(await gateway.ask('kv/txn', writeTxn(request))),
    watch: (request) => {
      const message = writeWatch(request)
      return new GatewayWatch((signal) => gateway.open('watch', message, signal), { fromBase64, abortController })
    },
  }
}

class Gateway {
  readonly #fetch: EtcdGatewayOptions['fetch']
  readonly #urls: readonly string[]
  #current = 0

  constructor(fetch: EtcdGatewayOptions['fetch'], urls: readonly string[]) {
    this.#fetch = fetch
    this.#urls = urls.map((url) => url.replace(/\/+$/, ''))
  }

  async ask(call: string, message: Message): Promise<Message> {
    const { member, response } = await this.#post(call, message)
    return asMessage(JSON.parse(await this.#trying(member, () => response.text())))
  }

  async open(call: string, message: Message, signal: EtcdAbortSignal | undefined): Promise<ByteStreamReader> {
    const { body } = (await this.#post(call, message, signal)).response
    if (typeof body?.getReader !== 'function') throw new Error('options.fetch gives no streams that can be read')
    return body.getReader()
  }

  async #post(
    call: string,
    message: Message,
    signal?: EtcdAbortSignal,
  ): Promise<{ member: number; response: EtcdHttpResponse }> {
    const fetch = this.#fetch
    const member = this.#current
    const url = `${this.#urls[member]}/v3/${call}`
    // hasleader: a member without a leader answers with an error, instead of no answer
    const headers = { 'content-type': 'application/json', 'grpc-metadata-hasleader': 'true' }
    const whole = { method: 'POST' as const, headers, body: JSON.stringify(message) }
    const request = signal === undefined ? whole : { ...whole, signal }
    const response = await this.#trying(member, () => fetch(url, request), signal)
    if (response.status === 200) return { member, response }
    const error = errorOf(response.status, await this.#trying(member, () => response.text(), signal))
    if (error.code === undefined || error.code === UNAVAILABLE) this.#leave(member)
    throw error
  }

  async #trying<T>(member: number, body: () => Promise<T>, signal?: EtcdAbortSignal): Promise<T> {
    try {
      return await body()
    } catch (error) {
      // a request that was aborted here is no failure of the member
      if (signal?.aborted !== true) this.#leave(member)
      throw error
    }
  }

  /** Moves to the next member. Calls that fail together at one member move by one member only. */
  #leave(member: number): void {
    if (member === this.#current) this.#current = (member + 1) % this.#urls.length
  }
}

/** The gRPC status of a member that cannot answer now. */
const UNAVAILABLE = 14

/** The gRPC statuses of HTTP statuses of a gateway or proxy that did not forward the request. */
const STATUSES: { readonly [status: number]: number } = { 401: 16, 403: 7, 404: 12, 405: 12, 413: 3, 429: 8 }

function errorOf(status: number, body: string): EtcdError {
  let message: Message = {}
  try {
    message = asMessage(JSON.parse(body))
  } catch {
    // from a proxy
  }
  if (typeof message.code === 'number' && typeof message.message === 'string') {
    return new EtcdError(message.message, message.code)
  }
  return new EtcdError(status === 413 ? 'request is too large' : `HTTP status ${status}`, STATUSES[status])
}
