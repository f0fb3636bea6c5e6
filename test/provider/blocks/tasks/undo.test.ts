import { Address } from 'ipam-kit/cidr'
import type { Outcome, Task } from 'ipam-kit/plan'
import { allocate, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, expect, test } from 'vitest'
import type { AllocationOutcome } from '../../../../src/provider/blocks/tasks/outcome.js'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { blockStore, blocksIn, poolIn, request } from '../world.js'

const nowMs = 1_000_000
const pools = ['both']
let store: Store

beforeEach(async () => {
  store = blockStore()
  await poolIn(store, 'both', {
    subnets: [{ cidr: '10.0.9.0/28' }, { cidr: 'fd00::/127' }],
    skipEdges: 'never',
    order: 'leastRecentlyReleased',
  })
})

async function run<O extends Outcome>(task: Task<O>, on: Store = store): Promise<O> {
  const ended = await runTask(task, on, { now: () => nowMs })
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return ended.outcome
}

function textOf(outcome: AllocationOutcome): string {
  const texts = 'allocations' in outcome ? outcome.allocations.map(({ address }) => Address.format(address)) : []
  return [outcome.kind, ...texts].join(' ')
}

const give = async (uid: string, more: Partial<AllocationRequest>) =>
  textOf(await run(allocate(request(uid, { pools, ...more }), new KnownBlocks())))

test('the remembered row of several units comes back only where no other owner has got one of them meanwhile', async () => {
  await give('all', { count: 16 })
  await run(release({ owner: { uid: 'all' }, pools }, new KnownBlocks()))
  await give('six', { families: [6] })
  let isFaster = true
  const racing = storeOver(store, {
    patch: async (ref, patch, options) => {
      if (isFaster && ref.name.includes('-6-')) {
        isFaster = false
        expect(await give('fast', { families: [6] })).toBe('allocated fd00::1')
        expect(await give('b', {})).toBe('allocated 10.0.9.1')
      }
      return store.patch(ref, patch, options)
    },
  })
  const outcome = await run(allocate(request('slow', { pools, families: [4, 6] }), new KnownBlocks()), racing)
  expect(outcome.kind).toBe('exhausted')
  const [block] = (await blocksIn(store)).filter(({ spec }) => spec.cidr === '10.0.9.0/28')
  expect(Object.entries(block?.spec.rows ?? {}).map(([unit, { uid }]) => `${unit} ${uid}`)).toEqual(['1 b'])
  expect(await give('c', {})).toBe('allocated 10.0.9.0')
})
