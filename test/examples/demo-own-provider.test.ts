import { expect, test } from 'vitest'
import { checksOf } from '../../docs/examples/demo/own-provider/checks.js'
import type { ClaimView, Snapshot } from '../../docs/examples/demo/own-provider/snapshot.js'
import { runScenario } from './run-scenario.js'

const demo = (...args: readonly string[]) => runScenario('own-provider', args)

test('claims wait, are bound and are released', async () => {
  const { status, out, err } = await demo('-v')
  expect(err).toBe('')
  await expect(out).toMatchFileSnapshot('__snapshots__/demo-own-provider.txt')
  expect(status).toBe(0)
})

test('the short form has one table for each step', async () => {
  const { out } = await demo()
  expect(out.match(/^ {2}CLAIM +PHASE/gm)).toHaveLength(6)
  expect(out).not.toMatch(/Records of the product\n|Why claims wait\n|Map/)
  expect(out).toMatch(/\n\nChecks: 7 of 7 hold\n\n-v shows what each claim waits for, .*\n$/)
})

test('the document has each step', async () => {
  const { status, out, err } = await demo('-o', 'json')
  const { steps, checks } = JSON.parse(out) as { steps: Snapshot[]; checks: object[] }
  const shown = steps.map(({ claims }) => claims.map(({ address, reason }) => address ?? reason))
  expect(shown).toEqual([
    ['AllocationFailed'],
    ['10.20.0.1'],
    ['10.20.0.1', 'AllocationFailed'],
    ['10.20.0.1', '10.20.0.2'],
    ['10.20.0.1', '10.20.0.2', 'PoolExhausted'],
    ['10.20.0.2', '10.20.0.1'],
    [],
  ])
  expect(steps[2]?.records).toContainEqual({ name: 'lab.web-1', address: '10.20.0.2' })
  expect(checks).toHaveLength(7)
  expect(err).toContain('Checks')
  expect(status).toBe(0)
})

test('takes no --store', async () => {
  const { status, err } = await demo('--store', 'pglite:data')
  expect(status).toBe(2)
  expect(err).toMatch(/^--scenario own-provider takes no --store: its IPAM product is a fake one, in memory only/)
})

const A = '10.0.0.1'
const claim = (name: string, address: string | null, message = ''): ClaimView => {
  return { name, address, message, phase: address === null ? 'Error' : 'Bound', reason: null }
}

function snapshotOf(claims: readonly ClaimView[], more: Partial<Snapshot> = {}): Snapshot {
  const records = claims.flatMap(({ name, address }) => (address === null ? [] : [{ name: `lab.${name}`, address }]))
  return { title: 'step', claims, records, calls: 0, ...more }
}

const WAITS = snapshotOf([claim('web', null, 'no answer')])
const BOUND = snapshotOf([claim('web', A)])
const END = snapshotOf([])

test.each<readonly [string, readonly Snapshot[], readonly string[]]>([
  ['nothing is wrong', [WAITS, BOUND, END], []],
  [
    'one address twice',
    [WAITS, BOUND, snapshotOf([claim('a', A), claim('b', A)]), END],
    ['no two claims have one address'],
  ],
  [
    'a claim without its record',
    [WAITS, snapshotOf([claim('web', A)], { records: [] }), END],
    ['the address of a claim is that of its record in the product'],
  ],
  [
    'two records of one claim',
    [WAITS, BOUND, snapshotOf([], { records: [A, '10.0.0.2'].map((address) => ({ name: 'lab.web', address })) }), END],
    ['a claim has one record at most'],
  ],
  ['a silent claim', [WAITS, snapshotOf([claim('web', null)]), BOUND, END], ['a claim without an address says why']],
  ['no claim that has waited', [BOUND, END], ['claims wait while the product fails, and are bound after that']],
  ['a claim that is never bound', [WAITS, END], ['claims wait while the product fails, and are bound after that']],
  ['what is left', [WAITS, BOUND], ['nothing is left in the end']],
])('the checks see %s', (_, snapshots, wrong) => {
  const found = checksOf(snapshots, 0).filter((check) => check.wrong.length > 0)
  expect(found.map(({ rule }) => rule)).toEqual(wrong)
})

test('the checks see that a second run writes', () => {
  const found = checksOf([WAITS, BOUND, END], 2).filter((check) => check.wrong.length > 0)
  expect(found).toEqual([{ rule: 'a second run has nothing to write', wrong: ['objects written: 2'] }])
})
