import { describe, expect, test } from 'vitest'
import { rules } from '../real/controller/rules.js'
import { type Case, type Difference, type Leaf, type Objects, oneByOne, type Rule } from '../real/differences.js'
import { rulesFor } from '../real/node-ipam/rules.js'

// The rules of replays hold for what their texts in docs/reference/deviations.md say. They are
// checked here without a server, on short recordings.

type Change = readonly [step: object, changed: Objects]

function caseOf(...steps: readonly Change[]): Case {
  const final: Record<string, unknown> = {}
  for (const [, changed] of steps) {
    for (const [key, object] of Object.entries(changed)) {
      if (object === null) delete final[key]
      else final[key] = object
    }
  }
  return { id: 'case', steps: steps.map(([step, changed]) => ({ step, changed })), final }
}

interface Differs {
  readonly path: string
  readonly theirs?: Leaf
  readonly ours?: Leaf
  readonly recorded: Case
  readonly own: Case
}

/** The headings of the rules that tell a difference. */
function told(all: readonly Rule[], { path, theirs, ours, recorded, own }: Differs): readonly string[] {
  const difference: Difference = { id: 'case', line: path, path, theirs, ours, recorded, own }
  return all.filter(({ holds }) => holds(difference)).map(({ heading }) => heading)
}

