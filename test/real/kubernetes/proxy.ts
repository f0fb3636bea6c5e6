import { createConnection, createServer, type Socket } from 'node:net'

/** A way to a server that can be cut. */
export interface TcpProxy {
  readonly port: number
  /** Cuts all connections that there are. New ones can be made. */
  cut(): void
  /** From now on lets large requests through, and their answers not, until the next cut. */
  holdAnswers(): void
  close(): Promise<void>
}

/** More than it takes to make a connection, and less than HTTP/2 lets through before the server has to say that it may be more. */
const LARGE_BYTES = 20_000

/** Passes on bytes, between a port of 127.0.0.1 and another one. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  /** How often answers were held. */
  let holding = 0
  let holds = false
  const server = createServer((client) => {
    const upstream = createConnection(targetPort, '127.0.0.1')
    let asked = 0
    let since = holding
    const isHeld = () => holds && asked > LARGE_BYTES
    track(sockets, client, () => upstream.destroy())
    // the server may end the connection with its answer: nothing of that gets through either
    track(sockets, upstream, () => isHeld() || client.destroy())
    client.on('data', (bytes) => {
      if (since !== holding) asked = 0
      since = holding
      asked += bytes.length
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (!isHeld()) client.write(bytes)
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
    cut,
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
