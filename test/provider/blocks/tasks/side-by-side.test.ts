import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { allocate, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { objectLocks, runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { Dice, storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ObjectLocks } from '../../../../src/run/task/object-locks.js'
import { blockStore, blocksIn, poolIn, request } from '../world.js'

const NOW_MS = 1_000_000

let store: Store
let nowMs: number
beforeEach(async () => {
  store = blockStore()
  nowMs = NOW_MS
  await poolIn(store, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
})

/** All that is stored, as a list tells it. */
async function complete(): Promise<KnownBlocks> {
  const known = new KnownBlocks({ isComplete: true })
  await listTo(known)
  return known
}

async function listTo(known: KnownBlocks): Promise<void> {
  for (const { apiVersion, kind } of [IPPool.info, IPBlock.info]) {
    for (const object of unwrap(await store.list({ apiVersion, kind })).items) {
      known.observe({ kind: 'present', object }, { nowMs })
    }
  }
}

async function give(uid: string, known: KnownBlocks, over = store): Promise<{ block: string; requests: number }> {
  const ended = await runTask(allocate(request(uid), known), over, { now: () => nowMs })
  if (ended.kind !== 'done' || ended.outcome.kind !== 'allocated') throw new Error(JSON.stringify(ended))
  return { block: ended.outcome.allocations[0]?.block ?? '', requests: ended.requests }
}

const nth = (block: number) => `default-4-0a0000${(block * 16).toString(16).padStart(2, '0')}-28`

describe('tasks of one process, side by side', () => {
  test('write blocks of their own, and none meets another', async () => {
    const known = await complete()
    const given = await Promise.all(['a', 'b', 'c', 'd'].map((uid) => give(uid, known)))
    expect(given).toEqual([0, 1, 2, 3].map((block) => ({ block: nth(block), requests: 1 })))
    // and when they are done the first block is the first again
    expect(await give('e', known)).toEqual({ block: nth(0), requests: 1 })
  })

  test('leave a block alone that another one takes something back from', async () => {
    const known = await complete()
    await give('a', known)
    const back = runTask(release({ owner: { uid: 'a' } }, known), store, { now: () => nowMs })
    const given = await give('b', known)
    expect(await back).toMatchObject({ kind: 'done', requests: 1 })
    expect(given).toEqual({ block: nth(1), requests: 1 })
  })

  test('write one block one after the other where there is no other', async () => {
    await poolIn(store, 'tiny', { subnets: [{ cidr: '10.0.1.0/28' }] })
    const known = await complete()
    const tasks = ['a', 'b', 'c'].map((uid) =>
      runTask(allocate(request(uid, { pools: ['tiny'] }), known), store, { now: () => nowMs }),
    )
    for (const ended of await Promise.all(tasks)) expect(ended).toMatchObject({ outcome: { kind: 'allocated' } })
    expect((await blocksIn(store)).map(({ spec }) => Object.keys(spec.rows))).toEqual([['1', '2', '3']])
  })
})

describe('tasks of one process that share locks', () => {
  const tiny = (known: KnownBlocks, locks: ObjectLocks, uids: readonly string[], over = store) =>
    Promise.all(
      uids.map((uid) => runTask(allocate(request(uid, { pools: ['tiny'] }), known), over, { now: () => nowMs, locks })),
    )

  test('do not meet in a block, where there is no other', async () => {
    await poolIn(store, 'tiny', { subnets: [{ cidr: '10.0.1.0/28' }] })
    const [known, locks] = [await complete(), objectLocks()]
    const uids = ['a', 'b', 'c', 'd', 'e', 'f']
    expect((await tiny(known, locks, uids)).map(({ kind, requests }) => [kind, requests])).toEqual(
      uids.map(() => ['done', 1]),
    )
    const back = uids.map((uid) => runTask(release({ owner: { uid } }, known), store, { now: () => nowMs, locks }))
    expect((await Promise.all(back)).map(({ kind, requests }) => [kind, requests])).toEqual(uids.map(() => ['done', 1]))
  })

  test('wait for one that is not heard of any more no longer than it takes another one to end', async () => {
    await poolIn(store, 'tiny', { subnets: [{ cidr: '10.0.1.0/28' }] })
    const [known, locks] = [await complete(), objectLocks()]
    await tiny(known, locks, ['a'])
    const lost = storeOver(store, { patch: () => Promise.reject(new Error('the process has died')) })
    await expect(tiny(known, locks, ['b'], lost)).rejects.toThrow('has died')
    expect(await tiny(known, locks, ['c'])).toMatchObject([{ kind: 'done', requests: 1 }])
  })

  test.each([1, 2, 3, 8])(
    'are not overtaken, nor made to begin anew, also beside others: %i at a time',
    async (atOnce) => {
      await poolIn(store, 'tiny', { subnets: [{ cidr: '10.0.1.0/28' }] })
      const [known, locks, dice] = [await complete(), objectLocks(), new Dice(atOnce)]
      const later = async <T>(answer: () => Promise<T>) => {
        for (let n = dice.below(20); n > 0; n--) await Promise.resolve()
        return answer()
      }
      const slow = storeOver(store, {
        create: (...args) => later(() => store.create(...args)),
        patch: (...args) => later(() => store.patch(...args)),
      })
      let [ended, ends] = [0, false]
      const requests: number[] = []
      const overtaken: number[] = []
      const run = async (task: Task) => {
        const before = ended
        const result = await runTask(task, slow, { now: () => nowMs, locks })
        expect(result).toMatchObject({ kind: 'done' })
        requests.push(result.requests)
        overtaken.push(ended++ - before)
      }
      const work = async (worker: number) => {
        for (let n = 0; n < 20; n++) {
          const uid = `${worker}-${n}`
          await run(allocate(request(uid, { pools: ['tiny'] }), known))
          await run(release({ owner: { uid } }, known))
        }
      }
      const beside = async () => {
        while (!ends) {
          const results = [allocate(request('z'), known), release({ owner: { uid: 'z' } }, known)] as const
          for (const task of results) await runTask<Outcome>(task, slow, { now: () => nowMs, locks })
        }
      }
      const neighbour = beside()
      await Promise.all(Array.from({ length: atOnce }, (_, worker) => work(worker)))
      ends = true
      await neighbour
      expect(new Set(requests)).toEqual(new Set([1]))
      // each of the others was there before it, and may have begun anew since
      expect(Math.max(...overtaken)).toBeLessThanOrEqual(atOnce)
    },
  )

  test('keep to blocks of their process where others write too', async () => {
    await poolIn(store, 'tiny', { subnets: [{ cidr: '10.0.1.0/27' }] })
    const processes = [await complete(), await complete()].map((known) => ({ known, locks: objectLocks() }))
    const requests: number[] = []
    for (let round = 0; round < 3; round++) {
      const given = processes.map(({ known, locks }, nth) =>
        tiny(known, locks, [`${nth}-${round}-a`, `${nth}-${round}-b`, `${nth}-${round}-c`]),
      )
      for (const ended of (await Promise.all(given)).flat()) {
        expect(ended).toMatchObject({ kind: 'done', outcome: { kind: 'allocated' } })
        requests.push(ended.requests)
      }
      for (const { known } of processes) await listTo(known)
    }
    // once they have met, each has a block to itself
    expect(requests.slice(6)).toEqual(requests.slice(6).map(() => 1))
  })
})

describe('writers that do not know of each other', () => {
  test('leave the blocks alone in which they have seen one another, for ten seconds', async () => {
    const [one, other] = [await complete(), await complete()]
    await give('a', one)
    // it meets the first one, and goes elsewhere
    expect(await give('b', other)).toEqual({ block: nth(1), requests: 3 })
    await listTo(one)
    await listTo(other)
    expect(await give('c', one)).toEqual({ block: nth(0), requests: 1 })
    await listTo(other)
    expect(await give('d', other)).toEqual({ block: nth(1), requests: 1 })
    nowMs += 10_000
    expect(await give('e', other)).toEqual({ block: nth(0), requests: 1 })
  })

  test('know their own writes, also where a watch tells of them before the answer', async () => {
    const known = await complete()
    const early = storeOver(store, {
      create: async (object) => {
        const made = await store.create(object)
        await listTo(known)
        return made
      },
      patch: async (ref, patch, options) => {
        const written = await store.patch(ref, patch, options)
        await listTo(known)
        return written
      },
    })
    for (const uid of ['a', 'b', 'c']) expect(await give(uid, known, early)).toEqual({ block: nth(0), requests: 1 })
  })

  test('take what the others use when there is nothing else', async () => {
    await poolIn(store, 'tiny', { subnets: [{ cidr: '10.0.1.0/28' }] })
    const [one, other] = [await complete(), await complete()]
    const from = async (uid: string, known: KnownBlocks) => {
      const ended = await runTask(allocate(request(uid, { pools: ['tiny'] }), known), store, { now: () => nowMs })
      return ended.kind === 'done' ? ended.outcome.kind : ended.kind
    }
    for (const uid of ['a', 'b', 'c', 'd']) {
      expect(await from(`one-${uid}`, one)).toBe('allocated')
      expect(await from(`other-${uid}`, other)).toBe('allocated')
    }
  })
})
