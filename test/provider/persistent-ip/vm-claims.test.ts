import fc from 'fast-check'
import { vmClaimName } from 'ipam-kit/crd/ipamclaims'
import type { VirtualMachineInstance, VMNetwork } from 'ipam-kit/crd/kubevirt'
import { type VMClaimOptions, type VMDefinitions, vmClaims } from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { nadOf, ovn } from './definitions.js'

const sticky = { name: 'lab', allowPersistentIPs: true }
const definitions: { readonly [nad: string]: unknown } = {
  'ns1/a': sticky,
  'ns1/b': { name: 'plain' },
  'ns1/broken': 'no',
  'ns2/a': sticky,
  'ns1/nad1': ovn({ role: 'primary', allowPersistentIPs: true }),
}

function claimsOf(
  networks: readonly VMNetwork[],
  interfaces: readonly { name: string }[] = [],
  options?: VMClaimOptions,
) {
  const instance = {
    metadata: { name: 'vm1', namespace: 'ns1' },
    spec: { networks, domain: { devices: { interfaces } } },
  }
  const nad = (name: string) => nadOf(definitions[name], name) as never
  const objects: VMDefinitions = {
    definition: (namespace, name) =>
      Object.hasOwn(definitions, `${namespace}/${name}`) ? nad(`${namespace}/${name}`) : undefined,
    definitionsIn: (namespace) =>
      Object.keys(definitions)
        .filter((name) => name.startsWith(`${namespace}/`))
        .map(nad),
  }
  return vmClaims(instance as unknown as VirtualMachineInstance, objects, options)
}
const multus = (name: string, networkName = 'a', rest = {}) => ({ name, multus: { networkName, ...rest } })

describe('the claims of a virtual machine', () => {
  test('are those of the networks that honour claims, in the order of the spec', () => {
    const { claims } = claimsOf(
      [
        multus('x'),
        multus('plain', 'b'),
        { name: 'pod', pod: {} },
        multus('far', 'ns2/a'),
        multus('cd', 'a', { default: true }),
      ],
      [{ name: 'pod' }],
    )
    expect(
      claims.map(({ network, definition, isPrimary, name }) => [network, definition.nad, isPrimary, name]),
    ).toEqual([
      ['x', 'ns1/a', false, { ok: true, value: 'vm1.x' }],
      ['pod', 'ns1/nad1', true, { ok: true, value: 'vm1.pod' }],
      ['far', 'ns2/a', false, { ok: true, value: 'vm1.far' }],
    ])
    expect(claims.map((claim) => claim.interface)).toEqual([undefined, { name: 'pod' }, undefined])
  })

  test('say which definitions do not exist, and which cannot be read', () => {
    const { claims, missing, unreadable } = claimsOf([multus('x', 'gone'), multus('y', 'broken'), multus('z')])
    expect(claims.map(({ network }) => network)).toEqual(['z'])
    expect(missing).toEqual(['ns1/gone'])
    expect(unreadable.map(({ context }) => context.network)).toEqual(['ns1/broken'])
  })

  test('of networks whose names become the same are one, and a conflict (T6)', () => {
    const { claims } = claimsOf([multus('a_b'), multus('a.b'), multus('a_b'), multus('c')])
    expect(claims.map(({ name }) => (name.ok ? name.value : name.failure.context))).toEqual([
      'vm1.a.b',
      { name: 'vm1.a.b', first: 'a_b', second: 'a.b' },
      { name: 'vm1.a.b', first: 'a_b', second: 'a_b' },
      'vm1.c',
    ])
  })

  test('of a network that is ephemeral do not exist, and take no name', () => {
    const isSticky: VMClaimOptions['sticky'] = ({ name }, network) =>
      name === 'vm1' && network === 'a_b' ? 'ephemeral' : 'keep'
    const { claims } = claimsOf([multus('a_b'), multus('a.b')], [], { sticky: isSticky })
    expect(claims.map(({ network, name }) => [network, name])).toEqual([['a.b', { ok: true, value: 'vm1.a.b' }]])
  })

  test('of a network that has no claim do not take a name from another', () => {
    const { claims } = claimsOf([multus('a_b', 'b'), multus('a.b')])
    expect(claims.map(({ name }) => name)).toEqual([{ ok: true, value: 'vm1.a.b' }])
  })
})

test('names are as upstream makes them, and no two claims of a machine have one', () => {
  const network = fc.string({ unit: fc.constantFrom('a', 'b', '_', '.', '-', 'A'), maxLength: 4 })
  fc.assert(
    fc.property(fc.array(network, { maxLength: 6 }), (networks) => {
      const { claims } = claimsOf(networks.map((name) => multus(name)))
      expect(claims).toHaveLength(networks.length)
      const names = claims.flatMap(({ name }) => (name.ok ? [name.value] : []))
      expect(new Set(names).size).toBe(names.length)
      claims.forEach(({ name }, index) => {
        const made = vmClaimName({ vm: 'vm1', network: networks[index] ?? '' })
        if (name.ok) expect(name).toEqual(made)
        else if (made.ok) expect(names).toContain(made.value)
      })
    }),
  )
})
