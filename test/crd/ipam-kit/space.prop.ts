import fc from 'fast-check'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { poolSpace } from 'ipam-kit/crd/ipam-kit'
import { expect, test } from 'vitest'
import { subnetOf } from '../../../src/crd/ipam-kit/space.js'
import { runs } from '../../setup/depth.js'
import { pool } from './objects.js'

// A pool of up to 64 addresses, beside a model that goes through them one by one.

const SIZE = 64
const families = {
  4: { bits: 32, at: (offset: number) => Address.add(Address.parse('10.0.0.0'), offset) },
  6: { bits: 128, at: (offset: number) => Address.add(Address.parse('fd00::'), offset) },
} as const

interface Subnet {
  readonly base: number
  readonly size: number
  readonly ranges: readonly (readonly [number, number])[] | undefined
  readonly exclude: readonly (readonly [number, number])[]
  readonly reserved: readonly (readonly [number, number])[]
  readonly gateway: number | undefined
}

const subnet: fc.Arbitrary<Subnet> = fc.tuple(fc.nat(6), fc.nat(SIZE - 1)).chain(([bits, near]) => {
  const size = 2 ** bits
  const base = near - (near % size)
  const inside = fc
    .tuple(fc.nat(size - 1), fc.nat(size - 1))
    .map(([a, b]) => [base + Math.min(a, b), base + Math.max(a, b)] as const)
  const few = fc.array(inside, { maxLength: 2 })
  return fc.record({
    base: fc.constant(base),
    size: fc.constant(size),
    ranges: fc.option(fc.array(inside, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    exclude: few,
    reserved: few,
    gateway: fc.option(
      fc.nat(size - 1).map((offset) => base + offset),
      { nil: undefined },
    ),
  })
})

const shapes = fc.record({
  family: fc.constantFrom(4 as const, 6 as const),
  subnets: fc.uniqueArray(subnet, { minLength: 1, maxLength: 4, selector: ({ base, size }) => `${base}/${size}` }),
  skipEdges: fc.constantFrom('auto', 'always', 'never'),
  unit: fc.constantFrom(1, 1, 2, 4, 16),
})
type Shape = typeof shapes extends fc.Arbitrary<infer T> ? T : never

function specOf({ family, subnets, skipEdges, unit }: Shape) {
  const { bits, at } = families[family]
  const text = (offset: number) => Address.format(at(offset))
  const texts = (list: Subnet['exclude']) =>
    list.map(([first, last]) => (first === last ? text(first) : `${text(first)}-${text(last)}`))
  const grid = { allocationPrefixLength: bits - Math.log2(unit), blockPrefixLength: bits - 10 }
  return pool({
    subnets: subnets.map(({ base, size, ranges, exclude, reserved, gateway }) => ({
      cidr: `${text(base)}/${bits - Math.log2(size)}`,
      ...(ranges === undefined ? {} : { ranges: texts(ranges) }),
      exclude: texts(exclude),
      reserved: texts(reserved),
      ...(gateway === undefined ? {} : { gateway: text(gateway) }),
    })),
    skipEdges,
    [`ipv${family}`]: grid,
  }).spec
}

const has = (list: Subnet['exclude'], offset: number) => list.some(([first, last]) => first <= offset && offset <= last)
const isOf = ({ base, size }: Subnet, offset: number) => base <= offset && offset < base + size

function isEdge({ base, size }: Subnet, offset: number, { skipEdges, unit }: Shape): boolean {
  if (skipEdges === 'never' || unit > 1 || (skipEdges === 'auto' && size < 4)) return false
  return offset === base || offset === base + size - 1
}

/** What may become of each address, by the rules, one after the other. */
function model(shape: Shape) {
  const { subnets, unit } = shape
  const all = Array.from({ length: SIZE }, (_, offset) => offset)
  const kept = all.filter((offset) =>
    subnets.some((one) => has(one.exclude, offset) || one.gateway === offset || isEdge(one, offset, shape)),
  )
  const ranged = all.filter((offset) =>
    subnets.some((one) => (one.ranges === undefined ? isOf(one, offset) : has(one.ranges, offset))),
  )
  const asked = all.filter((offset) => subnets.some((one) => has(one.reserved, offset)))
  const given: number[] = []
  const reserved: number[] = []
  for (let first = 0; first < SIZE; first += unit) {
    const parts = all.slice(first, first + unit)
    if (!parts.every((offset) => ranged.includes(offset) && !kept.includes(offset))) continue
    if (parts.some((offset) => asked.includes(offset))) reserved.push(...parts)
    else given.push(...parts)
  }
  return { kept, given, reserved }
}

test('the space of a pool is what its texts say', () => {
  fc.assert(
    fc.property(shapes, (shape) => {
      const space = poolSpace(specOf(shape))
      if (!space.ok) throw new Error(space.failure.context.problems.join('; '))
      const { bits, at } = families[shape.family]
      const expected = model(shape)
      for (const part of ['given', 'reserved', 'kept'] as const) {
        expect(RangeSet.format(space.value[part]), part).toEqual(
          RangeSet.format(RangeSet.fromAddresses(expected[part].map(at))),
        )
      }
      for (let offset = 0; offset < SIZE; offset++) {
        const sizes = shape.subnets.filter((one) => isOf(one, offset)).map(({ size }) => size)
        const length = sizes.length === 0 ? undefined : bits - Math.log2(Math.min(...sizes))
        const found = subnetOf(space.value, at(offset))
        expect(found?.prefix.length).toBe(length)
        const of = shape.subnets.find((one) => isOf(one, offset) && bits - Math.log2(one.size) === length)
        expect(found?.gateway).toEqual(of?.gateway === undefined ? undefined : at(of.gateway))
        if (found !== undefined) expect(Prefix.contains(found.prefix, at(offset))).toBe(true)
      }
    }),
    { numRuns: runs(2) },
  )
})
