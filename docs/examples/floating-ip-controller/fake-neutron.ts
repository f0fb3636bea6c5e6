// A fake cloud behind Keystone's and Neutron's HTTP APIs: npx tsx fake-neutron.ts [port] POST
// /_fake makes its calls go wrong, does what an operator does by hand, and answers what was called.
import { FakeCloud } from 'ipam-kit/testing'
import { serveNeutron } from './neutron-server.js'

type Operation = Parameters<FakeCloud['inject']>[0]
type Trouble = Parameters<FakeCloud['inject']>[1]

/** What POST /_fake can ask for, all of it in one request. */
interface Control {
  readonly inject?: { readonly operation: Operation; readonly troubles: readonly Trouble[] }
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

const { url } = await serveNeutron(cloud, Number(process.argv[2] ?? 0), (request, response, body) => {
  if (request.url !== '/_fake') return false
  try {
    response.end(JSON.stringify(control(JSON.parse(body || '{}'))))
  } catch (error) {
    response.writeHead(400).end(String(error))
  }
  return true
})
console.log(url)
