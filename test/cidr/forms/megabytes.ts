import { ReverseName, UrlHost } from 'ipam-kit/cidr/forms'
import type { Result } from 'ipam-kit/errors'

export const MEGABYTES = 10 * 2 ** 20

export const parsers: [name: string, parse: (text: string) => Result<unknown>][] = [
  ['ReverseName', ReverseName.safeParse],
  ['UrlHost', UrlHost.safeParse],
]

const units = ['1', '0', 'a', '.', '1.', 'a.', ':', '::', '[', '%', '%25', '@', '-', '/', ' ', 'é', '"']
const heads = [
  'http:/',
  'http://',
  'http://[',
  'http://[::1%25',
  'http://[::1]:',
  '[::1',
  '[fe80::1%25%41',
  '10.0.0.1:',
  '10.0.0.1:1',
]
export const texts = [
  ...units.map((unit) => ['', unit] as const),
  ...heads.flatMap((head) => [[head, '1'] as const, [head, '%25'] as const]),
]

/** `head`, then `unit` over and over, then `tail`: `length` characters as one piece of memory. */
export function flat(head: string, unit: string, tail: string, length: number): string {
  const rest = Buffer.alloc(length - head.length - tail.length, unit, 'latin1').toString('latin1')
  return Buffer.from(head + rest + tail, 'latin1').toString('latin1')
}
