import { fc, test } from '@fast-check/vitest'
import { Address } from 'ipam-kit/cidr'
import { IPPool } from 'ipam-kit/crd/ipam-kit'
import { refOf } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { ExternalCall } from 'ipam-kit/plan'
import { KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { expect } from 'vitest'
import { AllocateGroup } from '../../../../src/provider/blocks/tasks/allocate-group.js'
import { answerOf, type BlockCall, type BlockOutcome } from '../../../../src/provider/blocks/tasks/calls.js'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { blockStore, blocksIn, countingStore, poolIn, request } from '../world.js'

const now = () => 0
const callOf = (uid: string): ExternalCall<Extract<BlockCall, { readonly task: 'allocate' }>> => ({
  operation: 'allocate',
  key: uid,
  about: { apiVersion: 'v1', kind: 'Claim', namespace: 'ns', name: uid },
  input: { task: 'allocate', pool: 'blue', request: request(uid) },
})

/** Calls for owners by uid, carried out as those of one process. */
function callerOn(store: Store, known: KnownBlocks, requestOf: (uid: string) => AllocationRequest) {
  return taskCaller({
    store,
    now,
    tasks: {
      taskFor: () => {
        throw new Error('calls of a group have no task of their own')
      },
      answerOf: ({ input }, outcome: BlockOutcome, time) => answerOf(input, outcome, time),
      groupOf: () => 'blue',
      openGroup: () =>
        new AllocateGroup({
          known: () => known,
          requestOf: ({ key }) => requestOf(key),
          answerOf: ({ input }, outcome, time) => answerOf(input, outcome, time),
        }),
    },
  })
}

async function knownOf(store: Store): Promise<KnownBlocks> {
  const known = new KnownBlocks({ isComplete: true })
  for (const { apiVersion, kind } of [IPPool.info, { apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPBlock' }]) {
    for (const object of unwrap(await store.list({ apiVersion, kind })).items) {
      known.observe({ kind: 'present', object }, { nowMs: 0 })
    }
  }
  return known
}

/** Whose the rows are that are bound, as `uid address`. */
async function rowsIn(store: Store): Promise<readonly string[]> {
  return (await blocksIn(store)).flatMap(({ spec }) =>
    Object.entries(spec.rows)
      .filter(([, { state }]) => state === undefined)
      .map(([unit, { uid }]) => {
        const first = Address.parse(spec.cidr.slice(0, spec.cidr.indexOf('/')))
        return `${uid} ${Address.format(Address.add(first, Number(unit)))}`
      }),
  )
}

const scenario = fc.record({
  order: fc.constantFrom('lowest', 'next', 'leastRecentlyReleased' as const),
  sticky: fc.boolean(),
  /** How many owners there were before, and which of them have released what they had. */
  before: fc.array(fc.boolean(), { maxLength: 12 }),
  /** How many calls come at once. The pool has 30 addresses in three blocks. */
  calls: fc.integer({ min: 1, max: 30 }),
  /** Which writes of a block another writer comes before. */
  races: fc.array(fc.boolean(), { maxLength: 6 }),
})

test.prop([scenario])('every call of a group gets an address of its own, and its row is stored', async (input) => {
  const { order, sticky, before, calls, races } = input
  const below = blockStore()
  const kept = sticky ? { sticky: { by: 'owner' as const, forSeconds: 3600 } } : {}
  const subnets = [{ cidr: '10.0.0.0/27' }, { cidr: '10.0.0.32/28' }]
  const pool = await poolIn(below, 'blue', { subnets, order, ...kept })
  const start = await knownOf(below)
  const callBefore = callerOn(below, start, (uid) => request(uid))
  await Promise.all(before.map((_, nth) => callBefore(callOf(`before-${nth}`))))
  for (const [nth, isReleased] of before.entries()) {
    if (isReleased) await runTask(release({ owner: { uid: `before-${nth}` } }, start), below, { now })
  }

  const left = [...races]
  const store = storeOver(below, {
    patch: async (ref, patch, options) => {
      if (ref.kind === 'IPBlock' && left.shift() === true) {
        const block = unwrap(await below.get(ref))
        const { sequence } = block.spec as { sequence: number }
        unwrap(await below.patch(refOf(block), { spec: { sequence: sequence + 1 } }))
      }
      return below.patch(ref, patch, options)
    },
  })
  const known = await knownOf(below)
  const { store: counted, requests } = countingStore(store)
  const call = callerOn(counted, known, (uid) => request(uid))
  const answers = await Promise.all(Array.from({ length: calls }, (_, nth) => call(callOf(`now-${nth}`))))

  const rows = await rowsIn(below)
  const mine = rows.filter((row) => row.startsWith('now-'))
  const given = answers.flatMap((answer, nth) =>
    answer.ok && 'allocations' in answer.value
      ? answer.value.allocations.map(({ address }) => `now-${nth} ${Address.format(address)}`)
      : [],
  )
  expect([...mine].sort()).toEqual([...given].sort())
  const addresses = rows.map((row) => row.slice(row.indexOf(' ') + 1))
  expect(new Set(addresses).size).toBe(addresses.length)
  // what is kept for those that were there before is given too when nothing else is left
  const bound = before.filter((isReleased) => !isReleased).length
  const room = 44 - (sticky ? before.length : bound)
  expect(given.length).toBe(Math.min(calls, room))
  // the first call writes alone, the others together: two blocks are full, and the third is not
  if (given.length === calls) expect(requests.writes).toBeLessThanOrEqual(1 + 3 + 2 * races.length)
  // what the group was shown of its own rows is what is stored
  const stored = await knownOf(below)
  for (const parsed of stored.blocks()) {
    const own = known.block(parsed.name)
    expect(typeof own === 'object' && 'object' in own ? own.object.spec : undefined).toEqual(parsed.object.spec)
  }
  expect(known.pool('blue')).toMatchObject({ name: pool.metadata.name })
  const candidates = [known, stored].map((each) => {
    const view = each.pool('blue')
    if (typeof view !== 'object' || !('candidate' in view)) throw new Error('the pool cannot be read')
    return view.candidate(4, { nowMs: 0, withBound: true })
  })
  expect(candidates[0]).toEqual(candidates[1])
})
