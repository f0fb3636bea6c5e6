import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32c } from '../../src/bytes/crc32c.js'
import { property } from '../cidr/property.js'
import { checksumOf } from './seal.js'

const some = (count: number, byteAt: (i: number) => number) => Uint8Array.from({ length: count }, (_, i) => byteAt(i))

// RFC 3720, appendix B.4, and the check value of the catalogue of CRCs
test.each<[about: string, bytes: Uint8Array, sum: number]>([
  ['nothing', some(0, () => 0), 0],
  ['32 bytes of zeros', some(32, () => 0), 0x8a9136aa],
  ['32 bytes of ones', some(32, () => 255), 0x62a8ab43],
  ['32 bytes that go up', some(32, (i) => i), 0x46dd794e],
  ['32 bytes that go down', some(32, (i) => 31 - i), 0x113fdb5c],
  ['the digits 1 to 9', some(9, (i) => 49 + i), 0xe3069283],
])('the checksum of %s', (_, bytes, sum) => {
  expect(crc32c(bytes)).toBe(sum)
})

property([fc.uint8Array({ maxLength: 200 }), fc.nat(7)])(
  'is that of the definition, wherever the bytes lie',
  (bytes, at) => {
    expect(crc32c(bytes.subarray(at))).toBe(checksumOf(bytes.subarray(at)))
  },
)
