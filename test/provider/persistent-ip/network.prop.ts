import fc from 'fast-check'
import { Prefix } from 'ipam-kit/cidr'
import { networkOfDefinitions, readNetwork } from 'ipam-kit/provider/persistent-ip'
import { prefix } from 'ipam-kit/testing/arbitraries'
import { expect, test } from 'vitest'
import { definitionOf, nadOf, ovn } from './definitions.js'

const member = fc.oneof(
  fc.constantFrom('', 'layer2', 'layer3', 'localnet', 'primary', 'dhcp', 'ns1/nad1'),
  fc.jsonValue(),
)
const config = fc.record(
  Object.fromEntries(Object.keys(ovn({ role: '', ipam: {}, mtu: 0, plugins: [] })).map((key) => [key, member])),
  { requiredKeys: [] },
)

test('any configuration is a network, or breaks a rule', () => {
  fc.assert(
    fc.property(fc.oneof(config, fc.jsonValue(), fc.string()), (given) => {
      const read = readNetwork(nadOf(given))
      if (read.ok) expect(read.value.nad).toBe('ns1/nad1')
      else expect(read.failure.context.problem).not.toBe('')
    }),
  )
})

test('subnets are read back, in their order and without host bits', () => {
  fc.assert(
    fc.property(fc.uniqueArray(prefix(), { maxLength: 2, selector: ({ address }) => address.family }), (prefixes) => {
      const subnets = prefixes.map((each) => Prefix.format(each)).join(' , ')
      const read = definitionOf(readNetwork(nadOf(ovn({ subnets }))))
      expect(read.subnets.map(({ prefix: each }) => Prefix.format(each))).toEqual(
        prefixes.map((each) => Prefix.format(Prefix.masked(each))),
      )
      expect(read.addressing).toBe(prefixes.length === 0 ? 'none' : 'subnets')
      // a subnet contains itself, so it can be excluded whole
      const excluded = readNetwork(nadOf(ovn({ subnets, excludeSubnets: subnets, allowPersistentIPs: true })))
      expect(definitionOf(excluded).claims).toBe(prefixes.length === 0 ? 'noSubnets' : 'fullyExcluded')
    }),
  )
})

const dated = fc.record({
  nad: fc.constantFrom('a/net', 'b/net', 'c/net', 'd/net'),
  subnets: fc.constantFrom('10.0.0.0/24', '10.0.1.0/24', ''),
  createdAt: fc.option(fc.constantFrom('2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'), { nil: undefined }),
})

test('which definition decides does not hang on their order', () => {
  const definitions = fc.uniqueArray(dated, { minLength: 1, selector: ({ nad }) => nad })
  const shuffled = definitions.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  )
  fc.assert(
    fc.property(shuffled, (orders) => {
      const [one, other] = orders.map((list) =>
        networkOfDefinitions(
          list.map(({ nad, subnets, createdAt }) => ({
            definition: definitionOf(readNetwork(nadOf(ovn({ netAttachDefName: nad, subnets }), nad))),
            createdAt,
          })),
        ),
      )
      expect(one).toEqual(other)
      const oldest = orders[0].map(({ createdAt = '~', nad }) => `${createdAt} ${nad}`).sort()[0]
      expect(oldest).toContain(one?.definition.nad)
    }),
  )
})
