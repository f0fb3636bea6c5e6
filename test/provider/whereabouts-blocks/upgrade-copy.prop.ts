import { fc, test } from '@fast-check/vitest'
import { Address } from 'ipam-kit/cidr'
import type { UpgradeOutcome } from 'ipam-kit/provider/whereabouts-blocks'
import { describe, expect } from 'vitest'
import { runs } from '../../setup/depth.js'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = '10.0.0.248-29'
const IPAMS = [{ range: '10.0.0.248/29' }, { range: '10.0.1.0/29' }]

const names = fc.constantFrom('a', 'b', 'c', 'd')

/** What happens on Nodes: also on those of a network that is on blocks already. */
const changes = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant('add' as const), name: names, container: fc.nat(2) }), weight: 5 },
  { arbitrary: fc.record({ kind: fc.constant('del' as const), name: names, container: fc.nat(2) }), weight: 2 },
  { arbitrary: fc.record({ kind: fc.constant('beside' as const), name: names }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant('blockAdd' as const), name: fc.constantFrom('x', 'y') }), weight: 1 },
)
type Change = typeof changes extends fc.Arbitrary<infer C> ? C : never

const actions = fc.oneof(
  { arbitrary: changes, weight: 5 },
  {
    arbitrary: fc.record({
      kind: fc.constant('copy' as const),
      crash: fc.option(fc.nat(9)),
      at: fc.nat(9),
      meanwhile: fc.option(changes),
    }),
    weight: 3,
  },
)

async function change(world: UpgradeWorld, made: Change): Promise<void> {
  if (made.kind === 'blockAdd') await world.blockAdd(made.name)
  else if (made.kind === 'beside') await world.add(`n-${made.name}`, `c-${made.name}`, 1)
  else if (made.kind === 'add') await world.add(made.name, `c-${made.name}-${made.container}`)
  else {
    await world.del(made.name, `c-${made.name}-${made.container}`)
    const left = (await world.oldRows(POOL)).filter((row) => row.includes(` ns/${made.name} `))
    await world.report(
      made.name,
      left.map((row) => `net1=${row.split(' ')[0]}`),
    )
  }
}

const holderOf = (row: string) => row.replace(/ c-[^/]*\//u, ' ')

/** The addresses at which two lists of rows differ. */
function differing(left: readonly string[], right: readonly string[]): readonly string[] {
  const rows = [...left.filter((row) => !right.includes(row)), ...right.filter((row) => !left.includes(row))]
  return [...new Set(rows.map((row) => row.split(' ')[0] as string))].sort()
}

/** Whether a statement is true, by the objects as they are stored. */
async function expectTrue(world: UpgradeWorld, outcome: UpgradeOutcome): Promise<void> {
  if (outcome.kind === 'notReady' || outcome.kind === 'wrongPhase') return
  const stated = outcome.kind === 'same' ? [] : outcome.differences.map(({ address }) => Address.format(address)).sort()
  const blocks = (await world.blockRows()).filter((row) => row.startsWith('10.0.0.'))
  expect(stated).toEqual(differing(await world.oldRows(POOL), blocks))
}

describe('an upgrade under load', () => {
  test.prop([fc.array(actions, { minLength: 4, maxLength: 14 })], { numRuns: runs(15) })(
    'copyRows takes no row from a holder and writes no object of whereabouts, and each statement is true',
    async (all) => {
      const world = new UpgradeWorld(IPAMS)
      world.phase = 'dual-write'
      await world.prepare()
      for (const action of all) {
        world.nowMs += 1000
        if (action.kind !== 'copy') {
          await change(world, action)
          continue
        }
        const before = await world.blockRows()
        const old = await world.oldObjects()
        const { crash, at, meanwhile } = action
        world.before = async (request) => {
          if (request === at && meanwhile !== null) await change(world, meanwhile)
        }
        const outcome = crash === null ? await world.copy(POOL) : await world.crash(POOL, crash)
        world.before = () => {}
        // no row of a block that the pool has goes, or gets another holder
        const after = new Set((await world.blockRows()).map(holderOf))
        const inPool = new Set((await world.oldRows(POOL)).map(holderOf))
        expect(before.map(holderOf).filter((row) => inPool.has(row) && !after.has(row))).toEqual([])
        if (meanwhile === null || crash !== null) {
          expect(await world.oldObjects()).toBe(old)
          if (typeof outcome === 'object') await expectTrue(world, outcome)
        }
      }
      const last = await world.copy(POOL)
      await expectTrue(world, last)
      if (last.kind !== 'notReady') expect(await world.verify(POOL)).toEqual(last)
      // what the copy leaves is not its to write
      if (last.kind === 'different') {
        const reported = await world.reported()
        const pods = (await world.oldRows(POOL)).map((row) => row.split(' ')[1])
        // of two rows of one interface, which are an obstacle, only the first is written
        const isAlone = (old = '') => pods.filter((pod) => pod === old.split(' ')[0]).length === 1
        const left = last.differences.filter(({ kind, address, old }) => {
          return isAlone(old) && (kind === 'container' || (kind === 'missing' && reported.has(Address.format(address))))
        })
        expect(left).toEqual([])
      }
    },
  )
})