describe('rules of node IPAM', () => {
  const node = (name: string, podCIDR?: string, labels: object = {}) => ({
    metadata: { name, labels },
    spec: podCIDR === undefined ? {} : { podCIDR, podCIDRs: [podCIDR] },
  })
  const range = (name: string, terms?: readonly object[], metadata: object = {}) => ({
    metadata: { name, ...metadata },
    spec: { ipv4: '10.0.0.0/22', perNodeHostBits: 8, ...(terms && { nodeSelector: { nodeSelectorTerms: terms } }) },
  })
  const made = (objects: Objects): Change => [{}, objects]
  const presets = (name: string, podCIDR: string): Change => [
    { create: { kind: 'Node', metadata: { name }, spec: { podCIDRs: [podCIDR] } } },
    { [`Node/${name}`]: node(name, podCIDR) },
  ]
  const podCIDR = '.Node/n1.spec.podCIDR'
  const served = caseOf(made({ 'Node/n1': node('n1', '10.0.0.0/24') }))
  const waits = caseOf(made({ 'Node/n1': node('n1') }))
  const none = (differs: Omit<Differs, 'path'>) => told(rulesFor({ cases: [] }), { path: podCIDR, ...differs })

  test.each([
    ['One term of a selector is enough', [{ matchExpressions: [] }, { matchExpressions: [] }]],
    ['Fields of a term are fields of the Node', [{ matchFields: [{ key: 'metadata.name' }] }]],
    ['A selector without terms is not valid', []],
    ['A term without requirements selects nothing', [{}]],
  ])('%s', (heading, terms) => {
    const own = caseOf(made({ 'ClusterCIDR/a': range('a', terms), 'Node/n1': node('n1', '10.0.0.0/24') }))
    expect(none({ ours: '10.0.0.0/24', recorded: waits, own })).toContain(heading)
    const plain = caseOf(made({ 'ClusterCIDR/a': range('a', [{ matchExpressions: [] }]) }))
    expect(none({ ours: '10.0.0.0/24', recorded: waits, own: plain })).toEqual([])
  })

  test('A ClusterCIDR that is being deleted gives no subnets', () => {
    const ending = made({ 'ClusterCIDR/a': range('a', undefined, { deletionTimestamp: 'now' }) })
    const heading = 'A ClusterCIDR that is being deleted gives no subnets'
    const recorded = caseOf(ending, made({ 'Node/n1': node('n1', '10.0.0.0/24') }))
    const own = caseOf(ending, made({ 'ClusterCIDR/a': null, 'Node/n1': node('n1') }))
    expect(none({ theirs: '10.0.0.0/24', recorded, own })).toEqual([heading])
    const path = '.ClusterCIDR/a.metadata.name'
    expect(told(rulesFor({ cases: [] }), { path, theirs: 'a', recorded, own })).toEqual([heading])
    // a subnet that was given before the deletion
    const before = caseOf(made({ 'Node/n1': node('n1', '10.0.0.0/24') }), ending)
    expect(none({ theirs: '10.0.0.0/24', recorded: before, own })).toEqual([])
  })

  test('The subnet of a deleted Node is free, whatever its labels', () => {
    const first = made({ 'Node/n0': node('n0', '10.0.0.0/24', { pool: 'a' }) })
    const [lost, gone] = [made({ 'Node/n0': node('n0', '10.0.0.0/24') }), made({ 'Node/n0': null })]
    const recorded = caseOf(first, lost, gone, made({ 'Node/n1': node('n1', '10.0.1.0/24') }))
    const differs = { theirs: '10.0.1.0/24', ours: '10.0.0.0/24', own: served }
    expect(none({ ...differs, recorded })).toEqual(['The subnet of a deleted Node is free, whatever its labels'])
    expect(none({ ...differs, recorded: caseOf(first, gone, made({ 'Node/n1': node('n1') })) })).toEqual([])
  })

  test('The service range is given to no Node', () => {
    const all = rulesFor({ flags: '--service-cluster-ip-range=10.0.0.0/24', cases: [] })
    const recorded = caseOf(presets('n0', '10.0.0.0/24'), made({ 'Node/n0': null }), made(served.final))
    const differs = { path: podCIDR, theirs: '10.0.0.0/24', ours: '10.0.1.0/24', own: waits }
    expect(told(all, { ...differs, recorded })).toEqual(['The service range is given to no Node'])
    expect(told(all, { ...differs, recorded: caseOf(presets('n1', '10.0.0.0/24')) })).toEqual([])
  })

  test('No subnet is given twice: also where the two Nodes were created with it, and where subnets only overlap', () => {
    const [n1, n2] = [presets('n1', '10.0.0.0/23'), presets('n2', '10.0.0.0/23')]
    const given = (text: string) => caseOf(n1, n2, made({ 'Node/n1': null }), made({ 'Node/n3': node('n3', text) }))
    const differs = { path: '.Node/n3.spec.podCIDR', theirs: '10.0.1.0/24', ours: '10.0.2.0/24' }
    const all = rulesFor({ cases: [] })
    expect(told(all, { ...differs, recorded: given('10.0.1.0/24'), own: given('10.0.2.0/24') })).toEqual([
      'No subnet is given twice',
    ])
    expect(told(all, { ...differs, recorded: given('10.0.3.0/24'), own: given('10.0.2.0/24') })).toEqual([])
  })

  test('Events of a case that is compared as sets are told one by one', () => {
    const event = (type: string, component: string) => ({ type, reason: 'CIDRNotAvailable', component })
    const recorded = caseOf(made({ 'Event/Node/n4/CIDRNotAvailable': event('Normal', 'cidrAllocator') }))
    const own = caseOf(
      made({
        'Event/Node/n2/CIDRNotAvailable': event('Warning', 'ipam-kit-node-ipam'),
        'Event/Node/n3/CIDRConflict': event('Warning', 'ipam-kit-node-ipam'),
      }),
    )
    const line = { id: 'case', line: '', recorded, own }
    const differences = oneByOne(
      [
        { ...line, path: '.Event/*.type', theirs: 'Normal', ours: 'Warning Warning' },
        { ...line, path: '.Node/*.spec.podCIDR', theirs: '10.0.0.0/24 10.0.1.0/24', ours: '10.0.1.0/24 10.0.2.0/24' },
      ],
      String.raw`\.message$`,
    )
    expect(differences.map(({ path, theirs, ours }) => [path, theirs, ours])).toEqual([
      ['.Node/*.spec.podCIDR', '10.0.0.0/24', '10.0.2.0/24'],
      ['.Event/Node/*/CIDRNotAvailable.type', 'Normal', 'Warning'],
      ['.Event/Node/*/CIDRNotAvailable.component', 'cidrAllocator', 'ipam-kit-node-ipam'],
      ['.Event/Node/*/CIDRConflict.type', undefined, 'Warning'],
      ['.Event/Node/*/CIDRConflict.reason', undefined, 'CIDRNotAvailable'],
      ['.Event/Node/*/CIDRConflict.component', undefined, 'ipam-kit-node-ipam'],
    ])
    const all = rulesFor({ cases: [] })
    expect(differences.map((difference) => all.filter(({ holds }) => holds(difference)).length)).toEqual([
      0, 1, 1, 1, 1, 1,
    ])
  })
})

