import { assertPrefix } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { subdomainProblem } from '../meta/names.js'
import { MAX_NAME_LENGTH } from './names.js'

type Prefix = Prefix.Prefix

/** The last three parts have no hyphens. The domain may have some. */
const BLOCK_NAME = /^(.+)-(?:4-([0-9a-f]{8})|6-([0-9a-f]{32}))-(0|[1-9][0-9]{0,2})$/u

/**
 * Whether a text can be the name of a pool or a domain: a DNS subdomain of up to 200 characters.
 */
export function isName(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && subdomainProblem(text) === undefined
}

/**
 * The name of a block: its domain, the family, the first address as 8 or 32 hexadecimal digits, and
 * the prefix length. No two blocks have the same name. Up to 239 characters.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a domain that is no DNS subdomain of up to 200
 * characters, or a prefix with host bits
 * @example
 * import { Prefix } from 'ipam-kit/cidr'
 * blockName('default', Prefix.parse('10.0.1.0/24')) // 'default-4-0a000100-24'
 */
export function blockName(domain: string, prefix: Prefix): string {
  check('blockName', 'domain', domain, 'text')
  assertPrefix('blockName', 'prefix', prefix)

  if (!isName(domain))
    refuse('blockName', 'domain', `a DNS subdomain of up to ${MAX_NAME_LENGTH} characters`, domain.slice(0, 64))
  const { family } = prefix.address
  if (!Prefix.equals(Prefix.masked(prefix), prefix)) {
    refuse('blockName', 'prefix', 'a prefix without host bits', Prefix.format(prefix))
  }
  const digits = Address.toBigInt(prefix.address).toString(16)
  return `${domain}-${family}-${digits.padStart(Address.bitsOf(family) / 4, '0')}-${prefix.length}`
}

/**
 * The domain and the addresses of the block with a name; `undefined` if it is not a name of a
 * block.
 *
 * @example
 * import { Prefix } from 'ipam-kit/cidr'
 * const parts = parseBlockName('default-4-0a000100-24')
 * parts && Prefix.format(parts.prefix) // '10.0.1.0/24'
 */
export function parseBlockName(name: string): { readonly domain: string; readonly prefix: Prefix } | undefined {
  const parts = BLOCK_NAME.exec(name)
  if (parts === null) return undefined
  const [, domain = '', digits4, digits6, length] = parts
  const family = digits4 === undefined ? 6 : 4
  if (!isName(domain) || Number(length) > Address.bitsOf(family)) return undefined
  const prefix = Prefix.of(Address.fromBigInt(family, BigInt(`0x${digits4 ?? digits6}`)), Number(length))
  return Prefix.equals(Prefix.masked(prefix), prefix) ? { domain, prefix } : undefined
}
