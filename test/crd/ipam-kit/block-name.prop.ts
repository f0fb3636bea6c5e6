import fc from 'fast-check'
import { Address, Prefix } from 'ipam-kit/cidr'
import { blockName, parseBlockName } from 'ipam-kit/crd/ipam-kit'
import { prefix } from 'ipam-kit/testing/arbitraries'
import { expect, test } from 'vitest'

// domains that look like parts of such names are among them
const label = fc.oneof(
  fc.constantFrom('default', '4', '6', '24', '0a000000', 'a-4-0a000000-24'),
  fc.stringMatching(/^[a-z0-9]{1,4}$/),
)
const domain = fc
  .array(label, { minLength: 1, maxLength: 4 })
  .chain((labels) => fc.constantFrom(labels.join('-'), labels.join('.')))
const network = prefix().map(Prefix.masked)

test('the name of a block is read back as its domain and addresses', () => {
  fc.assert(
    fc.property(domain, network, (name, addresses) => {
      const text = blockName(name, addresses)
      expect(parseBlockName(text)).toEqual({ domain: name, prefix: addresses })
      expect(text.length).toBeLessThanOrEqual(name.length + 39)
      expect(text).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)
    }),
  )
})

test('no two blocks have one name, and no text is the name of a block but that', () => {
  const part = fc.constantFrom('a', '-', '4', '6', '24', '0', '.', '0a000000', 'fd000000000000000000000000000000', '/')
  const texts = fc.array(part, { maxLength: 9 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(
      fc.oneof(
        texts,
        fc.tuple(domain, texts).map(([name, rest]) => `${name}-4-0a000000-${rest}`),
      ),
      (text) => {
        const parsed = parseBlockName(text)
        if (parsed !== undefined) expect(blockName(parsed.domain, parsed.prefix)).toBe(text)
      },
    ),
  )
})

test('blocks of a domain have names in the order of their addresses', () => {
  const networks = fc.array(fc.nat(2 ** 24 - 1), { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(networks, (numbers) => {
      const blocks = numbers.map((number) => Prefix.of(Address.from4(number * 256), 24))
      const names = blocks.map((block) => blockName('default', block)).sort()
      expect(names).toEqual([...blocks].sort(Prefix.compare).map((block) => blockName('default', block)))
    }),
  )
})
