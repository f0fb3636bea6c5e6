import { Address, Prefix, PrefixMap } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const p = Prefix.parse
const a = Address.parse
const mapOf = (...texts: string[]) => new PrefixMap(texts.map((text) => [p(text), text] as const))
const texts = (entries: Iterable<{ readonly prefix: Prefix }>) =>
  Array.from(entries, ({ prefix }) => Prefix.format(prefix))

describe('the longest match', () => {
  test.each<[about: string, keys: string[], member: string, match: string | undefined]>([
    ['of nothing', [], '10.0.0.1', undefined],
    ['the only one', ['10.0.0.0/8'], '10.0.0.1', '10.0.0.0/8'],
    ['a default', ['0.0.0.0/0'], '255.255.255.255', '0.0.0.0/0'],
    ['a default under which something else is', ['0.0.0.0/0', '10.0.0.0/8'], '11.0.0.0', '0.0.0.0/0'],
    ['an IPv6 default', ['::/0'], 'ffff::', '::/0'],
    ['a host route', ['10.0.0.0/8', '10.0.0.1/32'], '10.0.0.1', '10.0.0.1/32'],
    ['beside a host route', ['10.0.0.0/8', '10.0.0.1/32'], '10.0.0.0', '10.0.0.0/8'],
    ['the last address', ['255.255.255.255/32', '255.255.255.254/31'], '255.255.255.255', '255.255.255.255/32'],
    ['an IPv6 host route', ['fd00::/8', 'fd00::1/128'], 'fd00::1', 'fd00::1/128'],
    ['beside an IPv6 host route', ['fd00::/8', 'fd00::1/128'], 'fd00::2', 'fd00::/8'],
    ['around two that are closer', ['10.0.0.0/8', '10.1.0.0/16', '10.2.0.0/16'], '10.3.0.0', '10.0.0.0/8'],
    ['of a prefix: itself', ['10.0.0.0/8', '10.1.0.0/16'], '10.1.0.0/16', '10.1.0.0/16'],
    ['of a prefix: not one inside it', ['10.1.0.0/16', '10.1.0.0/24'], '10.1.0.0/17', '10.1.0.0/16'],
    ['of a prefix that sticks out', ['10.1.0.0/16'], '10.0.0.0/15', undefined],
    ['IPv4 is not in IPv6', ['::/0', '::ffff:0:0/96'], '10.0.0.1', undefined],
    ['a mapped address is IPv6', ['10.0.0.0/8', '::ffff:0:0/96'], '::ffff:10.0.0.1', '::ffff:0.0.0.0/96'],
  ])('%s', (_, keys, text, expected) => {
    const map = mapOf(...keys)
    const member = text.includes('/') ? p(text) : a(text)
    const match = map.longestMatch(member)
    expect(match && Prefix.format(match.prefix)).toBe(expected)
    if ('family' in member) expect(map.lookup(member)).toBe(match?.value)
    expect(texts(map.covering(member)).at(-1)).toBe(expected)
  })
})

describe('as a Map', () => {
  test('host bits of a key do not count, and are cleared in what comes back', () => {
    const map = new PrefixMap([[p('10.0.0.77/24'), 1]])
    expect(map.set(p('10.0.0.99/24'), 2).size).toBe(1)
    expect([...map]).toEqual([[p('10.0.0.0/24'), 2]])
    expect(map.get(p('10.0.0.5/24'))).toBe(2)
    expect(map.longestMatch(a('10.0.0.1'))).toEqual({ prefix: p('10.0.0.0/24'), value: 2 })
    expect(map.delete(p('10.0.0.200/24'))).toBe(true)
    expect(map.size).toBe(0)
  })

  test('undefined is a value', () => {
    const map = new PrefixMap<undefined>().set(p('10.0.0.0/8'), undefined)
    expect(map.has(p('10.0.0.0/8'))).toBe(true)
    expect(map.has(p('10.0.0.0/9'))).toBe(false)
    expect(map.longestMatch(a('10.0.0.1'))).toEqual({ prefix: p('10.0.0.0/8'), value: undefined })
    expect(map.size).toBe(1)
  })

  test('what is inside a deleted prefix stays', () => {
    const map = mapOf('10.0.0.0/8', '10.1.0.0/16', '10.1.1.0/24')
    expect(map.delete(p('10.1.0.0/16'))).toBe(true)
    expect(map.delete(p('10.1.0.0/16'))).toBe(false)
    expect(texts(map.covering(a('10.1.1.1')))).toEqual(['10.0.0.0/8', '10.1.1.0/24'])
  })

  test('a copy is of its own', () => {
    const map = mapOf('10.0.0.0/8', 'fd00::/8')
    const copy = new PrefixMap(map)
    copy.delete(p('10.0.0.0/8'))
    expect([map.size, copy.size]).toEqual([2, 1])
  })

  test('after clear it is as new', () => {
    const map = new PrefixMap<number>()
    for (let i = 0; i < 1000; i++) map.set(Prefix.of({ family: 4, value: i * 7 }, 32), i)
    map.clear()
    expect([map.size, [...map], map.lookup({ family: 4, value: 7 })]).toEqual([0, [], undefined])
    expect([...map.set(p('fd00::/8'), 1).values()]).toEqual([1])
  })
})

