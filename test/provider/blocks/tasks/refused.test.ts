import { Address } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { fail, unwrap } from 'ipam-kit/errors'
import { allocate, KnownBlocks } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { blockStore, blocksIn, countingStore, poolIn, type Requests, request } from '../world.js'

const FIRST = 'default-4-0a000000-28'
const SECOND = 'default-4-0a000010-28'

let truth: Store
/** The blocks in which the store takes nothing. */
let denied: (name: string) => boolean | Promise<boolean>
let store: Store
let requests: Requests
let why: 'STORE_INVALID' | 'STORE_OBJECT_TOO_LARGE' | 'STORE_IO'

beforeEach(async () => {
  truth = blockStore()
  await poolIn(truth, 'blue', { subnets: [{ cidr: '10.0.0.0/26' }] })
  denied = () => false
  why = 'STORE_INVALID'
  const refusal = (name: string) => {
    if (why === 'STORE_IO') return fail(why, { operation: 'patch', problem: 'forbidden' })
    if (why === 'STORE_OBJECT_TOO_LARGE') return fail(why, { object: `IPBlock ${name}`, sizeBytes: 2e6, maxBytes: 1e6 })
    return fail(why, { object: `IPBlock ${name}`, path: 'spec', problem: 'a webhook denies it' })
  }
  const isDenied = async (ref: { readonly kind: string }, name: string) =>
    ref.kind === IPBlock.info.kind && (await denied(name))
  const webhook = storeOver(truth, {
    create: async (object) =>
      (await isDenied(object, object.metadata.name)) ? refusal(object.metadata.name) : truth.create(object),
    patch: async (ref, patch, options) =>
      (await isDenied(ref, ref.name)) ? refusal(ref.name) : truth.patch(ref, patch, options),
  })
  const counted = countingStore(webhook)
  store = counted.store
  requests = counted.requests
})

async function give(uid: string, known = new KnownBlocks(), more: Partial<AllocationRequest> = {}): Promise<string> {
  const ended = await runTask(allocate(request(uid, more), known), store, { now: () => 1_000_000 })
  if (ended.kind !== 'done') return `${ended.kind} ${ended.failure.code}`
  const { outcome } = ended
  const texts = 'allocations' in outcome ? outcome.allocations.map(({ address }) => Address.format(address)) : []
  return outcome.kind === 'denied' ? `${outcome.kind} ${outcome.message}` : [outcome.kind, ...texts].join(' ')
}

describe('a block in which the store takes no row', () => {
  test.each(['STORE_INVALID', 'STORE_OBJECT_TOO_LARGE'] as const)(
    'stops no pool whose other blocks have room: %s',
    async (code) => {
      why = code
      expect(await give('a')).toBe('allocated 10.0.0.1')
      denied = (name) => name === FIRST
      expect(await give('b')).toBe('allocated 10.0.0.16')
      // also where it is not there yet
      denied = (name) => name !== SECOND
      expect(await give('c')).toBe('allocated 10.0.0.17')
    },
  )

  test('is tried first again by the next task', async () => {
    const known = new KnownBlocks()
    denied = (name) => name === FIRST
    expect(await give('a', known)).toBe('allocated 10.0.0.16')
    denied = () => false
    expect(await give('b', known)).toBe('allocated 10.0.0.1')
  })

  test('where no other has room the outcome says what the store has refused, and not that there is no room', async () => {
    denied = () => true
    expect(await give('a')).toMatch(/^denied .*a webhook denies it/)
    // each block once
    expect(requests.writes).toBe(4)
    expect(await blocksIn(truth)).toEqual([])
  })

  test('is not tried after each other one of a large pool', async () => {
    await poolIn(truth, 'red', { subnets: [{ cidr: '10.1.0.0/16' }] })
    denied = () => true
    expect(await give('a', new KnownBlocks(), { pools: ['red'] })).toBe('failed STORE_INVALID')
    expect(requests.writes).toBe(5)
  })

  test('does not keep others from it, and leaves no doubt', async () => {
    const known = new KnownBlocks()
    denied = () => true
    expect(await give('a', known)).toMatch(/^denied .*a webhook denies it/)
    expect(known.unconfirmed('a')).toEqual([])
    denied = () => false
    expect(await give('b', known)).toBe('allocated 10.0.0.1')
    expect(await give('a', known)).toBe('allocated 10.0.0.2')
  })

  test('ends the task where it is the one that is asked for', async () => {
    denied = (name) => name === FIRST
    const addresses = [Address.parse('10.0.0.5')]
    expect(await give('a', new KnownBlocks(), { addresses })).toMatch(/^denied .*a webhook denies it/)
    expect(requests.writes).toBe(1)
  })

  test('is not the reason where another family has no room any more', async () => {
    await poolIn(truth, 'dual', { domain: 'other', subnets: [{ cidr: '10.3.0.0/26' }, { cidr: 'fd00::/128' }] })
    denied = async (name) => {
      if (name !== 'other-4-0a030000-28') return false
      const six = allocate(request('a', { pools: ['dual'], families: [6] }), new KnownBlocks())
      await runTask(six, truth, { now: () => 1_000_000 })
      return true
    }
    expect(await give('b', undefined, { pools: ['dual'], families: [4, 6] })).toBe('exhausted')
  })

  test('is given nothing of what is kept there for an owner that comes again', async () => {
    await poolIn(truth, 'sticky', {
      domain: 'other',
      subnets: [{ cidr: '10.2.0.0/26' }],
      sticky: { by: 'owner', forSeconds: 600 },
    })
    const pools = ['sticky']
    const known = new KnownBlocks()
    expect(await give('a', known, { pools })).toBe('allocated 10.2.0.1')
    const [block] = (await blocksIn(truth)).filter(({ spec }) => spec.domain === 'other')
    const row = { state: 'held', released: at(1_000_000), until: at(1_600_000) }
    unwrap(
      await truth.patch(
        { apiVersion: IPBlock.info.apiVersion, kind: IPBlock.info.kind, name: block?.metadata.name as string },
        { spec: { rows: { 1: row } } },
      ),
    )
    denied = (name) => name === block?.metadata.name
    const owner = { uid: 'a2', name: 'ns/a' }
    expect(await give('a2', new KnownBlocks(), { owner, pools })).toBe('allocated 10.2.0.16')
  })
})

test('what is no fault of the object ends the task at once', async () => {
  why = 'STORE_IO'
  denied = (name) => name === FIRST
  expect(await give('a')).toBe('failed STORE_IO')
  expect(requests.writes).toBe(1)
})

test('both families or none, also where one of them is refused', async () => {
  await poolIn(truth, 'both', { domain: 'two', subnets: [{ cidr: '10.3.0.0/27' }, { cidr: 'fd00::/123' }] })
  denied = (name) => name === 'two-6-fd000000000000000000000000000000-124'
  expect(await give('a', new KnownBlocks(), { pools: ['both'], families: [4, 6] })).toBe('allocated 10.3.0.1 fd00::10')
})

test('with a handle: it names no block in which nothing is', async () => {
  denied = (name) => name === FIRST
  expect(await give('a', new KnownBlocks(), { handle: true })).toBe('allocated 10.0.0.16')
  const { items } = unwrap(await truth.list({ apiVersion: IPBlock.info.apiVersion, kind: 'IPHandle' }))
  expect(items.map(({ spec }) => (spec as { blocks: object }).blocks)).toEqual([{ '': [SECOND] }])
})

function at(ms: number): string {
  return new Date(ms).toISOString()
}
