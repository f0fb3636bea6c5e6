import { FakeCloud } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { markerText } from '../../src/provider/external/view.js'
import type { CloudTrouble, CloudTroubleKind } from '../../src/testing/cloud/troubles.js'
import type { FakeCloudOptions } from '../../src/testing/fake-cloud.js'

const pool = { namespace: 'office', name: 'public' }
const base = { pool, access: {} }
const marker = markerText('pool-uid', 'claim-uid')

function cloudWith(options: Partial<FakeCloudOptions> = {}) {
  const clock = { nowMs: 1_000_000 }
  const cloud = new FakeCloud({ now: () => clock.nowMs, ...options })
  const network = cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/28'] }).id
  const create = (text = marker) => cloud.createAddress({ ...base, network, marker: text })
  const list = async () => {
    const listed = await cloud.listAddresses({ ...base, network, markers: ['pool-uid/'], tags: [], addresses: [] })
    if (!listed.ok) throw new Error(listed.failure.message)
    return listed.value.addresses
  }
  return { clock, cloud, network, create, list }
}

describe('troubles', () => {
  const rows: readonly [CloudTroubleKind | CloudTrouble, object, number][] = [
    ['down', { retryable: true }, 0],
    ['lostAnswer', { retryable: true }, 1],
    ['late', { retryable: true }, 0],
    ['quota', { retryable: true, nothingDone: true, reason: 'BackendExhausted' }, 0],
    ['denied', { retryable: true, nothingDone: true, reason: 'BackendDenied' }, 0],
    [{ kind: 'rateLimited', seconds: 7 }, { retryable: true, nothingDone: true, retryAfterSeconds: 7 }, 0],
    [{ kind: 'unavailable', seconds: 9 }, { retryable: true, retryAfterSeconds: 9 }, 0],
  ]
  test.each(rows)('a call that creates with the trouble %j', async (trouble, failure, left) => {
    const { cloud, create } = cloudWith()
    cloud.inject('createAddress', trouble)
    expect(await create()).toEqual({ ok: false, failure: { message: expect.any(String), ...failure } })
    expect(cloud.floatingIPs).toHaveLength(left)
    expect(await create()).toMatchObject({ ok: true })
    expect(cloud.calls.get('createAddress')).toBe(2)
  })

  test('a late call is done at its time after it was sent, and never later than 60 s', async () => {
    const { clock, cloud, create, list } = cloudWith()
    cloud.inject('createAddress', { kind: 'late', seconds: 20 })
    await create()
    clock.nowMs += 19_999
    expect(await list()).toEqual([])
    clock.nowMs += 1
    expect(await list()).toMatchObject([{ marker }])
    expect(() => cloud.inject('createAddress', { kind: 'late', seconds: 61 })).toThrow('60')
  })

  test('a late call that is refused when it is due changes nothing', async () => {
    const { clock, cloud, create } = cloudWith({ quota: 1 })
    cloud.inject('createAddress', 'late')
    await create()
    await create()
    clock.nowMs += 30_000
    expect(cloud.floatingIPs).toHaveLength(1)
  })

  test('recover: nothing goes wrong any more', async () => {
    const { cloud, create } = cloudWith()
    cloud.inject('createAddress', 'down')
    cloud.recover()
    expect(await create()).toMatchObject({ ok: true })
  })

  test('the same address twice, and an address outside of the network', async () => {
    const { cloud, create } = cloudWith()
    cloud.inject('createAddress', { kind: 'down' }, 'sameAddress', 'sameAddress', 'otherNetwork')
    const answers = []
    for (let i = 0; i < 4; i++) answers.push(await create())
    expect(cloud.floatingIPs.map(({ address }) => address)).toEqual(['203.0.113.2', '203.0.113.2'])
    expect(new Set(cloud.floatingIPs.map(({ id }) => id)).size).toBe(2)
    expect(answers[3]).toMatchObject({ failure: { message: expect.stringContaining('192.0.2.255') } })
    expect(cloud.deleted).toMatchObject([{ address: '192.0.2.255', by: 'call' }])
    expect(cloud.foreignDeletions).toEqual([])
  })
})

