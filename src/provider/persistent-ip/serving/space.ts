import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { InterfaceAddress } from '../../../crd/multinet/index.js'
import { check } from '../../../errors/check.js'
import type { NetworkDefinition } from '../network/definition.js'

/** The addresses that a network gives. */
export interface NetworkSpace {
  /** What a workload may have. */
  readonly addresses: RangeSet.RangeSet
  /** What is given without a request: all but the reserved subnets. */
  readonly automatic: RangeSet.RangeSet
}

/**
 * The addresses of a network: those of its subnets, without the excluded and the infrastructure
 * subnets. The first address of a subnet, and the last one of an IPv4 subnet, are not given. A
 * primary network of layer2 keeps the next two for its gateway and its management port. Without
 * subnets, and where the addresses come from elsewhere, it is empty. O(subnets x log subnets).
 *
 * @example
 * import { RangeSet } from 'ipam-kit/cidr'
 * import { unwrap } from 'ipam-kit/errors'
 * const config = JSON.stringify({
 *   name: 'lab', type: 'ovn-k8s-cni-overlay', topology: 'localnet', netAttachDefName: 'a/blue',
 *   subnets: '10.0.0.0/29', excludeSubnets: '10.0.0.4/30',
 * })
 * const blue = unwrap(readNetwork({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } }))
 * RangeSet.format(networkSpace(blue).addresses) // ['10.0.0.1-10.0.0.3']
 */
export function networkSpace(network: NetworkDefinition): NetworkSpace {
  check<unknown>('networkSpace', 'network', network, [
    'open',
    { subnets: 'list', excludes: 'list', reserved: 'list', infrastructure: 'list', addressing: 'text' },
  ])
  const { subnets, excludes, infrastructure, reserved, addressing } = network
  if (addressing !== 'subnets') return { addresses: RangeSet.empty, automatic: RangeSet.empty }
  const keepsGateways = network.topology === 'layer2' && network.role === 'primary'
  const kept = subnets.flatMap(({ prefix }) => edgesOf(prefix, keepsGateways))
  const all = RangeSet.fromPrefixes(subnets.map(({ prefix }) => prefix))
  const without = RangeSet.union(RangeSet.fromPrefixes([...excludes, ...infrastructure]), RangeSet.fromAddresses(kept))
  const addresses = RangeSet.subtract(all, without)
  return { addresses, automatic: RangeSet.subtract(addresses, RangeSet.fromPrefixes(reserved)) }
}

function edgesOf(prefix: Prefix.Prefix, keepsGateways: boolean): readonly Address.Address[] {
  const [first, last] = [Prefix.first(prefix), Prefix.last(prefix)]
  const offsets = (keepsGateways ? [0, 1, 2] : [0]).filter((offset) => BigInt(offset) <= Address.distance(first, last))
  return [...offsets.map((offset) => Address.add(first, offset)), ...(first.family === 4 ? [last] : [])]
}

/** The families of the addresses that a network gives. */
export function familiesOf({ subnets }: NetworkDefinition): readonly (4 | 6)[] {
  return ([4, 6] as const).filter((family) => subnets.some(({ prefix }) => prefix.address.family === family))
}

/** An address with the length that it says, or that of its subnet. */
export function withLength({ address, prefixLength }: InterfaceAddress, { subnets }: NetworkDefinition): Prefix.Prefix {
  const subnet = subnets.find(({ prefix }) => Prefix.contains(prefix, address))
  return Prefix.of(address, prefixLength ?? subnet?.prefix.length ?? Address.bitsOf(address.family))
}

export function ofFamily(set: RangeSet.RangeSet, family: 4 | 6): RangeSet.RangeSet {
  return RangeSet.fromRanges([...RangeSet.ranges(set)].filter(({ first }) => first.family === family))
}
