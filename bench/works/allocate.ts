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
        const model = new SetAndLoop(FIRST, FIRST + 0xffff)
        for (let i = 0; i < used; i++) model.allocate()
        const run = () => {
          const text = model.allocate() as string
          model.release(text)
          return text
        }
        return { run, operations: 1, answer: () => beyond(used, Address.parse(run()) as Address4) }
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

/** Of every pool. */
const FIRST = 0x0a000000

const claimant: Owner = { uid: 'claimant' }

function allocateAndRelease(cidr: string, used: number): Side {
  const pool = filledPool(cidr, used)
  const run = () => {
    const outcome = pool.allocate({ owner: claimant })
    if (outcome.kind !== 'allocated') throw new Error(`the pool of the benchmark is ${outcome.kind}`)
    pool.release(outcome.address, claimant)
    return outcome
  }
  return { run, operations: 1, answer: () => beyond(used, run().address as Address4) }
}

/** How far an address lies behind the lowest that is free, where so many are used from the first on. */
function beyond(used: number, { value }: Address4): number {
  return value - FIRST - used
}

function filledPool(cidr: string, used: number): AddressPool {
  const pool = new AddressPool({ ranges: RangeSet.parse([cidr]) })
  for (let i = 0; i < used; i++) pool.occupy(Address.from4(FIRST + i), { uid: String(i) })
  return pool
}
