import * as Address from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import { asMap, memberOf, readJson, wordFor } from '../../../cni/json.js'
import { ADDRESSES_ANNOTATION } from '../../../crd/kubevirt/index.js'
import type { InterfaceAddress } from '../../../crd/multinet/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { INVALID_OBJECT, MALFORMED_EMBEDDED_JSON } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import { ok, type Result } from '../../../errors/index.js'

/** What an interface of a virtual machine asks for. */
export interface AddressRequest {
  /** The annotation `network.kubevirt.io/addresses` of the virtual machine. Left out: none. */
  readonly annotation?: string | undefined
  /** The name of the network in the spec of the virtual machine. */
  readonly network: string
  /** The subnets of the network. */
  readonly subnets: readonly Prefix[]
}

const REQUEST: KindOf<AddressRequest> = { annotation: 'text?', network: 'text', subnets: 'list' }

/**
 * The addresses that an interface of a virtual machine asks for, in its order. Each has the prefix
 * length of the first subnet of its family. Whether a subnet contains the address is decided where
 * it is allocated. An IPv4-mapped IPv6 address is an IPv4 address. O(length).
 *
 * @returns the failure `MALFORMED_EMBEDDED_JSON` for an annotation that is not JSON;
 * `INVALID_OBJECT` for one of another form, for a text that is no address, and for a family that no
 * subnet has
 * @example
 * import { Address, Prefix } from 'ipam-kit/cidr'
 * const annotation = '{"blue":["10.0.0.7"]}'
 * const read = requestedAddresses({ annotation, network: 'blue', subnets: [Prefix.parse('10.0.0.0/24')] })
 * read.ok && read.value.map(({ address, prefixLength }) => `${Address.format(address)}/${prefixLength}`) // ['10.0.0.7/24']
 */
export function requestedAddresses(
  request: AddressRequest,
): Result<readonly InterfaceAddress[], 'MALFORMED_EMBEDDED_JSON' | 'INVALID_OBJECT'> {
  check('requestedAddresses', 'request', request, REQUEST)
  const { annotation, network, subnets } = request
  if (annotation === undefined) return ok([])
  const { value, problem } = readJson(annotation)
  if (problem !== undefined) {
    return failWith(MALFORMED_EMBEDDED_JSON, { what: `annotation ${ADDRESSES_ANNOTATION}`, text: annotation })
  }
  const map = asMap(value)
  if (map === undefined) return wrong(network, `expected an object, got ${wordFor(value)}`)
  const asked = memberOf(map, network) ?? []
  if (!Array.isArray(asked)) return wrong(network, `expected a list of addresses, got ${wordFor(asked)}`)
  const found: InterfaceAddress[] = []
  for (const each of asked) {
    const address = addressFor(each, subnets)
    if (typeof address === 'string') return wrong(network, address)
    found.push(address)
  }
  return ok(found)
}

/** An address with its prefix length, or what is wrong with it. */
function addressFor(asked: unknown, subnets: readonly Prefix[]): InterfaceAddress | string {
  if (typeof asked !== 'string') return `expected an address, got ${wordFor(asked)}`
  const read = Address.safeParse(asked)
  if (!read.ok) return `invalid IP address format: ${asked}`
  const address = Address.unmap(read.value)
  const { family } = address
  const subnet = subnets.find((each) => each.address.family === family)
  if (subnet === undefined) return `no IPv${family} subnet configured for IPv${family} IP request: ${asked}`
  return { address, prefixLength: subnet.length }
}

function wrong(path: string, message: string) {
  return failWith(INVALID_OBJECT, { kind: 'annotation', name: ADDRESSES_ANNOTATION, issues: [{ path, message }] })
}
