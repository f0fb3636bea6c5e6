import { Prefix } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import { type NodeIPAMOutcome, nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { Controller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { node, range, selects } from './objects.js'

const timers = new VirtualTimers()
const store = memoryStore({ now: () => timers.now(), kinds: [Node.info, ClusterCIDR.info] })
const MINUTE = 60_000
const IN_CONFLICT = ['n1 CIDRConflict', 'n2 CIDRConflict']

/** Starts a process, whose patches are sent when `resumed` resolves. */
function start(resumed?: Promise<void>) {
  const planner = nodeIPAM()
  const events: string[] = []
  const patched: string[] = []
  const outcomes = new Map<string, string | undefined>()
  const patch: Store['patch'] = async (ref, ...more) => {
    await resumed
    patched.push(ref.name)
    return store.patch(ref, ...more)
  }
  const controller = new Controller<NodeIPAMOutcome>({
    store: { ...store, patch },
    planners: [planner],
    timers,
    onProblem: () => {},
    onEvent: ({ about, reason }) => events.push(`${about.name} ${reason}`),
    onResult: ({ key, outcome }) => outcomes.set(key, outcome?.kind),
  })
  const running = controller.run()
  const entries = () => planner.entries().map(({ prefix, holder }) => `${Prefix.format(prefix)} ${holder.object?.name}`)
  const stop = async () => {
    controller.stop()
    await timers.pass(MINUTE)
    await running
  }
  return { events, patched, outcomes, entries, stop }
}

async function join(name: string): Promise<void> {
  unwrap(await store.create(node(name, { labels: { zone: 'a' } })))
  await timers.pass(MINUTE)
}

async function deleteNode(name: string): Promise<void> {
  unwrap(await store.delete({ ...Node.info, name }))
  await timers.pass(MINUTE)
}

async function subnets() {
  const { items } = unwrap(await store.list(Node.info))
  return Object.fromEntries(items.map((item) => [item.metadata.name, Node.parse(item).spec.podCIDR]))
}

test('two processes that give one subnet to two Nodes report it on both, and change no Node', async () => {
  unwrap(await store.create(range('a', { ipv4: '10.0.0.0/22', nodeSelector: selects({ zone: 'a' }) })))

  // a process is suspended after it has chosen a subnet for n1
  let resume = () => {}
  const suspended = start(new Promise((resolve) => (resume = resolve)))
  await join('n1')
  // another process finds no range for n1, and gives that subnet to n2
  unwrap(await store.patch({ ...Node.info, name: 'n1' }, { metadata: { labels: { zone: 'b' } } }))
  const leader = start()
  await join('n2')
  expect(await subnets()).toEqual({ n1: undefined, n2: '10.0.0.0/24' })
  expect(leader.events).toEqual(['n1 CIDRNotAvailable'])

  resume()
  await timers.pass(MINUTE)
  const duplicate = { n1: '10.0.0.0/24', n2: '10.0.0.0/24' }
  expect(await subnets()).toEqual(duplicate)
  expect(suspended.events.toSorted()).toEqual(IN_CONFLICT)
  expect(leader.events.slice(1).toSorted()).toEqual(IN_CONFLICT)
  await suspended.stop()

  // the subnet counts for both Nodes, and all other Nodes get other subnets
  for (const name of ['n3', 'n4', 'n5', 'n6']) await join(name)
  const others = { n3: '10.0.1.0/24', n4: '10.0.2.0/24', n5: '10.0.3.0/24', n6: undefined }
  const given = { ...duplicate, ...others }
  expect(await subnets()).toEqual(given)
  expect(leader.entries().toSorted()).toEqual([
    '10.0.0.0/24 n1',
    '10.0.0.0/24 n2',
    '10.0.1.0/24 n3',
    '10.0.2.0/24 n4',
    '10.0.3.0/24 n5',
  ])
  expect(leader.events.slice(3)).toEqual(['n6 CIDRNotAvailable'])
  expect(leader.patched).not.toContain('n1')
  await leader.stop()

  // a process that starts reports it once more
  const next = start()
  await timers.pass(MINUTE)
  for (const name of ['n1', 'n2']) {
    unwrap(await store.patch({ ...Node.info, name }, { metadata: { labels: { seen: 'again' } } }))
    await timers.pass(MINUTE)
    expect(next.outcomes.get(`Node ${name}`)).toBe('conflict')
  }
  const reported = [...IN_CONFLICT, 'n6 CIDRNotAvailable']
  expect(next.events.toSorted()).toEqual(reported)
  expect(await subnets()).toEqual(given)
  expect(next.patched).toEqual([])

  // the report ends with one of the two Nodes, and the subnet stays in use by the other one
  await deleteNode('n1')
  expect(next.outcomes.get('Node n2')).toBe('ready')
  expect(await subnets()).toEqual({ n2: '10.0.0.0/24', ...others })
  await deleteNode('n2')
  expect(await subnets()).toEqual({ ...others, n6: '10.0.0.0/24' })
  expect(next.events.toSorted()).toEqual(reported)
  expect(next.patched).toEqual(['n6'])
  await next.stop()
})
