import * as Address from '../../cidr/nouns/address.js'
import { goQuote } from '../../crd/meta/field-error.js'
import { check } from '../../errors/check.js'
import type { FloatingIP, RouterLinks, ServerNetwork, ServerPort } from './server-cloud.js'
import { canonical } from './server-view.js'

/**
 * The port and the fixed address to which a floating IP can be attached, or the reason why it
 * cannot.
 */
export type PortChoice =
  | { readonly ok: true; readonly port: ServerPort; readonly fixedAddress: string }
  | { readonly ok: false; readonly reason: 'NoPorts' | 'NoRouter'; readonly message: string }

/**
 * Chooses the port of a server for a floating IP: the first one with an address of the same family
 * in a subnet that is connected to a router whose gateway is on the network of the floating IP.
 * O(ports * routers).
 *
 * Source: `GetPortForExternalNetwork` of cluster-api-provider-openstack,
 * pkg/cloud/services/networking/port.go.
 *
 * @returns `NoPorts`: the server has none. `NoRouter`: none of its ports is connected to the
 * network
 */
export function choosePort(
  floatingIP: Pick<FloatingIP, 'address' | 'network'>,
  ports: readonly ServerPort[],
  routers: readonly RouterLinks[],
): PortChoice {
  check('choosePort', 'floatingIP', floatingIP, ['open', { address: 'text', network: 'text' }])
  check('choosePort', 'ports', ports, [
    'list',
    ['open', { id: 'text', fixedIPs: ['list', ['open', { subnet: 'text', address: 'text' }]] }],
  ])
  check('choosePort', 'routers', routers, ['list', ['open', { gatewayNetwork: 'text?', subnets: ['list', 'text'] }]])

  const { address, network } = floatingIP
  const reached = new Set(routers.flatMap((router) => (router.gatewayNetwork === network ? router.subnets : [])))
  const family = familyOf(address)
  for (const port of ports) {
    const fixed = port.fixedIPs.find((each) => reached.has(each.subnet) && familyOf(each.address) === family)
    if (fixed !== undefined) return { ok: true, port, fixedAddress: fixed.address }
  }
  const reason = ports.length === 0 ? 'NoPorts' : 'NoRouter'
  const why =
    ports.length === 0 ? 'the server has no ports' : `none of ${ports.length} ports is connected to a router of it`
  const message = `Can't find port for floating IP ${goQuote(address)} on external network ${network}: ${why}`
  return { ok: false, reason, message }
}

function familyOf(address: string): number | undefined {
  const read = Address.safeParse(address)
  return read.ok ? Address.unmap(read.value).family : undefined
}

/** The next step to give a server its floating IP. */
export type Attachment =
  | { readonly kind: 'attached'; readonly message: string }
  | {
      readonly kind: 'attach'
      readonly floatingIP: FloatingIP
      readonly port: ServerPort
      readonly fixedAddress: string
      readonly message: string
    }
  /** The floating IP is attached to a port of another server, and stays there. */
  | { readonly kind: 'conflict'; readonly reason: 'AttachedElsewhere'; readonly port: string; readonly message: string }
  /** The cloud does not know the address, or it cannot be told which of several is meant. */
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'noPort'; readonly reason: 'NoPorts' | 'NoRouter'; readonly message: string }

/**
 * The next step to give a server its floating IP. O(floating IPs * ports * routers).
 *
 * A floating IP that is attached to another server is never moved; upstream does so. Of several in
 * different networks, the one is meant whose network a router of the server is connected to.
 *
 * @param address in any text form; an invalid one is `unknown`
 */
export function attachment(address: string, network: ServerNetwork): Attachment {
  const { addresses, ports, routers, floatingIPs } = network
  const own = attachedTo(network)
  if (own !== undefined) return { kind: 'attached', message: `${address} is attached to port ${own.port}` }
  const reached = floatingIPs.filter((each) => choosePort(each, ports, routers).ok)
  if (reached.length > 1) {
    const ids = reached.map(({ id }) => id).join(', ')
    const message = `the server can reach several floating IPs ${goQuote(address)}: ${ids}`
    return { kind: 'unknown', message }
  }
  const floatingIP = reached[0] ?? floatingIPs[0]
  const port = floatingIP?.port ?? ''
  if (port !== '') {
    const message = `floating IP ${goQuote(address)} is attached to port ${port}, which is not of this server`
    return { kind: 'conflict', reason: 'AttachedElsewhere', port, message }
  }
  const key = canonical(address)
  if (key !== undefined && addresses.some((shown) => canonical(shown) === key)) {
    return { kind: 'attached', message: `the server has ${address}` }
  }
  if (floatingIP === undefined) return { kind: 'unknown', message: `floating IP ${goQuote(address)} does not exist` }
  const choice = choosePort(floatingIP, ports, routers)
  if (!choice.ok) return { kind: 'noPort', reason: choice.reason, message: choice.message }
  return {
    kind: 'attach',
    floatingIP,
    port: choice.port,
    fixedAddress: choice.fixedAddress,
    message: `${address} is attached to port ${choice.port.id} now`,
  }
}

/**
 * The floating IP to detach from a server before its address is released; `undefined` if it is not
 * attached to one of its ports.
 */
export function attachedTo({ ports, floatingIPs }: ServerNetwork): FloatingIP | undefined {
  return floatingIPs.find(({ port }) => ports.some(({ id }) => id === port))
}
