import fc from 'fast-check'
import {
  AddressPool,
  type AddressPoolSpec,
  type AllocationDelta,
  type AllocationOutcome,
  type AllocationRequest,
  type Hold,
  type Strategy,
} from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { ownerId } from '../../../src/allocator/request.js'
import { property } from '../../cidr/property.js'
import { PoolModel } from './pool-model.js'

const bases = ['10.0.0.248', 'fd00::ffff:fffa'].map((text) => Address.parse(text))
const SIZE = 10
const universe = bases.flatMap((base) => Array.from({ length: SIZE }, (_, i) => Address.add(base, i)))

const address = fc.constantFrom(...universe)
const uid = fc.constantFrom('a', 'b', 'c', 'd')
const key = fc.constantFrom(undefined, undefined, 'mac-1', 'mac-2', 'mac-3')
const owner = fc.tuple(uid, fc.constantFrom(undefined, undefined, 'net1')).map(([name, nic]) => ({
  uid: name,
  ...(nic === undefined ? {} : { interface: nic }),
}))

const strategy: fc.Arbitrary<Strategy> = fc.constantFrom<Strategy>(
  { kind: 'lowest' },
  { kind: 'next-fit' },
  { kind: 'random', seed: 7 },
  { kind: 'least-recently-released' },
  { kind: 'hashed' },
)

/** Ranges and what is kept back, without the options that stay the same when a pool is resized. */
const space = fc.record({
  ranges: fc.tuple(...bases.map((base) => rangeSetIn(base, SIZE))).map((sets) => sets.reduce(RangeSet.union)),
  exclude: fc.oneof(fc.constant(RangeSet.empty), rangeSetIn(bases[0]!, SIZE)),
  gateway: fc.oneof(fc.constant(undefined), address),
  preallocated: fc
    .uniqueArray(fc.tuple(fc.constantFrom('mac-1', 'mac-2'), address), {
      maxLength: 3,
      selector: ([name, one]) => `${name} ${one.family}`,
    })
    .filter((pairs) => new Set(pairs.map(([, one]) => Address.key(one))).size === pairs.length),
})

const options = fc.record({
  strategy,
  staticBand: fc.constantFrom(0, 0, 3, 100),
  cooldownSeconds: fc.constantFrom(0, 0, 10),
  holdSeconds: fc.constantFrom(0, 0, 30),
})

const want = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: 'any' } as const) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('address' as const), address }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('oneOf' as const), addresses: fc.array(address, { maxLength: 3 }) }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'dualStack' } as const) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('run' as const), count: fc.integer({ min: 1, max: 4 }) }) },
)

type Command =
  | { readonly do: 'allocate'; readonly request: AllocationRequest }
  /** Of one family, so that its length has a meaning. */
  | { readonly do: 'prefix'; readonly request: AllocationRequest; readonly bits: number }
  | { readonly do: 'release'; readonly owner: Hold['owner']; readonly address: Address; readonly wrong: boolean }
  | { readonly do: 'releaseOwner'; readonly uid: string }
  | { readonly do: 'undo' }
  | { readonly do: 'occupy'; readonly owner: Hold['owner']; readonly address: Address }
  | { readonly do: 'wait'; readonly seconds: number }
  | { readonly do: 'resize'; readonly space: Partial<AddressPoolSpec> }

const request = fc
  .tuple(owner, fc.constantFrom(undefined, undefined, 4 as const, 6 as const), want, key)
  .map(([who, family, what, stickyKey]) => ({
    owner: who,
    family: what.kind === 'dualStack' ? undefined : family,
    want: what,
    stickyKey,
  }))

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('allocate' as const), request }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('prefix' as const),
      request: fc.tuple(request, fc.constantFrom(4 as const, 6 as const)).map(([one, family]) => ({ ...one, family })),
      bits: fc.nat(2),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('release' as const), owner, address, wrong: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('releaseOwner' as const), uid }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('undo' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('occupy' as const), owner, address }) },
  // the clock may also step back
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(1, 5, 10, 30, -5, -30) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('resize' as const), space }) },
)

const text = Address.format

function stateOf(pool: AddressPool, nowMs: number) {
  const counts = pool.counts({ nowMs })
  const holds = pool.entries().flatMap((entry) => entry.holds)
  return {
    inCooldown: [...RangeSet.addresses(pool.inCooldown())].map(text),
    holds: holds.map((hold) => `${text(hold.address)} ${hold.owner.uid} ${hold.sequence}`),
    counts,
    lowest: ([undefined, 4, 6] as const).map((family) => {
      const lowest = pool.lowestFree({ family })
      return lowest && text(lowest)
    }),
  }
}

/** A pool and its model, which do the same. */
class Pair {
  readonly pool: AddressPool
  model: PoolModel
  #spec: AddressPoolSpec
  /** What the last command can be undone with, and what the model was before it. */
  #last: { readonly delta: AllocationDelta; readonly before: PoolModel; readonly again?: AllocationRequest } | undefined

  constructor(spec: AddressPoolSpec) {
    this.#spec = spec
    this.pool = new AddressPool(spec)
    this.model = new PoolModel(spec)
  }

