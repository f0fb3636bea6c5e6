import { fromBase64, toBase64 } from '../bytes/base64.js'
import { ByteReader, ByteWriter } from '../bytes/varints.js'
import { fail, type Result } from '../errors/index.js'
import { popCount } from './bits.js'
import type { SlotRange } from './slots.js'

// The stored form of a bitmap: a version, what follows, and the number of slots as a varint. Then either a bit a slot, the lowest slot in
// the lowest bit of the first byte; or the number of taken ranges, and of each how many free slots lie before it (but for the one that is
// always there behind another range) and its length less one, as varints. The shorter one is written.

const VERSION = 1
const BITS = 0
const RANGES = 1
const WHAT = 'a bitmap'

/** What bytes hold: words, or the ranges that are taken. */
export type StoredBitmap =
  | { readonly size: number; readonly words: Int32Array }
  | { readonly size: number; readonly ranges: readonly SlotRange[] }

/** @param words the bits, those behind the end 0 */
export function encodeBitmap(size: number, words: Int32Array, usedRanges: Iterable<SlotRange>): Uint8Array {
  const writer = new ByteWriter()
  writer.byte(VERSION)
  const byteCount = Math.ceil(size / 8)
  const count = rangesIn(words)
  const asRanges = new ByteWriter()
  // two bytes a range are the least
  if (count * 2 < byteCount) writeRanges(usedRanges, count, asRanges)
  const ranges = asRanges.done()
  const isShorter = count * 2 < byteCount && ranges.length < byteCount
  writer.byte(isShorter ? RANGES : BITS)
  writer.number(size)
  const head = writer.done()
  const body = isShorter ? ranges : bytesOf(words, byteCount)
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

export function decodeBitmap(bytes: Uint8Array, maxSize: number): Result<StoredBitmap, 'MALFORMED_BYTES'> {
  const reader = new ByteReader(bytes)
  const version = reader.byte()
  if (reader.problem === undefined && version !== VERSION) reader.refuse(0, `version ${version}, expected ${VERSION}`)
  const form = reader.byte()
  if (form !== BITS && form !== RANGES) reader.refuse(1, `form ${form}, expected ${BITS} or ${RANGES}`)
  const sizeAt = reader.position
  const size = reader.number()
  if (size > maxSize) reader.refuse(sizeAt, `${size} slots, and ${maxSize} are the most`)
  if (form === BITS && reader.problem === undefined)
    return wordsOf(bytes.subarray(reader.position), size, reader.position)
  const ranges = readRanges(reader, size)
  if (reader.position < bytes.length) reader.refuse(reader.position, 'more than a bitmap')
  if (reader.problem !== undefined) return fail('MALFORMED_BYTES', { what: WHAT, ...reader.problem })
  return { ok: true, value: { size, ranges } }
}

/** A bit a slot, the lowest slot in the lowest bit of the first byte, in Base64. */
export function bitmapToBase64(size: number, words: Int32Array): string {
  return toBase64(bytesOf(words, Math.ceil(size / 8)))
}

export function bitmapFromBase64(size: number, text: string): Result<StoredBitmap, 'MALFORMED_BYTES'> {
  const bytes = new Uint8Array(Math.ceil(size / 8))
  const length = Math.ceil(bytes.length / 3) * 4
  if (text.length !== length) {
    const problem = `${text.length} characters of Base64, and ${size} slots need ${length}`
    return fail('MALFORMED_BYTES', { what: WHAT, position: Math.min(text.length, length), problem })
  }
  const position = fromBase64(text, bytes)
  if (position >= 0) return fail('MALFORMED_BYTES', { what: WHAT, position, problem: 'no digit of Base64' })
  return wordsOf(bytes, size, 0)
}

function wordsOf(bytes: Uint8Array, size: number, offset: number): Result<StoredBitmap, 'MALFORMED_BYTES'> {
  const byteCount = Math.ceil(size / 8)
  if (bytes.length !== byteCount) {
    const problem = `${bytes.length} bytes of bits, and ${size} slots need ${byteCount}`
    return fail('MALFORMED_BYTES', { what: WHAT, position: offset + Math.min(bytes.length, byteCount), problem })
  }
  const rest = size & 7
  if (rest > 0 && bytes[byteCount - 1]! >>> rest !== 0) {
    return fail('MALFORMED_BYTES', {
      what: WHAT,
      position: offset + byteCount - 1,
      problem: 'bits behind the last slot',
    })
  }
  const words = new Int32Array(Math.ceil(size / 32))
  const whole = byteCount >>> 2
  const view = new DataView(bytes.buffer, bytes.byteOffset, byteCount)
  for (let at = 0; at < whole; at++) words[at] = view.getInt32(at * 4, true)
  for (let i = whole * 4; i < byteCount; i++) words[whole]! |= bytes[i]! << ((i & 3) * 8)
  return { ok: true, value: { size, words } }
}

function bytesOf(words: Int32Array, byteCount: number): Uint8Array {
  const bytes = new Uint8Array(words.length * 4)
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < words.length; at++) view.setInt32(at * 4, words[at]!, true)
  return bytes.subarray(0, byteCount)
}

/** How many ranges of set bits there are: bits that are set behind one that is not. */
function rangesIn(words: Int32Array): number {
  let count = 0
  let carry = 0
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    count += popCount(word & ~((word << 1) | carry))
    carry = word >>> 31
  }
  return count
}

function writeRanges(ranges: Iterable<SlotRange>, count: number, writer: ByteWriter): void {
  writer.number(count)
  let end = -2
  for (const { first, last } of ranges) {
    writer.number(first - end - 2)
    writer.number(last - first)
    end = last
  }
}

function readRanges(reader: ByteReader, size: number): SlotRange[] {
  const ranges: SlotRange[] = []
  const count = reader.count()
  let end = -2
  for (let i = 0; i < count && reader.problem === undefined; i++) {
    const at = reader.position
    const first = end + 2 + reader.number()
    const last = first + reader.number()
    if (last >= size) reader.refuse(at, 'a range that goes beyond the last slot')
    ranges.push({ first, last })
    end = last
  }
  return ranges
}
