import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { asciiMap, svgMap } from 'ipam-kit/render'
import { describe, expect, test } from 'vitest'
import type { MapLabel } from '../../src/render/grid.js'
import type { SvgMapOptions } from '../../src/render/svg-map.js'
import { all, parseXml, textOf } from './strict-xml.js'
import { asAscii, readMap } from './svg-reader.js'

function poolMap(addresses: string[], kept: string[] = [], inUse: string[] = []) {
  const all = RangeSet.parse(addresses)
  return {
    addresses: all,
    available: RangeSet.subtract(all, RangeSet.parse(kept)),
    inUse: RangeSet.parse(inUse),
  }
}

function label(range: string, text: string): MapLabel {
  return { range: range.includes('/') ? Range.fromPrefix(Prefix.parse(range)) : Range.parse(range), text }
}

const lab = poolMap(['10.0.0.0/27'], ['10.0.0.0/30', '10.0.0.31'], ['10.0.0.1', '10.0.0.8-10.0.0.13', '10.0.0.40'])

describe('svgMap', () => {
  test('shows runs of equal cells, each with a tooltip', () => {
    const { grids } = readMap(svgMap(lab, { columns: 16 }), 16)
    expect(grids).toHaveLength(1)
    expect(grids[0]!.rows).toEqual(['10.0.0.0', '10.0.0.16', '10.0.0.32'])
    expect(grids[0]!.runs.map(({ tooltip }) => tooltip)).toEqual([
      ['in use: 10.0.0.8 to 10.0.0.13'],
      ['free: 10.0.0.4 to 10.0.0.7'],
      ['free: 10.0.0.14 to 10.0.0.15'],
      ['free: 10.0.0.16 to 10.0.0.30'],
      ['kept back: 10.0.0.0'],
      ['kept back: 10.0.0.2 to 10.0.0.3'],
      ['kept back: 10.0.0.31'],
      ['in use, out of range: 10.0.0.1'],
      ['in use, out of range: 10.0.0.40'],
    ])
    expect(asAscii(grids[0]!)).toEqual(asciiMap(lab, { columns: 16 }).slice(1))
  })

  test('has a name and a description for screen readers', () => {
    const svg = svgMap(lab, { title: 'prod/web' })
    const { root, title, description, legend } = readMap(svg)
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" /)
    expect(root.attributes).toMatchObject({ role: 'img', 'aria-label': 'prod/web' })
    expect(root.children.filter((child) => typeof child !== 'string').slice(0, 2)).toMatchObject([
      { name: 'title' },
      { name: 'desc' },
    ])
    expect(title).toBe('prod/web')
    expect(description).toBe('IPv4: 33 addresses, 6 in use, 21 free, 4 kept back, 2 in use out of range.')
    expect(legend).toEqual(['in use', 'free', 'kept back', 'in use, out of range'])
    expect(all(root, 'text').map(textOf)).toContain('prod/web')
  })

  test('has a name of its own without a title', () => {
    for (const title of [undefined, '', ' \n ']) expect(readMap(svgMap(lab, { title })).title).toBe('Address map')
  })

  test('says how full a cell of several addresses is, and counts large numbers', () => {
    const map = poolMap(['10.0.0.0/16', 'fd00::/64'], [], ['10.0.0.0-10.0.0.70', 'fd00::1'])
    const { grids, legend, description } = readMap(svgMap(map, { columns: 8, maxRows: 2 }), 8)
    expect(grids.map(({ summary }) => summary)).toEqual([
      'IPv4: 65536 addresses, 71 in use, 65465 free, 4096 in each cell',
      'IPv6: 2^64 addresses, 1 in use, about 1.84e19 free, 2^60 in each cell',
    ])
    expect(description).toContain('18446744073709551616 addresses, 1 in use, 18446744073709551615 free.')
    expect(legend.filter((words) => words.includes('/'))).toEqual([
      'up to 1/4 in use',
      'up to 1/2',
      'up to 3/4',
      'more than 3/4',
    ])
    expect(grids[0]!.runs[0]!.tooltip).toEqual(['up to 1/4 in use, 71 of 4096: 10.0.0.0 to 10.0.15.255'])
    expect(grids[1]!.runs[0]!.tooltip).toEqual([
      'up to 1/4 in use, 1 of 1152921504606846976: fd00:: to fd00::fff:ffff:ffff:ffff',
    ])
  })

  test('a /8 with 20,000 addresses in use and one with 20,000 free look different', () => {
    const size = 1n << 24n
    const spread = Array.from({ length: 20_000 }, (_, nth) => {
      return Address.add(Address.parse('10.0.0.0'), (BigInt(nth) * size) / 20_000n)
    })
    const some = RangeSet.fromAddresses(spread)
    const addresses = RangeSet.parse(['10.0.0.0/8'])
    const shown = (inUse: RangeSet) =>
      new Set(
        asciiMap({ addresses, available: addresses, inUse })
          .slice(2)
          .flatMap((line) => [...line.replace(/^\S+ +/, '')]),
      )
    expect(shown(some)).toEqual(new Set([':']))
    expect(shown(RangeSet.subtract(addresses, some))).toEqual(new Set(['%']))
  })

  test('marks where rows are left out', () => {
    const near = svgMap(poolMap(['10.0.0.0/25']))
    const far = svgMap(poolMap(['10.0.0.0/26', '10.0.9.0/26']))
    expect(near).not.toContain('class="gaps"')
    expect(far).toContain('class="gaps"')
    expect(all(parseXml(far), 'svg')[0]!.attributes.height).not.toBe(all(parseXml(near), 'svg')[0]!.attributes.height)
  })

  test('reaches to both ends of the space', () => {
    for (const addresses of [
      ['::/0'],
      ['0.0.0.0/0'],
      ['255.255.255.254/31'],
      ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127'],
    ]) {
      for (const columns of [8, 64, 256]) {
        const map = poolMap(addresses)
        const { grids } = readMap(svgMap(map, { columns, maxRows: 3 }), columns)
        const lines = asciiMap(map, { columns, maxRows: 3 })
        expect(asAscii(grids[0]!)).toEqual(lines.slice(-grids[0]!.rows.length))
      }
    }
  })

  test('is a picture without a grid for an empty pool', () => {
    const { grids, description, title } = readMap(svgMap(poolMap([]), { title: 'nothing' }))
    expect([grids, description, title]).toEqual([[], 'No addresses.', 'nothing'])
  })

  test('gives equal text for equal input', () => {
    const options: SvgMapOptions = { title: 'x', labels: [label('10.0.0.8/29', 'a')] }
    expect(svgMap(lab, options)).toBe(svgMap(lab, { ...options }))
  })

  test('uses whole numbers for every place and size', () => {
    for (const columns of [8, 16, 32, 64, 128, 256]) {
      const root = parseXml(svgMap(lab, { columns, labels: [label('10.0.0.8/29', 'node-a')] }))
      const sizes = ['rect', 'text', 'svg']
        .flatMap((name) => all(root, name))
        .flatMap(({ attributes }) => {
          return [attributes.x, attributes.y, attributes.width, attributes.height].filter(
            (value) => value !== undefined,
          )
        })
      expect(sizes.length).toBeGreaterThan(20)
      for (const size of sizes) expect(size).toMatch(/^(\d+|100%)$/)
    }
  })

  test('defines every pattern that it uses', () => {
    const svg = svgMap(poolMap(['10.0.0.0/16'], ['10.0.9.0'], ['10.0.0.1', '10.1.0.0']))
    const used = [...svg.matchAll(/url\(#([^)]*)\)/g)].map(([, id]) => id)
    const defined = all(parseXml(svg), 'pattern').map(({ attributes }) => attributes.id)
    expect(new Set(used)).toEqual(new Set(defined))
  })

  test('stays small', () => {
    expect(svgMap(poolMap(['10.0.0.0/16'])).length).toBeLessThan(8_000)
    const everySecond = Array.from({ length: 512 }, (_, i) => `10.0.${i >> 7}.${(2 * i) & 255}`)
    const svg = svgMap(poolMap(['10.0.0.0/22'], [], everySecond))
    expect(readMap(svg).grids[0]!.runs).toHaveLength(1024)
    expect(svg.length).toBeLessThan(1024 * 130)
  })

  test.each([{ columns: 7 }, { columns: 512 }, { maxRows: 0 }, { maxRows: 1.5 }])('refuses %j', (options) => {
    expect(() => svgMap(lab, options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

describe('labels', () => {
  const tooltips = (labels: readonly MapLabel[], map = poolMap(['10.0.0.0/27'])) => {
    return readMap(svgMap(map, { columns: 16, labels }), 16).grids[0]!.runs.map(({ tooltip }) => tooltip)
  }

  test('part a run, and stand in the tooltips of the cells that they touch', () => {
    expect(tooltips([label('10.0.0.4-10.0.0.7', 'a'), label('10.0.0.6-10.0.0.17', 'b')])).toEqual([
      ['free: 10.0.0.0 to 10.0.0.3'],
      ['free: 10.0.0.4 to 10.0.0.5', 'a'],
      ['free: 10.0.0.6 to 10.0.0.7', 'a', 'b'],
      ['free: 10.0.0.8 to 10.0.0.15', 'b'],
      ['free: 10.0.0.16 to 10.0.0.17', 'b'],
      ['free: 10.0.0.18 to 10.0.0.31'],
    ])
  })

  test('of one text count as one', () => {
    expect(tooltips([label('10.0.0.0/29', 'a'), label('10.0.0.8/29', 'a'), label('10.0.0.0/28', 'a')])).toEqual([
      ['free: 10.0.0.0 to 10.0.0.15', 'a'],
      ['free: 10.0.0.16 to 10.0.0.31'],
    ])
  })

  test('beyond the pool, of the other family or without a text change nothing', () => {
    const beyond = ['10.0.1.0/24', '9.255.255.0/24', '::/0', '::a00:0/96'].map((range) => label(range, 'x'))
    expect(tooltips([...beyond, label('10.0.0.0/27', '')])).toEqual(tooltips([]))
  })

  test('that end in a row that is left out do not touch the one after it', () => {
    expect(tooltips([label('10.0.0.0-10.0.0.16', 'a')], poolMap(['10.0.0.0/28', '10.0.1.0/28']))).toEqual([
      ['free: 10.0.0.0 to 10.0.0.15', 'a'],
      ['free: 10.0.1.0 to 10.0.1.15'],
    ])
  })

  test('over the whole address space touch every cell, and draw none', () => {
    expect(tooltips([label('0.0.0.0/0', 'all')], poolMap(['10.0.0.1', '10.9.0.0']))).toEqual([
      ['free: 10.0.0.1', 'all'],
      ['free: 10.9.0.0', 'all'],
    ])
  })

  test('are counted where there are too many for a tooltip', () => {
    const labels = Array.from({ length: 12 }, (_, i) => label('10.0.0.0/28', `pod-${i}`))
    expect(tooltips(labels)[0]).toEqual([
      'free: 10.0.0.0 to 10.0.0.15',
      ...labels.slice(0, 8).map(({ text }) => text),
      'and 4 more',
    ])
  })

  test('stand in the map where there is room', () => {
    const labels = [
      label('10.0.0.0/29', 'node-a.example.internal'),
      label('10.0.0.8/30', 'node-b'),
      label('10.0.0.12/31', 'c'),
      label('10.0.0.14-10.0.0.14', 'node-d'),
    ]
    expect(readMap(svgMap(poolMap(['10.0.0.0/28']), { columns: 32, labels }), 32).shown).toEqual([
      'node-a.example.internal',
      'node-b',
      'c',
    ])
    expect(readMap(svgMap(poolMap(['10.0.0.0/28']), { columns: 64, labels })).shown).toEqual(['node-a.exam…', 'node…'])
  })

  test('stand only in the tooltip where there are several', () => {
    const labels = [label('10.0.0.0/28', 'a'), label('10.0.0.0/28', 'b')]
    expect(readMap(svgMap(poolMap(['10.0.0.0/28']), { labels })).shown).toEqual([])
  })

  test('are cut by code point, of whatever length', () => {
    const [, [, text] = []] = tooltips([label('10.0.0.16/28', '\u{1f600}'.repeat(1_000_000))])
    expect(text).toBe(`${'\u{1f600}'.repeat(63)}…`)
  })

  test('cannot break out, forge a line, or hide what is said of the addresses', () => {
    const text = '"><script>alert(1)</script>\n10.0.0.9: free]]>'
    const svg = svgMap(poolMap(['10.0.0.0/28']), { title: text, columns: 32, labels: [label('10.0.0.0/28', text)] })
    expect(svg.toLowerCase()).not.toContain('<script')
    const { title, grids, root } = readMap(svg, 32)
    const shown = '"><script>alert(1)</script> 10.0.0.9: free]]>'
    expect(title).toBe(shown)
    expect(root.attributes['aria-label']).toBe(shown)
    expect(grids[0]!.runs[0]!.tooltip).toEqual(['free: 10.0.0.0 to 10.0.0.15', shown])
  })

  test('of 65,536 addresses make 1,024 cells', () => {
    const addresses = Array.from({ length: 65_536 }, (_, i) => `10.0.${i >> 8}.${i & 255}`)
    const labels = addresses.map((address, i) => label(`${address}-${address}`, `pod-${i}`))
    const svg = svgMap(poolMap(['10.0.0.0/16'], [], addresses), { labels })
    expect(readMap(svg).grids[0]!.runs).toHaveLength(1024)
  })
})
