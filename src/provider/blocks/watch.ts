import { type Delta, definePlanner, type Planner } from '../../plan/index.js'
import { KnownBlocks } from './known-blocks.js'
import { blockWatch, poolWatch } from './watches.js'

export interface BlocksWatchOptions {
  /** The clock: milliseconds since 1970. By it is told what others write just now, which is then left to them. */
  readonly now: () => number
}

/** What a process knows of all pools and blocks, by a watch. */
export interface BlocksWatch extends Planner<never> {
  /** For the tasks of the process. Another one after each `reset`: take it from here for each task. */
  readonly known: KnownBlocks
}

/**
 * Knows all pools and blocks, and plans nothing. Run it in a `Controller` of an agent, and hand what it knows to its tasks, once the controller has listed: until
 * then it takes for absent what it was not shown.
 *
 * @example
 * import { allocate } from 'ipam-kit/provider/blocks'
 * const watch = blocksWatch({ now: () => 0 })
 * const request = { owner: { uid: '4f1c', name: 'web/front-0' }, pools: ['blue'], families: [4] as const }
 * allocate(request, watch.known).next({ nowMs: 0, conflicts: 0 })
 * // { kind: 'done', outcome: { kind: 'notReady', message: 'there is no pool blue' } }
 */
export function blocksWatch({ now }: BlocksWatchOptions): BlocksWatch {
  const watches = { pools: poolWatch, blocks: blockWatch }
  const follow = ({ ref, before, now: entry }: Delta<unknown>, { state: known }: { readonly state: KnownBlocks }) => {
    const uid = before?.object.metadata.uid
    known.observe(entry === undefined ? { kind: 'absent', ref, uid } : { kind: 'present', object: entry.object }, {
      nowMs: now(),
    })
    return []
  }
  const planner = definePlanner<never, typeof watches, KnownBlocks>({
    name: 'blocks-watch',
    watches,
    // tasks show what they read to it at once, and other planners must still be told of that: it has a cache of its own
    state: (_, before) => before?.anew() ?? new KnownBlocks({ isComplete: true }),
    wakes: {
      pools: follow,
      blocks: follow,
    },
    plan: () => undefined,
  })
  return Object.defineProperty(planner, 'known', { get: () => planner.context.state }) as typeof planner & BlocksWatch
}
