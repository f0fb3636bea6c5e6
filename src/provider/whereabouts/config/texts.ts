import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { quote } from '../../../errors/quote.js'
import type { ConfigIssues } from './issues.js'

/**
 * Reads the addresses and CIDRs of a configuration. Upstream takes leading zeros as decimal, and
 * IPv4-mapped IPv6 as the IPv4 address in it. Other software reads `010.0.0.1` as 8.0.0.1, so both
 * are strict faults.
 */
export class AddressTexts {
  readonly #issues: ConfigIssues

  constructor(issues: ConfigIssues) {
    this.#issues = issues
  }

  /**
   * @param text the sentence of upstream for a text that is no address; `undefined`: it drops it
   */
  address(path: string, given: string, text: string | undefined): Address.Address | undefined {
    const read = Address.safeParse(given, { profile: 'k8s-legacy-read' })
    if (!read.ok) {
      const message = `${quote(given)} is not an address`
      if (text === undefined) this.#issues.strict(path, message)
      else this.#issues.add(path, message, text)
      return undefined
    }
    this.#spelling(path, given, Address.safeParse(given, { profile: 'k8s-field' }).ok, Address.format(read.value))
    return read.value
  }

  /** A CIDR, with its host bits. @param text as with {@link address} */
  prefix(path: string, given: string, text: string): Prefix.Prefix | undefined {
    const read = Prefix.safeParse(given, { profile: 'k8s-legacy-read' })
    if (!read.ok) {
      this.#issues.add(path, `${quote(given)} is not a CIDR`, text)
      return undefined
    }
    const { address } = read.value
    const isPlain = Address.safeParse(given.slice(0, given.indexOf('/')), { profile: 'k8s-field' }).ok
    this.#spelling(path, given, isPlain, `${Address.format(address)}/${read.value.length}`)
    return read.value
  }

  #spelling(path: string, given: string, isPlain: boolean, better: string): void {
    if (!isPlain) this.#issues.strict(path, `${quote(given)} has another meaning in other software: write ${better}`)
  }
}

/** What Go says of a text that is no CIDR. */
export function notCidr(text: string): string {
  return `invalid CIDR address: ${text}`
}