describe('in order', () => {
  const ordered = ['0.0.0.0/0', '9.0.0.0/8', '10.0.0.0/8', '10.0.0.0/9', '10.0.0.0/32', '10.128.0.0/9']
  const ordered6 = ['::/0', '::/128', 'fd00::/8', 'fd00::/64', 'fd00::/128', 'fd00:0:0:1::/64', 'ff00::/8']

  test('all IPv4, then all IPv6, shorter before longer', () => {
    const map = mapOf(...[...ordered6, ...ordered].reverse())
    expect([...map.values()]).toEqual([...ordered, ...ordered6])
    expect(Array.from(map.keys(), Prefix.format)).toEqual([...ordered, ...ordered6])
    expect(Array.from(map, ([prefix]) => Prefix.format(prefix))).toEqual([...ordered, ...ordered6])
  })

  test.each([0, -1, 1.5, Number.NaN])('coveredBy with %d entries at most is a mistake of the caller', (limit) => {
    expect(() => new PrefixMap().coveredBy(p('10.0.0.0/8'), { limit })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  test('coveredBy has the prefix itself, and nothing beside it', () => {
    const map = mapOf(...ordered, ...ordered6)
    expect(texts(map.coveredBy(p('10.0.0.0/8')))).toEqual(ordered.slice(2))
    expect(texts(map.coveredBy(p('0.0.0.0/0')))).toEqual(ordered)
    expect(texts(map.coveredBy(p('8.0.0.0/6')))).toEqual(ordered.slice(1))
    expect(texts(map.coveredBy(p('10.0.0.0/16')))).toEqual(['10.0.0.0/32'])
    expect(texts(map.coveredBy(p('11.0.0.0/8')))).toEqual([])
    expect(texts(map.coveredBy(p('fd00::/63')))).toEqual(ordered6.slice(3, 6))
    expect(texts(new PrefixMap().coveredBy(p('::/0')))).toEqual([])
  })
})

describe('an iteration while the map changes', () => {
  test('deleting what it is at leaves no other one out', () => {
    const map = mapOf('10.0.0.0/8', '10.0.0.0/16', '10.1.0.0/16', 'fd00::/8')
    const seen: string[] = []
    for (const [prefix, value] of map) {
      seen.push(value)
      map.delete(prefix)
    }
    expect(seen).toEqual(['10.0.0.0/8', '10.0.0.0/16', '10.1.0.0/16', 'fd00::/8'])
    expect(map.size).toBe(0)
  })

  test('deleting what it is at brings nothing again', () => {
    const map = mapOf('10.0.0.0/16', '10.1.0.0/16', '10.2.0.0/16')
    const seen: string[] = []
    for (const value of map.values()) {
      seen.push(value)
      if (value === '10.1.0.0/16') map.delete(p(value))
    }
    expect(seen).toEqual(['10.0.0.0/16', '10.1.0.0/16', '10.2.0.0/16'])
  })

  test('what is set ahead comes, what is set behind does not, what is deleted ahead does not', () => {
    const map = mapOf('10.0.0.0/8', '10.2.0.0/16', '12.0.0.0/8')
    const seen: string[] = []
    for (const value of map.values()) {
      seen.push(value)
      if (value !== '10.0.0.0/8') continue
      for (const text of ['9.0.0.0/8', '10.0.0.0/7', '10.0.0.0/9', '::/0']) map.set(p(text), text)
      map.set(p('12.0.0.0/8'), 'new')
      map.delete(p('10.2.0.0/16'))
    }
    expect(seen).toEqual(['10.0.0.0/8', '10.0.0.0/9', 'new', '::/0'])
  })

  test('clear ends it', () => {
    const map = mapOf('10.0.0.0/8', '10.2.0.0/16', 'fd00::/8')
    const seen: string[] = []
    for (const value of map.values()) {
      seen.push(value)
      map.clear()
    }
    expect(seen).toEqual(['10.0.0.0/8'])
  })

  test('other questions between its steps do not disturb it', () => {
    const map = mapOf('10.0.0.0/8', '10.2.0.0/16', '10.3.0.0/16')
    const seen: string[] = []
    for (const value of map.values()) {
      seen.push(value)
      map.set(p('1.0.0.0/8'), '1.0.0.0/8').get(p('255.0.0.0/8'))
      expect([...map.keys()].length).toBe(4)
    }
    expect(seen).toEqual(['10.0.0.0/8', '10.2.0.0/16', '10.3.0.0/16'])
  })
})

describe('a large map', () => {
  // as many of each length as of any other; a step that is prime to 2^32 leads through all numbers
  const number = (i: number, step: number) => Math.imul(i + 1, step) >>> 0
  const key4 = (i: number) => Prefix.of({ family: 4, value: number(i, 0x9e3779b1) }, 8 + (i % 25))
  const key6 = (i: number) =>
    Prefix.of({ family: 6, w0: 0x20010db8, w1: number(i, 0x9e3779b1), w2: number(i, 0x85ebca6b), w3: i }, 40 + (i % 89))

  test.each([
    ['IPv4', key4],
    ['IPv6', key6],
  ])('%s', (_, key) => {
    const COUNT = 6000
    const map = new PrefixMap<number>()
    const model = new Map<string, number>()
    const name = (prefix: Prefix) => Prefix.format(Prefix.masked(prefix))
    const expectSame = (stride: number) => {
      expect(map.size).toBe(model.size)
      for (let i = 0; i < COUNT; i += stride) {
        const { address } = key(i)
        let value: number | undefined
        for (let length = Address.bitsOf(address.family); length >= 0 && value === undefined; length--) {
          value = model.get(name({ address, length }))
        }
        expect(map.lookup(address)).toBe(value)
        expect(map.get(key(i))).toBe(model.get(name(key(i))))
      }
    }
    for (let i = 0; i < COUNT; i++) {
      map.set(key(i), i)
      model.set(name(key(i)), i)
    }
    expectSame(17)
    for (let i = 0; i < COUNT; i++) if (i % 16 !== 0) expect(map.delete(key(i))).toBe(model.delete(name(key(i))))
    expectSame(13)
    for (let i = 0; i < COUNT; i += 3) {
      map.set(key(i), -i)
      model.set(name(key(i)), -i)
    }
    expectSame(17)
  })
})

describe('what is no prefix or address is refused', () => {
  const four = (value: unknown) => ({ family: 4, value }) as Address
  const six = (w0: unknown, w1: unknown, w2: unknown, w3: unknown) => ({ family: 6, w0, w1, w2, w3 }) as Address
  const addresses: [about: string, address: unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['a text', '10.0.0.1'],
    ['no family', {}],
    ['another family', { family: 5, value: 0 }],
    ['a value below 0', four(-1)],
    ['a value above 2^32 - 1', four(2 ** 32)],
    ['a value that is not whole', four(0.5)],
    ['NaN', four(Number.NaN)],
    ['no value', four(undefined)],
    ['a value as a text', four('1')],
    ['a value as a bigint', four(1n)],
    ['w0', six(-1, 0, 0, 0)],
    ['w1', six(0, 2 ** 32, 0, 0)],
    ['w2', six(0, 0, 1.5, 0)],
    ['w3', six(0, 0, 0, undefined)],
  ]

  test.each(addresses)('address: %s', (_, given) => {
    const map = mapOf('0.0.0.0/0', '::/0')
    const address = given as Address
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    const prefix: Prefix = { address, length: 8 }
    expect(() => map.lookup(address)).toThrow(refusal)
    expect(() => map.longestMatch(address)).toThrow(refusal)
    expect(() => map.covering(address)).toThrow(refusal)
    expect(() => map.longestMatch(prefix)).toThrow(refusal)
    expect(() => map.set(prefix, '')).toThrow(refusal)
    expect(() => map.get(prefix)).toThrow(refusal)
    expect(() => map.delete(prefix)).toThrow(refusal)
    expect([...map.values()]).toEqual(['0.0.0.0/0', '::/0'])
  })

  test.each([33, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, undefined, '8', 129])('length: %s', (given) => {
    const map = mapOf('0.0.0.0/0')
    const length = given as number
    const code = typeof given === 'number' ? 'INVALID_PREFIX_LENGTH' : 'INVALID_ARGUMENT'
    const refusal = expect.objectContaining({ code })
    const prefixes: Prefix[] = [{ address: a('10.0.0.1'), length }]
    if (given !== 33) prefixes.push({ address: a('fd00::1'), length })
    for (const prefix of prefixes) {
      expect(() => map.set(prefix, '')).toThrow(refusal)
      expect(() => map.get(prefix)).toThrow(refusal)
      expect(() => map.has(prefix)).toThrow(refusal)
      expect(() => map.delete(prefix)).toThrow(refusal)
      expect(() => map.longestMatch(prefix)).toThrow(refusal)
      expect(() => map.covering(prefix)).toThrow(refusal)
      expect(() => map.coveredBy(prefix)).toThrow(refusal)
    }
    expect(map.size).toBe(1)
  })

  test.each([undefined, null, '10.0.0.0/8', {}, a('10.0.0.0')])('prefix: %s', (given) => {
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => new PrefixMap().set(given as Prefix, 1)).toThrow(refusal)
    expect(() => new PrefixMap().coveredBy(given as Prefix)).toThrow(refusal)
  })

  test.each([undefined, null, '10.0.0.0/8', 5])('member: %s', (given) => {
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => mapOf('0.0.0.0/0').longestMatch(given as unknown as Prefix)).toThrow(refusal)
    expect(() => mapOf('0.0.0.0/0').covering(given as unknown as Prefix)).toThrow(refusal)
  })

  test.each([null, 5, {}])('entries: %j', (given) => {
    expect(() => new PrefixMap(given as unknown as [])).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument: 'entries' }) }),
    )
  })

  test.each([null, undefined, 5])('an entry: %j', (given) => {
    expect(() => new PrefixMap([given as unknown as [Prefix, number]])).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  test('the length is read once: a second answer cannot get into the map', () => {
    const answers = (...lengths: number[]): Prefix => ({
      address: a('10.0.0.0'),
      get length() {
        return lengths.shift() ?? 200
      },
    })
    const map = new PrefixMap<string>().set(answers(8), 'eight')
    expect([...map]).toEqual([[p('10.0.0.0/8'), 'eight']])
    expect(map.get(answers(8))).toBe('eight')
    expect(map.has(answers(8))).toBe(true)
    expect(map.longestMatch(answers(9))?.value).toBe('eight')
    expect(map.covering(answers(9))).toHaveLength(1)
    expect(map.coveredBy(answers(8))).toHaveLength(1)
    expect(map.delete(answers(8))).toBe(true)
    expect(map.size).toBe(0)
  })

  test('the family is read once: a length of IPv6 cannot get into IPv4', () => {
    const families = [6, 4]
    const address = {
      get family() {
        return families.shift() ?? 4
      },
      value: 0x0a000000,
      w0: 0x0a000000,
      w1: 0,
      w2: 0,
      w3: 0,
    } as unknown as Address
    const map = new PrefixMap<number>().set({ address, length: 100 }, 1)
    expect([...map.keys()].map(Prefix.format)).toEqual(['a00::/100'])
  })

  test('the message says what is wrong', () => {
    expect(() => new PrefixMap().get([1, 2] as unknown as Prefix)).toThrow('got "array"')
    expect(() => new PrefixMap().get({ prefix: '10.0.0.0/8' } as unknown as Prefix)).toThrow('got "object"')
    expect(() => new PrefixMap().lookup(six('0', 0, 0.5, 1))).toThrow('got "family 6, w0 string, w1 0, w2 0.5, w3 1"')
    expect(() => new PrefixMap().lookup(four(-1))).toThrow(
      'argument address: expected a family and words that are whole numbers from 0 to 2^32 - 1, got "family 4, value -1"',
    )
  })

  test('what is given may be large', () => {
    const many = new Array(3e6).fill(0)
    const named = Object.fromEntries(many.slice(0, 200_000).map((zero, i) => [`n${i}`, zero]))
    for (const given of [many, named]) {
      const asked = () => new PrefixMap().get(given as unknown as Prefix)
      expect(asked).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    }
  })
})
