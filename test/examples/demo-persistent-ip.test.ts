import { Prefix } from 'ipam-kit/cidr'
import { expect, test } from 'vitest'
import { checksOf } from '../../docs/examples/demo/persistent-ip/checks.js'
import type { ClaimView, PodView, Snapshot } from '../../docs/examples/demo/persistent-ip/snapshot.js'
import { runScenario } from './run-scenario.js'

const demo = (...args: readonly string[]) => runScenario('persistent-ip', args)

test('the machines keep their addresses, and nothing is left', async () => {
  const { status, out, err } = await demo('-v')
  expect(err).toBe('')
  await expect(out).toMatchFileSnapshot('__snapshots__/demo-persistent-ip.txt')
  expect(status).toBe(0)
})

test('the document has each step, and what is told of it is on standard error', async () => {
  const { status, out, err } = await demo('-o', 'json')
  const { steps, checks } = JSON.parse(out) as {
    steps: { title: string; claims: object[]; pods: object[]; events: string[] }[]
    checks: object[]
  }
  expect(steps.map(({ pods }) => pods.length)).toEqual([2, 1, 2, 3, 4, 4, 3, 3, 2, 3, 0])
  expect(steps[3]?.pods[1]).toEqual({ name: 'db-2', claim: 'db.blue', address: '10.20.0.1' })
  expect(steps[4]?.events).toEqual([expect.stringContaining('Pod thief NotOfOwner')])
  expect(steps[6]?.claims[0]).toMatchObject({ address: '10.20.0.1', pod: 'db-3', state: 'has its address' })
  expect(steps[7]?.claims[1]).toMatchObject({ name: 'web.blue', owner: 'VirtualMachineInstance web' })
  expect(checks).toHaveLength(7)
  expect(err).toContain('Checks')
  expect(status).toBe(0)
})

test('takes no --store', async () => {
  const { status, err } = await demo('--store', 'pglite:data')
  expect(status).toBe(2)
  expect(err).toMatch(/^--scenario persistent-ip takes no --store/)
})

const of = (...texts: readonly string[]) => texts.map((text) => Prefix.parse(text))
const claim = (name: string, text: string, more: Partial<ClaimView> = {}): ClaimView => {
  return { name, uid: name, owner: null, addresses: of(text), pod: 'p1', isDeleting: false, ...more }
}
const pod = (name: string, named: string | null, text: string): PodView => ({ name, claim: named, addresses: of(text) })
const [A, B] = ['10.0.0.1/32', '10.0.0.2/32'] as const
const EMPTY: Snapshot = { title: 'step', machines: [], instances: [], claims: [], pods: [], events: [] }

test.each<readonly [string, readonly Partial<Snapshot>[], readonly string[]]>([
  ['nothing is wrong', [{ machines: ['vm'], claims: [claim('vm.blue', A)], pods: [pod('p1', 'vm.blue', A)] }, {}], []],
  ['two holders', [{ claims: [claim('vm.blue', A)], pods: [pod('p1', null, A)] }, {}], ['no address has two holders']],
  [
    'another address',
    [{ claims: [claim('vm.blue', A)] }, { claims: [claim('vm.blue', B)] }, {}],
    ['the addresses of a claim do not change'],
  ],
  [
    'a Pod with another address than its claim',
    [{ claims: [claim('vm.blue', A)], pods: [pod('p1', 'vm.blue', B)] }, {}],
    ['a Pod of a claim has its addresses'],
  ],
  ['a machine without a claim', [{ machines: ['vm'] }, {}], ['a machine or an instance has its claim']],
  [
    'a claim that names no Pod',
    [{ instances: ['vm'], claims: [claim('vm.blue', A)] }, {}],
    ['a claim names a Pod that exists, or its machine is stopped'],
  ],
  ['what is left', [{ pods: [pod('p1', null, A)] }], ['nothing is left in the end']],
])('the checks see %s', (_, snapshots, wrong) => {
  const all = snapshots.map((each) => ({ ...EMPTY, ...each }))
  const found = checksOf(all, 0).filter((check) => check.wrong.length > 0)
  expect(found.map(({ rule }) => rule)).toEqual(wrong)
})

test('the checks see that a second run writes', () => {
  expect(checksOf([EMPTY], 2).filter((check) => check.wrong.length > 0)).toEqual([
    { rule: 'a second run has nothing to write', wrong: ['objects written: 2'] },
  ])
})
