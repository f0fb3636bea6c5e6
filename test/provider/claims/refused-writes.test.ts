import { IPAddress } from 'ipam-kit/crd/cluster-api'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { type KubeObject, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import { fail } from 'ipam-kit/errors'
import type { EventEffect, Outcome, Planner } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { Controller, type ControllerProblem, runUntilQuiet, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { addressRef, claim, claimRef, kinds, pool, poolOf, World } from '../in-cluster/world.js'

const TERMINATING =
  '403: ipaddresses.ipam.cluster.x-k8s.io "web" is forbidden: create not allowed while custom resource definition is terminating'
const QUOTA = '403: ipaddresses "web" is forbidden: exceeded quota: addresses, requested: count/ipaddresses=1, used: 9'
const WEBHOOK = 'admission webhook "guard.example.com" denied the request: not on a Friday'

/** What a server says no with, and what of it an operator has to read. */
const refusals = {
  'a CRD that terminates': () => fail('STORE_IO', { operation: 'create (kubernetes)', problem: TERMINATING }),
  'a quota': () => fail('STORE_IO', { operation: 'create (kubernetes)', problem: QUOTA }),
  'a webhook': () => fail('STORE_INVALID', { object: 'an object', path: 'object', problem: WEBHOOK }),
} as const
const said = { 'a CRD that terminates': TERMINATING, 'a quota': QUOTA, 'a webhook': WEBHOOK } as const
type Why = keyof typeof refusals
const whys = Object.keys(refusals) as Why[]

interface Rule {
  readonly operation: 'create' | 'patch' | 'status' | 'delete'
  readonly kind: string
  /** Only of an object of this name. */
  readonly name?: string
}

class RefusingWorld extends World {
  override readonly store = memoryStore({
    now: () => this.nowMs,
    kinds: [...kinds, IPDomain.info, IPPool.info, IPBlock.info],
  })
  rule: Rule | undefined
  why: Why = 'a quota'
  refused = 0
  readonly events: EventEffect[] = []
  /** Refuses what the rule says. */
  readonly refusing: Store = storeOver(this.store, {
    create: (object) => this.#ask('create', refOf(object), () => this.store.create(object)),
    patch: (ref, patch, options) => {
      const operation = options?.subresource === 'status' ? 'status' : 'patch'
      return this.#ask(operation, ref, () => this.store.patch(ref, patch, options))
    },
    delete: (ref, options) => this.#ask('delete', ref, () => this.store.delete(ref, options)),
  })

  async #ask<T>(operation: Rule['operation'], ref: ObjectRef, write: () => Promise<T>): Promise<T> {
    const { rule } = this
    const isMeant = rule?.operation === operation && rule.kind === ref.kind && (rule.name ?? ref.name) === ref.name
    if (!isMeant) return write()
    this.refused++
    return refusals[this.why]() as T
  }

  /**
   * A process of the provider with this ledger, at work until nothing is left to do. @returns what
   * went wrong
   */
  async play(ledger: 'objects' | 'blocks', planner?: Planner<Outcome>): Promise<readonly string[]> {
    const blocks = ledger === 'blocks' ? inClusterBlocks() : undefined
    const provider: Planner<Outcome> = planner ?? blocks ?? inCluster()
    const now = () => this.nowMs
    const external = blocks && taskCaller({ store: this.refusing, now, tasks: blocks.tasks })
    const onEvent = (event: EventEffect) => void this.events.push(event)
    const { failures } = await runUntilQuiet(this.refusing, [provider], { now, external, onEvent })
    this.nowMs += 1_000_000
    return failures.map(({ key }) => key)
  }

  async ready(name = 'web') {
    return (await this.claim(name)).status?.conditions?.find(({ type }) => type === 'Ready')
  }

  /** Events of a kind of trouble, by object. */
  warnings(): readonly string[] {
    return this.events.flatMap(({ type, about, reason }) =>
      type === 'Warning' ? [`${about.kind} ${about.name} ${reason}`] : [],
    )
  }
}

let world: RefusingWorld
beforeEach(() => {
  world = new RefusingWorld()
})

const pools = [
  ['IPv4', pool(['10.0.0.5-10.0.0.6']), 'InClusterIPPool'],
  ['IPv6', pool(['fd00::5-fd00::6'], { prefix: 64 }), 'InClusterIPPool'],
  ['prefixes', poolOf('GlobalInClusterPrefixPool', { prefixes: ['fd00::/60'] }), 'GlobalInClusterPrefixPool'],
] as const

/** Effects without which a claim does not become Bound. */
const obstacles: readonly (readonly ['objects' | 'blocks', Rule])[] = [
  ['objects', { operation: 'create', kind: 'IPAddress' }],
  ['objects', { operation: 'patch', kind: 'IPAddressClaim' }],
  ['blocks', { operation: 'create', kind: 'IPAddress' }],
  ['blocks', { operation: 'patch', kind: 'IPAddressClaim' }],
  ['blocks', { operation: 'create', kind: 'IPBlock' }],
  ['blocks', { operation: 'patch', kind: 'IPBlock' }],
]

describe.each(whys)('%s', (why) => {
  describe.each(pools)('%s', (_, from, kind) => {
    test.each(obstacles)(
      '%s: a claim says why it has no address, once, and has it when it may: %o',
      async (ledger, rule) => {
        await world.create(from)
        // a block is there already where it is patched
        if (rule.operation === 'patch' && rule.kind === 'IPBlock') {
          await world.create(claim('before', { poolRef: { kind } }))
          await world.play(ledger)
        }
        await world.create(claim('web', { poolRef: { kind } }))
        Object.assign(world, { rule, why })
        await world.play(ledger)
        const ready = await world.ready()
        expect(ready).toMatchObject({ status: 'False', reason: 'AllocationFailed' })
        expect(ready?.message).toContain(said[why])
        expect(world.warnings()).toEqual(['IPAddressClaim web AllocationFailed'])
        const { resourceVersion } = (await world.claim('web')).metadata
        await world.play(ledger)
        expect((await world.claim('web')).metadata.resourceVersion).toBe(resourceVersion)
        expect(world.warnings()).toEqual(['IPAddressClaim web AllocationFailed'])
        expect(world.refused).toBeGreaterThanOrEqual(2)

        world.rule = undefined
        expect(await world.play(ledger)).toEqual([])
        expect(await world.ready()).toMatchObject({ status: 'True', reason: 'AddressAllocated' })
        expect((await world.address('web')).spec.address).toBeDefined()
      },
    )
  })

  test.each([
    ['objects', { operation: 'patch', kind: 'IPAddress' }],
    ['objects', { operation: 'delete', kind: 'IPAddress' }],
    ['objects', { operation: 'patch', kind: 'IPAddressClaim' }],
    ['blocks', { operation: 'patch', kind: 'IPAddress' }],
    ['blocks', { operation: 'delete', kind: 'IPAddress' }],
    ['blocks', { operation: 'patch', kind: 'IPAddressClaim' }],
    ['blocks', { operation: 'patch', kind: 'IPBlock' }],
  ] as const)('%s: a claim that is deleted says why it is still there: %o', async (ledger, rule) => {
    await world.create(pool(['10.0.0.5']), claim('web'))
    await world.play(ledger)
    await world.delete('claim', 'web')
    Object.assign(world, { rule, why })
    await world.play(ledger)
    const ready = await world.ready()
    expect(ready).toMatchObject({ status: 'False', reason: 'AllocationFailed' })
    expect(ready?.message).toContain(said[why])
    expect(world.warnings()).toEqual(['IPAddressClaim web ReleaseFailed'])
    world.rule = undefined
    await world.play(ledger)
    expect(await world.claims()).toEqual([])
    expect(await world.addresses()).toEqual([])
  })

  test.each(['objects', 'blocks'] as const)('%s: an IPAddress that a claim cannot adopt yet', async (ledger) => {
    const poolSpec = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' }
    const spec = { claimRef: { name: 'web' }, poolRef: poolSpec, address: '10.0.0.5', prefix: 24 }
    await world.create(pool(['10.0.0.5']), { ...IPAddress.info, metadata: { name: 'web', namespace: 'default' }, spec })
    Object.assign(world, { rule: { operation: 'patch', kind: 'IPAddress' }, why })
    await world.create(claim('web'))
    await world.play(ledger)
    expect((await world.ready())?.message).toContain(said[why])
    world.rule = undefined
    await world.play(ledger)
    expect(await world.ready()).toMatchObject({ status: 'True' })
  })

  test.each(['objects', 'blocks'] as const)('%s: a Bound claim stays Ready, and an event tells', async (ledger) => {
    await world.create(pool(['10.0.0.5']), claim('web'))
    await world.play(ledger)
    await world.patch(addressRef('web'), { metadata: { finalizers: [] } })
    Object.assign(world, { rule: { operation: 'patch', kind: 'IPAddress' }, why })
    expect(await world.play(ledger)).toEqual(['IPAddressClaim default/web'])
    expect(await world.ready()).toMatchObject({ status: 'True' })
    expect(world.events.at(-1)).toMatchObject({ type: 'Warning', reason: 'AllocationFailed' })
    expect(world.events.at(-1)?.message).toContain(said[why])
  })

  test.each(['objects', 'blocks'] as const)('%s: a Bound claim whose IPAddress was lost', async (ledger) => {
    await world.create(pool(['10.0.0.5']), claim('web'))
    await world.play(ledger)
    await world.patch(addressRef('web'), { metadata: { finalizers: [] } })
    await world.delete('address', 'web')
    Object.assign(world, { rule: { operation: 'create', kind: 'IPAddress' }, why })
    await world.play(ledger)
    expect((await world.claim('web')).status?.addressRef).toBeUndefined()
    expect((await world.ready())?.message).toContain(said[why])
  })

  test.each(['objects', 'blocks'] as const)('%s: a status that is refused is told by an event', async (ledger) => {
    await world.create(pool(['10.0.0.5']), claim('web'))
    Object.assign(world, { rule: { operation: 'status', kind: 'IPAddressClaim' }, why })
    expect(await world.play(ledger)).toEqual(['IPAddressClaim default/web'])
    expect(new Set(world.warnings())).toEqual(new Set(['IPAddressClaim web AllocationFailed']))
    expect(world.events[0]?.message).toContain(said[why])
  })

  test.each(['patch', 'status'] as const)('a pool, %s', async (operation) => {
    await world.create(pool(['10.0.0.5']))
    Object.assign(world, { rule: { operation, kind: 'InClusterIPPool' }, why })
    expect(await world.play('objects')).toEqual(['InClusterIPPool default/pool'])
    expect(new Set(world.warnings())).toEqual(new Set(['InClusterIPPool pool WriteRefused']))
    const [event] = world.events
    expect([event?.uid, event?.message]).toEqual([
      (await world.pool()).metadata.uid,
      expect.stringContaining(said[why]),
    ])
  })

  test('an IPAddress without a claim', async () => {
    await world.create(pool(['10.0.0.5']), claim('web'))
    await world.play('objects')
    await world.patch(claimRef('web'), { metadata: { finalizers: [] } })
    await world.delete('claim', 'web')
    await world.delete('address', 'web')
    Object.assign(world, { rule: { operation: 'patch', kind: 'IPAddress' }, why })
    await world.play('objects')
    expect(world.warnings()).toEqual(['IPAddress web WriteRefused'])
  })
})

test('a text of any length is cut to what a condition and an Event take, and forges no line of a log', async () => {
  await world.create(pool(['10.0.0.5']), claim('web'))
  world.rule = { operation: 'create', kind: 'IPAddress' }
  const problem = `403: no\n${'x'.repeat(50_000)}`
  const refusing = storeOver(world.refusing, {
    create: async (object: KubeObject) =>
      IPAddress.is(object) ? fail('STORE_IO', { operation: 'create', problem }) : world.store.create(object),
  })
  await runUntilQuiet(refusing, [inCluster()], {
    now: () => world.nowMs,
    onEvent: (event) => void world.events.push(event),
  })
  const message = (await world.ready())?.message as string
  expect(message).toMatch(/^could not create IPAddress default\/web: 403: no\\u000ax+…$/)
  expect(message.length).toBeLessThan(1024)
  expect(world.events.map((event) => event.message)).toEqual([message])
})

describe('a controller', () => {
  test.each(['objects', 'blocks'] as const)(
    '%s: tries again after longer and longer waits, and is not told twice',
    async (ledger) => {
      const timers = new VirtualTimers(world.nowMs)
      const blocks = ledger === 'blocks' ? inClusterBlocks() : undefined
      const rule: Rule = { operation: 'create', kind: ledger === 'blocks' ? 'IPBlock' : 'IPAddress' }
      await world.create(pool(['10.0.0.5']), claim('web'))
      Object.assign(world, { rule, why: 'a quota' })
      const problems: ControllerProblem[] = []
      const controller = new Controller<Outcome>({
        store: world.refusing,
        planners: [blocks ?? inCluster()],
        timers,
        onProblem: (problem) => problems.push(problem),
        onEvent: (event) => void world.events.push(event),
        external: blocks && taskCaller({ store: world.refusing, now: () => timers.now(), tasks: blocks.tasks }),
      })
      const ended = controller.run()
      await timers.pass(600_000)
      expect(await world.ready()).toMatchObject({ status: 'False', reason: 'AllocationFailed' })
      expect(world.warnings()).toEqual(['IPAddressClaim web AllocationFailed'])
      // twice as long each time: 600 s have room for 17 tries from 5 ms on, and for 7 from 5 s on
      expect(world.refused).toBeGreaterThan(4)
      expect(world.refused).toBeLessThan(25)
      world.rule = undefined
      await timers.pass(2_000_000)
      expect(await world.ready()).toMatchObject({ status: 'True' })
      controller.stop()
      await timers.pass(1000)
      await ended
    },
  )

  test.each([2, 8])('growing delays also where %i claims wait for the one free address', async (count) => {
    let creations = 0
    const timers = new VirtualTimers()
    const slow = storeOver(world.store, {
      create: async (object) => {
        if (object.kind !== 'IPAddress') return world.store.create(object)
        creations++
        // the other claims are planned while a creation is in flight
        await new Promise<void>((resolve) => void timers.after(100, resolve))
        return refusals['a webhook']()
      },
    })
    await world.create(pool(['10.0.0.5']), ...Array.from({ length: count }, (_, index) => claim(`web-${index}`)))
    const controller = new Controller<Outcome>({ store: slow, planners: [inCluster()], timers, onProblem: () => {} })
    const ended = controller.run()
    await timers.pass(3_600_000)
    expect(creations).toBeGreaterThan(15)
    expect(creations).toBeLessThan(25 * count)
    controller.stop()
    await timers.pass(1000)
    await ended
  })
})
