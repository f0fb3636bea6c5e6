import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { KubeAccess } from '../servers/kube-api.js'

/** A request of a call, without its query. */
export interface Asked {
  readonly method: string
  readonly path: string
}

/**
 * Stands between the plugin and the API server: each call of the plugin has a path of its own, by
 * which its requests are known. It can hold a call before a request of it is sent.
 */
export class Gate {
  readonly #access: KubeAccess
  readonly #agent: Agent
  readonly #server: Server
  readonly #asked = new Map<string, Asked[]>()
  /** Called before a request is passed on: `drop` passes it on never. */
  before: (call: string, asked: Asked) => 'drop' | undefined = () => undefined

  private constructor(access: KubeAccess) {
    this.#access = access
    const { ca, clientCert: cert, clientKey: key } = access
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64, ca, cert, key })
    this.#server = createServer((request, response) => this.#pass(request, response))
  }

  static async open(access: KubeAccess): Promise<Gate> {
    const gate = new Gate(access)
    gate.#server.listen(0, '127.0.0.1')
    await once(gate.#server, 'listening')
    return gate
  }

  /** The address of the API server for one call. */
  urlFor(call: string): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}/${call}`
  }

  /** What a call has asked for. */
  askedBy(call: string): readonly Asked[] {
    return this.#asked.get(call) ?? []
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
    this.#agent.destroy()
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const [, call = '', path = ''] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? []
    const { method = 'GET', headers } = request
    const asked = { method, path: path.replace(/\?.*$/, '') }
    this.#asked.set(call, [...this.askedBy(call), asked])
    if (this.before(call, asked) === 'drop') return void request.destroy()
    const { host: _, connection: __, ...others } = headers
    const onward = httpsRequest(`${this.#access.url}${path}`, { method, headers: others, agent: this.#agent })
    onward.once('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    onward.once('error', () => response.destroy())
    request.pipe(onward)
  }
}
