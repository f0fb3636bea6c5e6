import fc from 'fast-check'
import { PrefixAllocator } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import type { PrefixDelta, PrefixRequest } from '../../../src/allocator/prefixes/prefix-request.js'
import { property } from '../../cidr/property.js'

const SIZE = 64
const uid = fc.constantFrom('a', 'b', 'c', 'd')

interface ModelHold {
  readonly prefix: Prefix
  readonly uid: string
}

/** Who holds which prefix, as a list, and a loop over all prefixes of a window. */
class PrefixModel {
  space: RangeSet
  readonly #all: readonly Prefix[]
  readonly #isNextFit: boolean
  holds: readonly ModelHold[] = []
  cursor: bigint | undefined

  constructor(space: RangeSet, all: readonly Prefix[], isNextFit: boolean) {
    this.space = space
    this.#all = all
    this.#isNextFit = isNextFit
  }

  overlapping(prefix: Prefix): ModelHold[] {
    return this.holds.filter((hold) => Prefix.overlaps(hold.prefix, prefix))
  }

  next(length: number): Prefix | undefined {
    const free = this.#all.filter(
      (prefix) =>
        prefix.length === length && RangeSet.contains(this.space, prefix) && this.overlapping(prefix).length === 0,
    )
    return free.find(({ address }) => this.cursor !== undefined && Address.toBigInt(address) >= this.cursor) ?? free[0]
  }

  expected(request: PrefixRequest, childLength: number): { readonly kind: string; readonly prefix?: Prefix } {
    const { owner, prefix } = request
    const length = prefix?.length ?? request.length ?? childLength
    const own = this.holds.find((hold) => hold.uid === owner.uid && hold.prefix.length === length)?.prefix
    if (own !== undefined) {
      return { kind: prefix === undefined || Prefix.equals(prefix, own) ? 'already' : 'refused', prefix: own }
    }
    if (prefix === undefined) {
      const next = this.next(length)
      return next === undefined ? { kind: 'exhausted' } : { kind: 'allocated', prefix: next }
    }
    if (!RangeSet.contains(this.space, prefix)) return { kind: 'outOfPool', prefix }
    return { kind: this.overlapping(prefix).length > 0 ? 'taken' : 'allocated', prefix }
  }

  /** `byStrategy`: it was not named. */
  given(hold: ModelHold, { byStrategy }: { readonly byStrategy: boolean }): void {
    this.holds = [...this.holds, hold]
    if (!this.#isNextFit || !byStrategy) return
    const behind = Address.toBigInt(Prefix.last(hold.prefix)) + 1n
    this.cursor = behind === 1n << BigInt(Address.bitsOf(hold.prefix.address.family)) ? undefined : behind
  }

  counts(childLength: number) {
    const children = this.#all.filter((one) => one.length === childLength && RangeSet.contains(this.space, one))
    const held = [...new Map(this.holds.map(({ prefix }) => [Prefix.format(prefix), prefix])).values()]
    return {
      total: BigInt(children.length),
      free: BigInt(children.filter((one) => this.overlapping(one).length === 0).length),
      held: held.length,
      outOfRange: held.filter((one) => !RangeSet.contains(this.space, one)).length,
    }
  }

  release(gone: readonly ModelHold[]): void {
    this.holds = this.holds.filter((hold) => !gone.includes(hold))
  }
}

