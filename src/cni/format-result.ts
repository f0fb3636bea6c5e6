import { Address, type Family, Prefix } from '../cidr/index.js'
import { check } from '../errors/check.js'
import { CNI_RESULT_MISMATCH } from '../errors/definitions.js'
import { failWith } from '../errors/failure.js'
import type { Failure, Result } from '../errors/index.js'
import type { CniJson } from './json.js'
import {
  assertResult,
  type CniDns,
  type CniInterface,
  type CniIp,
  type CniResult,
  type CniRoute,
  DNS_LISTS,
  familyName,
  NEW_ROUTE_MEMBERS,
} from './result.js'
import { type CniVersion, isSince, VERSION_CHOICES } from './versions.js'

type Mismatch = { readonly ok: false; readonly failure: Failure<'CNI_RESULT_MISMATCH'> }

/**
 * Whether a version can express addresses of these families: 0.1.0 and 0.2.0 have one IPv4 and one
 * IPv6 address. Call it before the addresses are allocated, or they stay allocated behind an error.
 * O(families).
 *
 * @param families the family of each address that ADD is going to answer
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * checkCniFamilies('0.2.0', [4, 6]).ok // true
 * checkCniFamilies('0.2.0', [4, 4]).ok // false
 */
export function checkCniFamilies(
  version: CniVersion,
  families: readonly Family[],
): Result<undefined, 'CNI_RESULT_MISMATCH'> {
  check('checkCniFamilies', 'version', version, ['one', VERSION_CHOICES])
  check('checkCniFamilies', 'families', families, ['list', ['one', { 4: 1, 6: 1 }]])
  return mismatchOfFamilies(version, families) ?? { ok: true, value: undefined }
}

/**
 * The JSON of a result in a version of the specification, for stdout.
 *
 * | version | form |
 * |---|---|
 * | 0.1.0, 0.2.0 | `ip4` and `ip6`, each with its gateway and its routes; `dns` |
 * | 0.3.0 to 0.4.0 | `interfaces`, `ips` with the `version` of each, `routes`, `dns` |
 * | 1.0.0 | `interfaces`, `ips`, `routes`, `dns` if it is not empty |
 * | 1.1.0 | more members of interfaces and routes |
 *
 * Addresses, gateways and routes are never left out: the result is refused if the version cannot
 * express one. Members that only describe an interface are left out where a version lacks them.
 * O(result).
 *
 * @throws IpamError `INVALID_ARGUMENT` for what is no result, also for an index of no interface
 * @example
 * import { unwrap } from 'ipam-kit/errors'
 * const ips = [{ address: Prefix.parse('10.4.0.1/24') }]
 * unwrap(formatCniResult('0.2.0', { ips })) // { cniVersion: '0.2.0', ip4: { ip: '10.4.0.1/24' }, dns: {} }
 */
export function formatCniResult(version: CniVersion, result: CniResult): Result<CniJson, 'CNI_RESULT_MISMATCH'> {
  check('formatCniResult', 'version', version, ['one', VERSION_CHOICES])
  assertResult('formatCniResult', 'result', result)
  return formatResult(version, result)
}

/** As {@link formatCniResult}, of arguments that have been checked. */
export function formatResult(version: CniVersion, result: CniResult): Result<CniJson, 'CNI_RESULT_MISMATCH'> {
  const mismatch = mismatchOfRoutes(version, result.routes ?? [])
  if (mismatch !== undefined) return mismatch
  if (!isSince(version, '0.3.0')) return formatByFamily(version, result)
  const isNew = isSince(version, '1.0.0')
  const dns = formatDns(result.dns)
  const json = {
    cniVersion: version,
    interfaces: unlessEmpty(result.interfaces?.map((each) => formatInterface(version, each))),
    ips: unlessEmpty(result.ips?.map((ip) => formatIp(ip, isNew))),
    routes: unlessEmpty(result.routes?.map(formatRoute)),
    dns: isNew && Object.keys(dns).length === 0 ? undefined : dns,
  }
  return { ok: true, value: defined(json) }
}

/** The form of 0.1.0 and 0.2.0. */
function formatByFamily(
  version: CniVersion,
  { ips = [], routes = [], dns }: CniResult,
): ReturnType<typeof formatResult> {
  const families = ips.map(({ address }) => address.address.family)
  const mismatch = mismatchOfFamilies(version, families)
  if (mismatch !== undefined) return mismatch
  for (const [index, { dst }] of routes.entries()) {
    const { family } = dst.address
    if (families.includes(family)) continue
    return refused(
      version,
      `routes[${index}]`,
      `routes are of an address, and there is no ${familyName(family)} address`,
    )
  }
  const of = (family: Family) => {
    const ip = ips.find(({ address }) => address.address.family === family)
    if (ip === undefined) return undefined
    const own = routes.filter(({ dst }) => dst.address.family === family)
    const gateway = ip.gateway && Address.format(ip.gateway)
    return defined({ ip: Prefix.format(ip.address), gateway, routes: unlessEmpty(own.map(formatRoute)) })
  }
  return { ok: true, value: defined({ cniVersion: version, ip4: of(4), ip6: of(6), dns: formatDns(dns) }) }
}

function mismatchOfFamilies(version: CniVersion, families: readonly Family[]): Mismatch | undefined {
  if (isSince(version, '0.3.0')) return undefined
  const second = families.findIndex((family, index) => families.indexOf(family) < index)
  if (second < 0) return undefined
  return refused(version, `ips[${second}]`, `it has one ${familyName(families[second] as Family)} address at most`)
}

function mismatchOfRoutes(version: CniVersion, routes: readonly CniRoute[]): Mismatch | undefined {
  if (isSince(version, '1.1.0')) return undefined
  for (const [index, route] of routes.entries()) {
    const member = NEW_ROUTE_MEMBERS.find((name) => route[name] !== undefined)
    if (member !== undefined) return refused(version, `routes[${index}].${member}`, 'it came with 1.1.0')
  }
  return undefined
}

function refused(version: CniVersion, path: string, problem: string): Mismatch {
  return failWith(CNI_RESULT_MISMATCH, { version, path, problem })
}

function formatInterface(version: CniVersion, { name, mac, sandbox, mtu, socketPath, pciId }: CniInterface): CniJson {
  const isNew = isSince(version, '1.1.0')
  return defined({ name, mac, sandbox, ...(isNew ? { mtu, socketPath, pciID: pciId } : {}) })
}

function formatIp({ address, gateway, interface: at }: CniIp, isNew: boolean): CniJson {
  return defined({
    version: isNew ? undefined : String(address.address.family),
    interface: at,
    address: Prefix.format(address),
    gateway: gateway && Address.format(gateway),
  })
}

function formatRoute(route: CniRoute): CniJson {
  const { dst, gw, mtu, advmss, priority, table, scope } = route
  return defined({ dst: Prefix.format(dst), gw: gw && Address.format(gw), mtu, advmss, priority, table, scope })
}

function formatDns(dns: CniDns = {}): CniJson {
  const lists = DNS_LISTS.map((name) => [name, unlessEmpty(dns[name])])
  return defined({ domain: dns.domain || undefined, ...Object.fromEntries(lists) })
}

function unlessEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list
}

function defined(object: CniJson): CniJson {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}
