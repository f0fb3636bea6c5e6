import { unwrap } from '../../errors/index.js'
import { bitsOf } from '../nouns/address-core.js'
import { format, masked, prefixOf, unmappedPrefixText } from '../nouns/prefix-core.js'
import { assertText } from './checks.js'
import { addressOf, formatAddress, isMapped, plainText, unmappedText } from './profile.js'

/** What is odd about a text that Kubernetes reads in its older fields. */
export interface TextWarning {
  readonly kind: 'leading-zeros' | 'ipv4-mapped' | 'host-bits' | 'not-canonical'
  /** A sentence in the words of the API server, without the path of the field. */
  readonly message: string
  /** What to write instead. */
  readonly use: string
}

const LEGACY = { profile: 'k8s-legacy-read' } as const

/**
 * What the API server of Kubernetes warns about in an address of an older field (KEP-4858): leading
 * zeros, IPv4-mapped IPv6, IPv6 that is not canonical. Nothing for a text that may stand in any
 * field. O(1).
 *
 * @throws IpamError `MALFORMED_ADDRESS` for what not even the profile `k8s-legacy-read` takes
 * @example
 * Address.warningsFor('010.0.0.1').map((warning) => warning.use) // ['10.0.0.1']
 */
export function warningsForAddress(text: string): readonly TextWarning[] {
  assertText('Address.warningsFor', text)
  const address = unwrap(addressOf(text, LEGACY))
  const strict = addressOf(text, {})
  if (!strict.ok) return [nonStandard('leading-zeros', 'IP address', text, formatAddress(address))]
  if (isMapped(strict.value)) return [nonStandard('ipv4-mapped', 'IP address', text, formatAddress(address))]
  return notCanonical('address', text, formatAddress(address))
}

/**
 * What the API server of Kubernetes warns about in a CIDR of an older field (KEP-4858): host bits,
 * leading zeros, IPv4-mapped IPv6, IPv6 that is not canonical. O(1).
 *
 * @throws IpamError `MALFORMED_PREFIX` for what not even the profile `k8s-legacy-read` takes
 * @example
 * Prefix.warningsFor('10.0.0.5/24').map((warning) => warning.kind) // ['host-bits']
 */
export function warningsForPrefix(text: string): readonly TextWarning[] {
  assertText('Prefix.warningsFor', text)
  unwrap(prefixOf(text, LEGACY))
  // as it is written, with IPv4-mapped addresses
  const prefix = unwrap(prefixOf(plainText(text, LEGACY.profile).text, {}))
  const network = masked(prefix)
  const use = unmappedPrefixText(network)
  const warnings: TextWarning[] = []
  if (network !== prefix) {
    // Kubernetes has the length of IPv6 here even if it takes the address for IPv4: `1.2.3.4/128`
    const single = `${unmappedText(prefix.address)}/${bitsOf(prefix.address.family)}`
    const message = `CIDR value ${JSON.stringify(text)} is ambiguous in this context (should be "${use}" or "${single}"?)`
    warnings.push({ kind: 'host-bits', message, use })
  }
  if (!prefixOf(text, {}).ok) warnings.push(nonStandard('leading-zeros', 'CIDR value', text, use))
  else if (isMapped(prefix.address)) warnings.push(nonStandard('ipv4-mapped', 'CIDR value', text, use))
  return warnings.length > 0 ? warnings : notCanonical('CIDR value', text, format(prefix))
}

function nonStandard(kind: TextWarning['kind'], what: string, text: string, use: string): TextWarning {
  return { kind, message: `non-standard ${what} ${JSON.stringify(text)} is invalid: use "${use}"`, use }
}

function notCanonical(what: string, text: string, use: string): readonly TextWarning[] {
  if (text === use) return []
  const message = `IPv6 ${what} ${JSON.stringify(text)} should be in RFC 5952 canonical format ("${use}")`
  return [{ kind: 'not-canonical', message, use }]
}
