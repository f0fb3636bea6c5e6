import { fc, test } from '@fast-check/vitest'
import { Address } from 'ipam-kit/cidr'
import { planUpgrade, type UpgradeInput } from 'ipam-kit/provider/whereabouts-blocks'
import { expect, test as once } from 'vitest'
import { runs } from '../../setup/depth.js'
import { oldNetwork, oldPool, pod, reservation } from './old-objects.js'

const ranges = ['10.0.0.0/28', '10.0.0.8/29', '10.0.1.0/28', 'fd00::/64'] as const
/** The second range overlaps the first one. */
const common = [ranges[0], ranges[0], ranges[0], ranges[2], ranges[2], ranges[3], ranges[1]] as const
const bases = { '10.0.0.0/28': '10.0.0.', '10.0.0.8/29': '10.0.0.', '10.0.1.0/28': '10.0.1.', 'fd00::/64': 'fd00::' }
const names = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8'] as const
const ifnames = ['net1', 'net2'] as const

const networks = fc.uniqueArray(
  fc.record({
    range: fc.constantFrom(...common),
    network_name: fc.constantFrom(undefined, undefined, 'blue'),
    enable_overlapping_ranges: fc.constantFrom(undefined, undefined, undefined, false),
    end: fc.constantFrom(undefined, undefined, undefined, undefined, 6),
  }),
  { minLength: 1, maxLength: 3, selector: (network) => JSON.stringify(network) },
)

const rows = fc.dictionary(
  fc.constantFrom(
    ...['1', '2', '3', '4', '5', '6', '7', '1', '2', '3', '4', '5', '6', '7'],
    ...['03', '+4', '-1', '16', 'x', '__proto__'],
  ),
  fc.oneof(
    {
      arbitrary: fc.record({ pod: fc.constantFrom(...names), ifname: fc.constantFrom(...ifnames, undefined) }),
      weight: 19,
    },
    { arbitrary: fc.constantFrom({ id: 'c' }, 7, { id: '', podref: 'ns/p1' }, { id: 'u', podref: '' }), weight: 1 },
  ),
  { maxKeys: 5 },
)

const pools = fc.array(
  fc.record({ range: fc.constantFrom(...common), isBlue: fc.constantFrom(false, false, true), rows }),
  { maxLength: 3 },
)

/** Whether a Pod has each of its rows in its status, and each row its reservation. */
const losses = fc.array(fc.constantFrom(...Array<''>(20), 'status', 'reservation', 'other'), {
  minLength: 40,
  maxLength: 40,
})

/** Mostly right objects: each row has its Pod, its status and its reservation. */
const inputs = fc
  .record({ networks, pools, losses })
  .map(({ networks: configs, pools: made, losses: lost }): UpgradeInput => {
    const reports = new Map<string, string[]>(names.map((name) => [name, []]))
    const reservations = new Map<string, ReturnType<typeof reservation>>()
    let next = 0
    const byName = new Map(
      made.map(({ range, isBlue, rows: of }) => {
        const allocations = Object.fromEntries(
          Object.entries(of).map(([key, row]) => {
            if (typeof row !== 'object' || !('pod' in row)) return [key, row]
            const address = Address.safeParse(`${bases[range]}${Number(key) + (range === '10.0.0.8/29' ? 8 : 0)}`)
            const loss = lost[next++ % lost.length]
            if (address.ok) {
              const text = Address.format(address.value)
              if (loss !== 'status') reports.get(row.pod)!.push(`${row.ifname ?? 'net1'}=${text}`)
              const of = reservation(text, loss === 'other' ? 'p9' : row.pod, isBlue ? 'blue' : '')
              if (loss !== 'reservation') reservations.set(of.metadata.name, of)
            }
            return [key, { id: `c-${row.pod}`, podref: `ns/${row.pod}`, ifname: row.ifname }]
          }),
        )
        const object = oldPool(range, allocations)
        const name = `${isBlue ? 'blue-' : ''}${object.metadata.name}`
        return [name, { ...object, metadata: { ...object.metadata, name } }] as const
      }),
    )
    return {
      networks: configs.map(({ end, range, ...more }) =>
        oldNetwork({
          ...more,
          range,
          ...(end && (range === '10.0.0.0/28' || range === '10.0.1.0/28') && { range_end: `${bases[range]}${end}` }),
        }),
      ),
      pools: [...byName.values()],
      reservations: [...reservations.values()],
      pods: [...reports].map(([name, of]) => pod(name, of)),
    }
  })

const depth = { numRuns: runs(100) }

test.prop([inputs], depth)('each row is planned, or something is reported of it', (input) => {
  for (const { name, rows: planned, oddities, isReady } of planUpgrade(input).pools) {
    const stored = input.pools.find(({ metadata }) => metadata.name === name)!.spec as { allocations: object }
    const isWhole = oddities.some(({ kind }) => kind === 'pool-unnamed')
    for (const [key, row] of Object.entries(stored.allocations)) {
      const plan = planned.find((one) => one.key === key)
      const reported = oddities.filter((one) => one.key === key)
      if (plan === undefined) expect(isWhole || reported.length > 0).toBe(true)
      else expect([plan.owner, plan.container]).toEqual([row.podref, row.id])
      // what leaves no row behind stops the pool, but for a key that is no address, and a row that is
      // copied later
      if (plan === undefined && isReady) {
        expect(reported.some(({ kind }) => ['key-unreadable', 'no-pod', 'unreported'].includes(kind))).toBe(true)
      }
    }
    expect(planned.every(({ key }) => Object.hasOwn(stored.allocations, key))).toBe(true)
  }
})

test.prop([inputs], depth)('no address has two holders in a domain, and no interface two rows in a pool', (input) => {
  const ready = planUpgrade(input).pools.filter(({ isReady }) => isReady)
  const addresses = ready.flatMap(({ domain, rows: of }) => of.map((one) => `${domain} ${Address.format(one.address)}`))
  expect(new Set(addresses).size).toBe(addresses.length)
  const holders = ready.flatMap(({ rows: of }) => of.map((one) => `${one.pool} ${one.uid} ${one.interface}`))
  expect(new Set(holders).size).toBe(holders.length)
})

test.prop([inputs], depth)('the order of the objects has no effect', (input) => {
  const { networks: of, pools: all, reservations, pods } = input
  const reversed = { pools: [...all].reverse(), reservations: [...reservations].reverse(), pods: [...pods].reverse() }
  expect(planUpgrade({ networks: of, ...reversed })).toEqual(planUpgrade(input))
})

once('the generated objects are mostly right', () => {
  const plans = fc.sample(inputs, { numRuns: 300, seed: 1 }).flatMap((input) => planUpgrade(input).pools)
  expect(plans.filter(({ isReady, rows: of }) => isReady && of.length > 1).length).toBeGreaterThan(10)
})
