import { Address, type Address4, Prefix } from 'ipam-kit/cidr'
import { Nat64, ReverseName, SixToFour, Teredo, UrlHost } from 'ipam-kit/cidr/forms'
import { isIpamError } from 'ipam-kit/errors'
import { beforeEach, describe, expect, test, vi } from 'vitest'

// What the package is told, and what becomes of anything that it says.

type Answer = (peer: object) => object

const world = vi.hoisted(() => ({ told: [] as unknown[], answer: undefined as Answer | undefined }))

vi.mock('ip-address', async (importOriginal) => {
  const original = await importOriginal<typeof import('ip-address')>()
  const listening = <T extends object>(peer: T): T =>
    new Proxy(peer, {
      construct(target, args) {
        world.told.push(...args)
        const made = Reflect.construct(target as unknown as new () => object, args)
        return world.answer?.(made) ?? listening(made)
      },
      get(target, name) {
        const member = Reflect.get(target, name)
        if (typeof member !== 'function' || name === 'prototype') return member
        return (...args: unknown[]) => {
          world.told.push(...args)
          const made = member.apply(target, args)
          return world.answer?.(made) ?? made
        }
      },
    })
  return { ...original, Address4: listening(original.Address4), Address6: listening(original.Address6) }
})

beforeEach(() => {
  world.told.length = 0
  world.answer = undefined
})

const uses: [name: string, use: () => unknown][] = [
  ['a name of IPv4', () => ReverseName.parse('2.0.192.IN-ADDR.arpa.')],
  ['a name of IPv6', () => ReverseName.parse('8.B.d.0.1.0.0.2.ip6.ARPA')],
  ['Teredo', () => Teredo.inspect(Address.parse('2001:0:4136:e378:8000:63bf:3fff:fdd2'))],
  ['6to4', () => SixToFour.inspect(Address.parse('2002:c000:221:7::1'))],
  ['NAT64, in', () => Nat64.embed(Address.parse('192.0.2.33') as Address4, Prefix.parse('2001:db8:122:ffff::/48'))],
  ['NAT64, out', () => Nat64.extract(Address.parse('64:ff9b::c000:221'))],
]

test('it is told what our own formatters write, and full names in lower case', () => {
  const told = uses.map(([, use]) => {
    world.told.length = 0
    use()
    return [...world.told]
  })
  expect(told).toEqual([
    ['0.2.0.192.in-addr.arpa'],
    [`${'0.'.repeat(24)}8.b.d.0.1.0.0.2.ip6.arpa`],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['2002:c000:221:7::1'],
    ['192.0.2.33', '2001:db8:122::/48'],
    ['64:ff9b::c000:221', '64:ff9b::/96'],
  ])
})

test('it is told nothing of a text that is refused, nor of hosts', () => {
  for (const text of ['1.2.3.4', '8/1.2.3.4.in-addr.arpa', '01.in-addr.arpa', 'a'.repeat(1000), 'x.ip6.arpa']) {
    expect(ReverseName.safeParse(text).ok).toBe(false)
  }
  for (const text of ['10.0.0.1:80', '[fe80::1%25eth0]:1', 'fd00::1', 'http://[::1]:99999/']) UrlHost.safeParse(text)
  expect(Teredo.inspect(Address.parse('2001:db8::1'))).toBeUndefined()
  expect(SixToFour.inspect(Address.parse('fd00::1'))).toBeUndefined()
  expect(Nat64.extract(Address.parse('fd00::1'))).toBeUndefined()
  expect(() => Nat64.embed({ family: 4, value: 1 }, Prefix.parse('fd00::/33'))).toThrow()
  expect(world.told).toEqual([])
})

describe.each([
  [
    'throws',
    () => {
      throw new Error('<b>1.2.3.4</b>')
    },
  ],
  ['answers nothing', () => ({})],
  [
    'answers what is no address',
    () => ({
      bigInt: () => 1n << 128n,
      inspectTeredo: () => ({ server4: '1.2.3', client4: '1.2.3.4', flags: '0', coneNat: true, udpPort: '1' }),
      inspect6to4: () => ({ gateway: '::1' }),
      toAddress4Nat64: () => null,
    }),
  ],
] satisfies [string, Answer][])('if it %s', (_, answer) => {
  test.each(uses)('for %s, that is a bug of ours', (_, use) => {
    world.answer = answer
    let thrown: unknown
    try {
      use()
    } catch (error) {
      thrown = error
    }
    expect(isIpamError(thrown, 'INVARIANT_BROKEN')).toBe(true)
    const { message, cause } = thrown as Error
    expect(message).toMatch(/^broken invariant, please report: ip-address does not read an? [\w ]+$/)
    expect(cause).toBeUndefined()
  })
})
