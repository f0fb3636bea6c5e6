import fc from 'fast-check'
import { PrefixAllocator } from 'ipam-kit/allocator'
import { Address, type Family, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { describe, expect } from 'vitest'
import { property } from '../../cidr/property.js'

/**
 * A window of 64 units of 2^scale addresses each, so that a model can count units where nobody can
 * count addresses. Each begins at a multiple of the largest child, 16 units.
 */
const UNITS = 64n
const places: { base: string; scale: number }[] = [
  { base: '10.0.0.192', scale: 0 },
  { base: '255.255.255.192', scale: 0 },
  { base: '0.0.0.0', scale: 0 },
  { base: '127.255.254.0', scale: 4 },
  { base: '0.0.0.0', scale: 26 },
  { base: '::', scale: 0 },
  { base: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffc0', scale: 0 },
  { base: '::ffff:ffe0', scale: 0 },
  { base: 'fd00::ffff:fffc:0:0', scale: 29 },
  { base: 'fd00::', scale: 31 },
  { base: 'fd00::', scale: 60 },
  { base: 'fd00:0:ffff:ffe0::', scale: 64 },
  { base: 'fd00::', scale: 95 },
  { base: '::', scale: 122 },
]

interface Interval {
  readonly first: bigint
  readonly last: bigint
}

interface Holding extends Interval {
  readonly prefix: Prefix
  readonly uid: string
}

/**
 * Every child of a window one by one, and a loop over what is in use. Numbers are units from the
 * base on.
 */
class ModelAllocator {
  readonly children: Interval[] = []
  holds: Holding[] = []

  constructor(parents: readonly Interval[], exclude: readonly Interval[], childUnits: bigint) {
    const covers = (list: readonly Interval[], unit: bigint) =>
      list.some(({ first, last }) => first <= unit && unit <= last)
    for (let first = 0n; first < UNITS; first += childUnits) {
      const units = Array.from({ length: Number(childUnits) }, (_, i) => first + BigInt(i))
      if (units.every((unit) => covers(parents, unit) && !covers(exclude, unit))) {
        this.children.push({ first, last: first + childUnits - 1n })
      }
    }
  }

  free(): Interval[] {
    return this.children.filter((child) =>
      this.holds.every((held) => held.last < child.first || held.first > child.last),
    )
  }
}

type Command =
  | { readonly do: 'occupy'; readonly uid: string; readonly unit: bigint; readonly longer: number }
  | { readonly do: 'releaseOwner'; readonly uid: string }

const interval = (max: bigint) =>
  fc
    .tuple(fc.bigInt({ min: 0n, max }), fc.oneof(fc.bigInt({ min: 0n, max: 4n }), fc.bigInt({ min: 0n, max })))
    .map(([first, more]) => ({ first, last: first + more < max ? first + more : max }))
const uid = fc.constantFrom('a', 'b', 'c', 'd')
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('occupy' as const),
      uid,
      unit: fc.bigInt({ min: 0n, max: UNITS - 1n }),
      // prefixes of the length of a child, wider ones, up to all of the window and beyond, and
      // narrower ones
      longer: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 2, arbitrary: fc.integer({ min: -8, max: 3 }) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('releaseOwner' as const), uid }) },
)

