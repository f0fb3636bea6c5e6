import { Ledger } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { unwrap } from 'ipam-kit/errors'
import { networkSpace, readNetwork } from 'ipam-kit/provider/persistent-ip'

/**
 * Of an IPv6 subnet only so many addresses are looked at: the length of the prefix that has them.
 */
const WINDOW_LENGTH = 112

/** The texts of a set of subnets. */
export interface SubnetTexts {
  readonly subnets: readonly string[]
  readonly excludeSubnets?: readonly string[]
  readonly reservedSubnets?: readonly string[]
}

/** What a network has given. */
export type Given =
  | { readonly kind: 'allocated'; readonly address: Address }
  | { readonly kind: 'exhausted' | 'taken' | 'outOfPool' }

/** A network of OVN-Kubernetes, with the addresses that it gives and a ledger of them, as planners have it. */
export class NetworkLedger {
  readonly subnets: readonly Prefix[]
  readonly addresses: RangeSet
  readonly #automatic: RangeSet
  readonly #ledger: Ledger

  constructor({ subnets, excludeSubnets = [], reservedSubnets = [] }: SubnetTexts) {
    const config = JSON.stringify({
      ...{ name: 'net', type: 'ovn-k8s-cni-overlay', topology: 'layer2', netAttachDefName: 'ns/nad' },
      subnets: subnets.join(),
      excludeSubnets: excludeSubnets.join(),
      reservedSubnets: reservedSubnets.join(),
    })
    const network = unwrap(readNetwork({ metadata: { namespace: 'ns', name: 'nad' }, spec: { config } }))
    const space = networkSpace(network)
    this.subnets = subnets.map((text) => Prefix.parse(text))
    const windows = RangeSet.fromPrefixes(this.subnets.map(windowOf))
    this.addresses = RangeSet.intersect(space.addresses, windows)
    this.#automatic = RangeSet.intersect(space.automatic, windows)
    this.#ledger = new Ledger({ space: this.addresses })
  }

  /** The next address of a subnet, after one that it has given. */
  next(subnet: Prefix, after?: Address): Given {
    const within = RangeSet.intersect(this.#automatic, RangeSet.fromPrefixes([subnet]))
    const from = after && Address.next(after)
    const found = this.#ledger.next({ within, from, order: 'around' })
    return found === undefined ? { kind: 'exhausted' } : this.#take(found.address)
  }

  allocate(address: Address): Given {
    if (!RangeSet.contains(this.addresses, address)) return { kind: 'outOfPool' }
    return this.#ledger.get(Address.format(address)) === undefined ? this.#take(address) : { kind: 'taken' }
  }

  release(address: Address): void {
    this.#ledger.delete(Address.format(address))
  }

  #take(address: Address): Given {
    const prefix = Prefix.of(address, Address.bitsOf(address.family))
    this.#ledger.set(Address.format(address), { prefix, reason: 'held', holder: { key: Address.format(address) } })
    return { kind: 'allocated', address }
  }

  counts(): { readonly free: bigint; readonly used: bigint } {
    const used = BigInt(this.#ledger.entries().length)
    return { used, free: RangeSet.size(this.addresses) - used }
  }

  taken(): readonly Address[] {
    return this.#ledger.entries().map(({ prefix }) => prefix.address)
  }
}

function windowOf(subnet: Prefix): Prefix {
  return subnet.address.family === 6
    ? Prefix.masked(Prefix.of(Prefix.first(subnet), Math.max(subnet.length, WINDOW_LENGTH)))
    : subnet
}
