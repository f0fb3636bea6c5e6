import { expect, test } from 'vitest'
import { checksOf } from '../../docs/examples/demo/whereabouts/checks.js'
import type { AddressView, Snapshot } from '../../docs/examples/demo/whereabouts/snapshot.js'
import { runScenario } from './run-scenario.js'

const demo = (...args: readonly string[]) => runScenario('whereabouts', args)

test('rows and reservations are repaired after crashes', async () => {
  const { status, out, err } = await demo('-v')
  expect(err).toBe('')
  await expect(out).toMatchFileSnapshot('__snapshots__/demo-whereabouts.txt')
  expect(status).toBe(0)
})

test('the document has each step, and text for people is on standard error', async () => {
  const { status, out, err } = await demo('-o', 'json')
  const { steps, writers, checks } = JSON.parse(out) as {
    steps: { addresses: object[]; pods: string[]; upgrade?: string[] }[]
    writers: object[]
    checks: object[]
  }
  expect(steps.map(({ addresses }) => addresses.length)).toEqual([8, 9, 9, 6, 7, 7, 9, 9, 10, 10, 11, 11, 12, 0])
  expect(steps[1]?.addresses[2]).toEqual({
    address: '10.10.0.4',
    row: 'shop/web-3',
    reservation: null,
    isTold: false,
  })
  expect(steps[1]?.addresses[8]).toEqual({ address: '10.10.0.10', row: 'shop/web-9', reservation: null, isTold: false })
  expect(steps[4]?.upgrade).toBeUndefined()
  expect(steps[6]?.upgrade).toEqual(['verifyUpgrade: IPPool 10.10.0.0-27 and the blocks differ in 1 addresses'])
  expect(steps[7]?.upgrade?.at(-1)).toBe('verifyUpgrade: IPPool 10.10.0.0-27 and the blocks have the same 9 rows')
  expect(writers).toHaveLength(4)
  expect(checks).toHaveLength(8)
  expect(err).toContain('Checks')
  expect(status).toBe(0)
})

test.each(['pglite:data', 'kubernetes'])('takes no --store %s', async (store) => {
  const { status, out, err } = await demo('--store', store)
  expect([status, out]).toEqual([2, ''])
  expect(err).toMatch(/^--scenario whereabouts takes no --store: it makes and deletes Pods, in memory only/)
})

const POD = 'shop/a'
const ADDRESS = '10.0.0.2'

function snapshotOf(view: Partial<AddressView>, more: Partial<Snapshot> = {}): Snapshot {
  const address = { address: ADDRESS, row: POD, reservation: POD, isTold: true, ...view }
  return {
    title: 'step',
    addresses: [address],
    pods: [POD],
    told: new Map([[POD, ADDRESS]]),
    events: [],
    isOnBlocks: false,
    ...more,
  }
}

const HALF = snapshotOf({ row: null, isTold: false }, { told: new Map() })
const END = snapshotOf({}, { addresses: [], told: new Map(), pods: [] })

const wrongIn = (snapshots: readonly Snapshot[], again = 0, surprises: readonly string[] = []) =>
  checksOf({ snapshots, again, surprises })
    .filter(({ wrong }) => wrong.length > 0)
    .map(({ rule }) => rule)

test.each<[string, readonly Snapshot[], readonly string[]]>([
  ['nothing is wrong', [snapshotOf({}), HALF, snapshotOf({}, { title: 'The sweep' }), END], []],
  ['no crash left anything', [snapshotOf({}), END], ['a crash leaves a row or a reservation alone']],
  [
    'two Pods have one address',
    [
      HALF,
      snapshotOf(
        {},
        {
          told: new Map([
            [POD, ADDRESS],
            ['shop/b', ADDRESS],
          ]),
        },
      ),
      END,
    ],
    ['no two Pods have one address', 'a Pod that was told an address has it on the side that counts'],
  ],
  [
    'a Pod lost its reservation',
    [snapshotOf({ reservation: null }), END],
    ['a Pod that was told an address has it on the side that counts'],
  ],
  [
    'a Pod has its row in the pool alone after the cut-over',
    [HALF, snapshotOf({ block: null }, { isOnBlocks: true }), END],
    ['a Pod that was told an address has it on the side that counts'],
  ],
  [
    'a Pod has its row in the block alone before the cut-over',
    [HALF, snapshotOf({ row: null, reservation: null, block: POD }), END],
    ['a Pod that was told an address has it on the side that counts'],
  ],
  [
    'a sweep leaves a row of no Pod',
    [HALF, snapshotOf({}, { title: 'The sweep', pods: [] }), END],
    ['after a sweep each row and reservation is of a Pod that exists'],
  ],
  [
    'a block names another Pod',
    [HALF, snapshotOf({ block: 'shop/b' }, { upgrade: ['verifyUpgrade: the same 1 rows'] }), END],
    ['both sides name the same Pods if the upgrade says so'],
  ],
  ['an address is left over', [HALF], ['nothing is left in the end']],
])('the checks see that %s', (_, snapshots, wrong) => {
  expect(wrongIn(snapshots)).toEqual(wrong)
})

test('the checks see a second sweep that writes, and an answer that was not expected', () => {
  expect(wrongIn([HALF, END], 1)).toEqual(['a second sweep has nothing to write'])
  expect(wrongIn([HALF, END], 0, ['ADD of a: exhausted'])).toEqual(['every call is answered as expected'])
})