describe('rules of the in-cluster provider', () => {
  const poolRef = { kind: 'InClusterIPPool', name: 'p' }
  const pool = (addresses: readonly string[], total: number, more: object = {}, metadata: object = {}) => ({
    'InClusterIPPool/p': {
      metadata: { name: 'p', ...metadata },
      spec: { addresses, prefix: 24, ...more },
      status: { ipAddresses: { total } },
    },
  })
  const address = (name: string, text: string, claim = name) => ({
    [`IPAddress/${name}`]: { metadata: { name }, spec: { address: text, claimRef: { name: claim }, poolRef } },
  })
  const claim = (name: string, isBound: boolean, metadata: object = {}) => ({
    [`IPAddressClaim/${name}`]: {
      metadata: { name, ...metadata },
      spec: { poolRef },
      ...(isBound && { status: { addressRef: { name } } }),
    },
  })
  const made = (...parts: readonly object[]): Change => [{}, Object.assign({}, ...parts)]
  const ten = pool(['10.0.0.10-10.0.0.19'], 10)
  const free = '.InClusterIPPool/p.status.ipAddresses.free'
  const reference = (name: string) => `.IPAddressClaim/${name}.status.addressRef.name`
  const empty = caseOf(made(ten))

  test('free-never-negative: with addresses out of range, and with two objects of one address, also above 0', () => {
    const shrunk = caseOf(made(ten, address('a', '10.0.0.10'), address('b', '10.0.0.9')))
    const twice = caseOf(made(ten, address('a', '10.0.0.10'), address('b', '10.0.0.10')))
    for (const own of [shrunk, twice]) {
      const differs = { path: free, theirs: 8, recorded: own, own }
      expect(told(rules, { ...differs, ours: 9 })).toContain('free-never-negative')
      expect(told(rules, { ...differs, ours: 7 })).toEqual([])
      expect(told(rules, { ...differs, path: free.replace('/p.', '/*.'), ours: 9 })).toContain('free-never-negative')
    }
  })

  test('Counts end below 2^63: any other text of a set is no count', () => {
    const differs = {
      path: free,
      theirs: '9223372036854775807',
      ours: '9223372036854774784',
      recorded: empty,
      own: empty,
    }
    expect(told(rules, differs)).toEqual(['Counts end below 2^63'])
    expect(told(rules, { ...differs, theirs: '3 -1' })).toEqual([])
  })

  test('An address of another claim is never changed: the claim waits, and others get what it would get', () => {
    const foreign = made(ten, address('a', '10.0.9.9', 'other'), claim('a', false))
    const own = caseOf(foreign, made(address('b', '10.0.0.10'), claim('b', true)))
    const recorded = caseOf(foreign, made(address('a', '10.0.0.10', 'other'), claim('a', true)))
    const heading = 'An address of another claim is never changed'
    expect(told(rules, { path: reference('a'), theirs: 'a', recorded, own })).toContain(heading)
    expect(
      told(rules, { path: '.IPAddress/a.spec.address', theirs: '10.0.0.10', ours: '10.0.9.9', recorded, own }),
    ).toContain(heading)
    const changed = caseOf(foreign, made(address('a', '10.0.0.12', 'other')))
    expect(told(rules, { path: reference('a'), theirs: 'a', recorded, own: changed })).not.toContain(heading)
  })

  test('Nothing is allocated from a pool that is being deleted', () => {
    const ending = made(pool(['10.0.0.10-10.0.0.19'], 10, {}, { deletionTimestamp: 'now' }))
    const recorded = caseOf(ending, made(claim('a', true), address('a', '10.0.0.10')))
    const own = caseOf(ending, made(claim('a', false), { 'InClusterIPPool/p': null }))
    for (const path of [reference('a'), '.IPAddress/a.spec.address', '.InClusterIPPool/p.metadata.name']) {
      expect(told(rules, { path, theirs: 'a', recorded, own })).toEqual([
        'Nothing is allocated from a pool that is being deleted',
      ])
    }
    const before = caseOf(made(ten, claim('a', true)), ending)
    expect(told(rules, { path: reference('a'), theirs: 'a', recorded: before, own })).toEqual([])
  })

  test('An object that cannot be read stops nothing', () => {
    const own = caseOf(made(ten, address('x', 'no address'), claim('a', true), address('a', '10.0.0.10')))
    const recorded = caseOf(made(ten, address('x', 'no address'), claim('a', false)))
    expect(told(rules, { path: reference('a'), ours: 'a', recorded, own })).toEqual([
      'An object that cannot be read stops nothing',
    ])
  })

  test('A pool that is wrong in part is served in part', () => {
    const recorded = caseOf(made(pool(['10.0.0.1', 'fd00::1'], 2), claim('a', true), address('a', '10.0.0.1')))
    const own = caseOf(made(pool(['10.0.0.1', 'fd00::1'], 2), claim('a', false)))
    expect(told(rules, { path: reference('a'), theirs: 'a', recorded, own })).toEqual([
      'A pool that is wrong in part is served in part',
    ])
    expect(
      told(rules, { path: reference('a'), theirs: 'a', recorded, own: caseOf(made(ten, claim('a', false))) }),
    ).toEqual([])
  })

  test('The same address again', () => {
    const own = caseOf(
      made(ten, address('a', '10.0.0.12')),
      made({ 'IPAddress/a': null }),
      made(address('a', '10.0.0.12')),
    )
    const differs = { path: '.IPAddress/a.spec.address', theirs: '10.0.0.10', recorded: empty, own }
    expect(told(rules, { ...differs, ours: '10.0.0.12' })).toEqual(['The same address again'])
    expect(told(rules, { ...differs, ours: '10.0.0.11' })).toEqual([])
  })

  test('A grace period that is shortened ends sooner: the pool was changed or deleted', () => {
    const going = { deletionTimestamp: 'now' }
    const withGrace = made(
      pool(['10.0.0.10-10.0.0.19'], 10, { addressReuseGracePeriodSeconds: 60 }),
      claim('a', true, going),
    )
    const heading = 'A grace period that is shortened ends sooner'
    for (const change of [made(ten), made(pool([], 0, { addressReuseGracePeriodSeconds: 60 }, going))]) {
      const recorded = caseOf(withGrace, change)
      const own = caseOf(withGrace, change, made({ 'IPAddressClaim/a': null }))
      expect(told(rules, { path: '.IPAddressClaim/a.metadata.name', theirs: 'a', recorded, own })).toContain(heading)
    }
    const own = caseOf(withGrace, made({ 'IPAddressClaim/a': null }))
    const differs = { path: '.IPAddressClaim/a.metadata.name', theirs: 'a', recorded: caseOf(withGrace), own }
    expect(told(rules, differs)).not.toContain(heading)
  })

  test('An address that is going is let go when it has no claim', () => {
    const going = {
      'IPAddress/a': {
        metadata: { name: 'a', deletionTimestamp: 'now' },
        spec: { address: '10.0.0.10', claimRef: { name: 'a' }, poolRef },
      },
    }
    const recorded = caseOf(made(going))
    expect(told(rules, { path: '.IPAddress/a.metadata.name', theirs: 'a', recorded, own: empty })).toEqual([
      'An address that is going is let go when it has no claim',
    ])
  })

  test('The oldest claim is served first: the same number of others waits', () => {
    const waiting = made(ten, claim('a', false), claim('b', false))
    const [recorded, own] = [caseOf(waiting, made(claim('b', true))), caseOf(waiting, made(claim('a', true)))]
    expect(told(rules, { path: reference('a'), ours: 'a', recorded, own })).toEqual([
      'The oldest claim is served first',
    ])
    expect(told(rules, { path: reference('a'), theirs: 'a', recorded: own, own: recorded })).toEqual([])
  })

  test('Two objects with one address are told of', () => {
    const path = '.IPAddressClaim/a.status.conditions[AddressUnique].status'
    const own = caseOf(made(ten, address('a', '10.0.0.10'), address('b', '10.0.0.10')))
    expect(told(rules, { path, ours: 'False', recorded: own, own })).toEqual([
      'Two objects with one address are told of',
    ])
    expect(told(rules, { path, ours: 'False', recorded: own, own: empty })).toEqual([])
  })
})
