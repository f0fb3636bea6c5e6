import { AddressPool, type Owner, PrefixAllocator } from 'ipam-kit/allocator'
import { Address, type Address4, RangeSet } from 'ipam-kit/cidr'
import { claims, filledPool, serveClaims } from '../claims.js'
import type { Side, Work } from '../harness.js'
import { GoIpamModel } from '../peers/go-ipam-model.js'
import { findFreeAddress } from '../peers/in-cluster-model.js'
import { SetAndLoop } from '../peers/set-and-loop.js'
import { WhereaboutsModel } from '../peers/whereabouts-model.js'
import { FIRST } from '../slots.js'

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
    name: 'look for a /30 over 64,000 ranges, each half in use, per range',
    ours: () => prefixOverRanges(64_000),
    peers: { 'the same over 8,000': () => prefixOverRanges(8000) },
  },
  {
    name: 'a prefix for one of 64,000 interfaces of a uid',
    ours: () => prefixOfInterface(64_000),
    peers: { 'one of 8,000': () => prefixOfInterface(8000) },
  },
  {
    name: 'the last free address of a /16',
    ours: () => allocateAndRelease('10.0.0.0/16', 65_535),
    peers: { 'the first one of it': () => allocateAndRelease('10.0.0.0/16', 0) },
  },
  {
    name: 'serve a claim, with text and record, /16, 1,000 in use',
    ours: serveClaims,
    peers: {
      'model of the in-cluster algorithm': () => {
        const available = RangeSet.parse(['10.0.0.0/16'])
        const texts = Array.from({ length: 1000 }, (_, index) => Address.format(Address.from4(FIRST + index)))
        return claims(
          () => {
            const text = Address.format(findFreeAddress(available, texts)!)
            texts.push(text)
            return text
          },
          () => texts.pop(),
        )
      },
      'model of the whereabouts algorithm': () => {
        const model = new WhereaboutsModel(FIRST, FIRST + 0xffff)
        for (let i = 0; i < 1000; i++) model.allocate(String(i), 'net1')
        return claims(
          (uid) => model.allocate(uid, 'net1')!,
          (uid) => model.release(uid, 'net1'),
        )
      },
      'model of the go-ipam algorithm': () => {
        const model = new GoIpamModel(FIRST, FIRST + 0xffff)
        for (let i = 0; i < 1000; i++) model.acquire()
        const records = new Map<string, string>()
        return claims(
          (uid) => {
            const text = model.acquire()!
            records.set(uid, text)
            return text
          },
          (uid) => {
            model.release(records.get(uid)!)
            records.delete(uid)
          },
        )
      },
    },
  },
]

/** Ranges of 16 addresses of which every other one is in use. */
function prefixOverRanges(ranges: number): Side {
  const parts = Array.from({ length: ranges }, (_, i) => {
    const first = Address.from4(FIRST + i * 32)
    return { first, last: Address.from4(FIRST + i * 32 + 15) }
  })
  const pool = new AddressPool({ ranges: RangeSet.fromRanges(parts) })
  const addresses = parts.flatMap(({ first }) => Array.from({ length: 8 }, (_, i) => Address.add(first, BigInt(i * 2))))
  for (const [i, address] of addresses.entries()) pool.occupy(address, { uid: String(i) })
  const run = () => pool.allocate({ owner: claimant, family: 4, want: { kind: 'prefix', length: 30 } }).kind
  return { run, operations: ranges, answer: run }
}

function prefixOfInterface(interfaces: number): Side {
  const allocator = new PrefixAllocator({ ranges: RangeSet.parse(['10.0.0.0/8']), childLength: 28 })
  for (let i = 0; i < interfaces; i++) allocator.allocate({ owner: { uid: 'node', interface: `net${i}` } })
  const owner = { uid: 'node', interface: 'one more' }
  const run = () => {
    const outcome = allocator.allocate({ owner })
    if (outcome.kind === 'allocated') allocator.release(outcome.prefix, owner)
    return outcome.kind
  }
  return { run, operations: 1, answer: run }
}

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

/**
 * How far an address lies behind the lowest that is free, where so many are used from the first on.
 */
function beyond(used: number, { value }: Address4): number {
  return value - FIRST - used
}
