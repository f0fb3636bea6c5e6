import { AddressPool } from 'ipam-kit/allocator'
import { Address, type Address4, RangeSet } from 'ipam-kit/cidr'
import type { Side } from './harness.js'
import { FIRST } from './slots.js'

const uids: readonly string[] = Array.from({ length: 4096 }, (_, index) => `claim-${index}`)

/** Claims come and go, one after the other: each is given an address, as a text, and gives it back. */
export function claims(allocate: (uid: string) => string, release: (uid: string) => void): Side {
  let claim = 0
  const run = () => {
    const uid = uids[claim++ & (uids.length - 1)]!
    const text = allocate(uid)
    release(uid)
    return text
  }
  return { run, operations: 1, answer: () => (Address.parse(run()) as Address4).value }
}

/** Our side: a pool in which 1,000 addresses are in use, and a record of each claim. */
export function serveClaims(): Side {
  const pool = filledPool('10.0.0.0/16', 1000)
  const records = new Map<string, string>()
  return claims(
    (uid) => {
      const outcome = pool.allocate({ owner: { uid } })
      if (outcome.kind !== 'allocated') throw new Error(`the pool of the benchmark is ${outcome.kind}`)
      const text = Address.format(outcome.address)
      records.set(uid, text)
      return text
    },
    (uid) => {
      pool.releaseOwner(uid)
      records.delete(uid)
    },
  )
}

/** A pool of which so many addresses are in use, from the first one on. */
export function filledPool(cidr: string, used: number): AddressPool {
  const pool = new AddressPool({ ranges: RangeSet.parse([cidr]) })
  for (let i = 0; i < used; i++) pool.occupy(Address.from4(FIRST + i), { uid: String(i) })
  return pool
}
