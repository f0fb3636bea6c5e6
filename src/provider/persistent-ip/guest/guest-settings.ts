import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { asMap, type CniJson, memberOf, wordFor } from '../../../cni/json.js'
import type { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { INVALID_NETWORK } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import { ok, type Result } from '../../../errors/index.js'
import { quote } from '../../../errors/quote.js'
import { type NetworkDefinition, OVN_PLUGIN } from '../network/definition.js'
import { pluginConfig, readNetwork } from '../network/read-network.js'

/** A route of a guest to a part of a network. */
export interface GuestRoute {
  readonly to: Prefix.Prefix
  readonly via: Address.Address
}

/** What a guest without DHCP needs to know of a network. */
export interface GuestSettings {
  readonly definition: NetworkDefinition
  /** Where a default route can lead to. Several of one family are possible. */
  readonly gateways: readonly Address.Address[]
  /** The other routes. */
  readonly routes: readonly GuestRoute[]
  /** Name servers. */
  readonly nameservers: readonly Address.Address[]
  readonly searchDomains: readonly string[]
}

/**
 * Reads the routes and the name servers of a NetworkAttachmentDefinition. O(length).
 *
 * - A network of OVN-Kubernetes has the gateways of `defaultGatewayIPs`. Without it, the gateways
 *   of a primary network of layer2 are the first addresses after those of its subnets.
 * - Another network has the routes of `ipam.routes`. A route to all addresses gives a gateway. A
 *   route without `gw` leads to `ipam.gateway`, which is not a default route by itself.
 * - Name servers are those of `dns` beside `ipam`, else of `ipam.dns`.
 *
 * @returns the failure `INVALID_NETWORK` as `readNetwork`, also for a text that is no address
 * @example
 * import { Address } from 'ipam-kit/cidr'
 * const config = JSON.stringify({
 *   name: 'lab', type: 'macvlan', allowPersistentIPs: true, dns: { nameservers: ['10.0.0.53'] },
 *   ipam: { type: 'whereabouts', range: '10.0.0.0/24', routes: [{ dst: '0.0.0.0/0', gw: '10.0.0.1' }] },
 * })
 * const read = readGuestSettings({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } })
 * read.ok && read.value.gateways.map(Address.format) // ['10.0.0.1']
 */
export function readGuestSettings(
  nad: Pick<NetworkAttachmentDefinition, 'metadata' | 'spec'>,
): Result<GuestSettings, 'INVALID_NETWORK'> {
  const read = readNetwork(nad)
  if (!read.ok) return read
  const config = pluginConfig(nad.spec.config ?? '')
  // what readNetwork has read is read again
  const members = 'rule' in config ? {} : config.members
  const definition = read.value
  const texts = new Texts()
  const ipam = definition.plugin === OVN_PLUGIN ? {} : texts.map(members, 'ipam')
  const all = ipamRoutes(ipam, texts)
  const defaults = all.filter(({ to }) => to.length === 0).map(({ via }) => via)
  const dns = texts.map(memberOf(members, 'dns') === undefined ? ipam : members, 'dns')
  const settings: GuestSettings = {
    definition,
    gateways: distinct(definition.plugin === OVN_PLUGIN ? ovnGateways(members, definition, texts) : defaults),
    routes: all.filter(({ to }) => to.length > 0),
    nameservers: texts.list(dns, 'nameservers').flatMap((text) => texts.address('dns.nameservers', text)),
    searchDomains: texts.list(dns, 'search'),
  }
  const [problem] = texts.problems
  return problem === undefined ? ok(settings) : failWith(INVALID_NETWORK, { network: definition.nad, ...problem })
}

/** Reads members, and collects what is wrong with them. */
class Texts {
  readonly problems: { readonly rule: 'type' | 'field'; readonly problem: string }[] = []

  wrong(rule: 'type' | 'field', problem: string): readonly never[] {
    this.problems.push({ rule, problem })
    return []
  }

  map(of: CniJson, member: string): CniJson {
    const value = memberOf(of, member)
    const map = asMap(value)
    if (value !== undefined && map === undefined) {
      this.wrong('type', `${member}: expected an object, got ${wordFor(value)}`)
    }
    return map ?? {}
  }

  list(of: CniJson, member: string): readonly string[] {
    const value = memberOf(of, member) ?? []
    const isRight = Array.isArray(value) && value.every((each) => typeof each === 'string')
    return isRight ? value : this.wrong('type', `${member}: expected a list of texts`)
  }

  text(of: CniJson, member: string): string | undefined {
    const value = memberOf(of, member)
    if (value === undefined || typeof value === 'string') return value || undefined
    this.wrong('type', `${member}: expected a text, got ${wordFor(value)}`)
    return undefined
  }

  /** The address, or an empty list. */
  address(path: string, text: string): readonly Address.Address[] {
    const read = Address.safeParse(text.trim())
    return read.ok ? [read.value] : this.wrong('field', `${path}: ${quote(text)} is no address`)
  }
}

function ovnGateways(members: CniJson, definition: NetworkDefinition, texts: Texts): readonly Address.Address[] {
  const given = texts.text(members, 'defaultGatewayIPs')
  if (given !== undefined) return given.split(',').flatMap((text) => texts.address('defaultGatewayIPs', text))
  if (definition.topology !== 'layer2' || definition.role !== 'primary') return []
  const wide = definition.subnets.filter(({ prefix }) => prefix.length < Address.bitsOf(prefix.address.family))
  return wide.map(({ prefix }) => Address.add(Prefix.first(prefix), 1))
}

function ipamRoutes(ipam: CniJson, texts: Texts): readonly GuestRoute[] {
  const value = memberOf(ipam, 'routes') ?? []
  if (!Array.isArray(value)) return texts.wrong('type', `routes: expected a list, got ${wordFor(value)}`)
  const gateway = texts.text(ipam, 'gateway')
  return value.flatMap((each): readonly GuestRoute[] => {
    const route = asMap(each)
    if (route === undefined) return texts.wrong('type', `routes: expected an object, got ${wordFor(each)}`)
    const dst = texts.text(route, 'dst') ?? ''
    const to = Prefix.safeParse(dst)
    if (!to.ok) return texts.wrong('field', `routes: ${quote(dst)} is no CIDR`)
    const gw = texts.text(route, 'gw') ?? gateway
    if (gw === undefined) return texts.wrong('field', `routes: the route to ${dst} has no gateway`)
    return texts.address('routes', gw).flatMap((via): readonly GuestRoute[] => {
      const isRight = via.family === to.value.address.family
      return isRight ? [{ to: Prefix.masked(to.value), via }] : texts.wrong('field', `routes: ${dst} via ${gw}`)
    })
  })
}

function distinct(addresses: readonly Address.Address[]): readonly Address.Address[] {
  return addresses.filter((one, index) => addresses.findIndex((other) => Address.equals(one, other)) === index)
}
