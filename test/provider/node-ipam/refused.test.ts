import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { fail, unwrap } from 'ipam-kit/errors'
import { type NodeIPAMOutcome, nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { Controller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { expect, test } from 'vitest'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { node, range } from './objects.js'

const NAMES = ['n1', 'n2', 'n3', 'n4', 'n5']

/** A controller on a server that refuses the patches of some Nodes. */
async function serve(refused: readonly string[], ipv4: string) {
  const timers = new VirtualTimers()
  const memory = memoryStore({ now: () => timers.now(), kinds: [Node.info, ClusterCIDR.info] })
  let patches = 0
  const patch: Store['patch'] = async (ref, ...more) => {
    if (ref.kind !== 'Node') return memory.patch(ref, ...more)
    patches++
    const failure = { object: `Node ${ref.name}`, path: 'object', problem: 'no' }
    return refused.includes(ref.name) ? fail('STORE_INVALID', failure) : memory.patch(ref, ...more)
  }
  const store: Store = { ...memory, patch }
  unwrap(await store.create(range('a', { ipv4 })))
  for (const name of NAMES) {
    await timers.pass(1000)
    unwrap(await store.create(node(name)))
  }
  const events: string[] = []
  const controller = new Controller<NodeIPAMOutcome>({
    store,
    planners: [nodeIPAM()],
    timers,
    onProblem: () => {},
    onEvent: ({ about, reason }) => events.push(`${about.name} ${reason}`),
  })
  const running = controller.run()
  await timers.pass(60_000)
  controller.stop()
  await timers.pass(60_000)
  await running
  const { items } = unwrap(await store.list(Node.info))
  return { patches, events, served: items.filter((item) => Node.parse(item).spec.podCIDR).map((n) => n.metadata.name) }
}

test('Nodes whose patch is refused are tried again after ever longer pauses, and do not wake each other', async () => {
  const { patches, events, served } = await serve(NAMES, '10.0.0.0/16')
  // 5 ms, 10 ms and so on: 14 tries of each in a minute
  expect(patches).toBeLessThanOrEqual(2 * NAMES.length * 15)
  expect(new Set(events)).toEqual(new Set(NAMES.map((name) => `${name} CIDRAssignmentFailed`)))
  expect(events).toHaveLength(NAMES.length)
  expect(served).toEqual([])
})

test('A Node that waits is served when the patch of another one is refused', async () => {
  const { served } = await serve(['n1'], '10.0.0.0/22')
  expect(served).toEqual(['n2', 'n3', 'n4', 'n5'])
})
