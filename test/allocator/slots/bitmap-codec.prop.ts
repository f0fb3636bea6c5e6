import fc from 'fast-check'
import { Bitmap } from 'ipam-kit/allocator'
import { describe, expect, test } from 'vitest'
import { bodyOf, seal } from '../../bytes/seal.js'
import { property } from '../../cidr/property.js'
import { contentOf, runOn, slotScript } from './slots-script.js'

const SIZES = [0, 1, 7, 8, 9, 31, 32, 33, 1000, 32_767, 32_768, 32_769, 70_000]

/** A bitmap of some size after some commands. */
const bitmap = fc.constantFrom(...SIZES).chain((size) =>
  (size === 0 ? fc.constant([]) : slotScript(size, 10)).map((commands) => {
    const made = new Bitmap(size)
    for (const command of commands) runOn(made, command)
    return made
  }),
)

describe('a bitmap is read as it was written', () => {
  property([bitmap])('as bytes', (written) => {
    const bytes = Bitmap.encode(written)
    const read = Bitmap.decode(bytes)
    expect(contentOf(read)).toEqual(contentOf(written))
    expect(Bitmap.encode(read)).toEqual(bytes)
    expect(bytes.length).toBeLessThanOrEqual(Math.ceil(written.size / 8) + 9)
  })

  property([bitmap])('as Base64', (written) => {
    const text = Bitmap.toBase64(written)
    expect(contentOf(Bitmap.fromBase64(written.size, text))).toEqual(contentOf(written))
    // what the platform makes of it: bit i is in byte i / 8
    const bytes = Buffer.from(text, 'base64')
    expect(bytes.toString('base64')).toBe(text)
    expect(bytes.length).toBe(Math.ceil(written.size / 8))
    for (let index = 0; index < written.size; index += 13) {
      expect(((bytes[index >>> 3]! >>> (index & 7)) & 1) === 1).toBe(written.has(index))
    }
  })

  property([bitmap])('as words', (written) => {
    const words = written.toWords()
    expect(contentOf(Bitmap.fromWords(written.size, words))).toEqual(contentOf(written))
  })

  property([bitmap, fc.nat(5)])('and may be changed then', (written, seed) => {
    const read = Bitmap.decode(Bitmap.encode(written))
    for (const command of fc.sample(slotScript(Math.max(1, written.size), 8), { seed, numRuns: 1 })[0]!) {
      if (written.size > 0) expect(runOn(read, command)).toBe(runOn(written, command))
    }
    expect(contentOf(read)).toEqual(contentOf(written))
  })
})

test.each<[about: string, size: number, ranges: [first: number, last: number][], bytes: number[]]>([
  ['ranges where they are shorter', 32, [[5, 5]], [2, 1, 32, 1, 5, 0]],
  ['bits where both are as long', 24, [[5, 5]], [2, 0, 24, 32, 0, 0]],
  ['bits where ranges have one byte more', 16, [[5, 8]], [2, 0, 16, 224, 1]],
  ['no range', 8000, [], [2, 1, 192, 62, 0]],
  ['one range over all', 8000, [[0, 7999]], [2, 1, 192, 62, 1, 0, 191, 62]],
])('%s are written', (_, size, ranges, bytes) => {
  const written = new Bitmap(size)
  for (const [first, last] of ranges) written.takeRange(first, last)
  expect(Bitmap.encode(written)).toEqual(seal(bytes))
  expect(contentOf(Bitmap.decode(seal(bytes)))).toEqual(contentOf(written))
})

