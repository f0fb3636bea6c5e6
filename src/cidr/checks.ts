import { ipamError } from '../errors/index.js'

/**
 * Guards the text parameters of the module against callers without types: `undefined` is a mistake in the calling code, not a
 * malformed address.
 */
export function assertText(text: unknown): asserts text is string {
  if (typeof text !== 'string') {
    throw ipamError('INVALID_ARGUMENT', {
      argument: 'text',
      expected: 'a string',
      got: text === null ? 'null' : Array.isArray(text) ? 'array' : typeof text,
    })
  }
}

/**
 * @throws IpamError `INVALID_PREFIX_LENGTH` unless `length` is a whole number from `min` to the number of bits of the family
 */
export function assertLength(family: 4 | 6, length: number, min = 0): void {
  const max = family === 4 ? 32 : 128
  if (!Number.isInteger(length) || length < min || length > max) {
    throw ipamError('INVALID_PREFIX_LENGTH', { length, ...(min > 0 ? { min } : {}), max })
  }
}

/**
 * A position in something of `size` members, as a bigint.
 *
 * @throws IpamError `INDEX_OUT_OF_RANGE`, or `INVALID_ARGUMENT` for a number that is not whole
 */
export function toIndex(index: bigint | number, size: bigint): bigint {
  if (typeof index === 'number' && !Number.isSafeInteger(index)) {
    throw ipamError('INVALID_ARGUMENT', {
      argument: 'index',
      expected: 'a whole number within 2^53, or a bigint',
      got: String(index),
    })
  }
  const at = BigInt(index)
  if (at < 0n || at >= size) throw ipamError('INDEX_OUT_OF_RANGE', { index: String(index), size: String(size) })
  return at
}
