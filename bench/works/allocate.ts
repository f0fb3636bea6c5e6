import { AddressPool, type Owner } from 'ipam-kit/allocator'
import { Address, type Address4, RangeSet } from 'ipam-kit/cidr'
import type { Side, Work } from '../harness.js'
import { SetAndLoop } from '../peers/set-and-loop.js'

export const allocateWorks: readonly Work[] = [
  ...[1000, 4000].map((used) => ({
    name: `allocate and release, /16, ${used.toLocaleString('en')} in use`,
    ours: () => allocateAndRelease('10.0.0.0/16', used),
    peers: {
      'Set and loop': () => {
        const model = new SetAndLoop(0x0a000000, 0x0a00ffff)
        for (let i = 0; i < used; i++) model.allocate()
        return { run: () => model.release(model.allocate() as string), operations: 1 }
      },
    },
  })),
  {
    name: 'allocate and release, 1,048,576 addresses half full',
    ours: () => allocateAndRelease('10.0.0.0/12', 524_288),
    peers: { 'the same with 65,536 addresses': () => allocateAndRelease('10.0.0.0/16', 32_768) },
  },
  {
    name: 'the last free address of a /16',
    ours: () => allocateAndRelease('10.0.0.0/16', 65_535),
    peers: { 'the first one of it': () => allocateAndRelease('10.0.0.0/16', 0) },
  },
]

const claimant: Owner = { uid: 'claimant' }

function allocateAndRelease(cidr: string, used: number): Side {
  const pool = filledPool(cidr, used)
  const run = () => {
    const outcome = pool.allocate({ owner: claimant })
    if (outcome.kind !== 'allocated') throw new Error(`the pool of the benchmark is ${outcome.kind}`)
    pool.release(outcome.address, claimant)
    return outcome
  }
  return { run, operations: 1 }
}

function filledPool(cidr: string, used: number): AddressPool {
  const pool = new AddressPool({ ranges: RangeSet.parse([cidr]) })
  const first = Address.parse('10.0.0.0') as Address4
  for (let i = 0; i < used; i++) pool.occupy(Address.from4(first.value + i), { uid: String(i) })
  return pool
}
