// A fake cloud behind Keystone's and Neutron's HTTP APIs: npx tsx fake-neutron.ts [port]
// POST /_fake makes its calls go wrong, does what an operator does by hand, and answers what was called.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CloudTroubleKind, FakeCloud, type FakeOperation, neutronHandler } from 'ipam-kit/testing'

/** What POST /_fake can ask for, all of it in one request. */
interface Control {
  readonly inject?: { readonly operation: FakeOperation; readonly troubles: readonly CloudTroubleKind[] }
  readonly recover?: boolean
  readonly listLagMs?: number
  readonly quota?: number
  readonly create?: { readonly address?: string; readonly description?: string; readonly tags?: readonly string[] }
  readonly delete?: string
  readonly attach?: { readonly id: string; readonly port: string }
  readonly detach?: string
  readonly addPort?: Parameters<FakeCloud['addPort']>[0]
  readonly addRouter?: Parameters<FakeCloud['addRouter']>[0]
}

const cloud = new FakeCloud({ now: Date.now })
const network = cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24', '198.51.100.0/24'] }).id

function control(asked: Control) {
  if (asked.recover) cloud.recover()
  if (asked.inject) cloud.inject(asked.inject.operation, ...asked.inject.troubles)
  if (asked.listLagMs !== undefined) cloud.listLagMs = asked.listLagMs
  if (asked.quota !== undefined) cloud.quota = asked.quota
  const created = asked.create && cloud.byHand.create({ network, ...asked.create })
  if (asked.delete) cloud.byHand.delete(asked.delete)
  const port = asked.addPort && cloud.addPort(asked.addPort).id
  if (asked.addRouter) cloud.addRouter(asked.addRouter)
  if (asked.attach) cloud.byHand.attach(asked.attach.id, asked.attach.port)
  if (asked.detach) cloud.byHand.detach(asked.detach)
  const { floatingIPs, deleted, foreignDeletions } = cloud
  return { network, created, port, floatingIPs, deleted, foreignDeletions, calls: Object.fromEntries(cloud.calls) }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}

const server = createServer(async (request, response) => {
  try {
    const body = await bodyOf(request)
    if (request.url === '/_fake') {
      response.end(JSON.stringify(control(JSON.parse(body || '{}'))))
      return
    }
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const method = request.method as 'GET' | 'POST' | 'PUT' | 'DELETE'
    const answer = await handler.send({ method, url: request.url ?? '/', headers, body, timeoutMs: 60_000 })
    response.writeHead(answer.status, answer.headers).end(answer.text)
  } catch (error) {
    // a call whose answer does not arrive
    if (request.url === '/_fake') response.writeHead(400).end(String(error))
    else request.socket.destroy()
  }
})
await new Promise<void>((done) => server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', done))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const handler = neutronHandler(cloud, { url, users: [{ name: 'capo', password: 'capo', project: 'project' }] })
console.log(url)
