import { Address, Prefix } from '../cidr/index.js'
import { check } from '../errors/check.js'
import { INVALID_CNI_CONFIG } from '../errors/definitions.js'
import { failWith } from '../errors/failure.js'
import type { Result } from '../errors/index.js'
import { asMap, type CniJson, memberOf, wordFor } from './json.js'
import {
  type CniDns,
  type CniInterface,
  type CniIp,
  type CniResult,
  type CniRoute,
  DNS_LISTS,
  NEW_ROUTE_MEMBERS,
} from './result.js'
import { type CniVersion, isSince, VERSION_CHOICES } from './versions.js'

/**
 * Reads the JSON of a result, such as `prevResult` of a configuration, in the form of a version.
 * Unknown members are left out. O(result).
 *
 * @param version the version of the configuration that has the result
 * @throws IpamError `INVALID_ARGUMENT` for another version
 * @example
 * import { unwrap } from 'ipam-kit/errors'
 * const json = { cniVersion: '1.0.0', ips: [{ address: '10.4.0.1/24' }] }
 * unwrap(readCniResult('1.0.0', json)).ips?.length // 1
 */
export function readCniResult(version: CniVersion, json: unknown): Result<CniResult, 'INVALID_CNI_CONFIG'> {
  check('readCniResult', 'version', version, ['one', VERSION_CHOICES])
  const reader = new ResultReader(version)
  const value = reader.result(json)
  return reader.problem === undefined ? { ok: true, value } : failWith(INVALID_CNI_CONFIG, reader.problem)
}

/** Keeps the first problem, and reads on as if the member did not exist. */
class ResultReader {
  problem: { readonly path: string; readonly problem: string } | undefined
  readonly #version: CniVersion

  constructor(version: CniVersion) {
    this.#version = version
  }

