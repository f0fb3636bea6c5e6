import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FakeCloudWorld, neutronHandler } from 'ipam-kit/testing'

/** Answers a request itself. @returns false: it is one of Keystone or Neutron */
export type Intercept = (request: IncomingMessage, response: ServerResponse, body: string) => boolean

/** The user of a fake cloud. */
export const USER = { name: 'capo', password: 'capo', project: 'project' } as const

/**
 * A fake cloud behind Keystone's and Neutron's HTTP APIs, on a port of 127.0.0.1; 0: any that is
 * free.
 */
export async function serveNeutron(
  cloud: FakeCloudWorld,
  port: number,
  intercept: Intercept = () => false,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const handler = neutronHandler(cloud, { url, users: [USER] })
  server.on('request', async (request, response) => {
    const body = await bodyOf(request)
    if (intercept(request, response, body)) return
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const method = request.method as 'GET' | 'POST' | 'PUT' | 'DELETE'
    try {
      const answer = await handler.send({ method, url: request.url ?? '/', headers, body, timeoutMs: 60_000 })
      response.writeHead(answer.status, answer.headers).end(answer.text)
    } catch {
      // a call whose answer does not arrive
      request.socket.destroy()
    }
  })
  return { url, server }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
