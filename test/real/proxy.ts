import { createConnection, createServer, type Socket } from 'node:net'

/** A way to a server on 127.0.0.1 that can be cut. */
export interface TcpProxy {
  readonly port: number
  /** How many there are. */
  readonly connections: number
  /** Cuts all connections that there are. New ones can be made. */
  cut(): void
  /**
   * The next answer to a request that contains a text is not passed on: the connection is cut
   * instead. Resolves when that has happened.
   */
  loseAnswer(text: string): Promise<void>
  /** From now on lets large requests through, and their answers not, until the next cut. */
  holdAnswers(): void
  close(): Promise<void>
}

/**
 * More than it takes to make a connection, and less than HTTP/2 lets through before the server has
 * to say that it may be more.
 */
const LARGE_BYTES = 20_000

/** Passes on bytes, between a port of its own and another one. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  /** How often answers were held. */
  let holding = 0
  let holds = false
  let trap: { readonly text: string; readonly done: () => void } | undefined
  const server = createServer((client) => {
    const upstream = createConnection(targetPort, '127.0.0.1')
    let asked = 0
    let since = holding
    const isHeld = () => holds && asked > LARGE_BYTES
    track(sockets, client, () => upstream.destroy())
    // the server may end the connection with an answer that is held: nothing of that gets through
    // either
    track(sockets, upstream, () => isHeld() || client.destroy())
    let caught: typeof trap
    client.on('data', (bytes) => {
      if (since !== holding) asked = 0
      since = holding
      asked += bytes.length
      if (trap !== undefined && bytes.includes(trap.text)) {
        caught = trap
        trap = undefined
      }
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (caught !== undefined) client.destroy()
      else if (!isHeld()) client.write(bytes)
      caught?.done()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const cut = () => {
    holds = false
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: address.port,
    get connections() {
      // of each, both ends
      return Math.ceil(sockets.size / 2)
    },
    cut,
    loseAnswer: (text) =>
      new Promise((done) => {
        trap = { text, done }
      }),
    holdAnswers() {
      holding++
      holds = true
    },
    async close() {
      server.close()
      cut()
    },
  }
}

function track(sockets: Set<Socket>, socket: Socket, closed: () => void): void {
  sockets.add(socket)
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.once('close', () => {
    sockets.delete(socket)
    closed()
  })
}
