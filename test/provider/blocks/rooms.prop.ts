import { fc, test } from '@fast-check/vitest'
import { Address, Prefix } from 'ipam-kit/cidr'
import { API_VERSION, blockName } from 'ipam-kit/crd/ipam-kit'
import { describe, expect } from 'vitest'
import { BlockBook } from '../../../src/provider/blocks/book.js'
import { Overlaps } from '../../../src/provider/blocks/operator/overlaps.js'
import { type Room, Rooms } from '../../../src/provider/blocks/operator/rooms.js'

const INDICES = 5

function book(index: number): BlockBook {
  const prefix = Prefix.of(Address.fromBigInt(4, 0x0a000000n + BigInt(index) * 16n), 28)
  const name = blockName('default', prefix)
  const spec = {
    cidr: Prefix.format(prefix),
    domain: 'default',
    allocationPrefixLength: 32,
    pool: 'blue',
    sequence: 1,
    rows: {},
  }
  const read = BlockBook.read({ apiVersion: API_VERSION, kind: 'IPBlock', metadata: { name }, spec })
  if (typeof read === 'string') throw new Error(read)
  return read
}

const books = Array.from({ length: INDICES }, (_, index) => book(index))
const step = fc.oneof(
  fc.record({
    kind: fc.constant('note' as const),
    index: fc.nat(INDICES - 1),
    room: fc.constantFrom<Room>('none', 'some', 'all'),
  }),
  fc.record({ kind: fc.constant('forget' as const), index: fc.nat(INDICES - 1) }),
  fc.record({ kind: fc.constant('ask' as const), index: fc.nat(INDICES - 1) }),
  fc.record({ kind: fc.constant('take' as const) }),
)

describe('rooms', () => {
  test.prop([fc.array(step)])(
    'say of one empty block that it is needed, and who was kept and is not any more',
    (steps) => {
      const rooms = new Rooms()
      const model = new Map<number, Room>()
      const isNeeded = (index: number) =>
        model.get(index) === 'all' &&
        [...model.values()].every((room) => room !== 'some') &&
        [...model].every(([other, room]) => room !== 'all' || other >= index)
      const kept = new Set<number>()
      for (const each of steps) {
        if (each.kind === 'note') {
          rooms.note(books[each.index]!, each.room)
          model.set(each.index, each.room)
        } else if (each.kind === 'forget') {
          rooms.forget(books[each.index]!)
          model.delete(each.index)
          kept.delete(each.index)
        } else if (each.kind === 'ask') {
          expect(rooms.isNeeded(books[each.index]!)).toBe(isNeeded(each.index))
          if (isNeeded(each.index)) kept.add(each.index)
        } else {
          const taken = rooms.takeKept(books[0]!)
          for (const index of kept) {
            const isTaken = taken.includes(books[index]!.name)
            if (!isNeeded(index) && model.get(index) === 'all') expect(isTaken).toBe(true)
            if (isTaken) kept.delete(index)
          }
        }
      }
      expect([...rooms.blocksOf('blue')].sort()).toEqual([...model.keys()].sort().map((index) => books[index]!.name))
    },
  )
})

describe('overlaps', () => {
  const change = fc.record({ pool: fc.nat(4), others: fc.uniqueArray(fc.nat(4)) })
  test.prop([fc.array(change)])('are known to both of each two', (changes) => {
    const overlaps = new Overlaps()
    const model = new Set<string>()
    const pairOf = (one: number, other: number) => `${Math.min(one, other)} ${Math.max(one, other)}`
    for (const { pool, others } of changes) {
      const now = others.filter((other) => other !== pool)
      const isNew = [0, 1, 2, 3, 4].filter(
        (other) => other !== pool && model.has(pairOf(pool, other)) !== now.includes(other),
      )
      expect(overlaps.set(`${pool}`, now.map(String)).toSorted()).toEqual(isNew.map(String))
      for (const other of isNew) {
        if (now.includes(other)) model.add(pairOf(pool, other))
        else model.delete(pairOf(pool, other))
      }
      for (let each = 0; each < 5; each++) {
        const expected = [0, 1, 2, 3, 4].filter((other) => other !== each && model.has(pairOf(each, other)))
        expect(overlaps.of(`${each}`)).toEqual(expected.map(String))
      }
    }
  })
})
