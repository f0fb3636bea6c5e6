import { Address } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

// 39 to 45 characters: as long as an address can be
const LONG = [
  'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe',
  'ffff:ffff:ffff:ffff:ffff:ffff:1.2.3.4',
  'ffff:ffff:ffff:ffff:ffff:ffff:255.2.3.4',
  'ffff:ffff:ffff:ffff:ffff:ffff:255.255.3.4',
  'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.4',
  'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.254',
]

describe('the zone behind an address of any length', () => {
  test.each(LONG)('%s', (text) => {
    expect(Address.parseZoned(`${text}%eth0`)).toEqual({ address: Address.parse(text), zone: 'eth0' })
    expect(Address.parseZoned(text)).toEqual({ address: Address.parse(text), zone: '' })
  })

  test('a zone may be as long as it likes, and have a percent sign in it', () => {
    const zone = `${'z'.repeat(1000)}%1`
    for (const text of ['::', ...LONG]) expect(Address.parseZoned(`${text}%${zone}`).zone).toBe(zone)
  })

  test('behind what is longer there is none', () => {
    expect(Address.safeParseZoned(`0${LONG.at(-1)}%eth0`).ok).toBe(false)
  })
})
