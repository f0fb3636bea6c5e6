import { Address, RangeSet } from 'ipam-kit/cidr'
import { type IPPool, poolSpace } from 'ipam-kit/crd/ipam-kit'
import type { Pod } from './cast.js'
import { isBound, type Stored, type StoredRow, textOf } from './stored.js'

/** Something that has to hold at the end, and where it does not. */
export interface Check {
  readonly rule: string
  readonly wrong: readonly string[]
}

/** What is looked at. */
export interface Evidence {
  readonly pods: readonly Pod[]
  readonly pools: readonly string[]
  readonly stored: Stored
  /** What Pods were told that they have, by uid: in the first run, and in the second. */
  readonly told: readonly ReadonlyMap<string, readonly string[]>[]
  /** Answers that were not to be expected. */
  readonly surprises: readonly string[]
  /** What the second run has written. */
  readonly again: readonly string[]
}

export function checksOf({ pods, pools, stored, told, surprises, again }: Evidence): readonly Check[] {
  return [
    { rule: 'every request was served', wrong: [...surprises, ...stored.unfit] },
    { rule: 'no address is given twice in a domain', wrong: addressesTwice(stored) },
    { rule: 'every owner has one row of each family, and was told so', wrong: ownersAmiss(pods, stored, told) },
    { rule: 'the status of each pool counts what is stored', wrong: countsAmiss(pools, stored) },
    { rule: 'a second run has nothing to write', wrong: again.map((object) => `it has written ${object}`) },
  ]
}

const FAMILIES = [4, 6] as const

/** No two rows of a domain have an address in common, whichever blocks they are in. */
function addressesTwice({ rows }: Stored): readonly string[] {
  const wrong: string[] = []
  const ordered = [...rows].sort((left, right) => (left.first < right.first ? -1 : left.first > right.first ? 1 : 0))
  for (const key of new Set(ordered.map(placeOf))) {
    let reaching: StoredRow | undefined
    for (const each of ordered) {
      if (placeOf(each) !== key) continue
      if (reaching !== undefined && reaching.last >= each.first) {
        const [one, two] = [reaching, each].map(({ row, block }) => `${row.owner} in ${block.metadata.name}`)
        wrong.push(`${textOf(each)} of domain ${each.block.spec.domain} is given to ${one} and to ${two}`)
      }
      if (reaching === undefined || each.last > reaching.last) reaching = each
    }
  }
  return wrong
}

/** Within which an address is one thing. */
function placeOf({ block, family }: StoredRow): string {
  return `${block.spec.domain} ${family}`
}

/**
 * Each Pod has one row of each family, and what it was told; what it had before it was made anew
 * was given back.
 */
function ownersAmiss(pods: readonly Pod[], { rows }: Stored, runs: Evidence['told']): readonly string[] {
  const bound = rows.filter(isBound)
  return pods.flatMap(({ name, uid, former }) => {
    const own = bound.filter(({ row }) => row.uid === uid)
    const counts = FAMILIES.flatMap((family) => {
      const { length } = own.filter((each) => each.family === family)
      return length === 1 ? [] : [`${name} has ${length} rows of IPv${family}`]
    })
    const left = bound.filter(({ row }) => row.uid === former)
    const kept = left.map((each) => `${name} was made anew, and still has ${textOf(each)} of before`)
    const has = listed(own.map(textOf))
    const told = new Set(runs.map((told) => listed(told.get(uid) ?? [])))
    const lied = [...told].filter((text) => text !== has).map((text) => `${name} was told ${text}, and has ${has}`)
    return [...counts, ...kept, ...lied]
  })
}

function listed(addresses: readonly string[]): string {
  return [...addresses].sort().join(' and ') || 'nothing'
}

/** What the status of a pool counts is what is stored, counted address by address. */
function countsAmiss(pools: readonly string[], stored: Stored): readonly string[] {
  return pools.flatMap((name) => {
    const pool = stored.pools.find(({ metadata }) => metadata.name === name)
    if (pool === undefined) return [`there is no IPPool ${name}`]
    return FAMILIES.flatMap((family) => {
      const says = pool.status?.[`ipv${family}`]
      const counted = countOf(pool, family, stored)
      return (['total', 'allocated', 'free'] as const)
        .filter((field) => says?.[field] !== `${counted[field]}`)
        .map(
          (field) =>
            `IPPool ${name} says ${field} ${says?.[field] ?? '-'} of IPv${family}, and it is ${counted[field]}`,
        )
    })
  })
}

function countOf(pool: IPPool, family: 4 | 6, { rows }: Stored) {
  const space = poolSpace(pool.spec)
  const given = space.ok ? addressesIn(space.value.given, family) : []
  const reserved = space.ok ? addressesIn(space.value.reserved, family) : []
  const near = rows.filter(({ block, family: of }) => block.spec.domain === pool.spec.domain && of === family)
  const own = near.filter((each) => isBound(each) && each.pool === pool.metadata.name)
  const size = ({ first, last }: StoredRow) => last - first + 1n
  return {
    total: given.length + reserved.length,
    allocated: own.reduce((sum, each) => sum + size(each), 0n),
    free: given.filter((at) => !near.some(({ first, last }) => first <= at && at <= last)).length,
  }
}

/** One by one: the pools of the scenario are small. */
function addressesIn(set: RangeSet.RangeSet, family: 4 | 6): readonly bigint[] {
  return [...RangeSet.addresses(set)].filter((address) => address.family === family).map(Address.toBigInt)
}
