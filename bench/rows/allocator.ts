import { AddressPool, type Owner } from 'ipam-kit/allocator'
import { Address, type Address4, RangeSet } from 'ipam-kit/cidr'
import type { Row } from '../harness.js'
import { SetAndLoop } from '../peers/set-and-loop.js'

export const allocator: readonly Row[] = [
  ...[1000, 4000].map((used) => ({
    name: `allocate and release, /16, ${used.toLocaleString('en')} in use`,
    setUp: () => {
      const pool = filledPool('10.0.0.0/16', used)
      const model = new SetAndLoop(0x0a000000, 0x0a00ffff)
      for (let i = 0; i < used; i++) model.allocate()
      return {
        ours: { operations: 1, work: () => allocateAndRelease(pool) },
        peers: { 'Set and loop': { operations: 1, work: () => model.release(model.allocate() as string) } },
      }
    },
  })),
  {
    name: 'allocate and release, 1,048,576 addresses half full',
    setUp: () => {
      const large = filledPool('10.0.0.0/12', 524_288)
      const small = filledPool('10.0.0.0/16', 32_768)
      return {
        ours: { operations: 1, work: () => allocateAndRelease(large) },
        peers: { 'the same with 65,536 addresses': { operations: 1, work: () => allocateAndRelease(small) } },
      }
    },
  },
  {
    name: 'the last free address of a /16',
    setUp: () => {
      const full = filledPool('10.0.0.0/16', 65_535)
      const empty = filledPool('10.0.0.0/16', 0)
      return {
        ours: { operations: 1, work: () => allocateAndRelease(full) },
        peers: { 'the first one of it': { operations: 1, work: () => allocateAndRelease(empty) } },
      }
    },
  },
]

const claimant: Owner = { uid: 'claimant' }

function allocateAndRelease(pool: AddressPool): unknown {
  const outcome = pool.allocate({ owner: claimant })
  if (outcome.kind !== 'allocated') throw new Error(`the pool of the benchmark is ${outcome.kind}`)
  pool.release(outcome.address, claimant)
  return outcome
}

function filledPool(cidr: string, used: number): AddressPool {
  const pool = new AddressPool({ ranges: RangeSet.parse([cidr]) })
  const first = Address.parse('10.0.0.0') as Address4
  for (let i = 0; i < used; i++) pool.occupy(Address.from4(first.value + i), { uid: String(i) })
  return pool
}