describe.each(places)('beside the model, in units of 2^$scale addresses at $base', ({ base, scale }) => {
  const start = Address.parse(base)
  const family: Family = start.family
  const bits = Address.bitsOf(family)
  const at = (unit: bigint) => Address.fromBigInt(family, Address.toBigInt(start) + (unit << BigInt(scale)))
  const toSet = (list: readonly Interval[]) =>
    RangeSet.fromRanges(
      list.map(({ first, last }) => Range.of(at(first), Prefix.last(Prefix.of(at(last), bits - scale)))),
    )

  const setup = fc.record({
    parents: fc.array(interval(UNITS - 1n), { minLength: 1, maxLength: 4 }),
    exclude: fc.array(interval(UNITS - 1n), { maxLength: 2 }),
    /** Units a child, as a power of two. */
    childBits: fc.nat(4),
    commands: fc.array(command, { maxLength: 20, size: 'max' }),
  })

  property([setup])('every command leaves it as the model says', ({ parents, exclude, childBits, commands }) => {
    const childUnits = 1n << BigInt(childBits)
    const childLength = bits - scale - childBits
    const allocator = new PrefixAllocator({ ranges: toSet(parents), exclude: toSet(exclude), childLength })
    const model = new ModelAllocator(parents, exclude, childUnits)
    const childAt = (unit: bigint) => Prefix.of(at(unit), childLength)

    const expectSame = () => {
      const [lowest] = model.free()
      expect(allocator.lowestFree()).toEqual(lowest && childAt(lowest.first))
      expect(allocator.total).toBe(BigInt(model.children.length))
      expect(allocator.free()).toBe(BigInt(model.free().length))
      const inUse = model.holds.map(({ prefix, uid }) => `${Prefix.format(prefix)} ${uid}`)
      const entries = allocator.entries()
      const listed = entries.flatMap((entry) =>
        entry.owners.map((owner) => `${Prefix.format(entry.prefix)} ${owner.uid}`),
      )
      expect(listed.sort()).toEqual(inUse.sort())
      expect(new Set(entries.map((entry) => Prefix.format(entry.prefix))).size).toBe(entries.length)
      const addresses = entries.map((entry) => Address.toBigInt(entry.prefix.address))
      expect(addresses).toEqual([...addresses].sort((a, b) => (a < b ? -1 : 1)))
    }

    expectSame()
    for (let unit = 0n; unit < UNITS; unit += childUnits) {
      const isChild = model.children.some((child) => child.first === unit)
      expect(allocator.isAllocatable(childAt(unit))).toBe(isChild)
    }
    for (const command of commands) {
      if (command.do === 'releaseOwner') {
        allocator.releaseOwner(command.uid)
        model.holds = model.holds.filter((held) => held.uid !== command.uid)
      } else {
        const length = Math.min(bits, Math.max(0, childLength + command.longer))
        const wanted = Prefix.of(at(command.unit), length)
        allocator.occupy(wanted, { uid: command.uid })
        const prefix = Prefix.masked(wanted)
        const offset = (address: Address) => (Address.toBigInt(address) - Address.toBigInt(start)) >> BigInt(scale)
        const held = { prefix, uid: command.uid, first: offset(prefix.address), last: offset(Prefix.last(prefix)) }
        const known = model.holds.some(
          ({ prefix: other, uid }) => uid === held.uid && Prefix.format(other) === Prefix.format(prefix),
        )
        if (!known) model.holds.push(held)
      }
      expectSame()
    }
  })
})

/** A space with single addresses cut out: the arithmetic of whole children, against division. */
describe('children of any range', () => {
  const range = fc
    .tuple(
      fc.constantFrom<Family>(4, 6),
      fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
      fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
    )
    .map(([family, a, b]) => {
      const top = 1n << BigInt(Address.bitsOf(family))
      const [x, y] = [a % top, b % top]
      return { family, first: x < y ? x : y, last: x < y ? y : x }
    })

  property([range, fc.nat(128)])('are those that begin and end in it', ({ family, first, last }, n) => {
    const bits = Address.bitsOf(family)
    const childLength = n % (bits + 1)
    const size = 1n << BigInt(bits - childLength)
    const lowest = (first + size - 1n) / size
    const behind = (last + 1n) / size
    const parents = RangeSet.fromRanges([Range.of(Address.fromBigInt(family, first), Address.fromBigInt(family, last))])
    const allocator = new PrefixAllocator({ ranges: parents, childLength })
    const count = behind > lowest ? behind - lowest : 0n
    expect(allocator.total).toBe(count)
    expect(allocator.free()).toBe(count)
    const found = allocator.lowestFree()
    expect(found && Address.toBigInt(found.address)).toBe(count === 0n ? undefined : lowest * size)
    expect(found?.length ?? childLength).toBe(childLength)
  })
})
