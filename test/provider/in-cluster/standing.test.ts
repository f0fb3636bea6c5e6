import type { InClusterPool } from 'ipam-kit/crd/in-cluster'
import { standingStore } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { isDeep } from '../../setup/depth.js'
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
    // the second write is the address of the first claim, and the next leader gives it to the last
    // one
    let isDeposed = false
    const store = standingStore(world.store, 2, async () => {
      isDeposed = true
      const heir = new Leader(world, { store: world.store, canWrite: () => true, isReversed: true })
      await heir.look()
      await heir.plan(3)
    })
    const first = new Leader(world, { store, canWrite: () => !isDeposed })
    await first.look()
    await first.plan()
    await world.create(claimOf('f', dialect))
    const given = (await world.addresses()).map(({ spec }) => spec.address)
    expect(new Set(given).size, 'two objects have one address').toBe(given.length - 1)
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
const TIMES = isDeep ? [0, 1, 2, 3, 4, 5, 6, 8, Number.POSITIVE_INFINITY] : [0, 2, Number.POSITIVE_INFINITY]

/** A case stands still at each write when the suite runs deep, otherwise at one of so many. */
const STEP = isDeep ? 1 : 5

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
  const refused = await refusedAdoptions(world, wrong)
  if (refused > 0) await heir.rest()
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

/**
 * A write that arrives after its claim has gone looks like an IPAddress that was restored. A claim
 * of that name does not get it, and says so, until somebody deletes it: that is done here.
 */
async function refusedAdoptions(world: World, wrong: string[]): Promise<number> {
  const addresses = await world.addresses()
  let refused = 0
  for (const { metadata, status } of await world.claims()) {
    const own = addresses.find((one) => one.metadata.name === metadata.name)
    const isOfEarlier = own?.metadata.ownerReferences?.some(
      ({ kind, uid }) => kind === 'IPAddressClaim' && uid !== metadata.uid,
    )
    if (isOfEarlier !== true) continue
    refused++
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    if (ready?.reason !== 'AllocationFailed' || !ready.message.includes('is also that of'))
      wrong.push(`${metadata.name} does not say why it has no address`)
    await world.delete('address', metadata.name)
  }
  return refused
}

const cases = Object.keys(MEANWHILE)
  .flatMap((meanwhile) =>
    TIMES.flatMap((plans) => [false, true].map((isReversed) => ({ meanwhile, plans, isReversed }))),
  )
  .map((one, nth) => ({ ...one, firstWrite: 1 + (nth % STEP) }))

describe.each(Object.keys(BEFORE))(
  '%s: a leader that stands still between its check and any of its writes',
  (before) => {
    test.each(cases)(
      'binds no two claims to one address, and what is left is repaired: people do $meanwhile, the next one makes $plans plans, from the last: $isReversed',
      async ({ meanwhile, plans, isReversed, firstWrite }) => {
        const found: string[] = []
        for (let at = firstWrite; ; at += STEP) {
          // each kind of pool has its turn at each of the writes
          const dialect = DIALECTS[(at + cases.findIndex((one) => one.plans === plans)) % DIALECTS.length] as Dialect
          const { wrong, isOver } = await stand({ before, dialect, meanwhile, at, plans, isReversed })
          found.push(...wrong.map((text) => `${dialect.kind}, write ${at}: ${text}`))
          if (isOver) break
        }
        expect(found).toEqual([])
      },
    )
  },
)

test.each(DIALECTS)('a write that arrives late makes a second object with an address: $kind', async (dialect) => {
  const late = { before: 'claims come', meanwhile: 'nothing', at: 2, plans: 2, isReversed: true }
  expect(await stand({ ...late, dialect })).toEqual({ wrong: [], hadTwice: true, isOver: false })
})
