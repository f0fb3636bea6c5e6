import { expect, test } from 'vitest'
import { checksOf } from '../../docs/examples/demo/services/checks.js'
import type { Snapshot } from '../../docs/examples/demo/services/snapshot.js'
import { runScenario } from './run-scenario.js'

const demo = (...args: readonly string[]) => runScenario('services', args)

test('Services get cluster IPs, and IPAddresses are repaired', async () => {
  const { status, out, err } = await demo('-v')
  expect(err).toBe('')
  await expect(out).toMatchFileSnapshot('__snapshots__/demo-services.txt')
  expect(status).toBe(0)
})

test('the short form has one table for each step', async () => {
  const { out } = await demo()
  expect(out.match(/^ {2}SERVICE +CLUSTER IP/gm)).toHaveLength(6)
  expect(out).not.toMatch(/SERVICECIDR +CIDRS|Map|Events\n/)
  expect(out).toMatch(/\n\nChecks: 7 of 7 hold\n\n-v shows ServiceCIDRs .*\n$/)
})

test('the document has each step', async () => {
  const { status, out, err } = await demo('-o', 'json')
  const { steps, checks } = JSON.parse(out) as { steps: Snapshot[]; checks: object[] }
  expect(steps.map(({ services }) => services.length)).toEqual([3, 8, 8, 8, 8, 6])
  expect(steps.map(({ addresses }) => addresses.length)).toEqual([3, 6, 8, 8, 8, 6])
  expect(steps.map(({ ranges }) => ranges.map(({ name }) => name).join())).toEqual(
    ['first', 'first', 'first,larger'].concat(Array(3).fill('larger')),
  )
  expect(steps[1]?.services.filter(({ state }) => state === 'full')).toHaveLength(2)
  expect(steps[4]?.events).toEqual([expect.stringContaining('Service dns ClusterIPNotAllocated')])
  expect(checks).toHaveLength(7)
  expect(err).toContain('Checks')
  expect(status).toBe(0)
})

test('takes no --store', async () => {
  const { status, err } = await demo('--store', 'pglite:data')
  expect(status).toBe(2)
  expect(err).toMatch(/^--scenario services takes no --store: it makes and deletes Services, in memory only/)
})

const A = '10.0.0.1'
const B = '10.0.0.2'
const service = (name: string, clusterIP: string | null, state: 'ready' | 'full' = 'ready') => ({
  ...{ name, clusterIP, state },
})

function snapshotOf(services: Snapshot['services'], more: Partial<Snapshot> = {}): Snapshot {
  const addresses = services.flatMap(({ name, clusterIP }) =>
    clusterIP === null ? [] : [{ address: clusterIP, service: name }],
  )
  const ranges = [{ name: 'a', cidrs: ['10.0.0.0/29'], state: null }]
  return { title: 'step', services, ranges, addresses, events: [], ...more }
}

const FULL = snapshotOf([service('late', null, 'full')])
const APART = 'each cluster IP has its IPAddress, and each IPAddress its Service'

test.each<readonly [string, readonly Snapshot[], readonly string[]]>([
  ['nothing is wrong', [FULL, snapshotOf([service('web', A)])], []],
  [
    'one address twice',
    [FULL, snapshotOf([service('a', A), service('b', A)])],
    ['no two Services have one cluster IP'],
  ],
  [
    'another address',
    [FULL, snapshotOf([service('web', A)]), snapshotOf([service('web', B)])],
    ['the cluster IP of a Service does not change'],
  ],
  ['no IPAddress', [FULL, snapshotOf([service('web', A)], { addresses: [] })], [APART]],
  ['an IPAddress of no Service', [FULL, snapshotOf([], { addresses: [{ address: A, service: 'web' }] })], [APART]],
  ['no ServiceCIDR', [FULL, snapshotOf([service('web', '10.9.0.1')])], ['each cluster IP is in a ServiceCIDR']],
  ['no full ServiceCIDR', [snapshotOf([service('web', A)])], ['a ServiceCIDR is full in a step']],
  ['a Service without an address', [FULL], ['each Service has a cluster IP in the end']],
])('the checks see %s', (_, snapshots, wrong) => {
  const found = checksOf(snapshots, 0).filter((check) => check.wrong.length > 0)
  expect(found.map(({ rule }) => rule)).toEqual(wrong)
})

test('the checks see that a second run writes', () => {
  const found = checksOf([FULL, snapshotOf([])], 2).filter((check) => check.wrong.length > 0)
  expect(found).toEqual([{ rule: 'a second run has nothing to write', wrong: ['objects written: 2'] }])
})