describe('bytes that no bitmap is', () => {
  property([bitmap, fc.nat(), fc.integer({ min: 0, max: 255 })], 3)(
    'are refused or are those of another',
    (written, at, byte) => {
      const body = bodyOf(Bitmap.encode(written))
      body[at % body.length] = byte
      const result = Bitmap.safeDecode(seal(body))
      if (!result.ok) expect(result.failure.code).toBe('MALFORMED_BYTES')
      else expect(contentOf(Bitmap.decode(Bitmap.encode(result.value)))).toEqual(contentOf(result.value))
    },
  )

  property([fc.uint8Array({ maxLength: 24 })], 10)('whatever they are', (bytes) => {
    const result = Bitmap.safeDecode(bytes)
    if (!result.ok) expect(result.failure.context.position).toBeLessThanOrEqual(bytes.length)
  })

  property([bitmap])('cut short or continued', (written) => {
    const bytes = Bitmap.encode(written)
    expect(Bitmap.safeDecode(bytes.subarray(0, -1)).ok).toBe(false)
    expect(Bitmap.safeDecode(Uint8Array.of(...bytes, 0)).ok).toBe(false)
  })

  test.each<[bytes: number[], position: number, problem: string]>([
    [[2], 1, 'the bytes end too early'],
    [[1, 0, 8, 0], 0, 'version 1, expected 2'],
    [[2, 2, 8, 0], 1, 'form 2, expected 0 or 1'],
    [[2, 0, 129, 128, 128, 128, 4, 0], 2, '1073741825 slots, and 1073741824 are the most'],
    [[2, 0, 9, 0], 4, '1 bytes of bits, and 9 slots need 2'],
    [[2, 0, 9, 0, 2], 4, 'bits behind the last slot'],
    [[2, 1, 9, 1, 9, 0], 4, 'a range that goes beyond the last slot'],
    [[2, 1, 9, 1, 3, 0, 7], 6, 'more than a bitmap'],
    [[2, 1, 24, 1, 5, 0], 1, 'the longer one of the two forms'],
    [[2, 0, 32, 32, 0, 0, 0], 1, 'the longer one of the two forms'],
  ])('%j', (body, position, problem) => {
    const result = Bitmap.safeDecode(seal(body))
    expect(result).toMatchObject({ ok: false, failure: { context: { what: 'a bitmap', position, problem } } })
  })
})

describe('texts that no bitmap is', () => {
  test.each<[size: number, text: string, position: number, problem: string]>([
    [12, '', 0, '0 characters of Base64, and 12 slots need 4'],
    [12, 'AAAAA', 4, '5 characters of Base64, and 12 slots need 4'],
    [12, 'A!A=', 1, 'no digit of Base64'],
    [12, 'AAAA', 3, 'no digit of Base64'],
    [8, 'AA==', -1, ''],
    [8, 'AAA=', 2, 'no digit of Base64'],
    [8, 'AB==', 1, 'no digit of Base64'],
    [24, 'AA\u0100A', 2, 'no digit of Base64'],
    [24, 'A\u00e9AA', 1, 'no digit of Base64'],
    [8, 'A\u00ff==', 1, 'no digit of Base64'],
    [24, 'AAA=', 3, 'no digit of Base64'],
    [48, '=AAAAAAA', 0, 'no digit of Base64'],
    [12, 'AAg=', -1, ''],
    [12, 'AIA=', 1, 'bits behind the last slot'],
  ])('%i slots, %j', (size, text, position, problem) => {
    const result = Bitmap.safeFromBase64(size, text)
    if (position < 0) expect(result.ok).toBe(true)
    else expect(result).toMatchObject({ ok: false, failure: { context: { position, problem } } })
  })

  property([fc.constantFrom(8, 16, 24, 48, 100), fc.base64String({ maxLength: 24 })], 5)(
    'are told by the platform',
    (size, text) => {
      const result = Bitmap.safeFromBase64(size, text)
      const bytes = Buffer.from(text, 'base64')
      const isOne =
        bytes.length === Math.ceil(size / 8) &&
        bytes.toString('base64') === text &&
        (size % 8 === 0 || bytes.at(-1)! >>> (size % 8) === 0)
      expect(result.ok).toBe(isOne)
    },
  )
})

test('a bitmap that has been read finds what is free behind its full words', () => {
  const written = new Bitmap(70_000)
  written.takeRange(0, 40_000)
  for (const read of [
    Bitmap.fromWords(70_000, written.toWords()),
    Bitmap.decode(Bitmap.encode(written)),
    Bitmap.fromBase64(70_000, Bitmap.toBase64(written)),
  ]) {
    expect([0, 31, 32, 32_767, 32_768, 40_000].map((index) => read.nextFree(index))).toEqual(Array(6).fill(40_001))
    expect([read.used, read.freeAt(0), read.countUsed(1000, 69_999)]).toEqual([40_001, 40_001, 39_001])
    read.takeRange(40_001, 69_999)
    expect(read.nextFree(0)).toBe(-1)
  }
})

test.each([-1, 2 ** 30 + 1, 0.5, Number.NaN])('Base64 for %d slots is a mistake of the caller', (size) => {
  expect(() => Bitmap.fromBase64(size, '')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})

test('words that are too many, too few, or say more than the size', () => {
  for (const [size, words] of [
    [40, [0]],
    [40, [0, 0, 0]],
    [40, [0, 256]],
    [0, [0]],
  ] as const) {
    expect(() => Bitmap.fromWords(size, Int32Array.from(words))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  }
})
