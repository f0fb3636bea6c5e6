import { RangeSet } from 'ipam-kit/cidr'
import { readServiceBitmap } from 'ipam-kit/provider/service-ip'
import { describe, expect, test } from 'vitest'

/**
 * A number of these bits, highest byte first and without zeros before it, as Go's big.Int writes
 * it.
 */
function bits(...set: readonly number[]): Uint8Array {
  const hex = set.reduce((sum, bit) => sum | (1n << BigInt(bit)), 0n).toString(16)
  return set.length === 0
    ? new Uint8Array()
    : Uint8Array.from(Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'))
}
const reading = (range: string, data: Uint8Array) => {
  const read = readServiceBitmap({ range, data })
  return read.kind === 'read' ? RangeSet.format(read.inUse) : read.message
}

describe('an old bitmap', () => {
  test('is read: bit n is the address n + 1', () => {
    expect(reading('10.0.0.0/24', bits())).toEqual([])
    expect(reading('10.0.0.0/24', bits(0, 1, 9, 253))).toEqual([
      '10.0.0.1-10.0.0.2',
      '10.0.0.10-10.0.0.10',
      '10.0.0.254-10.0.0.254',
    ])
    expect(reading('fd00::/48', bits(65_534))).toEqual(['fd00::ffff-fd00::ffff'])
    // zeros before it make no difference
    expect(reading('10.0.0.0/24', Uint8Array.of(0, 0, ...bits(3)))).toEqual(['10.0.0.4-10.0.0.4'])
  })

  test.each([
    ['10.0.0.0', bits(), 'range "10.0.0.0" is not a CIDR'],
    ['10.0.0.0/24', bits(254), 'bit 254 is set, and 10.0.0.0/24 has 254 addresses'],
    ['10.0.0.0/32', bits(0), 'bit 0 is set, and 10.0.0.0/32 has 0 addresses'],
    ['fd00::/48', bits(65_535), 'bit 65535 is set, and fd00::/48 has 65535 addresses'],
  ])('of %s is refused if it cannot be one', (range, data, message) => {
    expect(reading(range, data)).toBe(message)
  })
})
