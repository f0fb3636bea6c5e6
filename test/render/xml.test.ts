import { describe, expect, test } from 'vitest'
import { cutTo, escapeXml, oneLine } from '../../src/render/xml.js'
import { all, parseXml, textOf } from './strict-xml.js'

describe('escapeXml', () => {
  test.each([
    ['"><script>alert(1)</script>', '&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;'],
    ["a & b's <c>", 'a &amp; b&#39;s &lt;c&gt;'],
    ['&lt;', '&amp;lt;'],
    ['a\r\nb\tc', 'a&#13;&#10;b&#9;c'],
    [']]>', ']]&gt;'],
    ['\0\x08\x0b\x1f\x7f\x9f', '\ufffd'.repeat(6)],
    ['\ud800', '\ufffd'],
    ['a\udc00\ud800b', 'a\ufffd\ufffdb'],
    ['\u{1f600}', '\u{1f600}'],
    ['\ufffe\uffff\ufffd', '\ufffd'.repeat(3)],
    ['', ''],
  ])('%j', (text, escaped) => {
    expect(escapeXml(text)).toBe(escaped)
  })
})

describe('oneLine', () => {
  test.each([
    ['abcde', 5, 'abcde'],
    ['abcdef', 5, 'abcd…'],
    ['\u{1f600}'.repeat(5), 5, '\u{1f600}'.repeat(5)],
    ['\u{1f600}'.repeat(6), 5, `${'\u{1f600}'.repeat(4)}…`],
    ['a\nb\r\tc\u2028d', 20, 'a b  c d'],
    ['', 5, ''],
  ])('%j to %i', (text, max, line) => {
    expect(oneLine(text, max)).toBe(line)
  })
})

describe('cutTo', () => {
  test.each([
    ['abcde', 5, 'abcde', 5],
    ['abcdef', 5, 'abcd…', 5],
    ['日本', 4, '日本', 4],
    ['日本語', 4, '日…', 3],
    ['\u{1f600}\u{1f600}x', 4, '\u{1f600}…', 3],
    ['日', 1, '…', 1],
    ['', 4, '', 0],
  ])('%j to %i', (text, max, cut, width) => {
    expect(cutTo(text, max)).toEqual({ cut, width })
  })
})

describe('the reader of these tests', () => {
  test('reads elements, attributes, text and references', () => {
    const root = parseXml('<a b="1 &quot;&#10;2"><c/>x &lt; y<d>z</d></a>\n')
    expect(root.attributes).toEqual({ b: '1 "\n2' })
    expect(textOf(root)).toBe('x < y')
    expect(all(root, 'd').map(textOf)).toEqual(['z'])
  })

  test.each([
    '',
    'text',
    '<a>',
    '</a>',
    '<a></b>',
    '<a/><b/>',
    '<a b=1/>',
    "<a b='1'/>",
    '<a b="1" b="2"/>',
    '<a b="<"/>',
    '<a b="\n"/>',
    '<a b/>',
    '<a><</a>',
    '<a>&</a>',
    '<a>&nbsp;</a>',
    '<a>&#0;</a>',
    '<a>&#55296;</a>',
    '<a>\0</a>',
    '<a>\r</a>',
    '<a>\ufffe</a>',
    '<a>\ud800</a>',
    '<a>]]></a>',
    '<a><!-- --></a>',
    '<a><![CDATA[x]]></a>',
    '<?xml version="1.0"?><a/>',
    '<!DOCTYPE a><a/>',
  ])('refuses %j', (text) => {
    expect(() => parseXml(text)).toThrow()
  })
})
