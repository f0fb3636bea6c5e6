import { AddressPool, type Hold } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, refusedWith } from '../answer.js'
import { answerFunction, type CaseFunctions } from '../case-function.js'
import { type ReadRange, readRange } from '../harvester-range.js'

const text = z.string()
const rangeSchema = z.strictObject({
  subnet: text,
  rangeStart: text.optional(),
  rangeEnd: text.optional(),
  gateway: text.optional(),
})
const opSchema = z.union([
  z.tuple([z.literal('reserve'), text, text]),
  z.tuple([z.literal('release'), text]),
  z.tuple([z.literal('releaseByID'), text]),
])
const storeSchema = z.strictObject({ available: z.int().min(1), ops: z.array(opSchema) })
const allocateSchema = z.strictObject({
  ranges: z.array(rangeSchema),
  history: z.record(text, text).default({}),
  allocateFor: z.array(text),
})

const functions: CaseFunctions = {
  reserve: (input, expect) => store(storeSchema.parse(input), expect),
  release: (input, expect) => store(storeSchema.parse(input), expect),
  releaseByID: (input, expect) => store(storeSchema.parse(input), expect),
  makeRange: (input, expect) => {
    const read = readRange(rangeSchema.parse(input))
    if (typeof read === 'string') return refusedWith(expect, read)
    return answerKeys(expect, {
      start: () => Address.format(read.range.first),
      end: () => Address.format(read.range.last),
      gateway: () => (read.gateway === undefined ? null : Address.format(read.gateway)),
      error: () => false,
    })
  },
  countIP: (input, expect) => {
    const read = readRange(rangeSchema.parse(input))
    if (typeof read === 'string') return refusedWith(expect, read)
    return answerKeys(expect, { count: () => Number(poolOf([read]).counts().total) })
  },
  allocate: (input, expect) => allocate(allocateSchema.parse(input), expect),
}

/** The pool of Harvester: machines hold addresses by their names, and get again what they had. */
export async function consumerHarvester(given: GivenCase): Promise<Answer> {
  return answerFunction(given, functions)
}

function poolOf(ranges: readonly ReadRange[]): AddressPool {
  return new AddressPool({
    ranges: RangeSet.fromRanges(ranges.map(({ range }) => range)),
    exclude: RangeSet.fromAddresses(ranges.flatMap(({ gateway }) => (gateway === undefined ? [] : [gateway]))),
  })
}

/** A pool of so many addresses, among which are all that are asked for. */
function poolWith(asked: readonly Address[], count: number): AddressPool {
  const known = RangeSet.fromAddresses(asked)
  const [lowest] = RangeSet.addresses(known)
  const missing = count - Number(RangeSet.size(known))
  const more: Address[] = []
  for (let next = lowest; next !== undefined && more.length < missing; next = Address.next(next)) {
    if (!RangeSet.contains(known, next)) more.push(next)
  }
  return new AddressPool({ ranges: RangeSet.union(known, RangeSet.fromAddresses(more)) })
}

function store({ available, ops }: z.output<typeof storeSchema>, expect: unknown): Answer {
  const asked = ops.flatMap((op) => (op[0] === 'reserve' ? [Address.parse(op[2])] : []))
  const pool = poolWith(asked, available)
  const results: unknown[] = []
  const history = new Map<string, string>()
  const forget = (holds: readonly Hold[]) => {
    for (const { address, owner } of holds) history.set(Address.format(address), owner.uid)
  }
  let last: string | undefined
  for (const op of ops) {
    switch (op[0]) {
      case 'reserve': {
        const outcome = pool.allocate({
          // a machine may reserve any number of addresses
          owner: { uid: op[1], interface: op[2] },
          want: { kind: 'address', address: Address.parse(op[2]) },
        })
        if (outcome.kind === 'allocated') last = Address.format(outcome.address)
        results.push(outcome.kind === 'allocated')
        break
      }
      case 'release': {
        const address = Address.parse(op[1])
        for (const owner of pool.ownersOf(address)) {
          const outcome = pool.release(address, owner)
          if (outcome.kind === 'released') forget(outcome.delta.holds)
        }
        break
      }
      case 'releaseByID':
        forget(pool.releaseOwner(op[1]).holds)
    }
  }
  const { total, used } = pool.counts()
  return answerKeys(expect, {
    results: () => results,
    allocated: () => allocatedOf(pool),
    allocatedCount: () => Number(used),
    available: () => Number(total - used),
    lastAllocated: () => last,
    history: () => Object.fromEntries(history),
    historyCount: () => history.size,
  })
}

function allocatedOf(pool: AddressPool): { readonly [address: string]: string } {
  const entries = pool.entries().flatMap(({ address, holds }) => {
    return holds.map(({ owner }) => [Address.format(address), owner.uid] as const)
  })
  return Object.fromEntries(entries)
}

function allocate({ ranges, history, allocateFor }: z.output<typeof allocateSchema>, expect: unknown): Answer {
  const read = ranges.map(readRange)
  const problem = read.find((range) => typeof range === 'string')
  if (problem !== undefined) return refusedWith(expect, problem)
  const pool = poolOf(read as readonly ReadRange[])
  const ips: string[] = []
  for (const uid of allocateFor) {
    const had = Object.entries(history).flatMap(([address, machine]) =>
      machine === uid ? [Address.parse(address)] : [],
    )
    const again =
      had.length === 0 ? undefined : pool.allocate({ owner: { uid }, want: { kind: 'oneOf', addresses: had } })
    const outcome = again ?? pool.allocate({ owner: { uid } })
    if (!('addresses' in outcome)) return refusedWith(expect, outcome.kind)
    ips.push(Address.format(outcome.address))
  }
  return answerKeys(expect, {
    ips: () => ips,
    distinct: () => new Set(ips).size === ips.length,
    allocated: () => allocatedOf(pool),
    allocatedCount: () => Number(pool.counts().used),
    error: () => false,
  })
}
