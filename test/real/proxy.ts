import { createConnection, createServer, type Socket } from 'node:net'

/** A way to a server on 127.0.0.1 that can be cut. */
export interface TcpProxy {
  readonly port: number
  /** How many there are. */
  readonly connections: number
  /** Cuts all connections that there are. New ones can be made. */
  cut(): void
  /** The next answer to a request that contains a text is not passed on: the connection is cut instead. Resolves when that has happened. */
  loseAnswer(text: string): Promise<void>
  close(): Promise<void>
}

/** Passes on bytes, between a port of its own and another one. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let trap: { readonly text: string; readonly done: () => void } | undefined
  const server = createServer((client) => {
    const upstream = createConnection(targetPort, '127.0.0.1')
    link(sockets, client, upstream)
    link(sockets, upstream, client)
    let caught: typeof trap
    client.on('data', (bytes) => {
      if (trap !== undefined && bytes.includes(trap.text)) {
        caught = trap
        trap = undefined
      }
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (caught === undefined) client.write(bytes)
      else client.destroy()
      caught?.done()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const cut = () => {
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
    async close() {
      server.close()
      cut()
    },
  }
}

/** When one side ends, so does the other. */
function link(sockets: Set<Socket>, socket: Socket, other: Socket): void {
  sockets.add(socket)
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.once('close', () => {
    sockets.delete(socket)
    other.destroy()
  })
}
