import fc from 'fast-check'
import { Address, Range, RangeSet } from 'ipam-kit/cidr'
import { asciiMap, svgMap } from 'ipam-kit/render'
import { rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import type { MapLabel } from '../../src/render/grid.js'
import { escapeXml } from '../../src/render/xml.js'
import { runs } from '../setup/depth.js'
import { parseXml, textOf } from './strict-xml.js'
import { asAscii, readMap } from './svg-reader.js'

/** Any text, most often one that means something to a parser of XML or HTML. */
const hostile = fc.oneof(
  fc
    .array(
      fc.oneof(
        fc.constantFrom(
          '<',
          '>',
          '&',
          '"',
          "'",
          '<script>',
          '</script>',
          '</title>',
          '</svg>',
          '<!--',
          '-->',
          '<![CDATA[',
        ),
        fc.constantFrom(
          ']]>',
          '<?xml ?>',
          '<!DOCTYPE',
          '&#0;',
          '&lt;',
          '&amp',
          ';',
          ' onload="alert(1)"',
          'javascript:',
        ),
        fc.constantFrom(
          '\0',
          '\t',
          '\n',
          '\r',
          '\x1b[2J',
          '\x7f',
          '\x85',
          '\u202e',
          '\u2028',
          '\ufeff',
          '\ufffe',
          '\uffff',
        ),
        fc.constantFrom('\ud800', '\udfff', '\u{1f600}', '\u{10ffff}', 'a', ' ', '日本'),
        fc.string({ unit: 'binary', maxLength: 3 }),
      ),
      { maxLength: 100 },
    )
    .map((parts) => parts.join('')),
  fc.array(fc.nat(0xffff), { maxLength: 100 }).map((units) => String.fromCharCode(...units)),
)

/** Character by character what a reader of XML sees of a text. */
function readable(text: string): string {
  return Array.from(text, (character) => {
    const code = character.codePointAt(0)!
    const control = (code < 0x20 || (code >= 0x7f && code < 0xa0)) && !'\t\n\r'.includes(character)
    return control || (code >= 0xd800 && code < 0xe000) || code === 0xfffe || code === 0xffff ? '\ufffd' : character
  }).join('')
}

/** The same, as one line of at most so many characters. */
function readableLine(text: string, max: number): string {
  const characters = Array.from(text)
  const cut = characters.length > max ? [...characters.slice(0, max - 1), '…'] : characters
  return readable(cut.map((character) => ('\t\n\v\f\r\x85\u2028\u2029'.includes(character) ? ' ' : character)).join(''))
}

const bases = [
  '0.0.0.0',
  '10.0.0.250',
  '255.255.255.156',
  '::',
  '::ffff:ffc0',
  'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff9c',
]
const SIZE = 100
const small = fc.constantFrom(...bases.map((base) => Address.parse(base))).chain((base) => {
  const some = rangeSetIn(base, SIZE)
  const end = fc.nat(SIZE - 1)
  const range = fc.tuple(end, end).map(([a, b]) => {
    return Range.of(Address.add(base, BigInt(Math.min(a, b))), Address.add(base, BigInt(Math.max(a, b))))
  })
  const labels = fc.array(fc.record({ range, text: fc.constantFrom('a', 'b', 'c', 'd', '') }), { maxLength: 5 })
  return fc.record({ base: fc.constant(base), addresses: some, kept: some, inUse: some, labels }).map((pool) => ({
    ...pool,
    available: RangeSet.subtract(pool.addresses, pool.kept),
  }))
})

const columns = fc.constantFrom(8, 16, 32, 64, 128, 256)
const maxRows = fc.integer({ min: 1, max: 20 })

describe('svgMap', () => {
  test('draws what asciiMap draws', () => {
    const check = (pool: Parameters<typeof svgMap>[0], columns: number, maxRows: number) => {
      const { grids } = readMap(svgMap(pool, { columns, maxRows }), columns)
      const lines = asciiMap(pool, { columns, maxRows }).filter((line) => !/^(?:each| )/.test(line))
      expect(grids.flatMap(asAscii)).toEqual(lines)
    }
    fc.assert(fc.property(small, columns, maxRows, check))
  })

  test('says of every address what is true of it', () => {
    const check = ({ base, labels, ...pool }: { base: Address; labels: MapLabel[] } & Parameters<typeof svgMap>[0]) => {
      const said = new Map<string, string[]>()
      for (const { tooltip } of readMap(svgMap(pool, { labels })).grids.flatMap(({ runs }) => runs)) {
        const [, state, first, last] = /^(.*): (\S+)(?: to (\S+))?$/.exec(tooltip[0]!)!
        let at: Address | undefined = Address.parse(first!)
        for (; at && Address.compare(at, Address.parse(last ?? first!)) <= 0; at = Address.next(at)) {
          expect(said.has(Address.format(at))).toBe(false)
          said.set(Address.format(at), [state!, ...tooltip.slice(1).sort()])
        }
      }
      const expected = new Map<string, string[]>()
      for (let offset = 0; offset < SIZE; offset++) {
        const address = Address.add(base, BigInt(offset))
        const [known, free, used] = [pool.addresses, pool.available, pool.inUse].map((set) =>
          RangeSet.contains(set, address),
        )
        if (!known && !used) continue
        const state = used ? (free ? 'in use' : 'in use, out of range') : free ? 'free' : 'kept back'
        const texts = labels.filter(({ range, text }) => text !== '' && Range.contains(range, address))
        expected.set(Address.format(address), [state, ...new Set(texts.map(({ text }) => text).sort())])
      }
      expect(new Map([...said].sort())).toEqual(new Map([...expected].sort()))
    }
    fc.assert(fc.property(small, check))
  })

  test('says of a cell of several addresses what is said of any of them', () => {
    const check = ({ labels, ...pool }: { labels: MapLabel[] } & Parameters<typeof svgMap>[0], maxRows: number) => {
      const { grids } = readMap(svgMap(pool, { labels, columns: 8, maxRows }), 8)
      for (const { tooltip, length } of grids.flatMap(({ runs }) => runs)) {
        const [, first, last] = /: (\S+)(?: to (\S+))?$/.exec(tooltip[0]!)!
        const start = Address.parse(first!)
        const perCell = (Address.distance(start, Address.parse(last ?? first!)) + 1n) / BigInt(length)
        for (let cell = 0n; cell < length; cell++) {
          const from = Address.add(start, cell * perCell)
          const to = Address.add(from, perCell - 1n)
          const touching = labels.filter(({ range, text }) => {
            return text !== '' && Address.compare(range.first, to) <= 0 && Address.compare(range.last, from) >= 0
          })
          expect(tooltip.slice(1).sort()).toEqual([...new Set(touching.map(({ text }) => text))].sort())
        }
      }
    }
    fc.assert(fc.property(small, fc.integer({ min: 1, max: 5 }), check))
  })

  test('is well-formed with any texts, says them, and lets none of them out', () => {
    const range = Range.parse('10.0.0.0-10.0.0.15')
    const addresses = RangeSet.fromRanges([range])
    const check = (title: string, text: string) => {
      const svg = svgMap({ addresses, available: addresses, inUse: addresses }, { title, labels: [{ range, text }] })
      const read = readMap(svg)
      expect(read.title).toBe(readableLine(title, 80).trim() || 'Address map')
      expect(read.root.attributes['aria-label']).toBe(read.title)
      const line = readableLine(text, 64)
      expect(read.grids[0]!.runs[0]!.tooltip.slice(1)).toEqual(line === '' ? [] : [line])
      for (const shown of read.shown) expect(line.startsWith(shown.replace(/…$/, ''))).toBe(true)
      expect(svg).not.toMatch(/<(script|iframe|foreignObject|a|image|use|set|animate|!|\?)/i)
      const plain = readMap(svgMap({ addresses, available: addresses, inUse: addresses }))
      expect(shape(read.root).filter((name) => name !== 'label')).toEqual(shape(plain.root))
    }
    fc.assert(fc.property(hostile, hostile, check), { numRuns: runs(3) })
  })
})

describe('escapeXml', () => {
  test('comes out of a parser as it went in', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const root = parseXml(`<a b="${escapeXml(text)}">${escapeXml(text)}</a>`)
        expect([textOf(root), root.attributes.b]).toEqual([readable(text), readable(text)])
        expect(root.children.every((child) => typeof child === 'string')).toBe(true)
      }),
      { numRuns: runs(10) },
    )
  })
})

/** The names of all elements; the group of labels in the map as one. */
function shape({ name, attributes, children }: ReturnType<typeof parseXml>): string[] {
  if (name === 'g' && attributes.class === 'mono') return ['label']
  return [name, ...children.flatMap((child) => (typeof child === 'string' ? [] : shape(child)))]
}
