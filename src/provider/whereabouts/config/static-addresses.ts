import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { quote } from '../../../errors/quote.js'
import { selections } from './claim.js'
import type { ConfigIssues } from './issues.js'
import { type JsonRecord, Members } from './members.js'
import { AddressTexts, notCidr } from './texts.js'
import type { AskedAddress, StaticAddress, WhereaboutsConfig, WhereaboutsRange } from './types.js'

interface AddressInput {
  readonly ipam: Members
  readonly network: JsonRecord
  readonly args: { readonly [name: string]: string }
  readonly ranges: readonly WhereaboutsRange[]
  /** Whether the configuration names pools: which addresses they have is not known here. */
  readonly namesPools: boolean
  readonly cniVersion: string
  readonly rules: 'upstream' | undefined
}

/** The versions of CNI whose result has one address of each family. */
const ONE_OF_EACH: ReadonlySet<string> = new Set(['', '0.1.0', '0.2.0'])

/**
 * The static addresses, and those that are asked for: by `ips` in `runtimeConfig` and `args.cni`,
 * and by `IP` of CNI_ARGS. An `IP` of no range is a static address, as every `IP` is for upstream.
 */
export function readAddresses(
  input: AddressInput,
  issues: ConfigIssues,
): Pick<WhereaboutsConfig, 'addresses' | 'asked'> {
  const reader = new AddressReader(input, issues)
  const configured = reader.configured()
  const { addresses, asked } = reader.ofArguments()
  const all = reader.withGateways([...configured, ...addresses])
  reader.assertExpressible(all)
  if (input.rules === 'upstream') return { addresses: all, asked: [] }
  return { addresses: all, asked: reader.withGateways([...reader.ofSelections(), ...asked]) }
}

class AddressReader {
  readonly #input: AddressInput
  readonly #issues: ConfigIssues
  readonly #texts: AddressTexts
  #gateways: readonly Address.Address[] | undefined

  constructor(input: AddressInput, issues: ConfigIssues) {
    this.#input = input
    this.#issues = issues
    this.#texts = new AddressTexts(issues)
  }

  /** `addresses` of the configuration. */
  configured(): readonly StaticAddress[] {
    return this.#input.ipam.records('addresses', 'types.Address').flatMap((members) => {
      const text = members.text('address') ?? ''
      const sentence = `invalid CIDR in addresses ${text}: ${notCidr(text)}`
      const prefix = this.#texts.prefix(members.path('address'), text, sentence)
      const gatewayText = members.text('gateway')
      const path = members.path('gateway')
      const gateway =
        gatewayText === undefined
          ? undefined
          : this.#texts.address(path, gatewayText, `invalid gateway address: ${gatewayText}`)
      return prefix === undefined ? [] : [{ prefix, gateway }]
    })
  }

  /** `IP` of CNI_ARGS. */
  ofArguments(): { readonly addresses: readonly StaticAddress[]; readonly asked: readonly AskedAddress[] } {
    const addresses: StaticAddress[] = []
    const asked: AskedAddress[] = []
    for (const text of listed(this.#input.args.IP)) {
      const address = this.#input.rules === 'upstream' ? undefined : addressOf(text)
      if (address !== undefined && this.#isInRange(address)) asked.push({ address, path: 'args.IP' })
      else {
        const prefix = this.#texts.prefix('args.IP', text, `invalid CIDR ${text}: ${notCidr(text)}`)
        if (prefix !== undefined) addresses.push({ prefix })
      }
    }
    return { addresses, asked }
  }

  /** `ips` that the runtime passes on from the network selection of the Pod. */
  ofSelections(): readonly AskedAddress[] {
    const asked = new Map<string, AskedAddress>()
    for (const [path, record] of selections(this.#input.network)) {
      const members = new Members(record, this.#issues, (field) => `${path}.${field}`, 'Net')
      members.texts('ips').forEach((text, index) => {
        const at = `${path}.ips[${index}]`
        const address = addressOf(text)
        if (address === undefined) this.#issues.strict(at, `${quote(text)} is not an address`)
        else if (!this.#isInRange(address)) this.#issues.strict(at, `${quote(text)} is in none of the ranges`)
        // one selection comes by both ways
        else if (!asked.has(Address.format(address))) asked.set(Address.format(address), { address, path: at })
      })
    }
    return [...asked.values()]
  }

  /** `GATEWAY` of CNI_ARGS is that of the addresses in whose subnet it is. */
  withGateways<A extends StaticAddress | AskedAddress>(addresses: readonly A[]): readonly A[] {
    // read once: a wrong one is one fault
    this.#gateways ??= listed(this.#input.args.GATEWAY).flatMap(
      (text) => this.#texts.address('args.GATEWAY', text, `invalid gateway address: ${text}`) ?? [],
    )
    return this.#gateways.reduce<readonly A[]>(
      (known, gateway) =>
        known.map((one) =>
          this.#subnetsOf(one).some((subnet) => Prefix.contains(subnet, gateway)) ? { ...one, gateway } : one,
        ),
      addresses,
    )
  }

  assertExpressible(addresses: readonly StaticAddress[]): void {
    const { cniVersion, ipam } = this.#input
    const isMany = ([4, 6] as const).some(
      (family) => addresses.filter(({ prefix }) => prefix.address.family === family).length > 1,
    )
    if (!isMany || !ONE_OF_EACH.has(cniVersion)) return
    const text = `CNI version ${cniVersion} does not support more than 1 address per family`
    this.#issues.add(ipam.path('addresses'), `${text}: cniVersion has to be 0.3.0 or later`, text)
  }

  #subnetsOf(one: StaticAddress | AskedAddress): readonly Prefix.Prefix[] {
    if ('prefix' in one) return [one.prefix]
    return this.#input.ranges.map(({ prefix }) => prefix).filter((prefix) => Prefix.contains(prefix, one.address))
  }

  #isInRange(address: Address.Address): boolean {
    return this.#input.namesPools || this.#input.ranges.some(({ prefix }) => Prefix.contains(prefix, address))
  }
}

/** An address, with or without the length of a subnet. */
function addressOf(text: string): Address.Address | undefined {
  const [given = '', length] = text.split('/')
  const read = Address.safeParse(given)
  if (length === undefined) return read.ok ? read.value : undefined
  const prefix = Prefix.safeParse(text)
  return prefix.ok ? prefix.value.address : undefined
}

/** The items of a value of CNI_ARGS. */
function listed(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : text.split(',').map((item) => item.trim())
}
