import { Node } from 'ipam-kit/crd/core'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
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

interface Run {
  /** Names of objects whose writes the server refuses. */
  readonly refused: string[]
  /** How it refuses them. Default `STORE_INVALID`. */
  readonly code?: 'STORE_CONFLICT' | 'STORE_OUTCOME_UNKNOWN'
  readonly objects: readonly KubeObject[]
  /** What happens after a minute. A second one follows. */
  readonly later?: (run: { readonly store: Store; readonly refused: string[] }) => Promise<unknown> | undefined
}

/** A controller on a server that refuses the writes of some objects. */
async function run({ refused, code, objects, later }: Run) {
  const timers = new VirtualTimers()
  const kinds = [Node.info, ClusterCIDR.info]
  const memory = memoryStore({ now: () => timers.now(), kinds })
  let patches = 0
  const refusal = ({ kind, name }: Pick<ObjectRef, 'kind' | 'name'>) => {
    if (kind === 'Node') patches++
    if (!refused.includes(name)) return undefined
    const object = `${kind} ${name}`
    if (code === 'STORE_CONFLICT') return fail(code, { object, expected: '1', actual: '2' })
    if (code === 'STORE_OUTCOME_UNKNOWN')
      return fail(code, { operation: 'patch', object, problem: 'webhook timed out' })
    return fail('STORE_INVALID', { object, path: 'object', problem: 'no' })
  }
  const patch: Store['patch'] = async (ref, ...more) => refusal(ref) ?? memory.patch(ref, ...more)
  const create: Store['create'] = async (object) =>
    refusal({ kind: object.kind, name: object.metadata.name }) ?? memory.create(object)
  const store: Store = { ...memory, patch, create }
  for (const object of objects) {
    await timers.pass(1000)
    unwrap(await memory.create(object))
  }
  patches = 0
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
  if (later !== undefined) {
    await later({ store: memory, refused })
    await timers.pass(60_000)
  }
  controller.stop()
  await timers.pass(60_000)
  await running
  const { items } = unwrap(await store.list(Node.info))
  const subnets = Object.fromEntries(items.map((item) => [item.metadata.name, Node.parse(item).spec.podCIDR]))
  return { patches, events, subnets, served: NAMES.filter((name) => subnets[name] !== undefined) }
}

const serve = (refused: string[], ipv4: string) =>
  run({ refused, objects: [range('a', { ipv4 }), ...NAMES.map((name) => node(name))] })

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

/** A ClusterCIDR whose finalizer is not written yet. */
function fresh(name: string, ipv4: string): KubeObject {
  const { metadata, ...rest } = range(name, { ipv4 })
  return { ...rest, metadata: { ...metadata, finalizers: [] } }
}

test('A ClusterCIDR whose finalizer is refused holds up no Node: the next range serves them', async () => {
  const nodes = ['n1', 'n2'].map((name) => node(name))
  const { subnets, events } = await run({
    refused: ['a'],
    objects: [fresh('a', '10.0.0.0/22'), fresh('b', '10.1.0.0/22'), ...nodes],
  })
  expect(subnets).toEqual({ n1: '10.1.0.0/24', n2: '10.1.1.0/24' })
  expect(events).toEqual(['a WriteRefused'])
})

test.each(['STORE_CONFLICT', 'STORE_OUTCOME_UNKNOWN'] as const)(
  'A ClusterCIDR whose finalizer is never written, since each try ends with %s, holds up no Node',
  async (code) => {
    const objects = [fresh('a', '10.0.0.0/22'), fresh('b', '10.1.0.0/22'), node('n1'), node('n2')]
    const { subnets, events } = await run({ refused: ['a'], code, objects })
    expect(subnets).toEqual({ n1: '10.1.0.0/24', n2: '10.1.1.0/24' })
    expect(events).toEqual(['a WriteRefused'])
  },
)

test('Nodes for which there is no other range say what is refused, and are served when it is written', async () => {
  const objects = [fresh('a', '10.0.0.0/22'), node('n1'), node('n2')]
  const waiting = await run({ refused: ['a'], objects })
  expect(waiting.subnets).toEqual({ n1: undefined, n2: undefined })
  expect(waiting.events).toEqual(['a WriteRefused', 'n1 CIDRNotAvailable', 'n2 CIDRNotAvailable'])
  const served = await run({
    refused: ['a'],
    objects,
    // the next try is after the limit of pauses, or after a change
    later: async ({ store, refused }) => {
      refused.splice(0)
      return store.patch({ ...ClusterCIDR.info, name: 'a' }, { metadata: { labels: { tried: 'again' } } })
    },
  })
  expect(served.subnets).toEqual({ n1: '10.0.0.0/24', n2: '10.0.1.0/24' })
  expect(served.events).toEqual(waiting.events)
})

test('A range that waits for its first finalizer is still waited for: Nodes do not go to the next one', async () => {
  const objects = [node('n1'), fresh('a', '10.0.0.0/22'), fresh('b', '10.1.0.0/22')]
  expect(await run({ refused: [], objects })).toMatchObject({ subnets: { n1: '10.0.0.0/24' }, events: [] })
})
