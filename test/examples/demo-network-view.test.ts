import { Prefix } from 'ipam-kit/cidr'
import { expect, test } from 'vitest'
import { checksOf } from '../../docs/examples/demo/network-view/checks.js'
import type { RangeView, Snapshot } from '../../docs/examples/demo/network-view/snapshot.js'
import { runScenario } from './run-scenario.js'

const demo = (...args: readonly string[]) => runScenario('network-view', args)

test('ranges are published before their first use and until their last', async () => {
  const { status, out, err } = await demo('-v')
  expect(err).toBe('')
  await expect(out).toMatchFileSnapshot('__snapshots__/demo-network-view.txt')
  expect(status).toBe(0)
})

test('the short form has one table for each step', async () => {
  const { out } = await demo()
  expect(out.match(/^ {2}RANGE +CIDR/gm)).toHaveLength(5)
  expect(out).not.toMatch(/Published\n|kube-proxy\n|Map:/)
  expect(out).toMatch(/\n\nChecks: 7 of 7 hold\n\n-v shows Nodes, a map, .*\n$/)
})

test('the document has each step', async () => {
  const { status, out, err } = await demo('-o', 'json')
  const { steps, checks } = JSON.parse(out) as {
    steps: { ranges: RangeView[]; known: string[]; cilium: object; kubeProxy: object }[]
    checks: object[]
  }
  expect(steps.map(({ ranges }) => ranges.map(({ name, state }) => `${name} ${state}`).join(', '))).toEqual([
    'blue Proposed',
    'blue Active',
    'blue Terminating, green Proposed',
    'blue Terminating, green Active',
    'green Active',
  ])
  expect(steps[3]?.known).toEqual(['10.0.0.0/24', '10.0.2.0/24'])
  expect(steps[3]?.kubeProxy).toMatchObject({ clusterCIDR: '10.0.0.0/22', detectLocalMode: 'NodeCIDR' })
  expect(steps[4]?.cilium).toMatchObject({ spec: { ipv4: { cidrs: ['10.0.2.0/24'], maskSize: 26 } } })
  expect(checks).toHaveLength(7)
  expect(err).toContain('Checks')
  expect(status).toBe(0)
})

test('takes no --store', async () => {
  const { status, err } = await demo('--store', 'pglite:data')
  expect(status).toBe(2)
  expect(err).toMatch(/^--scenario network-view takes no --store: it makes and deletes Nodes, in memory only/)
})

const RANGE = '10.0.0.0/24'
const of = (...texts: readonly string[]) => texts.map((text) => Prefix.parse(text))
const node = (name: string, ...subnets: readonly string[]) => ({ name, subnets: of(...subnets) })

function snapshotOf(nodes: Snapshot['nodes'], more: Partial<Snapshot> = {}): Snapshot {
  const ranges = [{ name: 'a', cidr: RANGE, state: 'Active' }] as const
  return { title: 'step', ranges, known: of(RANGE), nodes, kubeProxy: null, cilium: null, ...more }
}

const inState = (state: RangeView['state']) => ({ ranges: [{ name: 'a', cidr: RANGE, state }] })
const START = snapshotOf([], inState('Proposed'))
const USED = snapshotOf([node('n1', '10.0.0.0/26')])
const END = snapshotOf([], inState('Terminating'))

test.each<readonly [string, readonly Snapshot[], readonly string[]]>([
  ['nothing is wrong', [START, USED, END], []],
  [
    'a subnet that is not published',
    [START, USED, snapshotOf([node('n1', '10.0.0.0/26')], { known: [] }), END],
    ['the subnet of each Node is published'],
  ],
  [
    'a range that is published too late',
    [snapshotOf([], { ...inState('Proposed'), known: [] }), USED, END],
    ['a range is published before its first subnet'],
  ],
  [
    'a range that is used before it is accepted',
    [START, snapshotOf([node('n1', '10.0.0.0/26')], inState('Proposed')), USED, END],
    ['a range that is not accepted gives no subnets'],
  ],
  [
    'published addresses of no range',
    [START, USED, snapshotOf([], { known: of(RANGE, '10.9.0.0/24') }), END],
    ['nothing is published that no range has'],
  ],
  [
    'subnets that overlap',
    [START, snapshotOf([node('n1', '10.0.0.0/26'), node('n2', '10.0.0.0/27')]), END],
    ['no two Nodes have subnets that overlap'],
  ],
  ['a range that is never accepted', [START, END], ['a range is proposed, active and terminating']],
])('the checks see %s', (_, snapshots, wrong) => {
  const found = checksOf(snapshots, 0).filter((check) => check.wrong.length > 0)
  expect(found.map(({ rule }) => rule)).toEqual(wrong)
})

test('the checks see that a second run writes', () => {
  const found = checksOf([START, USED, END], 2).filter((check) => check.wrong.length > 0)
  expect(found).toEqual([{ rule: 'a second run has nothing to write', wrong: ['objects written: 2'] }])
})