  run(command: Command): void {
    const { pool, model } = this
    const { nowMs } = model
    const before = model.copy()
    const last = this.#last
    this.#last = undefined
    switch (command.do) {
      case 'allocate':
        this.#allocate(command.request, before)
        return
      case 'prefix': {
        const { request, bits } = command
        const length = Address.bitsOf(request.family!) - bits
        this.#allocate({ ...request, want: { kind: 'prefix', length } }, before)
        return
      }
      case 'release': {
        const hold = model.find(text(command.address), command.owner)
        const sequence = command.wrong ? (hold?.sequence ?? 0) + 1 : hold?.sequence
        const outcome = pool.release(command.address, command.owner, { nowMs, sequence })
        if (hold === undefined) expect(outcome).toEqual({ kind: 'notHeld' })
        else if (command.wrong) expect(outcome).toEqual({ kind: 'otherSequence', sequence: hold.sequence })
        else {
          expect(outcome.kind).toBe('released')
          model.end([hold])
          if (outcome.kind === 'released') this.#last = { delta: outcome.delta, before }
        }
        return
      }
      case 'releaseOwner': {
        const holds = model.holdsOf(command.uid)
        const delta = pool.releaseOwner(command.uid, { nowMs })
        expect(delta.holds.map((hold) => hold.sequence)).toEqual(holds.map((hold) => hold.sequence))
        model.end(holds)
        this.#last = { delta, before }
        return
      }
      case 'occupy': {
        const known = model.find(text(command.address), command.owner)
        pool.occupy(command.address, command.owner)
        const hold = pool.holdsOf(command.address).find(({ owner }) => ownerId(owner) === ownerId(command.owner))
        if (known === undefined) model.begin([hold!])
        return
      }
      case 'undo':
        if (last === undefined) return
        expect(pool.undo(last.delta)).toBe(true)
        expect(pool.undo(last.delta)).toBe(last.delta.holds.length === 0)
        this.model = last.before
        if (last.again !== undefined) this.#again(last.again, last.delta)
        return
      case 'wait':
        model.nowMs = Math.max(0, model.nowMs + command.seconds * 1000)
        pool.counts({ nowMs: model.nowMs })
        return
      case 'resize':
        this.#spec = { ...this.#spec, ...command.space }
        pool.resize(this.#spec)
        model.resize(this.#spec)
    }
  }

  #allocate(request: AllocationRequest, before: PoolModel): void {
    const { nowMs } = this.model
    const expected = this.model.expected(request)
    const outcome = this.pool.allocate(request, { nowMs })
    expect(outcome.kind).toBe(expected.kind)
    if (outcome.kind === 'allocated') {
      const given = outcome.addresses.map(text)
      expect(given).toHaveLength(expected.oneOf!.length)
      expect(new Set(given).size).toBe(given.length)
      for (const [i, one] of given.entries()) expect(expected.oneOf![i]).toContain(one)
      this.model.begin(outcome.delta.holds, expected)
      this.#last = { delta: outcome.delta, before, again: request }
      return
    }
    if (expected.address !== undefined) expect('address' in outcome && text(outcome.address)).toBe(expected.address)
    if (expected.reason !== undefined) expect(outcome).toMatchObject({ reason: expected.reason })
    if ('freeAtMs' in outcome || expected.freeAtMs !== undefined) {
      expect(outcome).toMatchObject({ freeAtMs: expected.freeAtMs })
    }
  }

  /** What was undone comes out again in the same way, and is undone once more. */
  #again(request: AllocationRequest, delta: AllocationDelta): void {
    const outcome = this.pool.allocate(request, { nowMs: this.model.nowMs })
    if (outcome.kind !== 'allocated') throw new Error(`${outcome.kind} after undo`)
    expect(outcome.addresses).toEqual(delta.holds.map((hold) => hold.address))
    expect(this.pool.undo(outcome.delta)).toBe(true)
  }
}

describe('a pool with all of its options does what lists do', () => {
  property([space, options, fc.array(command, { maxLength: 30, size: 'max' })], 4)(
    'whatever is done',
    (first, more, commands) => {
      const pair = new Pair({ ...first, ...more })
      for (const command of commands) {
        pair.run(command)
        expect(stateOf(pair.pool, pair.model.nowMs)).toEqual(pair.model.state())
      }
    },
  )

  property([space, options, fc.array(command, { maxLength: 30, size: 'max' })])(
    'and two that are given the same calls give the same answers',
    (first, more, commands) => {
      const answers = [1, 2].map(() => {
        const pool = new AddressPool({ ...first, ...more })
        const outcomes: AllocationOutcome[] = []
        for (const [i, command] of commands.entries()) {
          const nowMs = i * 3000
          if (command.do === 'allocate') outcomes.push(pool.allocate(command.request, { nowMs }))
          else if (command.do === 'release') pool.release(command.address, command.owner, { nowMs })
        }
        return outcomes
      })
      expect(answers[0]).toEqual(answers[1])
    },
  )
})
