import { goQuote } from '../../crd/meta/field-error.js'
import { check } from '../../errors/check.js'
import type { FloatingIP, RouterLinks, ServerNetwork, ServerPort } from './server-cloud.js'
import { canonical } from './server-view.js'

/** The port of a server that a floating IP can be attached to, or why there is none. */
export type PortChoice =
  | { readonly ok: true; readonly port: ServerPort }
  | { readonly ok: false; readonly reason: 'NoPorts' | 'NoRouter'; readonly message: string }

/**
 * Chooses the port of a server for a floating IP: the first one with a subnet that is connected to
 * a router whose gateway is on the network of the floating IP. O(ports * routers).
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
  check('choosePort', 'ports', ports, ['list', ['open', { id: 'text', subnets: ['list', 'text'] }]])
  check('choosePort', 'routers', routers, ['list', ['open', { gatewayNetwork: 'text?', subnets: ['list', 'text'] }]])

  const { address, network } = floatingIP
  const reached = new Set(routers.flatMap((router) => (router.gatewayNetwork === network ? router.subnets : [])))
  const port = ports.find(({ subnets }) => subnets.some((subnet) => reached.has(subnet)))
  if (port !== undefined) return { ok: true, port }
  const reason = ports.length === 0 ? 'NoPorts' : 'NoRouter'
  const why =
    ports.length === 0 ? 'the server has no ports' : `none of ${ports.length} ports is connected to a router of it`
  const message = `Can't find port for floating IP ${goQuote(address)} on external network ${network}: ${why}`
  return { ok: false, reason, message }
}

/** The next step to give a server its floating IP. */
export type Attachment =
  | { readonly kind: 'attached'; readonly message: string }
  | { readonly kind: 'attach'; readonly floatingIP: FloatingIP; readonly port: ServerPort; readonly message: string }
  /** The floating IP is attached to a port of another server, and stays there. */
  | { readonly kind: 'conflict'; readonly reason: 'AttachedElsewhere'; readonly port: string; readonly message: string }
  /** The cloud does not know the address. */
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'noPort'; readonly reason: 'NoPorts' | 'NoRouter'; readonly message: string }

/**
 * The next step to give a server its floating IP. O(ports * routers).
 *
 * A floating IP that is attached to another server is never moved; upstream does so.
 *
 * @param address in any text form; an invalid one is `unknown`
 */
export function attachment(address: string, { addresses, ports, routers, floatingIP }: ServerNetwork): Attachment {
  const port = floatingIP?.port ?? ''
  if (floatingIP !== undefined && port !== '') {
    if (ports.some(({ id }) => id === port))
      return { kind: 'attached', message: `${address} is attached to port ${port}` }
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
    message: `${address} is attached to port ${choice.port.id} now`,
  }
}

/**
 * The floating IP to detach from a server before its address is released; `undefined` if it is not
 * attached to one of its ports.
 */
export function attachedTo({ ports, floatingIP }: ServerNetwork): FloatingIP | undefined {
  return floatingIP !== undefined && ports.some(({ id }) => id === floatingIP.port) ? floatingIP : undefined
}