describe('lists', () => {
  test('show what was so some time ago', async () => {
    const { clock, cloud, network, create, list } = cloudWith()
    const old = cloud.byHand.create({ network })
    clock.nowMs += 10_000
    cloud.listLagMs = 5000
    await create()
    cloud.byHand.delete(old)
    expect(await list()).toMatchObject([{ id: old }])
    clock.nowMs += 4999
    expect(await list()).toMatchObject([{ id: old }])
    clock.nowMs += 1
    expect(await list()).toMatchObject([{ marker }])
    expect(() => {
      cloud.listLagMs = 60_001
    }).toThrow('listLagMs')
  })

  test('limited: the addresses of the pool, those with a tag, and those that are named', async () => {
    const { cloud, network, create } = cloudWith({ limitsLists: true })
    await create()
    await create(markerText('pool-uid-2', 'claim-uid'))
    const tagged = cloud.byHand.create({ network, tags: ['t'] })
    cloud.byHand.create({ network, tags: ['u'] })
    const named = cloud.byHand.create({ network, address: '203.0.113.9' })
    const input = { ...base, network, markers: ['pool-uid/'], tags: ['t'], addresses: ['203.0.113.9'] }
    const listed = await cloud.listAddresses(input)
    const ids = listed.ok && listed.value.addresses.map(({ id }) => id)
    expect(ids).toEqual([cloud.created[0]!.id, tagged, named])
  })

  test('show no address of another project', async () => {
    const { cloud, network, create, list } = cloudWith({ projectOf: () => 'ours' })
    cloud.byHand.create({ network, project: 'theirs' })
    await create()
    expect(await list()).toHaveLength(1)
  })
})

describe('operators', () => {
  test('create, tag, describe, attach, detach and delete', async () => {
    const { cloud, network, list } = cloudWith()
    const port = cloud.addPort({ device: 'server', network, fixedIPs: [] }).id
    const id = cloud.byHand.create({ network, address: '203.0.113.7', description: 'of the office' })
    cloud.byHand.tag(id, 'a', 'b')
    cloud.byHand.untag(id, 'a')
    cloud.byHand.describe(id, `of the office, ipam-kit ${marker}`)
    cloud.byHand.attach(id, port)
    expect(await list()).toMatchObject([{ id, address: '203.0.113.7', tags: ['b'], marker, isAttached: true }])
    cloud.byHand.detach(id)
    expect(await list()).toMatchObject([{ isAttached: false }])
    cloud.byHand.delete(id)
    expect(await list()).toEqual([])
    expect(cloud.calls.get('deleteAddress')).toBeUndefined()
  })

  test('what a call deletes that no call has created is a foreign deletion', async () => {
    const { cloud, network, create } = cloudWith()
    const theirs = cloud.byHand.create({ network })
    const ours = await create()
    if (!ours.ok) throw new Error(ours.failure.message)
    await cloud.deleteAddress({ ...base, seen: { id: ours.value.id, marker, revision: '' }, address: '' })
    expect(cloud.foreignDeletions).toEqual([])
    await cloud.deleteAddress({ ...base, seen: { id: theirs, marker: '', revision: '' }, address: '' })
    expect(cloud.foreignDeletions).toMatchObject([{ id: theirs, by: 'call' }])
    expect(cloud.created).toMatchObject([{ by: 'hand' }, { by: 'call', marker }])
  })
})

test('a network without a free address is a limit of the cloud', async () => {
  const { cloud, create } = cloudWith()
  const answers = []
  for (let i = 0; i < 14; i++) answers.push(await create())
  expect(answers.filter(({ ok }) => ok)).toHaveLength(13)
  expect(answers.at(-1)).toMatchObject({ failure: { reason: 'BackendExhausted', nothingDone: true } })
  cloud.byHand.delete(cloud.floatingIPs[5]!.id)
  expect(await create()).toMatchObject({ value: { address: '203.0.113.7' } })
})

test('delay comes before what is done', async () => {
  const { cloud, create } = cloudWith({
    latency: async (operation) => void seen.push([operation, cloud.floatingIPs.length]),
  })
  const seen: unknown[] = []
  await create()
  expect(seen).toEqual([['createAddress', 0]])
})