  result(json: unknown): CniResult {
    const raw = this.#map('result', json)
    const dns = this.#dns(this.#optionalMap('dns', memberOf(raw, 'dns')))
    if (!isSince(this.#version, '0.3.0')) return { ...this.#byFamily(raw), ...dns }
    const interfaces = this.#maps('interfaces', raw, (each, at) => this.#interface(each, at))
    const ips = this.#maps('ips', raw, (each, at) => this.#ip(each, at, interfaces.length))
    const routes = this.#maps('routes', raw, (each, at) => this.#route(each, at))
    return {
      ...(interfaces.length > 0 ? { interfaces } : {}),
      ...(ips.length > 0 ? { ips } : {}),
      ...(routes.length > 0 ? { routes } : {}),
      ...dns,
    }
  }

  #byFamily(raw: CniJson): CniResult {
    const ips: CniIp[] = []
    const routes: CniRoute[] = []
    for (const [member, family] of [
      ['ip4', 4],
      ['ip6', 6],
    ] as const) {
      const part = this.#optionalMap(member, memberOf(raw, member))
      if (part === undefined) continue
      const address = this.#prefix(`${member}.ip`, part.ip)
      if (address.address.family !== family) this.#wrong(`${member}.ip`, `not an IPv${family} address`)
      ips.push({ address, ...this.#address(`${member}.gateway`, 'gateway', part) })
      routes.push(...this.#maps('routes', part, (each, at) => this.#route(each, at), `${member}.`))
    }
    return { ...(ips.length > 0 ? { ips } : {}), ...(routes.length > 0 ? { routes } : {}) }
  }

  #interface(raw: CniJson, at: string): CniInterface {
    const isNew = isSince(this.#version, '1.1.0')
    return {
      name: this.#text(`${at}.name`, raw.name) ?? '',
      ...this.#optionalText(at, raw, 'mac', 'mac'),
      ...this.#optionalText(at, raw, 'sandbox', 'sandbox'),
      ...(isNew ? this.#optionalNumber(at, raw, 'mtu') : {}),
      ...(isNew ? this.#optionalText(at, raw, 'socketPath', 'socketPath') : {}),
      ...(isNew ? this.#optionalText(at, raw, 'pciID', 'pciId') : {}),
    }
  }

  #ip(raw: CniJson, at: string, interfaces: number): CniIp {
    const address = this.#prefix(`${at}.address`, raw.address)
    const version = memberOf(raw, 'version')
    if (!isSince(this.#version, '1.0.0') && version !== undefined && version !== String(address.address.family)) {
      this.#wrong(`${at}.version`, 'it is not the family of the address')
    }
    const index = this.#optionalNumber(at, raw, 'interface')
    if ((index.interface ?? -1) >= interfaces) this.#wrong(`${at}.interface`, 'it is not an index of an interface')
    return { address, ...this.#address(`${at}.gateway`, 'gateway', raw), ...index }
  }

  #route(raw: CniJson, at: string): CniRoute {
    const numbers = isSince(this.#version, '1.1.0') ? NEW_ROUTE_MEMBERS : []
    return Object.assign(
      { dst: this.#prefix(`${at}.dst`, raw.dst), ...this.#address(`${at}.gw`, 'gw', raw) },
      ...numbers.map((member) => this.#optionalNumber(at, raw, member)),
    ) as CniRoute
  }

  #dns(raw: CniJson | undefined): { readonly dns?: CniDns } {
    if (raw === undefined) return {}
    const dns: { [member: string]: unknown } = this.#optionalText('dns', raw, 'domain', 'domain')
    for (const member of DNS_LISTS) {
      const list = this.#list(`dns.${member}`, memberOf(raw, member))
      const texts = list.map((each, index) => this.#text(`dns.${member}[${index}]`, each) ?? '')
      if (texts.length > 0) dns[member] = texts
    }
    return Object.keys(dns).length === 0 ? {} : { dns }
  }

  #maps<T>(member: string, raw: CniJson, read: (each: CniJson, at: string) => T, below = ''): readonly T[] {
    const path = `${below}${member}`
    return this.#list(path, memberOf(raw, member)).map((each, index) => {
      const at = `${path}[${index}]`
      return read(this.#map(at, each), at)
    })
  }

  #list(path: string, value: unknown): readonly unknown[] {
    if (value === undefined || Array.isArray(value)) return value ?? []
    this.#wrong(path, `expected a list, got ${wordFor(value)}`)
    return []
  }

  #map(path: string, value: unknown): CniJson {
    const map = asMap(value)
    if (map === undefined) this.#wrong(path, `expected an object, got ${wordFor(value)}`)
    return map ?? {}
  }

  #optionalMap(path: string, value: unknown): CniJson | undefined {
    return value === undefined ? undefined : this.#map(path, value)
  }

  #text(path: string, value: unknown): string | undefined {
    if (typeof value === 'string') return value
    this.#wrong(path, `expected a text, got ${wordFor(value)}`)
    return undefined
  }

  /** An empty text is none, as Go writes it. */
  #optionalText<M extends string>(at: string, raw: CniJson, from: string, to: M): { readonly [member in M]?: string } {
    const value = memberOf(raw, from)
    const text = value === undefined ? undefined : this.#text(`${at}.${from}`, value)
    return (text ? { [to]: text } : {}) as { readonly [member in M]?: string }
  }

  #optionalNumber<M extends string>(at: string, raw: CniJson, member: M): { readonly [name in M]?: number } {
    const value = memberOf(raw, member)
    if (value === undefined) return {}
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
      this.#wrong(`${at}.${member}`, 'expected a whole number from 0')
      return {}
    }
    return { [member]: value } as { readonly [name in M]?: number }
  }

  #prefix(path: string, value: unknown): Prefix {
    const text = this.#text(path, value)
    const prefix = text === undefined ? undefined : Prefix.safeParse(text)
    if (prefix?.ok) return prefix.value
    this.#wrong(path, 'not an address with a length')
    return NO_PREFIX
  }

  #address<M extends string>(path: string, member: M, raw: CniJson): { readonly [name in M]?: Address } {
    const value = memberOf(raw, member)
    const text = value === undefined ? undefined : this.#text(path, value)
    if (!text) return {}
    const address = Address.safeParse(text)
    if (address.ok) return { [member]: address.value } as { readonly [name in M]?: Address }
    this.#wrong(path, 'not an address')
    return {}
  }

  #wrong(path: string, problem: string): void {
    this.problem ??= { path, problem }
  }
}

/** Stands in a result that is never answered. */
const NO_PREFIX: Prefix = { address: { family: 4, value: 0 }, length: 0 }
