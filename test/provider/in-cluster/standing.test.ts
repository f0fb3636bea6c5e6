import type { InClusterPool } from 'ipam-kit/crd/in-cluster'
import { standingStore } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { isBound, Leader, SWEEP_SECONDS, watched } from './standing.js'
import { claim, poolOf, World } from './world.js'

interface Dialect {
  readonly kind: InClusterPool['kind']
  readonly spec: object
}

/** Room for eight claims, of each kind and family. */
const DIALECTS: readonly Dialect[] = [
  { kind: 'InClusterIPPool', spec: { addresses: ['10.0.0.10-10.0.0.17'], prefix: 24 } },
  { kind: 'GlobalInClusterIPPool', spec: { addresses: ['fd00::10-fd00::17'], prefix: 64 } },
  { kind: 'InClusterPrefixPool', spec: { prefixes: ['fd00::/61'], allocationPrefixLength: 64 } },
  { kind: 'GlobalInClusterPrefixPool', spec: { prefixes: ['10.0.0.0/25'], allocationPrefixLength: 28 } },
]

/** What has happened before the leader begins that is going to stand still. */
const BEFORE: { readonly [name: string]: (world: World, dialect: Dialect) => Promise<void> } = {
  'claims come': async () => {},
  'claims come and go': async (world, dialect) => {
    await served(world)
    for (const name of ['a', 'c']) await world.delete('claim', name)
    await world.create(claimOf('f', dialect))
  },
  'two objects have one address': async (world, dialect) => {
    const wrong: string[] = []
    let isDeposed = false
    const meanwhile = async () => {
      isDeposed = true
      await new Leader(world, { store: world.store, canWrite: () => true, isReversed: true }).look()
      const other = new Leader(world, { store: world.store, canWrite: () => true, isReversed: true })
      await other.look()
      await other.plan(2)
    }
    // the second write of a claim is its address
    const store = standingStore(watched(world, wrong), 3, meanwhile)
    const first = new Leader(world, { store, canWrite: () => !isDeposed })
    await first.look()
    await first.plan()
    await world.create(claimOf('f', dialect))
  },
}

/** What people do while it stands. */
const MEANWHILE: { readonly [name: string]: (world: World, dialect: Dialect) => Promise<void> } = {
  nothing: async () => {},
  'a claim comes': (world, dialect) => world.create(claimOf('0', dialect)),
  'claims go': async (world) => {
    for (const name of ['a', 'b']) await remove(world, name)
  },
  'claims are made again': async (world, dialect) => {
    await remove(world, 'a')
    await served(world)
    await world.create(claimOf('a', dialect))
  },
}

/** How many plans the next leader makes before the write arrives. */
const TIMES = [0, 1, 2, 3, 5, Number.POSITIVE_INFINITY]

function claimOf(name: string, { kind }: Dialect) {
  return claim(name, { poolRef: { kind } })
}

async function remove(world: World, name: string): Promise<void> {
  const claims = await world.claims()
  if (claims.some(({ metadata }) => metadata.name === name)) await world.delete('claim', name)
}

async function served(world: World): Promise<void> {
  await new Leader(world, { store: world.store, canWrite: () => true }).rest()
}

async function begun(dialect: Dialect, before: string): Promise<World> {
  const world = new World()
  await world.create(poolOf(dialect.kind, dialect.spec))
  for (const name of ['a', 'b', 'c', 'd']) await world.create(claimOf(name, dialect))
  await BEFORE[before]!(world, dialect)
  return world
}

interface Case {
  readonly before: string
  readonly dialect: Dialect
  readonly meanwhile: string
  readonly at: number
  readonly plans: number
  readonly isReversed: boolean
}

/** @returns what is wrong, and whether two objects had one address for a while */
async function stand({ before, dialect, meanwhile, at, plans, isReversed }: Case) {
  const world = await begun(dialect, before)
  const wrong: string[] = []
  const store = watched(world, wrong)
  let leading = 1
  const heir = new Leader(world, { store, canWrite: () => true, isReversed })
  const standing = standingStore(store, at, async () => {
    leading = 2
    await MEANWHILE[meanwhile]!(world, dialect)
    await heir.look()
    await heir.plan(plans)
  })
  const first = new Leader(world, { store: standing, canWrite: () => leading === 1 })
  await first.look()
  await first.plan()
  const sent = standing.writes
  const addresses = (await world.addresses()).map(({ spec }) => spec.address)
  const hadTwice = new Set(addresses).size < addresses.length
  if (leading === 2 && sent > at) wrong.push(`${sent - at} writes were sent after another one led`)
  await heir.rest()
  // what was left without a claim is swept
  world.nowMs += 2 * SWEEP_SECONDS * 1000
  await heir.rest()
  const left = await world.addresses()
  if (new Set(left.map(({ spec }) => spec.address)).size < left.length) wrong.push('two objects have one address')
  const claims = await world.claims()
  for (const one of claims) if (!isBound(one)) wrong.push(`${one.metadata.name} is not Bound`)
  for (const { metadata, status } of claims) {
    const told = status?.conditions?.find(({ type }) => type === 'AddressUnique')
    if (told?.status === 'False') wrong.push(`${metadata.name} says still that its address is not its own`)
  }
  if (left.length !== claims.length) wrong.push(`${left.length} addresses for ${claims.length} claims`)
  return { wrong, hadTwice, isOver: leading === 1 }
}

describe.each(Object.keys(BEFORE))('%s: a leader that stands still between its check and a write', (before) => {
  describe.each(Object.keys(MEANWHILE))('while the next one leads and people do: %s', (meanwhile) => {
    test('gives no two Bound claims one address, and what is left of it is repaired', async () => {
      const found: string[] = []
      let runs = 0
      let twice = 0
      for (const isReversed of [false, true]) {
        for (const plans of TIMES) {
          for (let at = 1; ; at++) {
            const dialect = DIALECTS[runs++ % DIALECTS.length] as Dialect
            const { wrong, hadTwice, isOver } = await stand({ before, dialect, meanwhile, at, plans, isReversed })
            if (hadTwice) twice++
            const name = `${dialect.kind}, write ${at}, ${plans} plans${isReversed ? ' from the last' : ''}`
            found.push(...wrong.map((text) => `${name}: ${text}`))
            if (isOver) break
          }
        }
      }
      expect(runs).toBeGreaterThan(100)
      expect([found.slice(0, 10), found.length]).toEqual([[], 0])
      // it is tested what it is about
      if (before === 'claims come' && meanwhile === 'nothing') expect(twice).toBeGreaterThan(0)
    })
  })
})