type Command =
  | { readonly do: 'any' | 'exact' | 'occupy' | 'release'; readonly uid: string; readonly which: number }
  | { readonly do: 'releaseOwner'; readonly uid: string }
  | { readonly do: 'undo' }
  | { readonly do: 'resize'; readonly child: number; readonly which: number }

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('any', 'any', 'exact', 'occupy', 'release'), uid, which: fc.nat() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('releaseOwner'), uid }) },
  { weight: 2, arbitrary: fc.constant({ do: 'undo' }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resize'), child: fc.nat(6), which: fc.nat() }) },
) as never

describe.each(['10.0.0.192', '255.255.255.192', 'fd00::ffff:ffc0', 'fd00::ffff:ffff:ffff:ffc0'])(
  'an allocator of prefixes of many lengths does what a list does, at %s',
  (base) => {
    const start = Address.parse(base)
    const bits = Address.bitsOf(start.family)
    const all = Array.from({ length: 7 }, (_, i) => bits - 6 + i).flatMap((length) => {
      const step = 2 ** (bits - length)
      return Array.from({ length: SIZE / step }, (_, i) => Prefix.of(Address.add(start, i * step), length))
    })

    property([
      rangeSetIn(start, SIZE),
      rangeSetIn(start, SIZE),
      fc.nat(6),
      fc.constantFrom('lowest' as const, 'next-fit' as const),
      fc.array(command, { maxLength: 25, size: 'max' }),
    ])('whatever is asked', (ranges, exclude, child, kind, commands) => {
      let childLength = bits - child
      const parents = RangeSet.union(ranges, RangeSet.fromPrefixes([all.at(-1)!]))
      const allocator = new PrefixAllocator({ ranges: parents, exclude, childLength, strategy: { kind } })
      const model = new PrefixModel(RangeSet.subtract(parents, exclude), all, kind === 'next-fit')
      let undo:
        | { readonly delta: PrefixDelta; readonly holds: readonly ModelHold[]; readonly cursor: bigint | undefined }
        | undefined
      for (const command of commands) {
        const before = { holds: model.holds, cursor: model.cursor }
        const last = undo
        undo = undefined
        if (command.do === 'undo') {
          if (last === undefined) continue
          expect(allocator.undo(last.delta)).toBe(true)
          model.holds = last.holds
          model.cursor = last.cursor
        } else if (command.do === 'resize') {
          childLength = bits - command.child
          const [from, to] = [command.which % SIZE, (command.which >>> 6) % SIZE].sort((a, b) => a - b)
          const range = Range.of(Address.add(start, from!), Address.add(start, to!))
          model.space = RangeSet.subtract(RangeSet.fromRanges([range]), exclude)
          allocator.resize({ ranges: RangeSet.fromRanges([range]), exclude, childLength, strategy: { kind } })
        } else if (command.do === 'releaseOwner') {
          const gone = model.holds.filter((hold) => hold.uid === command.uid)
          const delta = allocator.releaseOwner(command.uid)
          expect(delta.holds.map((hold) => hold.prefix)).toEqual(gone.map((hold) => hold.prefix))
          model.release(gone)
          undo = { delta, ...before }
        } else {
          const owner = { uid: command.uid }
          const prefix = all[command.which % all.length]!
          const known = model.holds.find((hold) => hold.uid === command.uid && Prefix.equals(hold.prefix, prefix))
          if (command.do === 'occupy') {
            const others = allocator
              .occupy(prefix, owner)
              .map((hold) => `${Prefix.format(hold.prefix)} ${hold.owner.uid}`)
            const expected = model.overlapping(prefix).filter((hold) => hold.uid !== command.uid)
            expect(others.sort()).toEqual(expected.map((hold) => `${Prefix.format(hold.prefix)} ${hold.uid}`).sort())
            if (known === undefined) model.holds = [...model.holds, { prefix, uid: command.uid }]
          } else if (command.do === 'release') {
            const outcome = allocator.release(prefix, owner)
            expect(outcome.kind).toBe(known === undefined ? 'notHeld' : 'released')
            if (known !== undefined) model.release([known])
            if (outcome.kind === 'released') undo = { delta: outcome.delta, ...before }
          } else {
            const request =
              command.do === 'exact'
                ? { owner, prefix }
                : { owner, length: command.which % 2 ? undefined : prefix.length }
            const { kind: expectedKind, prefix: expected } = model.expected(request, childLength)
            const outcome = allocator.allocate(request)
            expect(outcome.kind).toBe(expectedKind)
            expect('prefix' in outcome ? outcome.prefix : undefined).toEqual(expected)
            if (outcome.kind === 'taken') {
              expect(model.overlapping(prefix).map((hold) => hold.uid)).toContain(outcome.by.uid)
              expect(Prefix.overlaps(outcome.held, prefix)).toBe(true)
            }
            if (outcome.kind === 'allocated') {
              model.given({ prefix: outcome.prefix, uid: command.uid }, { byStrategy: command.do === 'any' })
              undo = { delta: outcome.delta, ...before }
            }
          }
        }
        for (const prefix of all) {
          const owners = model.holds.filter((hold) => Prefix.equals(hold.prefix, prefix)).map((hold) => hold.uid)
          expect(
            allocator
              .ownersOf(prefix)
              .map((owner) => owner.uid)
              .sort(),
          ).toEqual(owners.sort())
        }
        expect(allocator.counts()).toEqual(model.counts(childLength))
        for (let length = bits - 6; length <= bits; length++) expect(allocator.next(length)).toEqual(model.next(length))
      }
    })
  },
)

test('an allocator of a family whose parents are all excluded stays one of that family', () => {
  const parents = RangeSet.parse(['10.0.0.0/24'])
  const allocator = new PrefixAllocator({ ranges: parents, exclude: parents, childLength: 28 })
  expect([allocator.family, allocator.total, allocator.next()]).toEqual([4, 0n, undefined])
  expect(allocator.allocate({ owner: { uid: 'a' } })).toEqual({ kind: 'exhausted' })
})

test('what is in use outlives its space, and is in use again when the space comes back', () => {
  const parents = RangeSet.parse(['10.0.0.0/28', '10.0.1.0/28'])
  const spec = { ranges: parents, childLength: 29, strategy: { kind: 'next-fit' } } as const
  const allocator = new PrefixAllocator(spec)
  for (const uid of ['a', 'b', 'c']) allocator.allocate({ owner: { uid } })
  allocator.resize({ ...spec, ranges: RangeSet.parse(['10.0.1.0/28']) })
  expect(allocator.counts()).toEqual({ total: 2n, free: 1n, held: 3, outOfRange: 2 })
  allocator.resize({ ...spec, ranges: RangeSet.empty, family: 6, childLength: 64 })
  expect(allocator.counts()).toEqual({ total: 0n, free: 0n, held: 3, outOfRange: 3 })
  expect(allocator.allocate({ owner: { uid: 'd' } })).toEqual({ kind: 'exhausted' })
  allocator.releaseOwner('b')
  allocator.resize(spec)
  expect(allocator.counts()).toEqual({ total: 4n, free: 2n, held: 2, outOfRange: 0 })
  expect(allocator.allocate({ owner: { uid: 'e' } })).toMatchObject({ prefix: Prefix.parse('10.0.0.8/29') })
})

test('a prefix that is named does not move next-fit', () => {
  const parents = RangeSet.parse(['10.0.0.0/24'])
  const allocator = new PrefixAllocator({ ranges: parents, childLength: 28, strategy: { kind: 'next-fit' } })
  allocator.allocate({ owner: { uid: 'a' } })
  allocator.allocate({ owner: { uid: 'b' }, prefix: Prefix.parse('10.0.0.128/28') })
  expect(allocator.next()).toEqual(Prefix.parse('10.0.0.16/28'))
})

test('a late release ends no later hold, and a release is not undone over another owner', () => {
  const allocator = new PrefixAllocator({ ranges: RangeSet.parse(['10.0.0.0/24']), childLength: 24 })
  const first = allocator.allocate({ owner: { uid: 'a' } })
  const prefix = Prefix.parse('10.0.0.0/24')
  expect(first).toMatchObject({ kind: 'allocated', prefix, delta: { holds: [{ sequence: 1 }] } })
  const delta = allocator.releaseOwner('a')
  allocator.allocate({ owner: { uid: 'a' } })
  expect(allocator.release(prefix, { uid: 'a' }, { sequence: 1 })).toEqual({ kind: 'otherSequence', sequence: 2 })
  allocator.releaseOwner('a')
  allocator.allocate({ owner: { uid: 'b' }, length: 28 })
  expect(allocator.undo(delta)).toBe(false)
  expect(first.kind === 'allocated' && allocator.undo(first.delta)).toBe(false)
})

test.each<[code: string, make: () => unknown]>([
  ['INVALID_PREFIX_LENGTH', () => new PrefixAllocator({ ranges: RangeSet.parse(['10.0.0.0/8']), childLength: 33 })],
  ['FAMILY_MISMATCH', () => new PrefixAllocator({ ranges: RangeSet.parse(['10.0.0.0/8', '::/8']), childLength: 24 })],
  [
    'INVALID_ARGUMENT',
    () => new PrefixAllocator({ ranges: RangeSet.empty, childLength: 24, strategy: { kind: 'best' as 'lowest' } }),
  ],
  ['INVALID_ARGUMENT', () => new PrefixAllocator({ ranges: RangeSet.empty, childLength: 24 })],
  ['FAMILY_MISMATCH', () => new PrefixAllocator({ ranges: RangeSet.parse(['::/8']), family: 4, childLength: 24 })],
  [
    'INVALID_ARGUMENT',
    () => {
      const spec = { ranges: RangeSet.parse(['10.0.0.0/8']), childLength: 24 }
      new PrefixAllocator(spec).resize({ ...spec, strategy: { kind: 'next-fit' } })
    },
  ],
  [
    'INVALID_PREFIX_LENGTH',
    () =>
      new PrefixAllocator({ ranges: RangeSet.parse(['10.0.0.0/8']), childLength: 24 }).allocate({
        owner: { uid: 'a' },
        length: 40,
      }),
  ],
])('%s for a mistake of the caller', (code, make) => {
  expect(make).toThrow(expect.objectContaining({ code }))
})

describe('owners of prefixes', () => {
  const parents = RangeSet.parse(['10.0.0.0/24'])

  test('an allocation is undone only as the hold that it has begun', () => {
    const allocator = new PrefixAllocator({ ranges: parents, childLength: 24 })
    const first = allocator.allocate({ owner: { uid: 'a' } })
    allocator.releaseOwner('a')
    allocator.allocate({ owner: { uid: 'a' } })
    expect(first.kind === 'allocated' && allocator.undo(first.delta)).toBe(false)
    expect(allocator.counts()).toMatchObject({ held: 1, free: 0n })
  })

  test('interfaces are apart, and end together', () => {
    const allocator = new PrefixAllocator({ ranges: parents, childLength: 28 })
    const nic = { uid: 'a', interface: 'net1' }
    expect(allocator.allocate({ owner: { uid: 'a' } })).toMatchObject({ prefix: Prefix.parse('10.0.0.0/28') })
    const second = allocator.allocate({ owner: nic })
    expect(second).toMatchObject({ kind: 'allocated', prefix: Prefix.parse('10.0.0.16/28') })
    expect(allocator.allocate({ owner: nic })).toMatchObject({ kind: 'already', prefix: Prefix.parse('10.0.0.16/28') })
    expect(allocator.release(Prefix.parse('10.0.0.16/28'), { uid: 'a' })).toEqual({ kind: 'notHeld' })
    for (let i = 0; i < 2; i++) allocator.occupy(Prefix.parse('10.0.0.32/28'), nic)
    expect(allocator.prefixesOf('a')).toHaveLength(3)
    expect(allocator.releaseOwner('a').holds).toHaveLength(3)
    expect(allocator.counts()).toMatchObject({ held: 0, free: 16n })
  })

  test('a release that is undone leaves everything in its order', () => {
    const allocator = new PrefixAllocator({ ranges: parents, childLength: 28 })
    const prefix = Prefix.parse('10.0.0.0/28')
    for (const uid of ['a', 'b']) allocator.occupy(prefix, { uid })
    allocator.occupy(Prefix.parse('10.0.0.16/28'), { uid: 'a' })
    const outcome = allocator.release(prefix, { uid: 'a' })
    expect(outcome.kind === 'released' && allocator.undo(outcome.delta)).toBe(true)
    expect(allocator.ownersOf(prefix).map((owner) => owner.uid)).toEqual(['a', 'b'])
    expect(allocator.prefixesOf('a')).toEqual([prefix, Prefix.parse('10.0.0.16/28')])
  })

  test('a release is not undone twice', () => {
    const allocator = new PrefixAllocator({ ranges: parents, childLength: 28 })
    allocator.allocate({ owner: { uid: 'a' } })
    const delta = allocator.releaseOwner('a')
    expect([allocator.undo(delta), allocator.undo(delta)]).toEqual([true, false])
    expect(allocator.prefixesOf('a')).toHaveLength(1)
  })

  test('host bits do not count', () => {
    const allocator = new PrefixAllocator({ ranges: parents, childLength: 28 })
    const outcome = allocator.allocate({ owner: { uid: 'a' }, prefix: Prefix.parse('10.0.0.21/28') })
    expect(outcome).toMatchObject({ kind: 'allocated', prefix: Prefix.parse('10.0.0.16/28') })
    allocator.occupy(Prefix.parse('10.0.0.37/28'), { uid: 'a' })
    const held = ['10.0.0.16/28', '10.0.0.32/28'].map((text) => Prefix.parse(text))
    expect(allocator.prefixesOf('a')).toEqual(held)
    expect(allocator.release(Prefix.parse('10.0.0.47/28'), { uid: 'a' }).kind).toBe('released')
  })
})

test('next-fit continues where it was when only the last allocation is undone', () => {
  const spec = { ranges: RangeSet.parse(['10.0.0.0/24']), childLength: 28, strategy: { kind: 'next-fit' } } as const
  const allocator = new PrefixAllocator(spec)
  const [first, second] = ['a', 'b'].map((uid) => allocator.allocate({ owner: { uid } }))
  expect(first?.kind === 'allocated' && allocator.undo(first.delta)).toBe(true)
  expect(allocator.next()).toEqual(Prefix.parse('10.0.0.32/28'))
  expect(second?.kind === 'allocated' && allocator.undo(second.delta)).toBe(true)
  expect(allocator.next()).toEqual(Prefix.parse('10.0.0.16/28'))
})

test('next-fit forgets where it was in the space of another family, also when an allocation before is undone', () => {
  const four = { ranges: RangeSet.parse(['10.0.0.0/24']), childLength: 28, strategy: { kind: 'next-fit' } } as const
  const six = { ...four, ranges: RangeSet.parse(['fd00::/60']), childLength: 64 }
  const allocator = new PrefixAllocator(four)
  allocator.allocate({ owner: { uid: 'a' } })
  const outcome = allocator.allocate({ owner: { uid: 'b' } })
  allocator.resize(six)
  expect(allocator.next()).toEqual(Prefix.parse('fd00::/64'))
  expect(outcome.kind === 'allocated' && allocator.undo(outcome.delta)).toBe(true)
  expect(allocator.next()).toEqual(Prefix.parse('fd00::/64'))
  expect(allocator.allocate({ owner: { uid: 'c' } })).toMatchObject({ prefix: Prefix.parse('fd00::/64') })
})

test('a resize that is a mistake changes nothing', () => {
  const spec = { ranges: RangeSet.parse(['10.0.0.0/24']), childLength: 28 }
  const allocator = new PrefixAllocator(spec)
  allocator.allocate({ owner: { uid: 'a' } })
  expect(() => allocator.resize({ ...spec, childLength: 40 })).toThrow(
    expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH' }),
  )
  expect([allocator.childLength, allocator.counts()]).toEqual([28, { total: 16n, free: 15n, held: 1, outOfRange: 0 }])
})
