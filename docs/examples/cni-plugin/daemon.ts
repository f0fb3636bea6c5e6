import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { MAX_CNI_STDIN_BYTES } from 'ipam-kit/cni'
import { type Plugin, serve } from './serve.js'
import { type DaemonAnswer, type ShimCall, socketProblem } from './socket.js'

export interface DaemonOptions {
  /** The plugin of one call. */
  readonly pluginOf: (call: ShimCall) => Plugin
  /** How many calls there are at a time. One more is refused at once. */
  readonly maxCalls: number
  /** How long a shim may take to send its call, in milliseconds. */
  readonly receiveMs: number
}

export interface Daemon {
  /** Takes no further call, waits for those that have begun, and removes the socket. */
  stop(): Promise<void>
}

/** The header has the environment of the call. */
const MAX_CALL_BYTES = MAX_CNI_STDIN_BYTES + 1024 * 1024

/**
 * Answers shims behind a socket that only this user can use.
 *
 * @throws Error if another daemon answers there, or the path is something else
 */
export async function startDaemon(socket: string, options: DaemonOptions): Promise<Daemon> {
  mkdirSync(dirname(socket), { recursive: true, mode: 0o700 })
  await removeStale(socket)
  let calls = 0
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    // a shim that has ended
    connection.on('error', () => {})
    if (calls >= options.maxCalls) return answer(connection, { busy: true })
    calls++
    void respond(connection, options).finally(() => {
      calls--
    })
  })
  await listen(server, socket)
  return { stop: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** Removes the socket of a daemon that was killed. */
async function removeStale(socket: string): Promise<void> {
  if (lstatSync(socket, { throwIfNoEntry: false }) === undefined) return
  const problem = socketProblem(socket)
  if (problem !== undefined) throw new Error(problem)
  const isServed = await new Promise<boolean>((resolve) => {
    const connection = connect(socket)
    connection.once('connect', () => resolve(true))
    // a full queue is one of a daemon
    connection.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'))
    connection.once('close', () => connection.destroy())
    connection.once('connect', () => connection.destroy())
  })
  if (isServed) throw new Error(`another daemon answers at ${socket}`)
  rmSync(socket, { force: true })
}

async function listen(server: Server, socket: string): Promise<void> {
  // no moment at which others may connect
  const mask = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(socket, () => resolve())
    })
  } finally {
    process.umask(mask)
  }
  chmodSync(socket, 0o600)
}

async function respond(connection: Socket, { pluginOf, receiveMs }: DaemonOptions): Promise<void> {
  const bytes = await receive(connection, receiveMs)
  const line = bytes?.indexOf('\n') ?? -1
  if (bytes === undefined || line < 0) return void connection.destroy()
  let call: ShimCall
  try {
    call = JSON.parse(bytes.subarray(0, line).toString())
  } catch {
    return void connection.destroy()
  }
  const stdin = Readable.from([bytes.subarray(line + 1)])
  const limits = { maxBytes: MAX_CNI_STDIN_BYTES, timeoutMs: receiveMs }
  const options = { knownArgs: ['IP', 'GATEWAY'] }
  answer(connection, await serve(pluginOf(call), { env: call.env, stdin, limits, options }))
}

function answer(connection: Socket, given: DaemonAnswer): void {
  // what is not read keeps the connection open
  connection.resume().end(JSON.stringify(given))
}

/** All that a shim sends; `undefined`: it is late, too long, or gone. */
function receive(connection: Socket, receiveMs: number): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = (bytes: Buffer | undefined) => {
      clearTimeout(timer)
      resolve(bytes)
    }
    const timer = setTimeout(() => end(undefined), receiveMs)
    connection.on('data', (chunk) => {
      length += chunk.length
      if (length > MAX_CALL_BYTES) end(undefined)
      else chunks.push(chunk)
    })
    connection.once('end', () => end(Buffer.concat(chunks)))
    connection.once('close', () => end(undefined))
  })
}
