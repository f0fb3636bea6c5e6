import { Prefix } from 'ipam-kit/cidr'
import { networkView } from 'ipam-kit/provider/network-view'
import { expect, test } from 'vitest'
import { checksOf } from '../../docs/examples/demo/node-ipam/checks.js'
import type { Snapshot } from '../../docs/examples/demo/node-ipam/snapshot.js'
import { runScenario } from './run-scenario.js'

const demo = (...args: readonly string[]) => runScenario('node-ipam', args)

test('Nodes and ranges come to what they are meant to', async () => {
  const { status, out, err } = await demo('-v')
  expect(err).toBe('')
  await expect(out).toMatchFileSnapshot('__snapshots__/demo-node-ipam.txt')
  expect(status).toBe(0)
})

test('the document has each step, and what is told of it is on standard error', async () => {
  const { status, out, err } = await demo('-o', 'json')
  const { steps, checks } = JSON.parse(out) as {
    steps: { title: string; nodes: object[]; view: object[] }[]
    checks: object[]
  }
  expect(steps.map(({ nodes }) => nodes.length)).toEqual([6, 10, 10, 10, 4])
  expect(steps[2]?.nodes[8]).toEqual({
    name: 'node-09',
    ipv4: '10.9.0.0/24',
    ipv6: 'fd00:9::/120',
    range: 'second',
    state: 'ready',
  })
  expect(steps[3]?.view[0]).toMatchObject({ known: '10.0.0.0/21, 10.9.0.0/21', active: 'second', terminating: 'first' })
  expect(steps[4]?.view[0]).toMatchObject({ known: '10.9.0.0/21', terminating: '', added: '0' })
  expect(checks).toHaveLength(7)
  expect(err).toContain('Checks')
  expect(status).toBe(0)
})

test.each(['pglite:data', 'kubernetes', 'sqlite:file'])('takes no --store %s', async (store) => {
  const { status, out, err } = await demo('--store', store)
  expect([status, out]).toEqual([2, ''])
  expect(err).toMatch(/^--scenario node-ipam takes no --store/)
})

/** A Node with subnets of a range of two families. */
function snapshotOf(
  subnets: readonly string[],
  { isKnown = true, ...more }: Partial<Snapshot['ranges'][number]> & { readonly isKnown?: boolean } = {},
): Snapshot {
  const prefixes = ['10.0.0.0/21', 'fd00::/117'].map((text) => Prefix.parse(text))
  const range = { name: 'a', prefixes, total: 8, state: null, isDeleting: false, inUse: [], ...more } as const
  const nodes = subnets.map((list, index) => ({
    name: `n${index}`,
    subnets: list === '' ? [] : list.split(' ').map((text) => Prefix.parse(text)),
    state: null,
    range: list === '' || list.startsWith('192.') ? null : 'a',
  }))
  const known = nodes.flatMap(({ name, subnets }) => ({ name, cidrs: subnets.map(Prefix.format) }))
  const view = networkView({ nodes: [], clusterCIDRs: [], extraCIDRs: isKnown ? known : [] })
  return { title: 'step', events: [], nodes, ranges: [range], view }
}

const wrongIn = (snapshots: readonly Snapshot[], again = 0) =>
  checksOf(snapshots, again)
    .filter(({ wrong }) => wrong.length > 0)
    .map(({ rule }) => rule)

const BOTH = '10.0.0.0/24 fd00::/120'

test.each([
  ['nothing is wrong', [snapshotOf([BOTH, '10.0.1.0/24 fd00::100/120', ''])], []],
  ['two Nodes overlap', [snapshotOf([BOTH, BOTH])], ['no two Nodes have subnets that overlap']],
  [
    'subnets change',
    [snapshotOf([BOTH]), snapshotOf(['10.0.1.0/24 fd00::100/120'])],
    ['the subnets of a Node do not change'],
  ],
  ['one family', [snapshotOf(['10.0.0.0/24'])], ['a Node has a subnet of each family of its range, or none']],
  [
    'a Node gets subnets of a range that is deleted',
    [snapshotOf(['']), snapshotOf([BOTH], { isDeleting: true })],
    ['a range that is deleted gives no subnets'],
  ],
  [
    'the view does not know a subnet',
    [snapshotOf([BOTH], { isKnown: false })],
    ['the network view knows each subnet of a Node'],
  ],
  [
    'subnets of no range',
    [snapshotOf(['192.168.0.0/24'])],
    [
      'a Node has a subnet of each family of its range, or none',
      'a range is there for as long as a Node has a subnet of it',
    ],
  ],
])('the checks see that %s', (_, snapshots, wrong) => {
  expect(wrongIn(snapshots)).toEqual(wrong)
})

test('the checks see that a second run writes', () => {
  expect(wrongIn([snapshotOf([BOTH])], 2)).toEqual(['a second run has nothing to write'])
})
