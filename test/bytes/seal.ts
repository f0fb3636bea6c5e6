// The checksum of what is stored, bit by bit, as RFC 3720 defines it: beside the tables of the
// library.

/** CRC-32C. */
export function checksumOf(bytes: Uint8Array): number {
  let sum = 0xffffffff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ ((sum & 1) === 1 ? 0x82f63b78 : 0)
  }
  return (sum ^ 0xffffffff) >>> 0
}

/** Some bytes with their checksum, marked, the lowest byte first. */
export function seal(body: Iterable<number>): Uint8Array {
  const bytes = Uint8Array.from(body)
  const sum = checksumOf(bytes) ^ 0x6970616d
  return Uint8Array.of(...bytes, sum & 255, (sum >>> 8) & 255, (sum >>> 16) & 255, sum >>> 24)
}

/** The same without the checksum. */
export function bodyOf(bytes: Uint8Array): Uint8Array {
  return bytes.slice(0, -4)
}
