import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Propagation } from '../../../src/store/store.js'
import { paced } from '../pace.js'
import type { Report } from '../report.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import type { Pair } from './pair.js'
import { type Act, FOREIGN, isSame, kinds, type Made, type Owned, partOf } from './side.js'

// Where the planner differs from the collector of Kubernetes on purpose
// (docs/reference/deviations.md has the reasons), and what random graphs leave out.

const [ZONE, BOX, ITEM] = kinds
/** As long as the collector of a server without work takes, many times over. */
const REST_MS = paced(2000)

interface Case {
  /** Of a difference: the heading there. */
  readonly name: string
  readonly acts: readonly Act[]
  readonly ours: State
  /**
   * What is left there; more than one where it depends on who comes first. Left out: the same as
   * here.
   */
  readonly theirs?: readonly State[]
}

type State = Readonly<Record<string, string>>

let ids = 900_000

/**
 * The words of one case: its objects have short names, and states show their names for their
 * numbers.
 */
class Words {
  readonly names = new Map<number, string>()
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  made(name: string): Made {
    const kind = name.startsWith('zone') ? ZONE : name.startsWith('box') ? BOX : ITEM
    const made = kind.namespaced
      ? { id: ++ids, kind, name, namespace: this.#prefix }
      : { id: ++ids, kind, name: `${this.#prefix}-${name}`, namespace: undefined }
    this.names.set(made.id, name)
    return made
  }
}

const by = (owner: Made | undefined, as?: Owned['as']): Owned => ({
  owner,
  blocks: true,
  ...(as === undefined ? {} : { as }),
})
const create = (made: Made, ...owners: Owned[]): Act => ({ do: 'create', made, owners, finalizers: [] })
const createHeld = (made: Made, ...owners: Owned[]): Act => ({ do: 'create', made, owners, finalizers: [FOREIGN] })
const own = (made: Made, ...owners: Owned[]): Act => ({ do: 'own', made, owners })
const remove = (made: Made, propagation: Propagation = 'Foreground'): Act => ({ do: 'delete', made, propagation })

const WAITS = 'foregroundDeletion'

const differences: readonly ((words: Words) => Case)[] = [
  (words) => {
    const box = words.made('box')
    return {
      name: 'Nothing waits for itself (one object)',
      acts: [create(box), own(box, by(box)), remove(box)],
      ours: {},
      theirs: [{ box: `(box) <- box:box!, ${WAITS}` }],
    }
  },
  (words) => {
    const [a, b] = [words.made('box-a'), words.made('box-b')]
    const [one, two] = [words.made('item-a'), words.made('item-b')]
    return {
      name: 'Nothing waits for itself (a ring)',
      // each of them waits for something else when the ring is closed
      acts: [
        ...[create(a), create(b), createHeld(one, by(a)), createHeld(two, by(b))],
        ...[remove(a), remove(b), own(a, by(b)), own(b, by(a)), free(one), free(two)],
      ],
      ours: {},
      theirs: [{ 'box-a': `(box-a) <- box-b:box-b!, ${WAITS}`, 'box-b': `(box-b) <- box-a:box-a!, ${WAITS}` }],
    }
  },
  (words) => {
    const [zone, box, item] = [words.made('zone'), words.made('box'), words.made('item')]
    const below = createHeld(words.made('item-below'), by(item))
    const left = { item: `(item) <- box:box!, ${WAITS}`, 'item-below': `(item-below) <- item:item!, ${FOREIGN}` }
    return {
      name: 'Only what waits for itself is unblocked',
      acts: [create(zone), create(box, by(zone)), create(item, by(box)), below, remove(item), remove(zone)],
      ours: { zone: `(zone), ${WAITS}`, box: `(box) <- zone:zone!, ${WAITS}`, ...left },
      theirs: [{ box: `(box) <- zone:zone-, ${WAITS}`, ...left }, left],
    }
  },
  (words) => {
    const [box, held, late] = [words.made('box'), words.made('item'), words.made('item-late')]
    const left = { box: `(box), ${WAITS}`, item: `(item) <- box:box!, ${FOREIGN}` }
    return {
      name: 'Who comes to an owner that waits goes at once',
      acts: [create(box), createHeld(held, by(box)), remove(box), create(late, by(box))],
      ours: left,
      theirs: [{ ...left, 'item-late': 'item-late <- box:box!' }],
    }
  },
  (words) => {
    const [zone, box] = [words.made('zone'), words.made('box')]
    return {
      name: 'A reference that cannot be followed keeps the object, not its other references (scope)',
      acts: [create(box), create(zone, by(box), by(undefined, { kind: 'Zone' }))],
      ours: { box: 'box', zone: 'zone <- box:box!' },
      theirs: [{ box: 'box', zone: 'zone <- box:box! nobody:nobody!' }],
    }
  },
  (words) => {
    const item = words.made('item')
    return {
      name: 'A reference that cannot be followed keeps the object, not its other references (kind)',
      acts: [create(item, by(undefined, { kind: 'Nothing', name: 'nothing' }), by(undefined))],
      ours: { item: 'item <- nobody:nothing!' },
      theirs: [{ item: 'item <- nobody:nothing! nobody:nobody!' }],
    }
  },
  (words) => {
    const [box, item] = [words.made('box'), words.made('item')]
    return {
      name: 'A version that is not served is one of its group',
      acts: [create(box), create(item, by(box, { apiVersion: 'gc.example.com/v9' })), remove(box, 'Background')],
      ours: {},
      theirs: [{ item: 'item <- box:box!' }],
    }
  },
  (words) => {
    const [box, item] = [words.made('box'), words.made('item')]
    return {
      name: 'A reference that becomes wrong is seen at once',
      acts: [create(box), create(item, by(box)), own(item, by(box, { name: 'misnamed' }))],
      ours: { box: 'box' },
      theirs: [{ box: 'box', item: 'item <- box:misnamed!' }],
    }
  },
  (words) => {
    const [box, item] = [words.made('box'), words.made('item')]
    return {
      name: 'A good reference stays beside a wrong one to the same object',
      acts: [create(box), create(item, by(box), by(box, { name: 'misnamed' }))],
      ours: { box: 'box', item: 'item <- box:box!' },
      theirs: [{ box: 'box', item: 'item' }],
    }
  },
]

/** Rings, and what the finalizers say that an object had before its deletion. */
const likenesses: readonly ((words: Words) => Case)[] = [
  ...(['Foreground', 'Background'] as const).map((propagation) => (words: Words): Case => {
    const [a, b, c] = [words.made('box-a'), words.made('box-b'), words.made('box-c')]
    const ring = [create(a), create(b, by(a)), create(c, by(b)), create(words.made('item'), by(b)), own(a, by(c))]
    return {
      name: `a ring that is deleted at one point: ${propagation}`,
      acts: [...ring, remove(a, propagation)],
      ours: {},
    }
  }),
  (words) => {
    const [a, b] = [words.made('box-a'), words.made('box-b')]
    return {
      name: 'a ring that is orphaned at one point',
      acts: [create(a), create(b, by(a)), own(a, by(b)), remove(a, 'Orphan')],
      ours: { 'box-b': 'box-b' },
    }
  },
  (words) => {
    const box = words.made('box')
    return {
      name: 'an object that owns itself',
      acts: [create(box), own(box, by(box)), remove(box, 'Background')],
      ours: {},
    }
  },
  ...['orphan', 'foregroundDeletion'].map((finalizer) => (words: Words): Case => {
    const [zone, box, item] = [words.made('zone'), words.made('box'), words.made('item')]
    const middle: Act = { do: 'create', made: box, owners: [by(zone)], finalizers: [finalizer] }
    return {
      name: `a dependent with the finalizer ${finalizer}, and its own`,
      acts: [create(zone), middle, create(item, by(box)), remove(zone, 'Background')],
      ours: finalizer === 'orphan' ? { item: 'item' } : {},
    }
  }),
]

function free(made: Made): Act {
  return { do: 'free', made }
}

/**
 * All of them at once, one step of each after the other, with time for the collectors in between.
 */
export async function namedCases(report: Report, server: RealKubernetes, pair: Pair): Promise<void> {
  const all = [...differences, ...likenesses].map((build, index) => {
    const prefix = `d${index + 10}`
    const words = new Words(prefix)
    return { prefix, words, ...build(words) }
  })
  for (const { prefix } of all) await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: prefix } })
  const steps = Math.max(...all.map(({ acts }) => acts.length))
  for (let step = 0; step < steps; step++) {
    for (const { acts } of all) if (acts[step] !== undefined) await pair.act(acts[step]!)
    await pair.collect()
    await sleep(REST_MS)
  }
  const [ours, theirs] = [await pair.collect(), await pair.theirs.state()]
  for (const { name, prefix, words, ...expected } of all) {
    const { theirs: alternatives = [expected.ours] } = expected
    await report.test(`${expected.theirs === undefined ? 'alike' : 'differs'}: ${name}`, () => {
      const shown = (state: ReadonlyMap<string, string>) => {
        const part = Object.entries(partOf(state, (place) => place.startsWith(prefix)))
        const named = (text: string) =>
          text.replaceAll(`:${prefix}-`, ':').replace(/9\d{5}/g, (id) => words.names.get(Number(id)) ?? id)
        return Object.fromEntries(part.map(([place, text]) => [place.slice(prefix.length + 1), named(text)]))
      }
      assert.deepEqual(shown(ours), expected.ours, 'ours')
      const found = shown(theirs)
      assert.deepEqual(found, alternatives.find((it) => isSame(it, found)) ?? alternatives[0], 'theirs')
      return undefined
    })
  }
}
