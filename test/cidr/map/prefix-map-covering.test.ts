import { Address, Prefix, PrefixMap } from 'ipam-kit/cidr'
import { expect, test } from 'vitest'

test.each([
  ['10.0.0.0', 8, 4, '10.255.255.255'],
  ['2001:db8::', 32, 16, '2001:db8:ffff::'],
])(
  'what covers all of a large map, one inside the other, comes back when the inner goes: %s',
  (base, inner, outer, far) => {
    const first = Address.parse(base)
    const bits = Address.bitsOf(first.family)
    const map = new PrefixMap<string>()
    // all over the inner one, but for where the probe is
    for (let i = 0n; i < 2000n; i++)
      map.set(Prefix.of(Address.add(first, i << BigInt(bits - inner - 11)), inner + 12), 'member')
    map.set(Prefix.of(first, outer), 'outer').set(Prefix.of(first, inner), 'inner')
    const probe = Address.parse(far)
    expect(map.lookup(probe)).toBe('inner')
    map.delete(Prefix.of(first, inner))
    expect(map.lookup(probe)).toBe('outer')
    map.delete(Prefix.of(first, outer))
    expect(map.lookup(probe)).toBe(undefined)
  },
)
