import fc from 'fast-check'

/** Dotted decimal, the borders of an octet more often than chance has them. */
export function text4(): fc.Arbitrary<string> {
  return fc.array(octet(), { minLength: 4, maxLength: 4 }).map((octets) => octets.join('.'))
}

/**
 * IPv6 in every legal spelling: case, leading zeros, `::` over any run of zeros (of one group too),
 * an embedded IPv4.
 */
export function text6(): fc.Arbitrary<string> {
  return fc
    .record({
      groups: fc.array(group(), { minLength: 6, maxLength: 6 }),
      tail: fc.oneof(
        fc.tuple(group(), group()),
        text4().map((text) => [text]),
      ),
      elide: fc.option(fc.tuple(fc.nat(7), fc.integer({ min: 1, max: 8 })), { freq: 4 }),
    })
    .map(({ groups, tail, elide }) => {
      const fields = [...groups, ...tail]
      if (elide === null) return fields.join(':')
      const from = Math.min(elide[0], fields.length - tail.length)
      const to = Math.min(from + elide[1], tail.length === 1 ? 6 : 8)
      return `${fields.slice(0, from).join(':')}::${fields.slice(Math.max(to, from + 1)).join(':')}`
    })
}

/** An address text, most often a legal one. */
export function text(): fc.Arbitrary<string> {
  return fc.oneof(text4(), text6())
}

/** A CIDR, most often a legal one. */
export function cidr(): fc.Arbitrary<string> {
  return fc.tuple(text(), bits()).map(([address, length]) => `${address}/${length}`)
}

/**
 * `texts` after one to three edits of one character each: an insertion, a deletion or a
 * replacement.
 */
export function nearly(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const edit = fc.tuple(fc.constantFrom('insert', 'delete', 'replace'), fc.nat(), fragment())
  return fc.tuple(texts, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([start, edits]) =>
    edits.reduce((current, [kind, place, piece]) => {
      const at = place % (current.length + 1)
      return `${current.slice(0, at)}${kind === 'delete' ? '' : piece}${current.slice(kind === 'insert' ? at : at + 1)}`
    }, start),
  )
}

/** Anything at all, made of what addresses are made of and of what parsers trip over. */
export function hostile(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.array(fragment(), { maxLength: 24 }).map((pieces) => pieces.join('')),
    fc.string({ unit: 'binary', maxLength: 24 }),
    fc
      .array(fc.oneof(octet(), group()), { maxLength: 10 })
      .chain((fields) =>
        fc
          .array(fc.constantFrom('.', ':', '::'), { minLength: 10, maxLength: 10 })
          .map((separators) => fields.map((field, i) => field + separators[i]).join('')),
      ),
  )
}

function octet(): fc.Arbitrary<string> {
  return fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 9, 10, 99, 100, 199, 200, 249, 250, 255)).map(String)
}

function group(): fc.Arbitrary<string> {
  return fc
    .record({
      value: fc.oneof(fc.nat(0xffff), fc.constantFrom(0, 0, 0, 1, 0xf, 0x10, 0xff, 0x100, 0xfff, 0x1000, 0xffff)),
      width: fc.constantFrom(1, 1, 1, 2, 3, 4),
      upper: fc.boolean(),
    })
    .map(({ value, width, upper }) => {
      const text = value.toString(16).padStart(width, '0')
      return upper ? text.toUpperCase() : text
    })
}

function bits(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.nat(32).map(String) },
    { weight: 2, arbitrary: fc.nat(129).map(String) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '00',
        '08',
        '+8',
        '-8',
        ' 8',
        '8 ',
        '999',
        '1000',
        '1e1',
        '0x8',
        '8.0',
        '4294967304',
        '8/8',
      ),
    },
  )
}

function fragment(): fc.Arbitrary<string> {
  const digits = '0 1 2 5 6 9 00 255 256 a f F ffff g'.split(' ')
  const signs = '. . : : :: / % - + _ , x 0x e [ ] @ \\ # ?'.split(' ')
  const odd = [...' \t\n\r\0\x7f\u00a0\u00ad\u200b\u2028é１٣。：😀', '\ud83d']
  return fc.constantFrom(...digits, ...signs, ...odd)
}
