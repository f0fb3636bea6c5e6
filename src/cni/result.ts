import type { Address, Family, Prefix } from '../cidr/index.js'
import { whyNotAddress, whyNotPrefix } from '../cidr/internal.js'
import { check, type KindOf } from '../errors/check.js'
import { refuse } from '../errors/refuse.js'

/** What ADD has made, independent of the version of the specification. */
export interface CniResult {
  /** Interfaces that the plugin has created. IPAM plugins create none. */
  readonly interfaces?: readonly CniInterface[] | undefined
  readonly ips?: readonly CniIp[] | undefined
  readonly routes?: readonly CniRoute[] | undefined
  readonly dns?: CniDns | undefined
}

/** An interface. Versions before 0.3.0 have none; the last three members are of 1.1.0. */
export interface CniInterface {
  readonly name: string
  readonly mac?: string | undefined
  /** The namespace of an interface in the container. */
  readonly sandbox?: string | undefined
  /** In bytes. */
  readonly mtu?: number | undefined
  readonly socketPath?: string | undefined
  readonly pciId?: string | undefined
}

/** An address of the container. */
export interface CniIp {
  /** With the length of its subnet: 10.4.0.1/24. */
  readonly address: Prefix
  readonly gateway?: Address | undefined
  /** An index into `interfaces`. */
  readonly interface?: number | undefined
}

/** A route. All members but the first two are of 1.1.0. */
export interface CniRoute {
  readonly dst: Prefix
  /** Default: the gateway of the address. */
  readonly gw?: Address | undefined
  /** In bytes. */
  readonly mtu?: number | undefined
  /** The maximum segment size, in bytes. */
  readonly advmss?: number | undefined
  readonly priority?: number | undefined
  readonly table?: number | undefined
  readonly scope?: number | undefined
}

/** Settings of the resolver. */
export interface CniDns {
  readonly nameservers?: readonly string[] | undefined
  readonly domain?: string | undefined
  readonly search?: readonly string[] | undefined
  readonly options?: readonly string[] | undefined
}

/** The members of routes that came with 1.1.0. */
export const NEW_ROUTE_MEMBERS = ['mtu', 'advmss', 'priority', 'table', 'scope'] as const

/** The lists of the resolver. */
export const DNS_LISTS = ['nameservers', 'search', 'options'] as const

const whyNotNumber = (given: unknown) =>
  Number.isSafeInteger(given) && (given as number) >= 0 ? undefined : 'a whole number from 0'

const RESULT: KindOf<CniResult> = {
  interfaces: [
    'list?',
    { name: 'text', mac: 'text?', sandbox: 'text?', mtu: ['is?', whyNotNumber], socketPath: 'text?', pciId: 'text?' },
  ],
  ips: ['list?', { address: whyNotPrefix, gateway: ['is?', whyNotAddress], interface: ['is?', whyNotNumber] }],
  routes: [
    'list?',
    {
      dst: whyNotPrefix,
      gw: ['is?', whyNotAddress],
      mtu: ['is?', whyNotNumber],
      advmss: ['is?', whyNotNumber],
      priority: ['is?', whyNotNumber],
      table: ['is?', whyNotNumber],
      scope: ['is?', whyNotNumber],
    },
  ],
  dns: [
    'options?',
    { nameservers: ['list?', 'text'], domain: 'text?', search: ['list?', 'text'], options: ['list?', 'text'] },
  ],
}

/** @throws IpamError `INVALID_ARGUMENT` for what is no result */
export function assertResult(of: string, argument: string, result: CniResult): void {
  check(of, argument, result, RESULT)
  const count = result.interfaces?.length ?? 0
  for (const [index, { interface: at }] of (result.ips ?? []).entries()) {
    if (at === undefined || at < count) continue
    refuse(of, `${argument}.ips[${index}].interface`, `an index into ${count} interfaces`, at)
  }
}

/** `IPv4`, `IPv6`. */
export function familyName(family: Family): string {
  return `IPv${family}`
}
