import { Address } from 'ipam-kit/cidr'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { fail, unwrap } from 'ipam-kit/errors'
import type { ExternalCall, ExternalResult } from 'ipam-kit/plan'
import { allocate, KnownBlocks } from 'ipam-kit/provider/blocks'
import { type ExternalCaller, runTask, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { AllocateGroup, type AllocateGroupOptions } from '../../../../src/provider/blocks/tasks/allocate-group.js'
import { answerOf, type BlockCall, type BlockOutcome } from '../../../../src/provider/blocks/tasks/calls.js'
import { blockStore, blocksIn, countingStore, poolIn, type Requests, request } from '../world.js'

const now = () => 1_000_000
const FIRST = 'default-4-0a000000-28'

let truth: Store
/** The blocks in which the store takes nothing. */
let denied: (name: string) => boolean
let code: 'STORE_IO' | 'STORE_INVALID'
let store: Store
let requests: Requests
let known: KnownBlocks
let caller: ExternalCaller<AllocateCall, BlockOutcome>

beforeEach(async () => {
  truth = blockStore()
  await poolIn(truth, 'blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
  denied = () => false
  code = 'STORE_IO'
  const refusal = (name: string) =>
    code === 'STORE_IO'
      ? fail(code, { operation: 'create', problem: '403: exceeded quota' })
      : fail(code, { object: `IPBlock ${name}`, path: 'spec', problem: 'a webhook denies it' })
  const over = storeOver(truth, {
    create: async (object) => (denied(object.metadata.name) ? refusal(object.metadata.name) : truth.create(object)),
    patch: async (ref, patch, options) => (denied(ref.name) ? refusal(ref.name) : truth.patch(ref, patch, options)),
  })
  const counted = countingStore(over)
  store = counted.store
  requests = counted.requests
  // the first block has room
  await runTask(allocate(request('zero'), new KnownBlocks()), truth, { now })
  known = new KnownBlocks({ isComplete: true })
  for (const { apiVersion, kind } of [IPPool.info, IPBlock.info]) {
    for (const object of unwrap(await truth.list({ apiVersion, kind })).items) {
      known.observe({ kind: 'present', object }, { nowMs: now() })
    }
  }
  const tasks = {
    taskFor: () => {
      throw new Error('calls of a group have no task of their own')
    },
    answerOf: ({ input }: ExternalCall<AllocateCall>, outcome: BlockOutcome) =>
      answerOf(input, outcome, { nowMs: now() }),
  }
  caller = taskCaller({
    store,
    now,
    tasks: { ...tasks, groupOf: () => 'blue', openGroup: () => group(tasks.answerOf) },
  })
})

function group(answerOf: AllocateGroupOptions['answerOf']): AllocateGroup {
  return new AllocateGroup({ known: () => known, requestOf: ({ input }) => input.request, answerOf })
}

type AllocateCall = Extract<BlockCall, { readonly task: 'allocate' }>

const callOf = (uid: string, address?: string): ExternalCall<AllocateCall> => ({
  operation: 'allocate',
  key: uid,
  about: { apiVersion: 'v1', kind: 'Claim', namespace: 'ns', name: uid },
  input: {
    task: 'allocate',
    pool: 'blue',
    request: request(uid, address === undefined ? {} : { addresses: [Address.parse(address)] }),
  },
})

const textOf = (answer: ExternalResult<BlockOutcome>) => (answer.ok ? answer.value.message : answer.failure.message)

/** It asks for an address of a block that is not there yet. */
const poison = callOf('poison', '10.0.0.200')
const isPoisoned = (name: string) => name !== FIRST

describe('a block in which the store takes no row', () => {
  test.each([
    ['STORE_IO', 0],
    ['STORE_IO', 1],
    ['STORE_IO', 3],
    ['STORE_INVALID', 0],
    ['STORE_INVALID', 1],
    ['STORE_INVALID', 3],
  ] as const)(
    'fails the call that asks for it, and no other one of its group: %s, %d calls before it',
    async (why, before) => {
      code = why
      denied = isPoisoned
      for (let round = 0; round < 3; round++) {
        const calls = [0, 1, 2].map((nth) => callOf(`good-${round}-${nth}`))
        calls.splice(before, 0, poison)
        const answers = await Promise.all(calls.map(caller))
        expect(answers.map(({ ok }) => ok)).toEqual(calls.map(({ key }) => key !== poison.key))
        expect(textOf(answers[before] as ExternalResult<BlockOutcome>)).toMatch(
          /403: exceeded quota|a webhook denies it/,
        )
      }
      expect((await blocksIn(truth)).map(({ metadata }) => metadata.name)).toEqual([FIRST])
    },
  )

  test('costs the other calls no write', async () => {
    denied = isPoisoned
    const answers = await Promise.all([poison, callOf('a'), callOf('b')].map(caller))
    expect(answers.map(({ ok }) => ok)).toEqual([false, true, true])
    // the one that is refused, and one for the two others: what was not sent leaves no doubt
    expect(requests.writes).toBe(2)
    expect(['poison', 'a', 'b'].map((name) => known.unconfirmed(name))).toEqual([[], [], []])
  })

  test('is not chosen for other calls because one asks for an address of it', async () => {
    for (let nth = 0; nth < 14; nth++) expect((await caller(callOf(`full-${nth}`))).ok).toBe(true)
    denied = (name) => name === 'default-4-0a0000c0-28'
    const answers = await Promise.all([poison, callOf('a'), callOf('b')].map(caller))
    expect(answers.map(({ ok }) => ok)).toEqual([false, true, true])
  })

  test('fails all calls that have no other one, and keeps none of them from it later', async () => {
    const full = Array.from({ length: 14 }, (_, nth) => callOf(`full-${nth}`))
    for (const call of full) expect((await caller(call)).ok).toBe(true)
    denied = isPoisoned
    const calls = ['a', 'b', 'c'].map((name) => callOf(name))
    const refused = await Promise.all(calls.map(caller))
    expect(refused.map(({ ok }) => ok)).toEqual([false, false, false])
    denied = () => false
    const before = requests.writes
    const answers = await Promise.all(calls.map(caller))
    expect(answers.map(({ ok }) => ok)).toEqual([true, true, true])
    expect(requests.writes - before).toBeLessThanOrEqual(3)
  })
})

test('what a step has assumed is taken back when a call throws', () => {
  const before = known.block(FIRST)
  const throwing = group(() => {
    throw new Error('a fault')
  })
  throwing.lead(throwing.join(callOf('a')))
  throwing.join(callOf('no', '192.168.0.1'))
  expect(() => throwing.next({ nowMs: now(), conflicts: 0 })).toThrow('a fault')
  expect(known.block(FIRST)).toBe(before)
})
