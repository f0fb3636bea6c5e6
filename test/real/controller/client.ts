import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { createInterface } from 'node:readline'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { KubeAccess } from '../servers/kube-api.js'

/**
 * What a client of the tests sends, over connections that it keeps: as little as can be done about
 * a request.
 */
export class Client {
  readonly #access: KubeAccess
  readonly #agent: Agent

  constructor(access: KubeAccess, connections: number) {
    this.#access = access
    const { ca, clientCert: cert, clientKey: key } = access
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, ca, cert, key })
  }

  /** @throws Error unless the server answers with one of these */
  async send<T>(method: string, path: string, { body, patch = false, also = [] as number[] }: Sent = {}): Promise<T> {
    const data = body === undefined ? undefined : JSON.stringify(body)
    const response = await this.#ask(method, path, data, patch === false ? 'application/json' : PATCHES[patch])
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    const status = response.statusCode!
    if (status >= 300 && !also.includes(status)) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 300)}`)
    return text === '' ? (undefined as T) : JSON.parse(text)
  }

  async list(path: string): Promise<readonly KubeObject[]> {
    return (await this.send<{ items: KubeObject[] }>('GET', path)).items
  }

  /** How many there are, of which the server has to send one only. */
  async count(path: string): Promise<number> {
    const { items, metadata } = await this.send<Counted>('GET', `${path}?limit=1`)
    return items.length + (metadata.remainingItemCount ?? 0)
  }

  /**
   * Tells of every change from now on. A watch that the server ends, as it does with a client that
   * reads too slowly, continues at the last version that was told: no change is lost.
   *
   * @param ended called when it cannot continue: the server refuses the version, or is away
   * @returns ends it
   */
  async watch(
    path: string,
    told: (type: string, object: KubeObject) => void,
    ended: () => void = () => {},
  ): Promise<() => void> {
    const { metadata } = await this.send<{ metadata: { resourceVersion: string } }>('GET', `${path}?limit=1`)
    let version = metadata.resourceVersion
    let stopped = false
    let response: IncomingMessage | undefined
    const connect = async () => {
      const from = `watch=true&timeoutSeconds=3000&resourceVersion=${version}`
      response = await this.#ask('GET', `${path}?${from}`, undefined, 'application/json')
      if (stopped) response.destroy()
      let isRefused = response.statusCode !== 200
      response
        .once('error', () => {})
        .once('close', () => {
          if (stopped) return
          if (isRefused) ended()
          else connect().catch(ended)
        })
      createInterface({ input: response }).on('line', (line) => {
        const { type, object } = JSON.parse(line) as { type: string; object: KubeObject }
        if (type === 'ERROR') {
          isRefused = true
          response!.destroy()
        } else if (object.metadata.resourceVersion !== undefined) {
          version = object.metadata.resourceVersion
          told(type, object)
        }
      })
    }
    await connect()
    return () => {
      stopped = true
      response?.destroy()
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #ask(method: string, path: string, data: string | undefined, type: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = data === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(data) }
      const headers = { accept: 'application/json', ...length }
      const asked: ClientRequest = httpsRequest(`${this.#access.url}${path}`, { method, headers, agent: this.#agent })
      asked.once('response', resolve).once('error', reject).end(data)
    })
  }
}

interface Counted {
  readonly items: readonly unknown[]
  readonly metadata: { readonly remainingItemCount?: number }
}

const PATCHES = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' } as const

interface Sent {
  readonly body?: unknown
  readonly patch?: keyof typeof PATCHES | false
  /** Further answers that are right. */
  readonly also?: number[]
}

/** Does something for each item, so many at a time. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  action: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items[Symbol.iterator]()
  const worker = async () => {
    for (const item of rest) await action(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
