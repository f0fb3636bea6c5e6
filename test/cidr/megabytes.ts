import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import type { Result } from 'ipam-kit/errors'

export const MEGABYTES = 10 * 2 ** 20

type Parse = (text: string) => Result<unknown>

export const parsers: [name: string, parse: Parse][] = [
  ['Address', Address.safeParse],
  ['Address with a zone to drop', (text) => Address.safeParse(text, { zone: 'drop' })],
  ['Address of a new field', (text) => Address.safeParse(text, { profile: 'k8s-field-canonical' })],
  ['Address of an old object', (text) => Address.safeParse(text, { profile: 'k8s-legacy-read' })],
  ['Address with a zone to keep', Address.safeParseZoned],
  ['Prefix', Prefix.safeParse],
  ['Prefix of a field', (text) => Prefix.safeParse(text, { profile: 'k8s-field' })],
  ['Prefix of an old object', (text) => Prefix.safeParse(text, { profile: 'k8s-legacy-read' })],
  ['Range', Range.safeParse],
  ['Range with zones to drop', (text) => Range.safeParse(text, { zone: 'drop' })],
  ['Range with blanks', (text) => Range.safeParse(text, { blanks: 'around-hyphen' })],
  ['Range in a subnet', Range.safeParseInSubnet],
  ['RangeSet', (text) => RangeSet.safeParse(['10.0.0.1', text])],
]

const units = [
  '1',
  '0',
  'f',
  '.',
  ':',
  '::',
  '1.',
  '1:',
  '0:',
  '255.',
  'ffff:',
  '%',
  '/',
  '-',
  'a%',
  '"',
  '\\',
  'é',
  ' ',
]
const heads = ['1.2.3.4/', '1.2.3.4-', '1.2.3.4', '::/', '::-', '1:2:3:4:5:6:7:8']
export const texts = [...units.map((unit) => ['', unit] as const), ...heads.map((head) => [head, 'x'] as const)]

/**
 * `head`, then `unit` up to `length` characters, as one piece of memory: a rope would be put
 * together at the first look at it.
 */
export function flat(head: string, unit: string, length: number): string {
  const rest = Buffer.alloc(length - head.length, unit, 'latin1').toString('latin1')
  return Buffer.from(head + rest, 'latin1').toString('latin1')
}
