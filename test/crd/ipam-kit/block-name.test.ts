import { Prefix } from 'ipam-kit/cidr'
import { blockName, parseBlockName } from 'ipam-kit/crd/ipam-kit'
import { expect, test } from 'vitest'

test.each([
  ['default', '0.0.0.0/22', 'default-4-00000000-22'],
  ['default', '255.255.255.255/32', 'default-4-ffffffff-32'],
  ['vrf-4.lab', 'fd00::1:0/120', 'vrf-4.lab-6-fd000000000000000000000000010000-120'],
  ['a', '::/118', 'a-6-00000000000000000000000000000000-118'],
])('the block %s %s is called %s', (domain, cidr, name) => {
  expect(blockName(domain, Prefix.parse(cidr))).toBe(name)
  expect(parseBlockName(name)).toEqual({ domain, prefix: Prefix.parse(cidr) })
})

test('the longest name is one that an API server takes', () => {
  const name = blockName('a'.repeat(200), Prefix.parse('fd00::/120'))
  expect(name).toHaveLength(239)
  expect(parseBlockName(name)?.domain).toBe('a'.repeat(200))
})

test.each([
  ['', '10.0.0.0/24'],
  ['Lab', '10.0.0.0/24'],
  ['lab-', '10.0.0.0/24'],
  ['a/b', '10.0.0.0/24'],
  ['a'.repeat(201), '10.0.0.0/24'],
  ['lab', '10.0.0.1/24'],
])('there is no block %s %s', (domain, cidr) => {
  expect(() => blockName(domain, Prefix.parse(cidr))).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})

test.each([
  '',
  'default',
  '-4-0a000000-24',
  'default-4-0a000000',
  'default-4-0a000000-33',
  'default-4-0a000000-024',
  'default-4-0a000001-24',
  'default-4-0A000000-24',
  'default-5-0a000000-24',
  'default-6-0a000000-24',
  'default-4-fd000000000000000000000000000000-24',
  'default-6-fd000000000000000000000000000000-129',
  'default-6-fd000000000000000000000000000001-120',
  'Default-4-0a000000-24',
  'default-4-0a000000-24\n',
  `${'a'.repeat(201)}-4-0a000000-24`,
])('%j is the name of no block', (name) => {
  expect(parseBlockName(name)).toBeUndefined()
})
