import { assertParts } from '../../../errors/checks.js'
import { definePlanner, type Planner } from '../../../plan/index.js'
import { KnownBlocks } from './known-blocks.js'
import { blockWatch, poolWatch } from './watches.js'

export interface BlocksWatchOptions {
  /**
   * The clock: milliseconds since 1970. By it is told what others write just now, which is then
   * left to them.
   */
  readonly now: () => number
}

/** What a process knows of all pools and blocks, by a watch. */
export interface BlocksWatch extends Planner<never> {
  /**
   * For the tasks of the process. Another one after each `reset`: take it from here for each task.
   */
  readonly known: KnownBlocks
}

/**
 * Knows all pools and blocks, and plans nothing. Run it in a `Controller` of an agent, and hand
 * what it knows to its tasks, once the controller has listed: until then it takes for absent what
 * it was not shown.
 *
 * @example
 * import { allocate } from 'ipam-kit/provider/blocks'
 * const watch = blocksWatch({ now: () => 0 })
 * const request = { owner: { uid: '4f1c', name: 'web/front-0' }, pools: ['blue'], families: [4] as const }
 * allocate(request, watch.known).next({ nowMs: 0, conflicts: 0 })
 * // { kind: 'done', outcome: { kind: 'notReady', message: 'there is no pool blue' } }
 */
export function blocksWatch(options: BlocksWatchOptions): BlocksWatch {
  assertParts('blocksWatch', 'options', options, { now: 'function' })
  const { now } = options

  const planner = definePlanner<never, typeof watches, KnownBlocks>({
    name: 'blocks-watch',
    watches,
    state: (cache, before) => before?.anew(cache) ?? new KnownBlocks({ isComplete: true }, cache),
    wakes: {
      pools: (delta, { state }) => {
        state.followPool(delta, now())
        return []
      },
      blocks: (delta, { state }) => {
        state.followBlock(delta, now())
        return []
      },
    },
    plan: () => undefined,
  })
  return Object.defineProperty(planner, 'known', { get: () => planner.context.state }) as typeof planner & BlocksWatch
}

const watches = { pools: poolWatch, blocks: blockWatch }
