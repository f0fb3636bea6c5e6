import type { IncomingMessage } from 'node:http'
import type { KubernetesClient } from 'ipam-kit/store/kubernetes'
import type { KubeServer } from './kubeconfig.js'

export interface ClientLimits {
  /** The longest time of one request, in milliseconds. */
  readonly requestMs: number
  /**
   * After this time, in milliseconds, no request is sent any more. Left out: of a client that serves
   * many calls.
   */
  readonly totalMs?: number | undefined
  /** Connections beside those of watches. Default 1. */
  readonly connections?: number | undefined
}

export interface SmallClient extends KubernetesClient {
  /** Closes its connection. */
  close(): void
}

export function timeIsOver(totalMs: number): string {
  return `the time of the call is over: ${totalMs / 1000} s`
}

/** The answer of an API server is not longer than this, in bytes. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/**
 * The client of one call of a plugin, over one connection, or of a daemon. It is small, so that the
 * process starts fast.
 */
export function smallClient(
  server: KubeServer,
  { requestMs, totalMs = Number.POSITIVE_INFINITY, connections: maxSockets = 1 }: ClientLimits,
): SmallClient {
  const { url, ca, cert, key, isUnverified, serverName, headers: credentials } = server
  const isSecure = url.startsWith('https:')
  // a process loads of Node what it needs, and starts faster
  const { Agent, request: ask } = process.getBuiltinModule(isSecure ? 'node:https' : 'node:http')
  const tls = isSecure ? { ca, cert, key, rejectUnauthorized: !isUnverified, servername: serverName } : {}
  // the agent of the process may use a proxy
  const agent = new Agent({ keepAlive: true, maxSockets, ...tls })
  const deadline = performance.now() + totalMs
  return {
    request({ method, path, headers, body }) {
      const left = deadline - performance.now()
      if (left <= 0) return Promise.reject(notSent(timeIsOver(totalMs)))
      return new Promise((resolve, reject) => {
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
        const all = { ...headers, ...credentials, ...length }
        const request = ask(`${url}${path}`, { method, headers: all, agent }, (response) => {
          const chunks: Buffer[] = []
          let bytes = 0
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length
            if (bytes > MAX_ANSWER_BYTES)
              request.destroy(new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`))
            chunks.push(chunk)
          })
          response.once('error', reject)
          response.once('aborted', () => reject(new Error('the answer ended before its end')))
          response.once('end', () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
          )
        })
        const limit = Math.min(requestMs, left)
        // of the whole request: a server that sends a byte now and then would keep it for ever
        const timer = setTimeout(() => {
          request.destroy(new Error(`no answer within ${Math.ceil(limit / 1000)} s`))
        }, limit)
        request.once('close', () => clearTimeout(timer))
        request.once('error', reject)
        request.end(body)
      })
    },
    close: () => agent.destroy(),
    async watch(path, query, onEvent, done) {
      const given = Object.entries(query).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as [string, string]],
      )
      const search = new URLSearchParams([...given, ['watch', 'true']])
      // a connection of its own: it stands for as long as the watch
      const options = { method: 'GET', headers: { ...credentials, accept: 'application/json' } }
      const request = ask(`${url}${path}?${search}`, { ...options, ...tls, agent: false })
      request.once('response', (response) => readEvents(response, onEvent, done))
      request.once('error', done)
      request.end()
      return { abort: () => request.destroy() }
    },
  }
}

/** Each line of a watch is an event. */
function readEvents(
  response: IncomingMessage,
  onEvent: (type: string, object: unknown) => void,
  done: (error: unknown) => void,
): void {
  const { statusCode = 0 } = response
  response.once('error', done)
  if (statusCode !== 200) {
    response.resume()
    done(Object.assign(new Error(`the watch was answered with ${statusCode}`), { statusCode }))
    return
  }
  const lines = process.getBuiltinModule('node:readline').createInterface({ input: response })
  lines.on('line', (line) => {
    try {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: unknown }
      onEvent(type, object)
    } catch (error) {
      response.destroy()
      done(error)
    }
  })
  lines.once('close', () => done(undefined))
}

function notSent(message: string): Error {
  return Object.assign(new Error(message), { code: 'NOT_SENT' })
}
