import type { KubeObject } from 'ipam-kit/crd/meta'
import { definePlanner, type Effect, type Plan, type Planner, patchIfFields, type Watch } from 'ipam-kit/plan'
import type { Store } from 'ipam-kit/store'
import { ALL_FAULTS, type Dice, type SimulatedSystem, simulate } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import type { SimulationOptions } from '../../src/testing/simulation/simulate.js'
import { share } from '../setup/depth.js'

// Nodes get numbers from a range, as node IPAM gives them prefixes: the number is a field of an
// object that others write all the time.
const kind = { apiVersion: 'example.com/v1', kind: 'Node', plural: 'nodes', namespaced: false, statusSubresource: true }
const refTo = (name: string) => ({ apiVersion: kind.apiVersion, kind: kind.kind, name })
const NUMBERS = 4
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']

interface Node {
  readonly object: KubeObject
  readonly number: number | undefined
}

const nodes: Watch<Node> = {
  ...kind,
  parse: (object) => ({ ok: true, value: { object, number: (object.spec as { number?: number }).number } }),
  indexes: { number: ({ number }) => (number === undefined ? [] : [String(number)]) },
}

/** @param guardOf which field a number is given on the condition of */
function numbering(guardOf: (name: string) => { readonly [path: string]: null | string }): Planner {
  const planner = definePlanner({
    name: 'numbers',
    watches: { nodes },
    state: () => new Set<string>(),
    wakes: { nodes: (_, { cache }) => [...cache.nodes].map(({ object }) => object.metadata.name) },
    plan: (key, { cache, state }) => {
      const node = cache.nodes.get(key)
      if (node === undefined) return undefined
      if (node.number !== undefined) return { outcome: { kind: 'has', message: `has ${node.number}` }, effects: [] }
      const free = [...Array(NUMBERS).keys()].find(
        (number) => cache.nodes.countBy('number', String(number)) === 0 && !state.has(String(number)),
      )
      if (free === undefined) return { outcome: { kind: 'full', message: 'no free number' }, effects: [] }
      const patch = [{ op: 'add', path: '/spec/number', value: free }] as const
      const effect: Effect = patchIfFields(node.object, guardOf(key), patch, `gives ${free}`)
      return { outcome: { kind: 'gives', message: `gives ${free}` }, effects: [effect] }
    },
  })
  return Object.assign(planner, {
    begin: ({ effects }: Plan) => {
      const { state, cache } = planner.context
      const given = effects.flatMap((effect) =>
        effect.kind === 'patch' ? (effect.patch as readonly { value: number }[]).map(({ value }) => String(value)) : [],
      )
      for (const number of given) state.add(number)
      return () => {
        for (const number of given) state.delete(number)
        return given.length === 0 ? [] : [...cache.nodes].map(({ object }) => object.metadata.name)
      }
    },
  })
}

function system(guardOf: (name: string) => { readonly [path: string]: null | string }): SimulatedSystem {
  return {
    kinds: [kind],
    planner: () => numbering(guardOf),
    prepare: async () => {},
    act,
    rules: () => {
      const holders = new Map<string, number>()
      return {
        observe: (change) => {
          const name = change.kind === 'present' ? change.object.metadata.name : change.ref.name
          holders.delete(name)
          if (change.kind === 'absent') return undefined
          const { number } = change.object.spec as { number?: number }
          if (number === undefined) return undefined
          const other = [...holders].find(([, held]) => held === number)?.[0]
          holders.set(name, number)
          return other === undefined ? undefined : `${number} was given to ${other} and ${name}`
        },
        atRest: async (store: Store) => {
          const listed = await store.list(kind)
          if (!listed.ok) return 'the store does not answer'
          const waiting = listed.value.items.filter(({ spec }) => (spec as { number?: number }).number === undefined)
          return waiting.length > 0 && holders.size < NUMBERS
            ? `${waiting.length} Nodes wait, with numbers free`
            : undefined
        },
      }
    },
  }
}

/** People add and remove Nodes; Nodes write their own status and labels much more often. */
async function act(store: Store, dice: Dice): Promise<void> {
  const name = dice.pick(NAMES)
  const step = dice.below(10)
  if (step < 3) await store.create({ ...refTo(name), metadata: { name }, spec: {} } as KubeObject)
  else if (step < 5) await store.delete(refTo(name))
  else if (step < 8)
    await store.patch(refTo(name), { status: { heartbeat: dice.below(1000) } }, { subresource: 'status' })
  else await store.patch(refTo(name), { metadata: { labels: { zone: String(dice.below(3)) } } })
}

async function failing(seeds: number, given: Partial<SimulationOptions> & Pick<SimulationOptions, 'system'>) {
  const found = new Map<number, readonly string[]>()
  for (let seed = 1; seed <= seeds; seed++) {
    const { problems } = await simulate({ seed, actions: 40, ...given })
    if (problems.length > 0) found.set(seed, problems)
  }
  return found
}

describe('numbers that are given by patches under a field guard', () => {
  const late: Partial<SimulationOptions> = { faults: ['late-call', 'down'], faultProbability: 0.4 }

  test.each([
    ['with all faults', {}],
    ['with refusals too', { faults: [...ALL_FAULTS, 'refused'] as const }],
    ['with three writers, of whom one may write', { writers: 3 }],
    ['with several plans at a time', { concurrency: 4 }],
    ['with patches that are done long after they were given up', late],
  ])('are given once, %s', async (_, options) => {
    const guarded = system(() => ({ 'spec.number': null }))
    expect(await failing(share(150), { system: guarded, ...options })).toEqual(new Map())
  })

  test('are given twice if the guard is on another field: such a patch cannot be sent again to find out', async () => {
    const found = await failing(share(150, 4), { system: system((name) => ({ 'metadata.name': name })), ...late })
    expect(found.size).toBeGreaterThan(0)
    expect([...found.values()].flat().join('\n')).toMatch(/was given to/)
  })
})
