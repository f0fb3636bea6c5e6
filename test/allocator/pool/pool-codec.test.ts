import { AddressPool } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { bodyOf, seal } from '../../bytes/seal.js'

const at = (text: string) => Address.parse(text)
const ranges = (...texts: string[]) => RangeSet.parse(texts)

describe('bytes with one thing wrong say what it is', () => {
  // the last bytes of a pool with one hold: what is before the text of the uid, and the fields
  // behind it
  const encoded = () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/30') })
    pool.occupy(at('10.0.0.1'), { uid: 'a' })
    return [...bodyOf(AddressPool.encode(pool))]
  }
  const UID = -10
  const [INTERFACE, KEY, LOW] = [-5, -4, -3]
  const put = (place: number, count: number, ...by: number[]) => {
    const bytes = encoded()
    bytes.splice(bytes.length + place, count, ...by)
    return seal(bytes)
  }

  test('nothing is wrong with those that the others are made of', () => {
    expect(encoded().slice(UID)).toEqual([0, 1, 97, 0, 0, 0, 0, 1, 0, 0])
  })

  test.each<[problem: string, bytes: Uint8Array]>([
    ['neither 0 nor 1', put(KEY, 1, 2)],
    ['a sequence above the last one of the pool', put(LOW, 1, 2)],
    ['a number of more than 53 bits', put(LOW, 2, 1, 128, 128, 128, 1)],
    ['a text that does not stand before it', put(UID, 3, 5)],
    ['an owner without a uid', put(UID, 3, 0, 0)],
    ['an interface without a name', put(INTERFACE, 1, 1, 0, 0)],
    ['a character of more than 16 bits', put(UID, 3, 0, 1, 128, 128, 4)],
    ['the family 5', put(UID - 5, 1, 5)],
  ])('%s', (problem, bytes) => {
    expect(AddressPool.safeDecode(bytes)).toMatchObject({ ok: false, failure: { context: { problem } } })
  })

  test('a text or a set that is longer than what is left', () => {
    const text = put(UID + 1, 1, 13)
    expect(AddressPool.safeDecode(text)).toMatchObject({
      ok: false,
      failure: { context: { position: text.length - 4 + UID, problem: 'the bytes end too early' } },
    })
    const set = encoded()
    set[1] = set.length
    expect(AddressPool.safeDecode(seal(set))).toMatchObject({
      ok: false,
      failure: { context: { position: 1, problem: 'more things than there are bytes for' } },
    })
  })

  test('what is there twice', () => {
    const twin = new AddressPool({ ranges: ranges('10.0.0.0/30') })
    for (const uid of ['a', 'b']) twin.occupy(at('10.0.0.1'), { uid })
    const holds = bodyOf(AddressPool.encode(twin))
    holds[holds.lastIndexOf(98)] = 97
    const pool = new AddressPool({ ranges: ranges('0.0.0.0/29'), cooldownSeconds: 1 })
    pool.occupy(at('0.0.0.1'), { uid: 'a' })
    pool.occupy(at('0.0.0.2'), { uid: 'b' })
    pool.releaseOwner('b', { nowMs: 0 })
    const rests = bodyOf(AddressPool.encode(pool))
    const rest = rests.lastIndexOf(4)
    expect(rests[rest + 1]).toBe(2)
    rests[rest + 1] = 1
    const problem = 'an entry that must be unique is there twice'
    for (const bytes of [holds, rests]) {
      expect(AddressPool.safeDecode(seal(bytes))).toMatchObject({ ok: false, failure: { context: { problem } } })
    }
  })

  test('a spec that no pool can have', () => {
    const made = new AddressPool({
      ranges: ranges('0.0.0.0/29'),
      preallocated: [
        ['a', at('0.0.0.1')],
        ['b', at('0.0.0.2')],
      ],
    })
    const bytes = bodyOf(AddressPool.encode(made))
    const second = bytes.lastIndexOf(4)
    expect(bytes[second + 1]).toBe(2)
    bytes[second + 1] = 1
    expect(AddressPool.safeDecode(seal(bytes))).toMatchObject({ ok: false, failure: { code: 'MALFORMED_BYTES' } })
  })

  test('what has cooled down stays so in a pool that is read back', () => {
    const pool = new AddressPool({
      ranges: ranges('10.0.0.0/31'),
      cooldownSeconds: 10,
      strategy: { kind: 'least-recently-released' },
    })
    pool.allocate({ owner: { uid: 'a' } }, { nowMs: 0 })
    pool.releaseOwner('a', { nowMs: 0 })
    expect(pool.counts({ nowMs: 10_000 })).toMatchObject({ cooldown: 0n, free: 2n })
    expect(AddressPool.decode(AddressPool.encode(pool)).counts()).toMatchObject({ cooldown: 0n, free: 2n })
  })
})
