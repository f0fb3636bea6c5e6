import { AddressPool, type AddressPoolSpec, PrefixAllocator, type Want } from 'ipam-kit/allocator'
import { Address, Prefix } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const messageOf = (action: () => unknown): string => {
  try {
    return `no error: ${JSON.stringify(action())}`
  } catch (error) {
    return (error as Error).message
  }
}

describe('what a caller without types passes', () => {
  const pool = new AddressPool({ ranges: ['10.0.0.0/24'] })

  test.each<[string, () => unknown, RegExp]>([
    [
      'a misspelt option of a pool',
      () => new AddressPool({ ranges: ['10.0.0.0/24'], excluded: ['10.0.0.1'] } as AddressPoolSpec),
      /AddressPool.*spec\.excluded.*ranges, reserve, exclude, reserved/,
    ],
    [
      'a misspelt option of an allocator of prefixes',
      () => new PrefixAllocator({ ranges: ['10.0.0.0/16'], childLength: 24, excludes: [] } as never),
      /PrefixAllocator.*spec\.excludes.*exclude/,
    ],
    [
      'one text as ranges',
      () => new AddressPool({ ranges: '10.0.0.0/24' as never }),
      /list of texts, \['10\.0\.0\.0\/24'\]/,
    ],
    [
      'a length as a text',
      () => new PrefixAllocator({ ranges: ['10.0.0.0/16'], childLength: '24' as never }),
      /PrefixAllocator.*childLength/,
    ],
    [
      'an owner as a text',
      () => pool.allocate({ owner: 'u' as never }),
      /AddressPool\.allocate.*owner.*an object.*the text "u"/,
    ],
    [
      'an address as a text',
      () => (pool.occupy as (...args: unknown[]) => unknown)('10.0.0.5'),
      /AddressPool\.occupy.*address.*Address\.parse/,
    ],
    [
      'an owner with a uid of 1 MB',
      () => pool.allocate({ owner: { uid: 'u'.repeat(1e6) } }),
      /1024 characters.*not 1000000/,
    ],
    [
      'a prefix that contains a text',
      () => Prefix.contains(Prefix.parse('10.0.0.0/8'), '10.0.0.1' as never),
      /call Address\.parse or Prefix\.parse first/,
    ],
  ])('%s is refused with what to do', (_, action, message) => {
    expect(messageOf(action)).toMatch(message)
  })

  test('addresses that can be read once are refused, and not taken for none', () => {
    const addresses = new Set([Address.parse('10.0.0.7')])
    const want = { kind: 'oneOf', addresses: addresses.values() } as unknown as Want
    expect(messageOf(() => pool.allocate({ owner: { uid: 'a' }, want }))).toMatch(/want\.addresses.*a list/)
  })
})

test('the order of releases outlasts the memory of sticky keys', () => {
  // all of the pool, and more than is remembered
  const count = 2 ** 16 + 2 ** 10
  const first = (isSticky: boolean) => {
    const pool = new AddressPool({
      ranges: ['10.0.0.0/16', '10.1.0.0/22'],
      reserve: 'none',
      strategy: { kind: 'least-recently-released' },
    })
    for (let nth = 0; nth < count; nth++) {
      pool.allocate({ owner: { uid: `u${nth}` }, stickyKey: isSticky ? `k${nth}` : undefined })
    }
    for (let nth = 0; nth < count; nth++) pool.releaseOwner(`u${nth}`)
    const outcome = pool.allocate({ owner: { uid: 'new' } })
    return outcome.kind === 'allocated' ? Address.format(outcome.address) : outcome.kind
  }
  expect([first(true), first(false)]).toEqual(['10.0.0.0', '10.0.0.0'])
})
