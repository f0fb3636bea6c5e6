import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { storeOver } from 'ipam-kit/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { address, READY, range, service, using, World } from './world.js'

const FINALIZER = 'networking.k8s.io/service-cidr-finalizer'
let world: World
beforeEach(() => {
  world = new World()
})
afterEach(async () => {
  await world.stop()
  expect(world.problems).toEqual([])
})

/** The condition of a ServiceCIDR in short; `undefined`: there is no such object. */
async function readyOf(name: string): Promise<string | undefined> {
  const object = await world.range(name)
  const [ready] = object?.status?.conditions ?? []
  return object && `${ready?.status} ${ready?.reason}`
}

describe('a ServiceCIDR', () => {
  test('gets its finalizer and its condition, once', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24'))
    world.start()
    await world.pass(1)
    const object = await world.range('kubernetes')
    expect(object?.metadata.finalizers).toEqual([FINALIZER])
    expect(await readyOf('kubernetes')).toBe('True InService')
    await world.pass(3600)
    expect((await world.range('kubernetes'))?.metadata.resourceVersion).toBe(object?.metadata.resourceVersion)
  })

  test('that another controller has set ready stays as it is', async () => {
    const conditions = [{ ...READY, status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' }]
    await world.create(range('kubernetes', '10.0.0.0/24'))
    await world.patch(range('kubernetes'), { status: { conditions } }, 'status')
    world.start()
    await world.pass(1)
    expect((await world.range('kubernetes'))?.status?.conditions).toEqual(conditions)
  })

  test('that cannot be used is not ready, and says why', async () => {
    await world.create(
      range('unread', '10.0.0.1/33'),
      range('wide', 'fd00::/48'),
      range('fine', '10.1.0.0/24'),
      service('web'),
    )
    world.start()
    await world.pass(1)
    expect([await readyOf('unread'), await readyOf('wide')]).toEqual(['False InvalidRange', 'False InvalidRange'])
    expect((await world.range('wide'))?.status?.conditions?.[0]?.message).toContain('wider than /64')
    expect(world.outcomes.get('ServiceCIDR wide')).toMatch(/^notReady: not ready: fd00::\/48 is wider/)
    expect(world.events).toEqual([
      expect.stringMatching(/^Warning ServiceCIDR unread ServiceCIDRNotReady: not ready: /),
      expect.stringMatching(/^Warning ServiceCIDR wide ServiceCIDRNotReady: not ready: /),
    ])
    // the others go on
    expect((await world.service('web'))?.spec.clusterIP).toMatch(/^10\.1\.0\./)
  })

  test('that is wrong in part gives what is right, and tells the rest in its condition and in one Event', async () => {
    await world.create(range('part', '10.1.0.1/24', 'x'), service('web'))
    world.start()
    await world.pass(1)
    expect((await world.service('web'))?.spec.clusterIP).toMatch(/^10\.1\.0\./)
    const problem = 'spec.cidrs[1]: "x" is not a CIDR'
    const told = async () =>
      (await world.range('part'))?.status?.conditions?.map(({ status, message }) => [status, message])
    expect(await told()).toEqual([['True', `Services get addresses of it; ${problem}`]])
    expect(world.events).toEqual([`Warning ServiceCIDR part InvalidRange: ${problem}`])
    await world.pass(3600)
    expect(world.events).toHaveLength(1)
    // its addresses keep it, as those of any range
    await world.delete(range('part'))
    await world.pass(60)
    expect(await readyOf('part')).toBe('False Terminating')
  })

  test('that stays not ready is reported, once', async () => {
    await world.create(range('held', '10.0.0.0/24'))
    const lastTransitionTime = new Date(world.timers.now()).toISOString()
    const conditions = [
      { type: 'Ready', status: 'False', reason: 'Policy', message: 'not approved', lastTransitionTime },
    ]
    await world.patch(range('held'), { status: { conditions } }, 'status')
    world.start()
    await world.pass(599)
    expect([world.events, world.outcomes.get('ServiceCIDR held')]).toEqual([
      [],
      'notReady: not ready: Policy: not approved',
    ])
    await world.pass(2)
    expect(world.events).toEqual(['Warning ServiceCIDR held ServiceCIDRNotReady: not ready: Policy: not approved'])
    await world.pass(36_000)
    expect(world.events).toHaveLength(1)
    expect(await readyOf('held')).toBe('False Policy')
  })

  test('that is no ServiceCIDR is reported, and the others continue', async () => {
    const odd = range('odd')
    await world.create({ ...odd, spec: { cidrs: 'x' } }, range('fine', '10.1.0.0/24'))
    world.start()
    await world.pass(1)
    expect(world.outcomes.get('ServiceCIDR odd')).toMatch(/^problem: .*spec\.cidrs/)
    expect(await readyOf('fine')).toBe('True InService')
  })
})

describe('a ServiceCIDR that is deleted', () => {
  test('stays 10 s, gives no addresses, and goes when nothing depends on it', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24'))
    world.start()
    await world.pass(1)
    await world.delete(range('kubernetes'))
    await world.create(service('web'))
    await world.pass(9)
    expect(await readyOf('kubernetes')).toBe('False Terminating')
    expect(world.outcomes.get('Service a/web')).toMatch(/^notReady/)
    await world.pass(2)
    expect(await readyOf('kubernetes')).toBeUndefined()
  })

  test('stays while an address depends on it, and is reported when that takes long', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24'), service('web', { clusterIP: '10.0.0.9' }))
    world.start()
    await world.pass(1)
    await world.delete(range('kubernetes'))
    await world.pass(599)
    expect([await readyOf('kubernetes'), world.events]).toEqual(['False Terminating', []])
    await world.pass(2)
    const message = 'it is being deleted, and kept by 10.0.0.9 of Service a/web'
    expect(world.events).toEqual([`Warning ServiceCIDR kubernetes ServiceCIDRNotReady: ${message}`])
    expect(world.outcomes.get('ServiceCIDR kubernetes')).toBe(`terminating: ${message}`)
    await world.pass(36_000)
    expect([await readyOf('kubernetes'), world.events.length]).toEqual(['False Terminating', 1])
    await world.delete(service('web'))
    await world.pass(70)
    expect(await readyOf('kubernetes')).toBeUndefined()
  })

  test('is kept by each sort of address: of another component, without IPAddress, with another form of name, unreadable', async () => {
    const others = [
      address('10.0.0.9', 'x', { managedBy: 'example.com', resource: 'gateways' }),
      using('web', '10.0.0.10'),
      address('010.0.0.11', 'gone', { managedBy: 'example.com' }),
      { ...address('10.0.0.12', 'x', { managedBy: 'example.com' }), spec: {} },
    ]
    for (const [nth, other] of others.entries()) {
      await world.stop()
      world = new World()
      await world.create(range('kubernetes', '10.0.0.0/24'), other)
      world.start({ graceSeconds: 86_400 })
      await world.pass(1)
      await world.delete(range('kubernetes'))
      await world.pass(3600)
      expect(await readyOf('kubernetes'), String(nth)).toBe('False Terminating')
    }
  })

  test('stays until the other one that contains its addresses has the finalizer: without it that one may go at once', () => {
    const finalizers = [FINALIZER]
    const versioned = (object: KubeObject, more: object = {}) => ({
      ...object,
      metadata: { ...object.metadata, uid: object.metadata.name, resourceVersion: '1', ...more },
    })
    const deleted = { finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' }
    const planner = serviceIPs({ seed: 1 })
    const show = (object: KubeObject) => planner.observe({ kind: 'present', object })
    show(versioned(using('web', '10.0.1.9')))
    show(versioned(range('narrow', '10.0.1.0/24'), deleted))
    show(versioned(range('wide', '10.0.0.0/16')))
    const plan = () => planner.plan('ServiceCIDR narrow', { nowMs: Date.parse('2026-01-01T01:00:00Z') })
    expect(plan()?.outcome.message).toBe('it is being deleted, and kept by 10.0.1.9 of Service a/web')
    show(versioned(range('wide', '10.0.0.0/16'), { finalizers, resourceVersion: '2' }))
    expect(plan()?.outcome.message).toBe('no address depends on it')
  })

  test('goes at once where another one contains its addresses', async () => {
    await world.create(range('narrow', '10.0.1.0/24'), service('web', { clusterIP: '10.0.1.9' }))
    world.start()
    await world.pass(1)
    await world.create(range('wide', '10.0.0.0/16'))
    await world.delete(range('narrow'))
    await world.pass(12)
    expect([await readyOf('narrow'), await readyOf('wide')]).toEqual([undefined, 'True InService'])
    // now the other one has the address alone
    await world.delete(range('wide'))
    await world.pass(3600)
    expect(await readyOf('wide')).toBe('False Terminating')
  })

  test('stays if the other one is deleted meanwhile', async () => {
    // the larger one is deleted between the plan and its first write
    let isDone = false
    world = new World((below) =>
      storeOver(below, {
        patch: async (ref, patch, options) => {
          if (ref.name === 'wide' && Object.keys(patch).length === 0 && !isDone) {
            isDone = true
            unwrap(await below.delete(ref))
          }
          return below.patch(ref, patch, options)
        },
      }),
    )
    await world.create(range('wide', '10.0.0.0/16'), range('narrow', '10.0.1.0/24'), using('web', '10.0.1.9'))
    world.start()
    await world.pass(1)
    await world.delete(range('narrow'))
    await world.pass(3600)
    expect([isDone, await readyOf('narrow'), await readyOf('wide')]).toEqual([
      true,
      'False Terminating',
      'False Terminating',
    ])
  })

  test('two of them that are deleted do not rely on each other', async () => {
    await world.create(
      range('one', '10.0.0.0/24'),
      range('two', '10.0.0.0/24'),
      service('web', { clusterIP: '10.0.0.9' }),
    )
    world.start()
    await world.pass(1)
    await world.delete(range('one'))
    await world.delete(range('two'))
    await world.pass(3600)
    expect([await readyOf('one'), await readyOf('two')]).toEqual(['False Terminating', 'False Terminating'])
    await world.create(range('three', '10.0.0.0/23'))
    await world.pass(1)
    expect([await readyOf('one'), await readyOf('two')]).toEqual([undefined, undefined])
  })

  test.each([
    ['the broadcast address', '10.0.0.255'],
    ['the network address', '10.0.1.0'],
  ])('stays while only it can hold an address that is %s of a smaller one beside it', async (_, clusterIP) => {
    await world.create(range('wide', '10.0.0.0/23'), service('web', { clusterIP }))
    world.start()
    await world.pass(1)
    await world.create(range('low', '10.0.0.0/24'), range('high', '10.0.1.0/24'))
    await world.delete(range('wide'))
    await world.pass(3600)
    const message = `it is being deleted, and kept by ${clusterIP} of Service a/web`
    expect([await readyOf('wide'), world.outcomes.get('ServiceCIDR wide')]).toEqual([
      'False Terminating',
      `terminating: ${message}`,
    ])
    // the repair finds nothing wrong: the range that has the address is still there
    expect(world.events).toEqual([`Warning ServiceCIDR wide ServiceCIDRNotReady: ${message}`])
    await world.delete(service('web'))
    await world.pass(70)
    expect(await readyOf('wide')).toBeUndefined()
  })

  test('stays while the other one around its addresses cannot be used', async () => {
    await world.create(range('good', 'fd00::/112'), service('web', { clusterIP: 'fd00::9' }))
    world.start()
    await world.pass(1)
    await world.create(range('wide', 'fd00::/48'))
    await world.delete(range('good'))
    await world.pass(60)
    expect(await readyOf('good')).toBe('False Terminating')
  })

  test('is not kept by an address that it cannot hold: its own network or broadcast address', async () => {
    const others = ['10.0.1.0', '10.0.1.255'].map((name) => address(name, 'x', { managedBy: 'example.com' }))
    await world.create(range('narrow', '10.0.1.0/24'), ...others)
    world.start()
    await world.pass(1)
    await world.delete(range('narrow'))
    await world.pass(12)
    expect(await readyOf('narrow')).toBeUndefined()
  })

  test('goes of a dual one when the addresses of both families are gone', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'))
    await world.create(service('web', { ipFamilies: ['IPv6'] }))
    world.start()
    await world.pass(1)
    await world.create(range('four', '10.0.0.0/16'))
    await world.delete(range('kubernetes'))
    await world.pass(60)
    expect(await readyOf('kubernetes')).toBe('False Terminating')
    await world.create(range('six', 'fd00::/111'))
    await world.pass(1)
    expect(await readyOf('kubernetes')).toBeUndefined()
  })
})
