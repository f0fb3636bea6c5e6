import type * as z from 'zod'
import type { Json } from '../../../crd/meta/object.js'
import { plain } from '../../../errors/quote.js'
import type { RouterLinks, ServerCloud, ServerNetwork } from '../server-cloud.js'
import { type AnsweredFloatingIP, FLOATING_IP, ONE_FLOATING_IP, PORT, ROUTER } from './answers.js'
import type { NeutronCall } from './call.js'
import { failCall } from './failure.js'
import { pathOf, show } from './pools.js'

type Input<K extends keyof ServerCloud> = Parameters<ServerCloud[K]>[0]

/** Owners of ports that connect a subnet to a router. */
const ROUTER_PORTS = [
  'network:router_interface',
  'network:router_interface_distributed',
  'network:ha_router_replicated_interface',
  'network:router_ha_interface',
]
/** The maximum number of ids in one URL. */
const MAX_IDS = 50

/** The calls of servers over Neutron. */
export function serverCalls(begin: (access: Json) => NeutronCall): ServerCloud {
  return {
    describeServer(input) {
      const call = begin(input.access)
      return call.answer(false, () => describeServer(call, input))
    },
    attachFloatingIP({ access, id, port, fixedAddress, revision }) {
      const call = begin(access)
      return call.answer(true, async () => {
        const what = `attach floating IP ${plain(id, 100)} to port ${plain(port, 100)}`
        await setPort(call, what, { id, revision, body: { port_id: port, fixed_ip_address: fixedAddress } })
        return {}
      })
    },
    detachFloatingIP({ access, id, port }) {
      const call = begin(access)
      return call.answer(true, async () => {
        const what = `detach floating IP ${plain(id, 100)}`
        const found = await show(call, what, id)
        if (found?.port_id !== port) return {}
        // a floating IP that was attached to another port meanwhile has another revision
        await setPort(call, what, { id, revision: found.revision_number ?? null, body: { port_id: null } })
        return {}
      })
    },
  }
}

async function setPort(
  call: NeutronCall,
  what: string,
  { id, revision, body }: { readonly id: string; readonly revision: number | null; readonly body: object },
): Promise<void> {
  await call.ask({ what, method: 'PUT', path: pathOf(id), body: { floatingip: body }, revision }, ONE_FLOATING_IP)
}

async function describeServer(call: NeutronCall, { server, address }: Input<'describeServer'>): Promise<ServerNetwork> {
  if (server === '') return failCall('the server has no id', { retryable: true })
  const ports = await call.list('ports', { device_id: server }, PORT)
  const networks = [...new Set(ports.map((port) => port.network_id))].filter((id) => id !== '')
  const routers = networks.length === 0 ? [] : await routersOf(call, networks)
  const attached =
    ports.length === 0
      ? []
      : await listBy(
          call,
          'port_id',
          ports.map(({ id }) => id),
        )
  const known = await listBy(call, 'floating_ip_address', [address])
  return {
    addresses: [
      ...ports.flatMap(({ fixed_ips }) => fixed_ips.map(({ ip_address }) => ip_address)),
      ...attached.map(({ floating_ip_address }) => floating_ip_address),
    ],
    ports: ports.map(({ id, fixed_ips }) => ({ id, fixedIPs: fixed_ips.map(fixedIPOf) })),
    routers,
    floatingIPs: known.map(floatingIPOf),
  }
}

async function listBy(
  call: NeutronCall,
  filter: string,
  values: readonly string[],
): Promise<readonly AnsweredFloatingIP[]> {
  const project = await call.project()
  const found: AnsweredFloatingIP[] = []
  const problems: string[] = []
  for (let i = 0; i < values.length; i += MAX_IDS) {
    const query = { [filter]: values.slice(i, i + MAX_IDS), ...(project !== '' && { project_id: project }) }
    found.push(...(await call.list('floatingips', query, FLOATING_IP, problems)))
  }
  const [problem] = problems
  return found.length === 0 && problem !== undefined ? failCall(problem, { retryable: true }) : found
}

/** The routers that have an interface in one of these networks. */
async function routersOf(call: NeutronCall, networks: readonly string[]): Promise<readonly RouterLinks[]> {
  const subnets = new Map<string, string[]>()
  for (let i = 0; i < networks.length; i += MAX_IDS) {
    const query = { network_id: networks.slice(i, i + MAX_IDS), device_owner: ROUTER_PORTS }
    for (const { device_id, fixed_ips } of await call.list('ports', query, PORT)) {
      const known = subnets.get(device_id) ?? []
      subnets.set(device_id, known)
      known.push(...fixed_ips.map(({ subnet_id }) => subnet_id))
    }
  }
  const ids = [...subnets.keys()].filter((id) => id !== '')
  const routers: RouterLinks[] = []
  for (let i = 0; i < ids.length; i += MAX_IDS) {
    for (const router of await call.list('routers', { id: ids.slice(i, i + MAX_IDS) }, ROUTER)) {
      const gatewayNetwork = router.external_gateway_info?.network_id
      routers.push({
        id: router.id,
        subnets: subnets.get(router.id) ?? [],
        ...(gatewayNetwork !== undefined && { gatewayNetwork }),
      })
    }
  }
  return routers
}

function fixedIPOf({ subnet_id: subnet, ip_address: address }: z.infer<typeof PORT>['fixed_ips'][number]) {
  return { subnet, address }
}

function floatingIPOf(answered: AnsweredFloatingIP) {
  const { id, floating_ip_address: address, floating_network_id: network, port_id: port, revision_number } = answered
  return { id, address, network, port, ...(revision_number !== undefined && { revision: revision_number }) }
}
