import { fromBase64, toBase64 } from '../../bytes/platform.js'
import { ByteReader, ByteWriter, sealed } from '../../bytes/varints.js'
import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import { popCount } from '../util/bits.js'
import type { SlotRange } from './slots.js'

// The stored form of a bitmap: a version, what follows, and the number of slots as a varint. Then
// either a bit a slot, the lowest slot in the lowest bit of the first byte; or the number of taken
// ranges, and of each how many free slots lie before it (but for the one that is always there
// behind another range) and its length less one, as varints. The shorter one is written, bits where
// both are as long, and nothing else is read. A checksum comes last.

const VERSION = 2
const BITS = 0
const RANGES = 1
const WHAT = 'a bitmap'
const LONGER = 'the longer one of the two forms'

/** What bytes hold: words, or the ranges that are taken. */
export type StoredBitmap = StoredWords | { readonly size: number; readonly ranges: readonly SlotRange[] }

interface StoredWords {
  readonly size: number
  readonly words: Int32Array
}

/** @param words the bits, those behind the end 0 */
export function encodeBitmap(size: number, words: Int32Array): Uint8Array {
  const head = new ByteWriter()
  head.byte(VERSION)
  const byteCount = Math.ceil(size / 8)
  const ranges = shorterRanges(byteCount, words)
  head.byte(ranges === undefined ? BITS : RANGES)
  head.number(size)
  return sealed(head.done(), ranges ?? bytesOf(words, byteCount))
}

/** The ranges, if they take fewer bytes than bits do. */
function shorterRanges(byteCount: number, words: Int32Array): Uint8Array | undefined {
  const count = rangesIn(words)
  if (!mayBeShorter(count, byteCount)) return undefined
  const writer = new ByteWriter()
  writeRanges(rangesOf(words), count, writer)
  const ranges = writer.done()
  return ranges.length < byteCount ? ranges : undefined
}

/** Two bytes a range are the least. */
function mayBeShorter(rangeCount: number, byteCount: number): boolean {
  return rangeCount * 2 < byteCount
}

export function decodeBitmap(bytes: Uint8Array, maxSize: number): Result<StoredBitmap, 'MALFORMED_BYTES'> {
  const reader = new ByteReader(bytes, VERSION)
  const form = reader.byte()
  if (form !== BITS && form !== RANGES) reader.refuse(1, `form ${form}, expected ${BITS} or ${RANGES}`)
  const sizeAt = reader.position
  const size = reader.number()
  if (size > maxSize) reader.refuse(sizeAt, `${size} slots, and ${maxSize} are the most`)
  const byteCount = Math.ceil(size / 8)
  if (form === BITS && reader.problem === undefined) {
    const stored = wordsOf(reader.rest(), size, reader.position)
    if (!stored.ok || shorterRanges(byteCount, stored.value.words) === undefined) return stored
    return failWith(MALFORMED_BYTES, { what: WHAT, position: 1, problem: LONGER })
  }
  const isShorter = reader.rest().length < byteCount
  const ranges = readRanges(reader, size)
  if (reader.rest().length > 0) reader.refuse(reader.position, 'more than a bitmap')
  if (!isShorter || !mayBeShorter(ranges.length, byteCount)) reader.refuse(1, LONGER)
  if (reader.problem !== undefined) return failWith(MALFORMED_BYTES, { what: WHAT, ...reader.problem })
  return { ok: true, value: { size, ranges } }
}

/** A bit a slot, the lowest slot in the lowest bit of the first byte, in Base64. */
export function bitmapToBase64(size: number, words: Int32Array): string {
  return toBase64(bytesOf(words, Math.ceil(size / 8)))
}

export function bitmapFromBase64(size: number, text: string): Result<StoredBitmap, 'MALFORMED_BYTES'> {
  const byteCount = Math.ceil(size / 8)
  const length = Math.ceil(byteCount / 3) * 4
  if (text.length !== length) {
    const problem = `${text.length} characters of Base64, and ${size} slots need ${length}`
    return failWith(MALFORMED_BYTES, { what: WHAT, position: Math.min(text.length, length), problem })
  }
  const bytes = fromBase64(text)
  if (bytes?.length === byteCount) return wordsOf(bytes, size, 0)
  const position = wrongAt(text, Math.ceil((byteCount * 8) / 6))
  return failWith(MALFORMED_BYTES, { what: WHAT, position, problem: 'no digit of Base64' })
}

/** The position of the first wrong character of a Base64 text with `digits` digits and padding. */
function wrongAt(text: string, digits: number): number {
  const end = text.search(/[^A-Za-z0-9+/]|$/)
  if (end !== digits) return Math.min(end, digits)
  const behind = text.slice(digits).search(/[^=]/)
  // the last digit has bits that no byte has
  return behind < 0 ? digits - 1 : digits + behind
}

function wordsOf(bytes: Uint8Array, size: number, offset: number): Result<StoredWords, 'MALFORMED_BYTES'> {
  const byteCount = Math.ceil(size / 8)
  if (bytes.length !== byteCount) {
    const problem = `${bytes.length} bytes of bits, and ${size} slots need ${byteCount}`
    return failWith(MALFORMED_BYTES, { what: WHAT, position: offset + Math.min(bytes.length, byteCount), problem })
  }
  const rest = size & 7
  if (rest > 0 && bytes[byteCount - 1]! >>> rest !== 0) {
    return failWith(MALFORMED_BYTES, {
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

/** The ranges of set bits, in order. */
function* rangesOf(words: Int32Array): IterableIterator<SlotRange> {
  let first = -1
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if (word === (first < 0 ? 0 : -1)) continue
    for (let bit = 0; bit < 32; bit++) {
      const isSet = ((word >>> bit) & 1) === 1
      if (isSet === first >= 0) continue
      if (!isSet) yield { first, last: i * 32 + bit - 1 }
      first = isSet ? i * 32 + bit : -1
    }
  }
  if (first >= 0) yield { first, last: words.length * 32 - 1 }
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
