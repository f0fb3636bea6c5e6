import type { NetworkSelection } from '../../../crd/multinet/index.js'

const CLAIM = 'ipam-claim-reference'

/**
 * A network selection with the names of claims, as the text of its annotation.
 *
 * @param names the claim of each element; `undefined`: it stays as it is
 * @returns `undefined` if no element gets a name
 */
export function namedElements(
  elements: readonly NetworkSelection[],
  names: readonly (string | undefined)[],
): string | undefined {
  if (names.every((name) => name === undefined)) return undefined
  const named = elements.map(({ namespace, stored }, index) => {
    const claim = names[index]
    return inOrder({ ...stored, namespace, ...(claim !== undefined && { [CLAIM]: claim }) })
  })
  return JSON.stringify(named)
}

/** A warning for each interface name that several elements have: a runtime starts no such Pod. */
export function sharedInterfaces(elements: readonly NetworkSelection[]): readonly string[] {
  const names = elements.flatMap(({ interface: name }) => name ?? [])
  const shared = new Set(names.filter((name, index) => names.indexOf(name) < index))
  return [...shared].map((name) => `several elements of the network selection have the interface ${name}`)
}

/** The order in which clients in Go write the members of an element. Others come behind them. */
const ORDER = [
  'name',
  'namespace',
  'ips',
  'mac',
  'infiniband-guid',
  'interface',
  'portMappings',
  'bandwidth',
  'cni-args',
  'default-route',
  CLAIM,
]

function inOrder(element: { readonly [member: string]: unknown }): object {
  const known = ORDER.filter((member) => Object.hasOwn(element, member))
  const others = Object.keys(element).filter((member) => !ORDER.includes(member))
  return Object.fromEntries([...known, ...others].map((member) => [member, element[member]]))
}
