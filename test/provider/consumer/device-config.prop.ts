import fc from 'fast-check'
import { Address, Prefix } from 'ipam-kit/cidr'
import { claimsFor, type DesiredClaim, deviceConfig } from 'ipam-kit/provider/consumer'
import { expect, test } from 'vitest'
import type { DeviceProblemCode } from '../../../src/provider/consumer/device-config.js'
import { type AddressParts, addressOf, machine, poolRef } from './world.js'

type Fault = DeviceProblemCode | 'none'

const FAULTS: readonly Fault[] = [
  'none',
  'InvalidAddress',
  'DuplicateAddress',
  'InvalidGateway',
  'GatewayFamilyMismatch',
  'GatewayDiffersFromDevice',
  'GatewaysDiffer',
]
const GATEWAYS = { 4: '10.0.0.1', 6: 'fd00::1' } as const
const OTHERS = { 4: '10.0.0.2', 6: 'fd00::2' } as const

const slot = fc.record({
  fault: fc.constantFrom(...FAULTS),
  family: fc.constantFrom(4 as const, 6 as const),
  hasGateway: fc.boolean(),
  /** Spelt in another way, of the same value. */
  isOdd: fc.boolean(),
})
const device = fc.record({ index: fc.nat(9), knows4: fc.boolean(), knows6: fc.boolean() })

test('each planted fault is found, in order, and no other', () => {
  const [desired] = claimsFor(machine(), [{ pools: [poolRef('lab')] }], 'capv') as [DesiredClaim]
  fc.assert(
    fc.property(fc.array(slot, { maxLength: 12 }), device, (slots, { index, knows4, knows6 }) => {
      const knows = { 4: knows4, 6: knows6 }
      const planted: DeviceProblemCode[] = []
      const kept: string[] = []
      const withGateway = new Set<4 | 6>()
      const addresses = slots.map(({ fault, family, hasGateway, isOdd }, place) => {
        const text = family === 4 ? `10.0.0.${place + 10}` : `fd00::${(place + 10).toString(16)}`
        const spelt = family === 6 && isOdd ? text.replace('::', ':0::') : text
        const length = family === 4 ? 24 : 64
        const good: AddressParts = {
          address: spelt,
          prefix: length,
          ...(hasGateway ? { gateway: GATEWAYS[family] } : {}),
        }
        const plant = (code: DeviceProblemCode, parts: AddressParts): AddressParts => {
          planted.push(code)
          return parts
        }
        // a fault that needs something else first is left out where that is not there
        const parts = ((): AddressParts | undefined => {
          switch (fault) {
            case 'none':
              return undefined
            case 'InvalidAddress':
              return plant(fault, { ...good, ...(isOdd ? { prefix: 0 } : { address: `${text}.` }) })
            case 'DuplicateAddress': {
              const first = kept[0]
              if (first === undefined) return undefined
              const { address, length: before } = Prefix.parse(first)
              return plant(fault, { address: Address.format(address), prefix: before })
            }
            case 'InvalidGateway':
              return plant(fault, { ...good, gateway: isOdd ? 'fe80::1%eth0' : 'gateway' })
            case 'GatewayFamilyMismatch':
              return plant(fault, { ...good, gateway: GATEWAYS[family === 4 ? 6 : 4] })
            case 'GatewayDiffersFromDevice':
              return knows[family] ? plant(fault, { ...good, gateway: OTHERS[family] }) : undefined
            case 'GatewaysDiffer':
              return !knows[family] && withGateway.has(family)
                ? plant(fault, { ...good, gateway: OTHERS[family] })
                : undefined
          }
        })()
        if (parts === undefined) {
          kept.push(`${text}/${length}`)
          if (hasGateway) withGateway.add(family)
        }
        return addressOf(desired, parts ?? good)
      })
      const spec = { index, ...(knows4 ? { gateway4: '10.0.0.1' } : {}), ...(knows6 ? { gateway6: 'fd00:0::1' } : {}) }
      const config = deviceConfig(spec, addresses)
      expect(config.kind === 'invalid' ? config.problems.map(({ code }) => code) : []).toEqual(planted)
      const { addresses: done, gateway4, gateway6, routes } = config.kind === 'invalid' ? config.partial : config
      expect(done.map(Prefix.format)).toEqual(kept)
      expect([gateway4 !== undefined, gateway6 !== undefined]).toEqual([withGateway.has(4), withGateway.has(6)])
      expect(routes).toHaveLength(withGateway.size)
    }),
  )
})
