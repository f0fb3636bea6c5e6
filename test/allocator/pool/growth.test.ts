import { AddressPool, type Owner, type AddressPool as Pool, PrefixAllocator } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

/** How often a field of a counted object was read. */
let reads = 0

/** The same object, whose fields are counted when they are read. */
function counted<T extends object>(object: T): T {
  const fields = Object.entries(object).map(([name, value]): [string, PropertyDescriptor] => [
    name,
    {
      enumerable: true,
      get() {
        reads++
        return value as unknown
      },
    },
  ])
  return Object.defineProperties({}, Object.fromEntries(fields)) as T
}

const owner = (uid: string, name?: string): Owner => counted(name === undefined ? { uid } : { uid, interface: name })
const interfaceOf = (uid: string, i: number) => owner(uid, `net${i}`)

const SMALL = 200
const GROWTH = 8
/** What grows by 8 may not cost more than 10 times as much. */
const MOST = 10

/** A delta of a release, of which it is counted what an undo reads of the holds of others. */
function countedDelta<D extends { readonly undo: { readonly others: readonly H[] } }, H extends object>(delta: D): D {
  return { ...delta, undo: { ...delta.undo, others: delta.undo.others.map(counted) } }
}

/** What n things cost, of which the preparation does not count. */
type Cost = (count: number) => () => unknown

function costOf(cost: Cost, count: number): number {
  const run = cost(count)
  reads = 0
  run()
  return reads
}

const FAMILIES = [
  { family: 4, first: Address.parse('10.0.0.0'), ranges: RangeSet.parse(['10.0.0.0/16']), bits: 32 },
  { family: 6, first: Address.parse('fd00::'), ranges: RangeSet.parse(['fd00::/112']), bits: 128 },
] as const
const BOTH = RangeSet.parse(['10.0.0.0/16', 'fd00::/112'])

describe.each(FAMILIES)(
  'IPv$family: what grows by 8 costs at most 10 times as much',
  ({ family, first, ranges, bits }) => {
    const at = (i: number) => counted(Address.add(first, BigInt(i)))
    const poolOf = (count: number, occupy: (pool: Pool, i: number) => void) => {
      const pool = new AddressPool({ ranges: BOTH })
      for (let i = 0; i < count; i++) occupy(pool, i)
      return pool
    }
    const poolOfInterfaces = (count: number) => poolOf(count, (pool, i) => pool.occupy(at(i), interfaceOf('a', i)))

    const ofPool: Readonly<Record<string, Cost>> = {
      'each interface of a uid asks for an address': (count) => {
        const pool = poolOf(0, () => undefined)
        return () => {
          for (let i = 0; i < count; i++) pool.allocate({ owner: interfaceOf('a', i), family })
        }
      },
      'a uid whose interfaces hold addresses asks for itself, over and over': (count) => {
        const pool = poolOfInterfaces(count)
        return () => {
          for (let i = 0; i < count; i++) {
            const outcome = pool.allocate({ owner: owner('a'), family })
            if (outcome.kind === 'allocated') pool.release(outcome.address, owner('a'))
          }
        }
      },
      'a release of all interfaces of a uid is undone': (count) => {
        const pool = poolOfInterfaces(count)
        return () => expect(pool.undo(countedDelta(pool.releaseOwner('a')))).toBe(true)
      },
      'a release of all addresses of an owner is undone': (count) => {
        const pool = poolOf(count, (all, i) => all.occupy(at(i), owner('a')))
        return () => expect(pool.undo(countedDelta(pool.releaseOwner('a')))).toBe(true)
      },
      'a release of addresses that have another owner each is undone': (count) => {
        const pool = poolOf(count, (all, i) => {
          all.occupy(at(i), interfaceOf('a', i))
          all.occupy(at(i), owner(`b${i}`))
        })
        return () => expect(pool.undo(countedDelta(pool.releaseOwner('a')))).toBe(true)
      },
      'an owner of some addresses asks for one of others': (count) => {
        const pool = poolOf(count, (all, i) => all.occupy(at(i), owner('a')))
        const addresses = Array.from({ length: count }, (_, i) => at(30_000 + i))
        return () => {
          const outcome = pool.allocate({ owner: owner('a'), want: { kind: 'oneOf', addresses } })
          expect(outcome.kind).toBe('refused')
        }
      },
      'several addresses are asked for, and asked for again': (count) => {
        const pool = poolOf(0, () => undefined)
        return () => {
          for (const kind of ['allocated', 'already']) {
            expect(pool.allocate({ owner: owner('a'), family, want: { kind: 'run', count } }).kind).toBe(kind)
          }
        }
      },
    }

    const allocatorOf = (count: number, occupy: (allocator: PrefixAllocator, i: number) => void) => {
      const allocator = new PrefixAllocator({ ranges: ranges, childLength: bits - 1 })
      for (let i = 0; i < count; i++) occupy(allocator, i)
      return allocator
    }
    const child = (i: number) => counted(Prefix.of(Address.add(first, BigInt(i * 2)), bits - 1))

    const ofPrefixes: Readonly<Record<string, Cost>> = {
      'each interface of a uid asks for a prefix': (count) => {
        const allocator = allocatorOf(0, () => undefined)
        return () => {
          for (let i = 0; i < count; i++) allocator.allocate({ owner: interfaceOf('a', i) })
        }
      },
      'a uid whose interfaces hold prefixes asks for itself, over and over': (count) => {
        const allocator = allocatorOf(count, (all, i) => all.occupy(child(i), interfaceOf('a', i)))
        return () => {
          for (let i = 0; i < count; i++) {
            const outcome = allocator.allocate({ owner: owner('a') })
            if (outcome.kind === 'allocated') allocator.release(outcome.prefix, owner('a'))
          }
        }
      },
      'a release of all interfaces of a uid with prefixes is undone': (count) => {
        const allocator = allocatorOf(count, (all, i) => all.occupy(child(i), interfaceOf('a', i)))
        return () => expect(allocator.undo(countedDelta(allocator.releaseOwner('a')))).toBe(true)
      },
      'a release of all prefixes of an owner is undone': (count) => {
        const allocator = allocatorOf(count, (all, i) => all.occupy(child(i), owner('a')))
        return () => expect(allocator.undo(countedDelta(allocator.releaseOwner('a')))).toBe(true)
      },
      'a release of a prefix around many others is undone': (count) => {
        const allocator = allocatorOf(count, (all, i) => all.occupy(child(i), owner(`b${i}`)))
        allocator.occupy(Prefix.of(first, bits - 16), owner('a'))
        return () => expect(allocator.undo(countedDelta(allocator.releaseOwner('a')))).toBe(true)
      },
      'a prefix around many others is asked for, over and over': (count) => {
        const allocator = allocatorOf(count, (all, i) => all.occupy(child(i), owner(`b${i}`)))
        const prefix = counted(Prefix.of(first, bits - 16))
        return () => {
          for (let i = 0; i < count; i++) expect(allocator.allocate({ owner: owner('a'), prefix }).kind).toBe('taken')
        }
      },
    }

    test.each([...Object.entries(ofPool), ...Object.entries(ofPrefixes)])('%s', (_, cost) => {
      const before = costOf(cost, SMALL)
      expect(before).toBeGreaterThan(0)
      expect(costOf(cost, SMALL * GROWTH)).toBeLessThanOrEqual(before * MOST)
    })
  },
)
