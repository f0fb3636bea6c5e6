import { Address } from 'ipam-kit/cidr'
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { allocate, blockClaims, blocksOperator, blocksSweep, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { Controller, runTask, runUntilQuiet, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import type { IPPoolSpec } from '../../../../src/crd/ipam-kit/ip-pool.js'
import type { AnyResult } from '../../../../src/plan/planner.js'
import { VirtualTimers } from '../../../run/controller/virtual-timers.js'
import { passResult } from '../../pass-result.js'

let store: Store
let nowMs: number
beforeEach(() => {
  nowMs = 1_000_000
  const models = [IPAddressClaim, IPAddress, Cluster, IPDomain, IPPool, IPBlock]
  store = memoryStore({ kinds: models.map(({ info }) => info), now: () => nowMs, uid: (n) => `uid-${n}` })
})

const of = (kind: string, name: string) => {
  const isOurs = kind.startsWith('IPPool') || kind === 'IPBlock' || kind === 'IPDomain'
  const apiVersion = isOurs ? IPPool.info.apiVersion : IPAddressClaim.info.apiVersion
  return isOurs ? { apiVersion, kind, name } : { apiVersion, kind, namespace: 'default', name }
}

async function run(): Promise<void> {
  const claims = blockClaims({ sweepAfterSeconds: 1, namespaceLabels: (name) => ({ name }) })
  const sweep = blocksSweep({ owners: [IPAddressClaim.info], graceSeconds: 0 })
  const external = taskCaller({ store, now: () => nowMs, tasks: claims.tasks })
  const planners: readonly Planner[] = [claims, blocksOperator({ emptySeconds: 0 }), sweep]
  const { failures } = await runUntilQuiet(store, planners, { now: () => nowMs, external })
  expect(failures).toEqual([])
}

/**
 * A process serves claims, in a time that passes when it is told to.
 *
 * @param sent receives the calls that it makes
 * @returns ends it
 */
function serve(timers: VirtualTimers, sent: string[] = []): () => Promise<void> {
  const claims = blockClaims()
  const caller = taskCaller({ store, now: () => timers.now(), tasks: claims.tasks })
  const controller = new Controller<Outcome>({
    store,
    planners: [claims, blocksOperator()],
    timers,
    external: (call) => {
      sent.push(`${call.operation} ${call.about.name}`)
      return caller(call)
    },
    onProblem: (problem) => expect(problem).toBeUndefined(),
  })
  const running = controller.run()
  return async () => {
    controller.stop()
    await running
  }
}

async function makePool(name: string, spec: Partial<IPPoolSpec> & Pick<IPPoolSpec, 'subnets'>): Promise<void> {
  const { apiVersion, kind } = of('IPPool', name)
  unwrap(await store.create({ apiVersion, kind, metadata: { name }, spec }))
}

async function claim(name: string, annotations: { readonly [key: string]: string } = {}, pool = 'blue'): Promise<void> {
  const { apiVersion, kind, namespace } = of('IPAddressClaim', name)
  const spec = { poolRef: { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: pool } }
  unwrap(await store.create({ apiVersion, kind, metadata: { namespace, name, annotations }, spec }))
}

async function state(name: string): Promise<string> {
  const read = IPAddressClaim.parse(unwrap(await store.get(of('IPAddressClaim', name))))
  const address = await store.get(of('IPAddress', name))
  const ready = read.status?.conditions?.find(({ type }) => type === 'Ready')
  if (read.status?.addressRef === undefined || !address.ok) return `${ready?.reason}: ${ready?.message}`
  const { spec } = IPAddress.parse(address.value)
  return [`${spec.address}/${spec.prefix}`, ...(spec.gateway === undefined ? [] : [spec.gateway])].join(' via ')
}

async function rows(): Promise<readonly string[]> {
  const { items } = unwrap(await store.list({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock' }))
  return items.flatMap((object) =>
    Object.values(IPBlock.parse(object).spec.rows).map(({ owner, uid }) => `${owner} ${uid}`),
  )
}

describe('claims on blocks', () => {
  test('are Bound, give back when they go, and wait for room', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/30', gateway: '10.0.0.1' }] })
    await claim('a')
    await claim('b')
    await run()
    expect(await state('a')).toBe('10.0.0.2/30 via 10.0.0.1')
    expect(await state('b')).toBe('PoolExhausted: no IPv4 available in blue')
    expect(await rows()).toEqual(['default/a uid-2'])
    unwrap(await store.delete(of('IPAddressClaim', 'a')))
    await run()
    nowMs += 60_000
    await run()
    expect(await state('b')).toBe('10.0.0.2/30 via 10.0.0.1')
    expect(await rows()).toEqual(['default/b uid-3'])
  })

  test('say which family they want of a pool that has both, and which address', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }, { cidr: 'fd00::/64' }] })
    await claim('none')
    await claim('six', { 'ipam-kit.dev/family': '6' })
    await claim('asked', { 'ipam-kit.dev/family': '4', 'ipam-kit.dev/address': '10.0.0.77' })
    await claim('odd', { 'ipam-kit.dev/family': '4', 'ipam-kit.dev/address': 'fd00::1' })
    await claim('late', { 'ipam-kit.dev/family': '4', 'ipam-kit.dev/address': '10.0.0.77' })
    await run()
    expect(await state('none')).toBe('AllocationFailed: pool blue has both families: ipam-kit.dev/family says which')
    expect(await state('six')).toBe('fd00::1/64')
    expect(await state('asked')).toBe('10.0.0.77/24')
    expect(await state('odd')).toBe('AllocationFailed: ipam-kit.dev/address: fd00::1 is not IPv4')
    expect(await state('late')).toBe('AllocationFailed: 10.0.0.77 is in use by default/asked')
  })

  test('are served by pools that are for their namespace', async () => {
    await makePool('blue', {
      subnets: [{ cidr: '10.0.0.0/24' }],
      namespaceSelector: { matchLabels: { name: 'other' } },
    })
    await makePool('red', {
      subnets: [{ cidr: '10.0.1.0/24' }],
      namespaceSelector: { matchLabels: { name: 'default' } },
    })
    await claim('a')
    await claim('b', {}, 'red')
    await run()
    expect(await state('a')).toMatch(/^PoolNotReady: .*pool blue is not for this namespace$/)
    expect(await state('b')).toBe('10.0.1.1/24')
  })

  test('that are made anew keep the IPAddress and the row of the claim before', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('a')
    await claim('b')
    await run()
    expect(await state('b')).toBe('10.0.0.2/24')
    // by force, as a restore does it
    unwrap(await store.patch(of('IPAddressClaim', 'b'), { metadata: { finalizers: [] } }))
    unwrap(await store.delete(of('IPAddressClaim', 'b')))
    unwrap(await store.delete(of('IPAddressClaim', 'a')))
    await claim('b')
    await run()
    const { uid } = unwrap(await store.get(of('IPAddressClaim', 'b'))).metadata
    expect(await state('b')).toBe('10.0.0.2/24')
    expect(await rows()).toEqual([`default/b ${uid}`])
  })

  test('that are made anew do not wait for an IPAddress that is of their pool no more', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('a')
    await run()
    // by force: the IPAddress stays, and its row is given back
    unwrap(await store.patch(of('IPAddressClaim', 'a'), { metadata: { finalizers: [] } }))
    unwrap(await store.delete(of('IPAddressClaim', 'a')))
    const { name } = unwrap(await store.list({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock' })).items[0]!
      .metadata
    unwrap(await store.patch(of('IPBlock', name), { spec: { rows: { 1: null } } }))
    unwrap(
      await store.patch(of('IPPool', 'blue'), { spec: { subnets: [{ cidr: '10.0.0.0/24', exclude: ['10.0.0.1'] }] } }),
    )
    await claim('a')
    await run()
    const { uid } = unwrap(await store.get(of('IPAddressClaim', 'a'))).metadata
    expect(await state('a')).toBe('10.0.0.2/24')
    expect(await rows()).toEqual([`default/a ${uid}`])
  })

  test('that are Bound get their rows again when blocks are gone, as after a restore without them', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 30 } })
    for (const name of ['a', 'b', 'c', 'd']) await claim(name)
    await run()
    const before = await rows()
    expect(before).toHaveLength(4)
    const { apiVersion, kind } = IPBlock.info
    for (const { metadata } of unwrap(await store.list({ apiVersion, kind })).items) {
      unwrap(await store.patch(of('IPBlock', metadata.name), { metadata: { finalizers: [] } }))
      unwrap(await store.delete(of('IPBlock', metadata.name)))
    }
    // it is looked at before the others are
    await claim('0')
    await run()
    const texts = await Promise.all(['0', 'a', 'b', 'c', 'd'].map(state))
    expect((await rows()).filter((row) => before.includes(row))).toHaveLength(4)
    // nobody takes what another one has by its IPAddress
    expect(new Set(texts.filter((text) => text.includes('/24'))).size).toBe(5)
  })

  test('whose address another owner has for a while are Bound again as soon as it does not', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('a')
    const timers = new VirtualTimers(nowMs)
    const stop = serve(timers)
    await timers.pass(10_000)
    const { apiVersion, kind } = IPBlock.info
    const [block] = unwrap(await store.list({ apiVersion, kind })).items
    const own = IPBlock.parse(block).spec.rows[1]
    const change = async (row: object) =>
      unwrap(await store.patch(of('IPBlock', block?.metadata.name ?? ''), { spec: { rows: { 1: row } } }))
    await change({ owner: 'default/pod', uid: 'pod', kind: null })
    await timers.pass(5_000)
    expect(await state('a')).toBe('AllocationFailed: another owner has its address')
    unwrap(await store.patch(of('IPBlock', block?.metadata.name ?? ''), { spec: { rows: { 1: null } } }))
    await timers.pass(1_000)
    expect(await state('a')).toBe('10.0.0.1/24')
    expect(await rows()).toEqual([`default/a ${own?.uid}`])
    await stop()
  })

  test('keep their hands off an IPAddress that a tool controls', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await run()
    const pod = { owner: { uid: 'pod', name: 'default/pod' }, pools: ['blue'], families: [4] as const }
    await runTask(allocate(pod, new KnownBlocks()), store, { now: () => nowMs })
    const { apiVersion, kind, namespace } = of('IPAddress', 'b')
    const tool = { apiVersion: 'v1', kind: 'ConfigMap', name: 'tool', uid: 'tool', controller: true }
    const spec = {
      claimRef: { name: 'b' },
      poolRef: { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: 'blue' },
      address: '10.0.0.1',
      prefix: 24,
    }
    const metadata = { namespace, name: 'b', ownerReferences: [tool] }
    unwrap(await store.create({ apiVersion, kind, metadata, spec }))
    await claim('b')
    await run()
    expect(await state('b')).toBe('AllocationFailed: another owner has its address')
    expect((await store.get(of('IPAddress', 'b'))).ok).toBe(true)
  })

  test('that are Bound get a row again that was taken from them while claims are served', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('a')
    const timers = new VirtualTimers(nowMs)
    const stop = serve(timers)
    await timers.pass(10_000)
    const before = await rows()
    expect(before).toHaveLength(1)
    const [block] = unwrap(await store.list({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock' })).items
    // also again and again: what was said before the row went is not believed any more
    for (const seconds of [5, 120, 5, 5]) {
      const patched = await store.patch(of('IPBlock', block?.metadata.name ?? ''), { spec: { rows: { 1: null } } })
      expect(unwrap(patched).spec).toMatchObject({ rows: {} })
      await timers.pass(seconds * 1000)
      expect(await rows()).toEqual(before)
    }
    await stop()
  })

  test('that wait for room get it as soon as any process deletes a row', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/30', exclude: ['10.0.0.2'] }] })
    await claim('a')
    await run()
    // by force: the row stays
    unwrap(await store.patch(of('IPAddress', 'a'), { metadata: { finalizers: [] } }))
    unwrap(await store.delete(of('IPAddress', 'a')))
    unwrap(await store.patch(of('IPAddressClaim', 'a'), { metadata: { finalizers: [] } }))
    unwrap(await store.delete(of('IPAddressClaim', 'a')))
    await claim('b')
    const timers = new VirtualTimers(nowMs)
    const stop = serve(timers)
    // by now it waits for minutes before it asks again
    await timers.pass(1_000_000)
    expect(await state('b')).toBe('PoolExhausted: no IPv4 available in blue')
    const [block] = unwrap(await store.list({ apiVersion: IPBlock.info.apiVersion, kind: 'IPBlock' })).items
    unwrap(await store.patch(of('IPBlock', block?.metadata.name ?? ''), { spec: { rows: { 1: null } } }))
    await timers.pass(2_000)
    expect(await state('b')).toBe('10.0.0.1/30')
    await stop()
  })

  test.each([
    ['what a Pod has had, as soon as that goes', 0],
    ['what is not to be given again before some time, as soon as that has passed', 200],
  ])('get %s', async (_, reuseAfterSeconds) => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/30', exclude: ['10.0.0.2'] }], reuseAfterSeconds })
    await run()
    const timers = new VirtualTimers(nowMs)
    const known = new KnownBlocks()
    const owner = { uid: 'p', name: 'ns/p' }
    const request = { owner, pools: ['blue'], families: [4] as const }
    const now = () => timers.now()
    expect(await runTask(allocate(request, known), store, { now })).toMatchObject({ outcome: { kind: 'allocated' } })
    await claim('b')
    const stop = serve(timers)
    // by now it waits for minutes before it asks again
    await timers.pass(1_000_000)
    expect(await runTask(release({ owner, pools: ['blue'] }, known), store, { now })).toMatchObject({
      outcome: { kind: 'released' },
    })
    expect(await state('b')).toBe('PoolExhausted: no IPv4 available in blue')
    await timers.pass(reuseAfterSeconds * 1000 + 2000)
    expect(await state('b')).toBe('10.0.0.1/30')
    await stop()
  })

  test.each(['a Pod', 'a claim'])('get the address that they ask for as soon as %s has it no more', async (holder) => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    const wish = { 'ipam-kit.dev/address': '10.0.0.9' }
    await claim('b')
    await run()
    const timers = new VirtualTimers(nowMs)
    const now = () => timers.now()
    const pod = { owner: { uid: 'p', name: 'ns/p' }, pools: ['blue'], families: [4] as const }
    const others = new KnownBlocks()
    if (holder === 'a claim') await claim('a', wish)
    else await runTask(allocate({ ...pod, addresses: [Address.parse('10.0.0.9')] }, others), store, { now })
    await run()
    await claim('c', wish)
    const sent: string[] = []
    const stop = serve(timers, sent)
    // by now it waits for minutes before it asks again
    await timers.pass(1_000_000)
    expect(await state('c')).toMatch(/^AllocationFailed: 10\.0\.0\.9 is in use by /)
    sent.length = 0
    // what others had is not what it asks for
    unwrap(await store.delete(of('IPAddressClaim', 'b')))
    await timers.pass(1000)
    expect(sent).toEqual(['release b'])
    if (holder === 'a claim') unwrap(await store.delete(of('IPAddressClaim', 'a')))
    else await runTask(release(pod, others), store, { now })
    await timers.pass(2000)
    expect(await state('c')).toBe('10.0.0.9/24')
    await stop()
  })

  test('ask again for an address as soon as it is known that a call has freed it, and for no other', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('c')
    const claims = blockClaims()
    claims.observe({ kind: 'present', object: unwrap(await store.get(of('IPPool', 'blue'))) })
    claims.observe({ kind: 'present', object: unwrap(await store.get(of('IPAddressClaim', 'c'))) })
    const onResult = (operation: string, name: string, addresses: readonly string[], answer: AnyResult['answer']) => {
      const request = { addresses: addresses.map((text) => Address.parse(text)) }
      const call = {
        operation,
        key: 'k',
        about: of('IPAddressClaim', name),
        input: { task: operation, pool: 'blue', request },
      }
      return passResult(claims, { call, answer, atMs: nowMs })
    }
    const taken = { ok: false, failure: { message: 'in use', retryable: true } } as const
    const released = (text: string): AnyResult['answer'] => ({
      ok: true,
      value: { kind: 'released', message: '', allocations: [{ address: Address.parse(text) }] },
    })
    onResult('allocate', 'c', ['10.0.0.9'], taken)
    expect(onResult('release', 'a', [], released('10.0.0.8'))).toEqual([])
    expect(onResult('release', 'a', [], released('10.0.0.9'))).toEqual(['IPAddressClaim default/c'])
    expect(onResult('release', 'a', [], released('10.0.0.9'))).toEqual([])
    onResult('allocate', 'c', ['10.0.0.9'], taken)
    onResult('allocate', 'c', ['10.0.0.7'], taken)
    expect(onResult('release', 'a', [], released('10.0.0.9'))).toEqual([])
    claims.observe({ kind: 'absent', ref: of('IPAddressClaim', 'c') })
    expect(onResult('release', 'a', [], released('10.0.0.7'))).toEqual([])
  })

  test('are not served by a pool for some namespaces while the namespaces are unknown', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }], namespaceSelector: {} })
    await claim('a')
    await run()
    expect(await state('a')).toBe('10.0.0.1/24')
    await claim('b')
    const claims = blockClaims()
    const external = taskCaller({ store, now: () => nowMs, tasks: claims.tasks })
    await runUntilQuiet(store, [claims], { now: () => nowMs, external })
    expect(await state('b')).toBe(
      'PoolNotReady: has a namespaceSelector, and the labels of the namespace are not known',
    )
  })

  /** An IPAddress that this very claim is the controller of. */
  async function leave(name: string, address: string): Promise<void> {
    const uid = unwrap(await store.get(of('IPAddressClaim', name))).metadata.uid as string
    const owner = { apiVersion: IPAddressClaim.info.apiVersion, kind: 'IPAddressClaim', name, uid, controller: true }
    const { apiVersion, kind, namespace } = of('IPAddress', name)
    const poolRef = { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: 'blue' }
    const metadata = { namespace, name, ownerReferences: [owner] }
    unwrap(
      await store.create({ apiVersion, kind, metadata, spec: { claimRef: { name }, poolRef, address, prefix: 24 } }),
    )
  }

  test('are not Bound to an IPAddress of their own whose address another owner has, and it stays', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('a')
    await run()
    // a row is all that says so
    unwrap(await store.patch(of('IPAddress', 'a'), { metadata: { finalizers: [] } }))
    unwrap(
      await store.patch(of('IPAddressClaim', 'a'), { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } }),
    )
    unwrap(await store.delete(of('IPAddress', 'a')))
    await claim('b')
    await leave('b', '10.0.0.1')
    await run()
    expect(await state('b')).toBe('AllocationFailed: another owner has its address')
    expect((await store.get(of('IPAddress', 'b'))).ok).toBe(true)
    expect(await rows()).toEqual(['default/a uid-2'])
  })

  test('are not Bound to an IPAddress whose address cannot be read', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('a')
    await leave('a', 'nonsense')
    await run()
    expect(await state('a')).toBe('AllocationFailed: the address of its IPAddress cannot be read')
  })

  test('that wait for a pool are woken once, however often they were planned', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('a')
    const claims = blockClaims()
    const show = async (kind: string, name: string) =>
      claims.observe({ kind: 'present', object: unwrap(await store.get(of(kind, name))) })
    await show('IPPool', 'blue')
    await show('IPAddressClaim', 'a')
    const key = 'IPAddressClaim default/a'
    for (let n = 0; n < 3; n++) expect(claims.plan(key, { nowMs })?.outcome.kind).toBe('waiting')
    const status = { domainUID: 'domain', ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 } }
    unwrap(await store.patch(of('IPPool', 'blue'), { status }, { subresource: 'status' }))
    expect((await show('IPPool', 'blue')).filter((woken) => woken === key)).toEqual([key])
    const disabled = { spec: { disabled: true } }
    unwrap(await store.patch(of('IPPool', 'blue'), disabled))
    // once for the spec of its pool, and not for having waited for that before
    expect((await show('IPPool', 'blue')).filter((woken) => woken === key)).toEqual([key])
  })

  test('that are removed by force leave nothing', async () => {
    await makePool('blue', { subnets: [{ cidr: '10.0.0.0/24' }] })
    await claim('a')
    await run()
    unwrap(await store.patch(of('IPAddressClaim', 'a'), { metadata: { finalizers: [] } }))
    unwrap(await store.delete(of('IPAddressClaim', 'a')))
    const timers = new VirtualTimers(nowMs)
    const claims = blockClaims({ sweepAfterSeconds: 60 })
    const sweep = blocksSweep({ owners: [IPAddressClaim.info], graceSeconds: 60 })
    const external = taskCaller({ store, now: () => timers.now(), tasks: claims.tasks })
    const planners: readonly Planner[] = [claims, blocksOperator(), sweep]
    const controller = new Controller({
      store,
      planners,
      timers,
      external,
      onProblem: (problem) => expect(problem).toBeUndefined(),
    })
    const running = controller.run()
    await timers.pass(50_000)
    expect(await rows()).toEqual(['default/a uid-2'])
    await timers.pass(60_000)
    expect(await store.get(of('IPAddress', 'a'))).toMatchObject({ failure: { code: 'STORE_NOT_FOUND' } })
    await timers.pass(120_000)
    expect(await rows()).toEqual([])
    controller.stop()
    await running
  })
})
