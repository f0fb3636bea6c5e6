import { expect, test } from 'vitest'
import { checksOf, expectationsOf } from '../../docs/examples/demo/floating-ip/checks.js'
import type { Snapshot } from '../../docs/examples/demo/floating-ip/snapshot.js'
import { runScenario } from './run-scenario.js'

const demo = (...args: readonly string[]) => runScenario('floating-ip', args)

test('machines, the pool and the cloud come to what they are meant to', async () => {
  const { status, out, err } = await demo('-v')
  expect(err).toBe('')
  await expect(out).toMatchFileSnapshot('__snapshots__/demo-floating-ip.txt')
  expect(status).toBe(0)
})

test('the document has each step, and what is told of it is on standard error', async () => {
  const { status, out, err } = await demo('-o', 'json')
  const { steps, checks } = JSON.parse(out) as { steps: { machines: object[]; pool: object }[]; checks: object[] }
  expect(steps.map(({ machines }) => machines.length)).toEqual([3, 7, 4, 3, 5, 5, 5, 6, 0])
  expect(steps[3]?.pool).toMatchObject({ failed: ['203.0.113.250'] })
  expect(checks).toHaveLength(12)
  expect(err).toContain('Checks')
  expect(status).toBe(0)
})

test.each(['pglite:data', 'kubernetes'])('takes no --store %s', async (store) => {
  const { status, out, err } = await demo('--store', store)
  expect([status, out]).toEqual([2, ''])
  expect(err).toMatch(/^--scenario floating-ip takes no --store: its cloud is a fake one, in memory only/)
})

const pool = { claimed: [], available: [], failed: [], state: 'Ready', max: 2 }

function snapshotOf(more: Partial<Snapshot>): Snapshot {
  return { title: 'step', machines: [], pool, cloud: [], calls: [], orphans: [], ...more }
}

const machine = (name: string, address: string | null, message = '') => ({ name, address, state: 'Ready', message })
const created = (address: string, attached: string | null = null) => ({ address, createdFor: 'a claim', attached })
const act = { id: 'f1', address: '203.0.113.2', marker: 'p/c', by: 'call', atMs: 0 } as const
const NOTHING = { created: [], deleted: [], foreignDeletions: [] }

test.each([
  ['nothing is wrong', [snapshotOf({ machines: [machine('a', '203.0.113.2')] })], NOTHING, []],
  [
    'two machines have one address',
    [snapshotOf({ machines: [machine('a', '203.0.113.2'), machine('b', '203.0.113.2')] })],
    NOTHING,
    ['no two machines have one address'],
  ],
  [
    'an instance has another address',
    [snapshotOf({ machines: [machine('a', '203.0.113.2')], cloud: [created('203.0.113.3', 'a')] })],
    NOTHING,
    ['an instance has the address of its claim, and no other'],
  ],
  [
    'a machine says nothing',
    [snapshotOf({ machines: [machine('a', null)] })],
    NOTHING,
    ['a machine without an address says why'],
  ],
  [
    'a pool has too many',
    [snapshotOf({ cloud: ['203.0.113.2', '203.0.113.3', '203.0.113.4'].map((text) => created(text)) })],
    NOTHING,
    ['the pool creates no more addresses than it may have'],
  ],
  [
    'an object is left',
    [snapshotOf({ orphans: ['IPAddress a'] })],
    NOTHING,
    ['claims and addresses of machines that went are gone'],
  ],
  [
    'an address is left in the cloud',
    [snapshotOf({})],
    { ...NOTHING, created: [act] },
    ['of what the pool has created nothing is left at the end'],
  ],
  [
    'an address of others is deleted',
    [snapshotOf({})],
    { ...NOTHING, foreignDeletions: [act] },
    ['nothing is deleted that the pool has not created'],
  ],
])('the checks see that %s', (_, snapshots, acts, wrong) => {
  const found = checksOf(snapshots, acts, 0).filter((check) => check.wrong.length > 0)
  expect(found.map(({ rule }) => rule)).toEqual(wrong)
})

test('the checks see that a second run writes, and that nothing has happened', () => {
  const again = checksOf([snapshotOf({})], NOTHING, 2).filter(({ wrong }) => wrong.length > 0)
  expect(again.map(({ rule }) => rule)).toEqual(['a second run has nothing to write'])
  expect(expectationsOf([snapshotOf({})]).every(({ wrong }) => wrong.length === 1)).toBe(true)
})
