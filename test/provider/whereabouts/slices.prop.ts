import fc from 'fast-check'
import { Prefix } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { NodeSlicePool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { definition, SliceWorld } from './slice-world.js'

/** Divisions of which some share slices, and some overlap in slices of another size. */
const CONFIGS = [
  { range: '10.40.0.0/24', node_slice_size: '/26' },
  { range: '10.40.0.0/25', node_slice_size: '26' },
  { range: '10.40.0.0/24', node_slice_size: '/27' },
  { range: '10.41.0.0/24', node_slice_size: '/26' },
  { range: '10.40.0.0/24', node_slice_size: '/26', exclude: ['10.40.0.64/26'] },
  { range: '10.40.0.0/24', node_slice_size: 'abc' },
  { range: '10.40.0.0/24' },
] as const
const NODES = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']

type Step =
  | { readonly do: 'node' | 'row' | 'rows gone'; readonly node: number }
  | { readonly do: 'config'; readonly config: number }
  | { readonly do: 'restart' | 'status emptied' | 'deleted by hand' | 'moved by hand' }

const node = fc.nat({ max: NODES.length - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('node' as const), node }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('row' as const, 'rows gone' as const), node }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('config' as const), config: fc.nat({ max: CONFIGS.length - 1 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'restart' as const,
        'status emptied' as const,
        'deleted by hand' as const,
        'moved by hand' as const,
      ),
    }),
  },
)

/** A cluster, and what is known of it without the planner. */
class History {
  readonly world = new SliceWorld()
  readonly nodes = new Set<string>()
  /** Which slices have rows of which nodes: `node slice`. */
  readonly rows = new Set<string>()
  /** The slices of before the last step, unless the step may take slices away. */
  before = new Map<string, string>()
  config = 0

  async do(step: Step): Promise<void> {
    const had = await this.held()
    const mayMove =
      step.do === 'config' || step.do === 'rows gone' || step.do.endsWith('by hand') || step.do === 'status emptied'
    if (step.do === 'node') await this.#node(NODES[step.node]!)
    if (step.do === 'row') await this.#row(NODES[step.node]!, had)
    if (step.do === 'rows gone') await this.#rowsGone(NODES[step.node]!)
    if (step.do === 'config') await this.#configure(step.config)
    if (step.do === 'restart') await this.world.restart()
    if (step.do === 'status emptied') await this.#edit({ status: { allocations: [] } })
    if (step.do === 'moved by hand') {
      const allocations = ((await this.world.pool('net-a'))?.status?.allocations ?? []).map((each, index, all) => ({
        ...each,
        nodeName: all[(index + 1) % all.length]!.nodeName,
      }))
      await this.#edit({ status: { allocations } })
    }
    if (step.do === 'deleted by hand' && (await this.world.pool('net-a'))) {
      await this.world.delete(NodeSlicePool, 'kube-system/net-a')
    }
    // a NodeSlicePool that is deleted while its range cannot change is made with the new range
    const range = Prefix.parse(CONFIGS[this.config]!.range)
    const isIn = (slice: string) => step.do !== 'deleted by hand' || Prefix.contains(range, Prefix.parse(slice))
    const mayStay = (name: string, slice: string) => this.rows.has(`${name} ${slice}`) && isIn(slice)
    this.before = mayMove ? new Map([...had].filter(([name, slice]) => mayStay(name, slice))) : had
  }

  /** The slice of each node. */
  async held(): Promise<Map<string, string>> {
    const allocations = (await this.world.pool('net-a'))?.status?.allocations ?? []
    return new Map(
      allocations.flatMap(({ nodeName, sliceRange }) => (nodeName === '' ? [] : [[nodeName, sliceRange] as const])),
    )
  }

  async #configure(config: number): Promise<void> {
    this.config = config
    await this.world.put(definition('net-a', CONFIGS[config]))
  }

  async #node(name: string): Promise<void> {
    if (this.nodes.delete(name)) await this.world.delete(Node, name)
    else {
      this.nodes.add(name)
      await this.world.nodes(name)
    }
  }

  /** A plugin adds a row to the pool of the slice that its node has. */
  async #row(name: string, had: ReadonlyMap<string, string>): Promise<void> {
    const slice = had.get(name)
    if (slice === undefined) return
    this.rows.add(`${name} ${slice}`)
    await this.world.rows(name, slice, 1)
  }

  async #rowsGone(name: string): Promise<void> {
    for (const entry of [...this.rows]) {
      const [of = '', slice = ''] = entry.split(' ')
      if (of !== name) continue
      this.rows.delete(entry)
      await this.world.rows(of, slice, 0)
    }
  }

  async #edit(patch: object): Promise<void> {
    const { apiVersion, kind } = NodeSlicePool.info
    if ((await this.world.pool('net-a')) === undefined) return
    unwrap(await this.world.store.patch({ apiVersion, kind, namespace: 'kube-system', name: 'net-a' }, patch as never))
    await this.world.run()
  }
}

async function check(history: History): Promise<void> {
  const allocations = (await history.world.pool('net-a'))?.status?.allocations ?? []
  const held = allocations.filter(({ nodeName }) => nodeName !== '')
  const prefixes = allocations.map(({ sliceRange }) => Prefix.parse(sliceRange))
  expect(prefixes.every((left, at) => prefixes.slice(at + 1).every((right) => !Prefix.overlaps(left, right)))).toBe(
    true,
  )
  expect(new Set(held.map(({ nodeName }) => nodeName)).size, 'one slice for each node').toBe(held.length)
  // without a valid definition a NodeSlicePool stays as it is, also as a person has edited it
  if (history.config >= 5) return
  // rows of a node are in no slice of another one
  for (const entry of history.rows) {
    const [name, slice = ''] = entry.split(' ')
    const foreign = held.filter(
      (each) => each.nodeName !== name && Prefix.overlaps(Prefix.parse(each.sliceRange), Prefix.parse(slice)),
    )
    expect(foreign, `rows ${entry}`).toEqual([])
  }
  // it is not made again with another division while rows of the first are left
  const isGone = (await history.world.pool('net-a')) === undefined
  for (const [name, slice] of isGone ? [] : history.before) {
    if (history.nodes.has(name))
      expect(`${name} ${held.find((each) => each.nodeName === name)?.sliceRange}`).toBe(`${name} ${slice}`)
  }
  const isServed = allocations.length > 0
  const waiting = [...history.nodes].filter((name) => !held.some(({ nodeName }) => nodeName === name))
  if (isServed && waiting.length > 0) expect(allocations.filter(({ nodeName }) => nodeName === '')).toEqual([])
  for (const { nodeName, sliceRange } of held) {
    const isHeld = history.nodes.has(nodeName) || history.rows.has(`${nodeName} ${sliceRange}`)
    if (isServed) expect(isHeld, `${nodeName} ${sliceRange}`).toBe(true)
  }
  await history.world.restart()
  expect(history.world.last?.written, 'writes after a restart').toBe(0)
}

describe('node slices', () => {
  test('no two nodes have one slice, a live node keeps its slice, and none waits while a slice is free', async () => {
    const histories = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const history = new History()
      await history.world.put(definition('net-a', CONFIGS[0]))
      for (const each of steps) {
        await history.do(each)
        await check(history)
      }
    })
    await fc.assert(histories, { numRuns: runs(0.5) })
  })
})
