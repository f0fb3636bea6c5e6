import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const GROUP = 'whereabouts.cni.cncf.io/v1alpha1'

interface Stored {
  readonly [member: string]: unknown
  readonly metadata: { readonly [member: string]: unknown; readonly name: string }
}

interface Answer {
  readonly code: number
  readonly body: unknown
}

const FOLDER = `/apis/${GROUP}/namespaces/pools`

/**
 * The objects of whereabouts behind HTTP, with the faults that an API server can have: an answer to
 * a method, half of one, none, or one that is no JSON.
 */
export class SmallApi {
  /** `PATCH ippools/10.0.0.0-24` */
  readonly asked: string[] = []
  readonly #objects = new Map<string, Stored>()
  readonly #refusals = new Map<string, Answer>()
  readonly #server: Server
  #fault: 'half' | 'hang' | 'html' | undefined
  #lost: string | undefined
  #version = 0

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await new Promise((resolve) => this.#server.once('listening', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  reset(): void {
    this.asked.length = 0
    this.#objects.clear()
    this.#refusals.clear()
    this.#fault = undefined
    this.#lost = undefined
  }

  addPool(name: string, traits: object): void {
    this.#put('ippools', { kind: 'IPPool', ...traits }, name)
  }

  addReservation(name: string, traits: object): void {
    this.#put('overlappingrangeipreservations', { kind: 'OverlappingRangeIPReservation', ...traits }, name)
  }

  pool(name: string): Stored | undefined {
    return this.#objects.get(`ippools/${name}`)
  }

  names(): readonly string[] {
    return [...this.#objects.values()].map(({ metadata }) => metadata.name)
  }

  /** What is stored, without versions. */
  state(): unknown {
    return [...this.#objects].map(([path, { spec }]) => [path, spec])
  }

  /** Each request of a method gets this answer. */
  refuse(method: string, code: number, reason: string, message: string, details: object = {}): void {
    this.#refusals.set(method, { code, body: statusOf(code, reason, message, details) })
  }

  /** No request is carried out or answered as a whole. */
  break(fault: 'half' | 'hang' | 'html'): void {
    this.#fault = fault
  }

  /** The next request of a method is carried out, and its answer ends the connection. */
  loseOneAnswer(method: string): void {
    this.#lost = method
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '' } = request
    const path = url.replace(/\?.*/, '').replace(`${FOLDER}/`, '')
    this.asked.push(`${method} ${path}`)
    if (this.#fault !== undefined) return failWith(this.#fault, response)
    const text = Buffer.concat(chunks).toString()
    const { code, body } = this.#refusals.get(method) ?? this.#answer(method, path, text)
    if (this.#lost === method) {
      this.#lost = undefined
      response.destroy()
      return
    }
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  #answer(method: string, path: string, text: string): Answer {
    const body = text === '' ? {} : JSON.parse(text)
    if (method === 'POST') {
      const at = `${path}/${body.metadata.name}`
      if (this.#objects.has(at)) return { code: 409, body: statusOf(409, 'AlreadyExists', `${at} already exists`) }
      return { code: 201, body: this.#put(path, body, body.metadata.name) }
    }
    if (!path.includes('/')) return { code: 200, body: this.#list(path) }
    const known = this.#objects.get(path)
    if (known === undefined) return { code: 404, body: notFound(path) }
    if (method === 'GET') return { code: 200, body: known }
    if (method === 'DELETE') {
      this.#objects.delete(path)
      return { code: 200, body: known }
    }
    const version = body.metadata?.resourceVersion
    if (version !== undefined && version !== known.metadata.resourceVersion) {
      return { code: 409, body: statusOf(409, 'Conflict', 'the object has been modified') }
    }
    const [plural = '', name = ''] = path.split('/')
    return { code: 200, body: this.#put(plural, merged(known, body) as object, name) }
  }

  #list(plural: string): object {
    const items = [...this.#objects].flatMap(([path, object]) => (path.startsWith(`${plural}/`) ? [object] : []))
    return { apiVersion: GROUP, kind: 'List', metadata: { resourceVersion: String(this.#version) }, items }
  }

  #put(plural: string, object: object, name: string): Stored {
    const { metadata, ...rest } = object as { readonly metadata?: object }
    const version = String(++this.#version)
    const known = this.#objects.get(`${plural}/${name}`)?.metadata.uid
    const all = { uid: known ?? `uid-${version}`, ...metadata, name, namespace: 'pools', resourceVersion: version }
    const stored = { apiVersion: GROUP, ...rest, metadata: all }
    this.#objects.set(`${plural}/${name}`, stored)
    return stored
  }
}

function failWith(fault: 'half' | 'hang' | 'html', response: ServerResponse): void {
  if (fault === 'hang') return
  if (fault === 'html') {
    response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>')
    return
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"apiVersion":"whereabouts.cni', () => response.destroy())
}

function statusOf(code: number, reason: string, message: string, details: object = {}): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details }
}

function notFound(path: string): object {
  const [kind, name] = path.split('/')
  return statusOf(404, 'NotFound', `${path} not found`, { group: GROUP.split('/')[0], kind, name })
}

/** A merge patch, RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const object = typeof target === 'object' && target !== null ? target : {}
  const result: { [member: string]: unknown } = { ...object }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = merged(result[name], value)
  }
  return result
}
