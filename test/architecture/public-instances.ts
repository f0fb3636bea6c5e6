import { AddressPool, Bitmap, Ledger, PrefixAllocator, PrefixTree, RangeTree } from 'ipam-kit/allocator'
import { Address, Prefix, PrefixMap, Range, RangeSet } from 'ipam-kit/cidr'
import { Absences, Calls, ObjectCache } from 'ipam-kit/plan'
import { PoolLedger } from 'ipam-kit/provider/in-cluster'
import { ControllerMetrics, Histogram } from 'ipam-kit/render'
import { Backoff, EventRecorder, ProblemLog } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { Dice } from 'ipam-kit/testing'

const onProblem = () => {}

/** What the methods of an exported class are called on: one that is made anew for each call. */
export const instances: Readonly<Record<string, () => object>> = {
  Absences: () => new Absences(30),
  AddressPool: () => new AddressPool({ ranges: ['10.0.0.0/29'] }),
  Backoff: () => new Backoff(),
  Bitmap: () => new Bitmap(64),
  Calls: () => new Calls(),
  ControllerMetrics: () => new ControllerMetrics(),
  Dice: () => new Dice(1),
  EventRecorder: () =>
    new EventRecorder({
      store: memoryStore({ now: () => 0 }),
      component: 'test',
      now: () => 0,
      uid: () => '1',
      onProblem,
    }),
  Histogram: () => new Histogram([1]),
  Ledger: () => new Ledger({ space: RangeSet.parse(['10.0.0.0/29']) }),
  ObjectCache: () => new ObjectCache(),
  PoolLedger: () => new PoolLedger(),
  PrefixAllocator: () => new PrefixAllocator({ ranges: ['10.0.0.0/24'], childLength: 28 }),
  PrefixMap: () => new PrefixMap([[Prefix.parse('10.0.0.0/8'), 1]]),
  PrefixTree: () => new PrefixTree(RangeSet.parse(['10.0.0.0/24'])),
  ProblemLog: () => new ProblemLog({ timers: { now: () => 0, after: () => () => {} }, log: () => {} }),
  RangeTree: () => new RangeTree(64),
}

/** Classes whose methods are not called, and why. */
export const NOT_INSTANTIATED: Readonly<Record<string, string>> = {
  AddressLedger: 'a base class: its methods are called on PoolLedger',
  Controller: 'its methods begin and end a run, which has tests of its own',
  FakeCloud: 'a server for tests: it answers failures of a cloud to wrong inputs',
  FakeCloudWorld: 'a server for tests: it answers failures of a cloud to wrong inputs',
  IpamError: 'an error',
  KnownBlocks: 'programs pass it to tasks; its methods are what tasks and watches call',
  LeaderElection: 'its methods begin and end a run, which has tests of its own',
  SimulatedCrash: 'an error',
  UnsettledError: 'an error',
}

const address = Address.parse('10.0.0.1')
const prefix = Prefix.parse('10.0.0.0/28')
const range = Range.parse('10.0.0.1-10.0.0.2')
const set = RangeSet.parse(['10.0.0.0/28'])
const owner = { uid: 'uid-1', name: 'web-0' }
const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-0', namespace: 'default', uid: 'uid-1' } }

/** A right value for a parameter, by its name in a namespace or in any: the others of a call. */
const RIGHT: Readonly<Record<string, unknown>> = {
  'Address.left': address,
  'Address.right': address,
  'Address.from': address,
  'Address.to': address,
  'Prefix.left': prefix,
  'Prefix.right': prefix,
  'Prefix.outer': prefix,
  'Prefix.inner': prefix,
  'Range.left': range,
  'Range.right': range,
  'Range.outer': range,
  'Range.inner': range,
  'Range.first': address,
  'Range.last': address,
  'RangeSet.left': set,
  'RangeSet.right': set,
  address,
  prefix,
  range,
  set,
  owner,
  object,
  member: address,
  within: prefix,
  other: prefix,
  taken: range,
  router: address,
  extent: prefix,
  length: 28,
  index: 0,
  offset: 0,
  seed: 1,
  family: 4,
  value: 1,
  text: '10.0.0.1',
  uid: 'uid-1',
  id: 'id-1',
  request: { owner },
  spec: { ranges: set, childLength: 28 },
}

export function rightValue(call: string, parameter: string): unknown {
  const [, namespace] = /(\w+)\.\w+$/u.exec(call) ?? []
  return RIGHT[`${namespace}.${parameter}`] ?? RIGHT[parameter]
}
