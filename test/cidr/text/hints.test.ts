import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { isIpamError } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'

/** The messages of a text as an address, a CIDR and an entry of a list. */
function messages(text: string): readonly string[] {
  const results = [Address.safeParse(text), Prefix.safeParse(text), RangeSet.safeParse([text])]
  return results.map((result) => (result.ok ? '' : result.failure.message))
}

describe('a message says what to write in place of a text that is often pasted', () => {
  test.each([
    ['10.0.0.0/255.255.255.0', '10.0.0.0/24'],
    ['10.0.0.0 255.255.255.0', '10.0.0.0/24'],
    ['10.0.0.5  255.255.255.255', '10.0.0.5/32'],
    ['0.0.0.0/0.0.0.0', '0.0.0.0/0'],
    ['172.16.0.0/255.240.0.0', '172.16.0.0/12'],
  ])('%j, an address with a netmask', (text, cidr) => {
    const [address, ...others] = messages(text)
    expect(address).toMatch(new RegExp(`: write "${cidr.split('/')[0]}", or read "${cidr}" as a CIDR$`))
    for (const message of others) expect(message).toMatch(new RegExp(`: write "${cidr}"$`))
    expect(Prefix.safeParse(cidr).ok).toBe(true)
  })

  test('a range whose end is an octet alone', () => {
    for (const message of messages('10.0.0.5-9')) expect(message).toMatch(/: write "10\.0\.0\.5-10\.0\.0\.9"$/)
  })

  test.each([
    ['10.0.0.1,10.0.0.5', ': 2 entries in one text: write a list of 2 texts'],
    ['10.0.0.1, fd00::/64, 10.0.0.5-10.0.0.9', ': 3 entries in one text: write a list of 3 texts'],
    ['gateway.example.com', ': a host name, not an address: resolve it first'],
    ['node-1.lab', ': a host name, not an address: resolve it first'],
    ['localhost', ': a host name, not an address: resolve it first'],
    ['https://10.0.0.1:6443/x', ': a URL: UrlHost.parse reads the address in it'],
    ['10.0.0.1:6443', ': an address with a port: write the address alone'],
    ['[fd00::1]:6443', ': an address with a port: write the address alone'],
    ['', ': the text is empty'],
    ['  ', ': the text is empty'],
    [' 10.0.0.1', ': remove the spaces around it'],
    ['fd00::1\n', ': remove the spaces around it'],
    ['[fd00::1]', ': write the address without brackets'],
  ])('%j', (text, end) => {
    for (const message of messages(text)) expect(message.endsWith(end), message).toBe(true)
    const range = Range.safeParse(text)
    expect(!range.ok && range.failure.message.includes(': write "')).toBe(false)
  })

  test('octets with leading zeros', () => {
    for (const message of messages('010.0.0.08'))
      expect(message).toMatch(/: write "10\.0\.0\.8" if its octets are decimal$/)
  })

  test.each([
    'banana',
    '10.0.0.256',
    '10.0.0',
    '10.0.0.a',
    '10.0.0.0/255.0.255.0',
    '10.0.0.0/0.0.0.255',
    '10.0.0.256/255.255.255.0',
    '010.0.0.0/255.255.255.0',
    '10.0.0.1,',
    'a,b',
    '10.0.0.256:80',
    'fd00:::1',
    '-a.example.com',
    `${'a.'.repeat(2_000)}example`,
  ])('%j has no hint', (text) => {
    for (const message of messages(text)) expect(message).toMatch(/\(at position \d+\)$/)
  })

  test('the suggestion of a profile comes before a hint', () => {
    const read = Prefix.safeParse('10.0.0.7/24', { profile: 'k8s-field' })
    expect(!read.ok && read.failure.message).toMatch(/: write "10\.0\.0\.0\/24"$/)
  })

  const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((four) => four.join('.'))
  property.prop([octets, fc.integer({ min: 0, max: 32 })])('any netmask has its length', (address, length) => {
    const mask = Address.format({ family: 4, value: length === 0 ? 0 : (-1 << (32 - length)) >>> 0 })
    const [, prefix] = messages(`${address}/${mask}`)
    expect(prefix?.endsWith(`: write "${address}/${length}"`)).toBe(true)
  })

  property.prop([fc.string({ unit: 'binary', maxLength: 40 })])('the message is that of the error', (text) => {
    const result = Address.safeParse(text)
    if (result.ok) return
    expect(() => Address.parse(text)).toThrow(
      expect.objectContaining({ message: result.failure.message, context: result.failure.context }),
    )
    expect(isIpamError(result.failure)).toBe(false)
  })
})
