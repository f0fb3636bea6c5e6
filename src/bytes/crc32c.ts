// CRC-32C (RFC 3720, section 12.1; polynomial of Castagnoli): finds every change of up to 32 bits
// in a row, and of up to 3 bits anywhere in what fits in memory; of other damage it lets one in
// 2^32 through.

/** The polynomial, lowest bit first. */
const POLYNOMIAL = 0x82f63b78

/** What a byte does to a checksum, with 0 to 3 bytes of zeros behind it: 256 words each. */
const TABLES: Int32Array = /* @__PURE__ */ tables()

/** The checksum of bytes: a whole number from 0 to 2^32 - 1. O(n). */
export function crc32c(bytes: Uint8Array): number {
  const whole = bytes.length & ~3
  let sum = -1
  let i = 0
  for (; i < whole; i += 4) {
    sum ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
    sum =
      TABLES[768 | (sum & 255)]! ^
      TABLES[512 | ((sum >>> 8) & 255)]! ^
      TABLES[256 | ((sum >>> 16) & 255)]! ^
      TABLES[sum >>> 24]!
  }
  for (; i < bytes.length; i++) sum = TABLES[(sum ^ bytes[i]!) & 255]! ^ (sum >>> 8)
  return ~sum >>> 0
}

function tables(): Int32Array {
  const words = new Int32Array(4 * 256)
  for (let byte = 0; byte < 256; byte++) {
    let sum = byte
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? POLYNOMIAL : 0)
    words[byte] = sum
  }
  for (let at = 256; at < words.length; at++) words[at] = words[words[at - 256]! & 255]! ^ (words[at - 256]! >>> 8)
  return words
}
