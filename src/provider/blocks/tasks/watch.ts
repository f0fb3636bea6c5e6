import { check, type KindOf } from '../../../errors/check.js'
import { definePlanner, type Planner } from '../../../plan/index.js'
import { KnownBlocks } from './known-blocks.js'
import { blockWatch, poolWatch } from './watches.js'

export interface BlocksWatchOptions {
  /**
   * The clock: milliseconds since 1970. Blocks that other writers have written lately are avoided.
   */
  readonly now: () => number
}

const BLOCKS_WATCH_OPTIONS: KindOf<BlocksWatchOptions> = { now: 'function' }

/** What a process knows of all pools and blocks, by a watch. */
export interface BlocksWatch extends Planner<never> {
  /**
   * The known blocks, for the tasks of the process. Another object after each `reset`: read it for
   * each task.
   */
  readonly known: KnownBlocks
}

/**
 * Knows all pools and blocks, and plans nothing. Run it in a `Controller` of an agent, and pass
 * `known` to its tasks once the controller has listed. Before that, unknown objects count as
 * absent.
 *
 * @example
 * import { allocate } from 'ipam-kit/provider/blocks'
 * const watch = blocksWatch({ now: () => 0 })
 * const request = { owner: { uid: '4f1c', name: 'web/front-0' }, pools: ['blue'], families: [4] as const }
 * allocate(request, watch.known).next({ nowMs: 0, conflicts: 0 })
 * // { kind: 'done', outcome: { kind: 'notReady', message: 'there is no pool blue' } }
 */
export function blocksWatch(options: BlocksWatchOptions): BlocksWatch {
  check('blocksWatch', 'options', options, BLOCKS_WATCH_OPTIONS)
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
