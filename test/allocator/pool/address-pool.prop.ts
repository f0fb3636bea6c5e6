import fc from 'fast-check'
import { AddressPool, type AllocationDelta, type AllocationOutcome, type Hold, type Owner } from 'ipam-kit/allocator'
import { Address, Range, RangeSet } from 'ipam-kit/cidr'
import { describe, expect } from 'vitest'
import type { Occupation, Released, ReleaseOutcome } from '../../../src/allocator/request.js'
import { property } from '../../cidr/property.js'
import { ModelOwners, tell } from './model-owners.js'
import { addressesOf, type Command, run, script, spec, type Window } from './pool-script.js'

/** Nothing here cools down or is kept for a key. */
const idle = { cooldown: 0n, preallocated: 0n, reserved: expect.any(BigInt) }

/** Two windows a pool, one of each family, at places where addresses carry over. */
const places: { name: string; windows: Window[] }[] = [
  ['10.0.0.250', '::ffff:fffa'],
  ['255.255.255.244', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff4'],
  ['127.255.255.250', '::ffff:ffff:ffff:fffa'],
  ['0.0.0.0', '::'],
].map((bases) => ({
  name: bases.join(' and '),
  windows: bases.map((base) => ({ base: Address.parse(base), size: 12 })),
}))

const text = Address.format
const uidsOf = (owners: readonly Owner[]) => owners.map((owner) => owner.uid)
const entriesOf = (pool: AddressPool) =>
  pool.entries().map(({ address, owners }) => ({ address: text(address), owners: uidsOf(owners) }))

/** Runs a command on both and expects the same answer. */
function step(pool: AddressPool, model: ModelOwners, command: Command, deltas: AllocationDelta[]): void {
  const undone = command.do === 'undo' ? deltas[command.which % Math.max(1, deltas.length)] : undefined
  const before = entriesOf(pool)
  // the owner may hold the address again, as another hold
  const isCurrent = undone?.holds.some((hold) => pool.holdsOf(hold.address).some((one) => isSame(one, hold)))
  const answer = run(pool, command, deltas)
  switch (command.do) {
    case 'allocate':
    case 'claim': {
      const outcome = answer as AllocationOutcome
      const told = tell(outcome)
      expect(told).toEqual(
        command.do === 'allocate'
          ? model.allocate(command.uid, command.family)
          : model.claim(command.uid, text(command.address)),
      )
      if (outcome.kind !== 'allocated') {
        expect(entriesOf(pool)).toEqual(before)
        return
      }
      const owner = { uid: command.uid, key: `default/${command.uid}` }
      const { delta } = outcome
      expect(delta.kind === 'allocate' && delta.holds.map((hold) => [hold.address, hold.owner])).toEqual([
        [outcome.address, owner],
      ])
      // nobody held it, it is the pool's to give, and now this owner holds it alone
      expect(before.map((entry) => entry.address)).not.toContain(told.address)
      expect(RangeSet.contains(pool.available, outcome.address)).toBe(true)
      expect(pool.ownersOf(outcome.address)).toEqual([owner])
      return
    }
    case 'occupy': {
      const { kind, others } = answer as Occupation
      expect({ kind, others: uidsOf(others) }).toEqual(model.occupy(command.uid, text(command.address)))
      return
    }
    case 'release':
      expect((answer as ReleaseOutcome).kind === 'released').toBe(model.release(command.uid, text(command.address)))
      return
    case 'releaseOwner':
      expect((answer as Released).holds.map((hold) => text(hold.address))).toEqual(model.releaseOwner(command.uid))
      return
    case 'undo':
      expect(answer).toBe(
        undone && isCurrent && model.release(undone.holds[0]!.owner.uid, text(undone.holds[0]!.address)),
      )
      return
    case 'resize':
      model.resize(command.spec.ranges, command.spec.exclude)
  }
}

/** Whether two copies are of one hold. */
function isSame(left: Hold, right: Hold): boolean {
  return left.sequence === right.sequence && left.owner.uid === right.owner.uid
}

function expectSame(pool: AddressPool, model: ModelOwners, universe: readonly Address[]): void {
  const counts = pool.counts()
  expect(counts).toEqual({ ...idle, ...model.counts() })
  expect(counts.used + counts.free).toBe(counts.total)
  expect(entriesOf(pool)).toEqual(model.entries())
  for (const family of [undefined, 4, 6] as const) {
    const lowest = pool.lowestFree({ family })
    expect(lowest && text(lowest)).toBe(model.lowestFree(family))
  }
  for (const address of universe) {
    const lowest = pool.lowestFree({ from: address })
    expect(lowest && text(lowest)).toBe(model.lowestFreeFrom(address))
    expect(uidsOf(pool.ownersOf(address))).toEqual(model.ownersOf(text(address)))
  }
  for (const uid of ['a', 'b', 'c', 'd', 'e', 'f']) {
    expect(pool.addressesOf(uid).map(text)).toEqual(model.addressesOf(uid))
  }
}

describe.each(places)('beside the model, at $name', ({ windows }) => {
  const universe = windows.flatMap(addressesOf)

  property([spec(windows), script(windows)], 0.6)(
    'every command has the answer and the effect of the model',
    (first, commands) => {
      const pool = new AddressPool(first)
      const model = new ModelOwners(first.ranges, first.exclude)
      const deltas: AllocationDelta[] = []
      expectSame(pool, model, universe)
      for (const command of commands) {
        step(pool, model, command, deltas)
        expectSame(pool, model, universe)
      }
    },
  )

  property([spec(windows), script(windows), fc.infiniteStream(fc.nat())])(
    'a pool read back from its entries, in any order, is the same pool',
    (first, commands, random) => {
      const live = new AddressPool(first)
      let last = first
      const deltas: AllocationDelta[] = []
      for (const command of commands) {
        run(live, command, deltas)
        if (command.do === 'resize') last = command.spec
      }
      const holds = live.entries().flatMap(({ address, owners }) => owners.map((owner) => ({ address, owner })))
      const ranked = holds.map((hold) => ({ ...hold, rank: random.next().value as number }))
      const rebuilt = new AddressPool(last)
      for (const { address, owner } of ranked.sort((a, b) => a.rank - b.rank)) rebuilt.occupy(address, owner)

      const sorted = (pool: AddressPool) => entriesOf(pool).map((entry) => ({ ...entry, owners: entry.owners.sort() }))
      expect(sorted(rebuilt)).toEqual(sorted(live))
      expect(rebuilt.counts()).toEqual(live.counts())
      for (const from of universe) expect(rebuilt.lowestFree({ from })).toEqual(live.lowestFree({ from }))
      for (const uid of ['a', 'b', 'c', 'd', 'e', 'f']) {
        expect(rebuilt.addressesOf(uid).sort(Address.compare)).toEqual(live.addressesOf(uid).sort(Address.compare))
      }
    },
  )

  property([spec(windows), script(windows)])('when all owners are gone, the pool is as new', (first, commands) => {
    const pool = new AddressPool(first)
    const deltas: AllocationDelta[] = []
    let last = first
    for (const command of commands) {
      run(pool, command, deltas)
      if (command.do === 'resize') last = command.spec
    }
    for (const uid of ['a', 'b', 'c', 'd', 'e', 'f']) pool.releaseOwner(uid)
    const fresh = new AddressPool(last)
    expect(pool.counts()).toEqual(fresh.counts())
    expect(pool.entries()).toEqual([])
    for (const from of universe) expect(pool.lowestFree({ from })).toEqual(fresh.lowestFree({ from }))
  })
})

describe('IPv4 and IPv6 are one algorithm', () => {
  const window = { base: Address.parse('10.0.0.250'), size: 14 }
  const moved = ['::ffff:10.0.0.250', '::ffff:fffa', '::ffff:ffff:ffff:fff8', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0']

  for (const base of moved) {
    property([spec([window]), script([window])])(
      `a pool moved to ${base} gives the same answers`,
      (first, commands) => {
        const origin = Address.toBigInt(Address.parse(base)) - Address.toBigInt(window.base)
        const move = (address: Address) => Address.fromBigInt(6, Address.toBigInt(address) + origin)
        const moveSet = (set: RangeSet) =>
          RangeSet.fromRanges(RangeSet.ranges(set).map(({ first, last }) => Range.of(move(first), move(last))))
        const moveSpec = ({ ranges, exclude }: { ranges: RangeSet; exclude: RangeSet }) => ({
          ranges: moveSet(ranges),
          exclude: moveSet(exclude),
        })
        const moveAll = (value: unknown): unknown => {
          if (Array.isArray(value)) return value.map(moveAll)
          if (typeof value !== 'object' || value === null) return value
          if ('family' in value && value.family === 4) return move(value as Address)
          return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, moveAll(inner)]))
        }

        const four = new AddressPool(first)
        const six = new AddressPool(moveSpec(first))
        const [deltas4, deltas6]: AllocationDelta[][] = [[], []]
        for (const command of commands) {
          if (command.do === 'allocate' && command.family !== undefined) continue
          const other = 'address' in command ? { ...command, address: move(command.address) } : command
          const answer = run(
            six,
            other.do === 'resize' ? { ...other, spec: moveSpec(other.spec) } : other,
            deltas6 ?? [],
          )
          expect(answer).toEqual(moveAll(run(four, command, deltas4 ?? [])))
          expect(six.counts()).toEqual(four.counts())
          expect(six.entries()).toEqual(moveAll(four.entries()))
        }
      },
    )
  }
})
