import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { storeOver } from 'ipam-kit/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { address, range, service, using, World } from './world.js'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(async () => {
  await world.stop()
  expect(world.problems).toEqual([])
})

async function started(): Promise<void> {
  await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'))
  world.start()
  await world.pass(1)
}

describe('beside an API server', () => {
  test('nothing is wrong while it creates and deletes Services, whichever object is seen first', async () => {
    await started()
    for (let nth = 1; nth <= 20; nth++) {
      const [ip, web] = [address(`10.0.0.${nth}`, `s${nth}`), using(`s${nth}`, `10.0.0.${nth}`)]
      if (nth % 2 === 0) await world.create(ip, web)
      else await world.create(web, ip)
      await world.pass(7)
    }
    for (let nth = 1; nth <= 20; nth++) {
      const [ip, web] = [address(`10.0.0.${nth}`, `s${nth}`), using(`s${nth}`, `10.0.0.${nth}`)]
      for (const object of nth % 2 === 0 ? [ip, web] : [web, ip]) {
        await world.delete(object)
        await world.pass(3)
      }
    }
    await world.pass(3600)
    expect(world.events).toEqual([])
    expect([...world.outcomes.keys()]).toEqual(['ServiceCIDR kubernetes'])
  })
})

describe('an IPAddress', () => {
  test('whose Service does not exist is deleted after the grace period', async () => {
    await started()
    await world.create(address('10.0.0.9', 'gone'))
    await world.pass(59)
    expect(await world.addresses()).toHaveLength(1)
    expect(world.outcomes.get('IPAddress 10.0.0.9')).toBe('waiting: Service a/gone does not exist')
    await world.pass(2)
    expect(await world.addresses()).toEqual([])
    expect(world.events).toEqual([
      'Warning IPAddress 10.0.0.9 IPAddressNotAllocated: Service a/gone does not exist: deleted',
    ])
  })

  test('whose Service exists and is not shown is kept: the store is asked', async () => {
    // lists and watches of Services are empty
    world = new World((below) =>
      storeOver(below, {
        list: (query, options) =>
          query.kind === 'Service'
            ? below.list({ ...query, namespace: 'nowhere' }, options)
            : below.list(query, options),
        watch: (query, options) =>
          query.kind === 'Service'
            ? below.watch({ ...query, namespace: 'nowhere' }, options)
            : below.watch(query, options),
      }),
    )
    await started()
    await world.create(using('web', '10.0.0.9'), address('10.0.0.9', 'web'))
    await world.pass(3600)
    expect(await world.addresses()).toEqual(['10.0.0.9 web'])
    world.problems.length = 0
  })

  test('that its Service does not use is deleted after the grace period, unless the Service changes meanwhile', async () => {
    await started()
    const both = [address('10.0.0.9', 'web'), address('fd00::9', 'web')]
    await world.create(using('web', '10.0.0.9'), ...both)
    await world.pass(50)
    // two families are asked for: the IPAddress was first
    await world.patch(service('web'), { spec: { clusterIPs: ['10.0.0.9', 'fd00::9'] } })
    await world.pass(3600)
    expect(await world.addresses()).toEqual(['10.0.0.9 web', 'fd00::9 web'])
    await world.patch(service('web'), { spec: { clusterIPs: ['10.0.0.9'] } })
    await world.pass(61)
    expect(await world.addresses()).toEqual(['10.0.0.9 web'])
    expect(world.events).toEqual([
      'Warning IPAddress fd00::9 IPAddressNotAllocated: Service a/web does not use fd00::9: deleted',
    ])
  })

  test('that was made for the present version of its Service is kept: another writer may be about to write it', async () => {
    await started()
    await world.create(using('web', '10.0.0.9'), address('10.0.0.9', 'web'))
    await world.pass(50)
    // no range has room for a second address, as far as this writer knows
    const { uid = '', resourceVersion = '' } = (await world.service('web'))?.metadata ?? {}
    const given = address('fd00::9', 'web')
    const annotations = { 'ipam-kit.dev/allocated-for': `${uid}/${resourceVersion}` }
    await world.create({ ...given, metadata: { ...given.metadata, annotations } })
    await world.pass(3600)
    expect(await world.addresses()).toEqual(['10.0.0.9 web', 'fd00::9 web'])
    await world.patch(service('web'), { metadata: { labels: { changed: 'yes' } } })
    await world.pass(61)
    expect(await world.addresses()).toEqual(['10.0.0.9 web'])
  })

  test('whose Service was changed while it is being deleted is kept', async () => {
    // the Service is given the address between the plan and its first write
    let isDone = false
    world = new World((below) =>
      storeOver(below, {
        patch: async (ref, patch, options) => {
          if (ref.kind === 'Service' && Object.keys(patch).length === 0 && !isDone) {
            isDone = true
            unwrap(await below.patch(ref, { spec: { clusterIPs: ['10.0.0.9', 'fd00::9'] } }))
          }
          return below.patch(ref, patch, options)
        },
      }),
    )
    await started()
    await world.create(using('web', '10.0.0.9'), address('10.0.0.9', 'web'), address('fd00::9', 'web'))
    await world.pass(3600)
    expect([isDone, await world.addresses()]).toEqual([true, ['10.0.0.9 web', 'fd00::9 web']])
  })

  test('of another Service than the one that uses it is reported and never deleted', async () => {
    await started()
    await world.create(using('web', '10.0.0.9'), address('10.0.0.9', 'gone'))
    await world.create(
      using('two', '10.0.0.10'),
      using('idle', '10.0.0.11'),
      address('10.0.0.10', 'idle'),
      address('10.0.0.11', 'idle'),
    )
    await world.pass(3600)
    expect(await world.addresses()).toEqual(['10.0.0.10 idle', '10.0.0.11 idle', '10.0.0.9 gone'])
    expect(world.events).toEqual([
      'Warning IPAddress 10.0.0.9 IPAddressWrongReference: the parent of IPAddress 10.0.0.9 is Service a/gone, and Service a/web has it: create that Service again',
      'Warning IPAddress 10.0.0.10 IPAddressWrongReference: the parent of IPAddress 10.0.0.10 is Service a/idle, and Service a/two has it: create that Service again',
    ])
  })

  test('whose parent is no Service is reported; one of another component is left alone', async () => {
    await started()
    await world.create(address('10.0.0.9', 'x', { resource: 'gateways' }))
    await world.create(address('10.0.0.10', 'x', { managedBy: 'example.com' }))
    await world.pass(3600)
    expect(await world.addresses()).toHaveLength(2)
    expect(world.events).toEqual([
      'Warning IPAddress 10.0.0.9 IPAddressWrongReference: the parent of IPAddress 10.0.0.9 is gateways a/x, and no Service: delete it',
    ])
    expect(world.outcomes.get('IPAddress 10.0.0.10')).toMatch(/^foreign: /)
  })

  test('whose name is not canonical is reported, and deleted when the right one exists', async () => {
    await started()
    await world.create(using('web', 'fd00::9'), address('fd00:0::9', 'web'))
    await world.pass(211)
    expect(await world.addresses()).toEqual(['fd00::9 web'])
    expect(world.events).toEqual([
      'Warning IPAddress fd00:0::9 IPAddressNotCanonical: IPAddress fd00:0::9 should have the name fd00::9',
      'Warning Service web ClusterIPNotAllocated: cluster IP fd00::9 had no IPAddress: created',
      'Warning IPAddress fd00:0::9 IPAddressNotAllocated: IPAddress fd00::9 has the address of fd00:0::9: deleted',
    ])
  })

  test('whose name is no address, and one that cannot be read, are reported', async () => {
    await started()
    await world.create(address('web', 'web'), { ...address('10.0.0.9', 'x'), spec: {} })
    await world.pass(3600)
    expect(world.events).toEqual([
      'Warning IPAddress web IPAddressNotValid: the name of IPAddress web is not an IP address: delete it',
      expect.stringMatching(
        /^Warning IPAddress 10\.0\.0\.9 IPAddressNotValid: IPAddress 10\.0\.0\.9 cannot be read: .*spec\.parentRef/,
      ),
    ])
    expect(
      (await world.store.get({ apiVersion: 'networking.k8s.io/v1', kind: 'IPAddress', name: '10.0.0.9' })).ok,
    ).toBe(true)
  })
})

describe('a Service', () => {
  test('whose address has no IPAddress gets one after the grace period', async () => {
    await started()
    await world.create(using('web', '10.0.0.9', 'fd00::9'))
    await world.pass(59)
    expect(await world.addresses()).toEqual([])
    await world.pass(2)
    expect(await world.addresses()).toEqual(['10.0.0.9 web', 'fd00::9 web'])
    expect(world.events).toHaveLength(2)
    expect(world.outcomes.get('Service a/web')).toBe('ready: it has 10.0.0.9 and fd00::9')
  })

  test('that was deleted meanwhile gets none', async () => {
    let isDone = false
    world = new World((below) =>
      storeOver(below, {
        patch: async (ref, patch, options) => {
          if (ref.kind === 'Service' && !isDone) {
            isDone = true
            unwrap(await below.delete(ref))
          }
          return below.patch(ref, patch, options)
        },
      }),
    )
    await started()
    await world.create(using('web', '10.0.0.9'))
    await world.pass(3600)
    expect([isDone, await world.addresses(), world.events]).toEqual([true, [], []])
  })

  test('that is being deleted has its address until it is gone', async () => {
    await started()
    const web = using('web', '10.0.0.9')
    await world.create(
      { ...web, metadata: { ...web.metadata, finalizers: ['example.com/held'] } },
      address('10.0.0.9', 'web'),
    )
    await world.delete(web)
    await world.pass(3600)
    expect([await world.addresses(), world.events]).toEqual([['10.0.0.9 web'], []])
    await world.patch(web, { metadata: { finalizers: [] } })
    await world.pass(61)
    expect(await world.addresses()).toEqual([])
  })

  test('is told of its problem again if the plan was not carried out, and not if it was', () => {
    const planner = serviceIPs({ seed: 1, graceSeconds: 0 })
    planner.observe({ kind: 'present', object: range('kubernetes', '10.0.0.0/24') })
    const service = using('web', '10.9.0.9')
    planner.observe({ kind: 'present', object: { ...service, metadata: { ...service.metadata, uid: 'u' } } })
    const told = [0, 1000, 2000, 3000].map((nowMs) => {
      const plan = planner.plan('Service a/web', { nowMs })!
      planner.begin?.(plan)(nowMs !== 1000)
      return plan.effects.length
    })
    expect(told).toEqual([0, 1, 1, 0])
  })

  test('N with one address are N - 1 Events, and O(N) keys are woken, also when the first of them is deleted', async () => {
    const planner = serviceIPs({ seed: 1, graceSeconds: 0 })
    const names = Array.from({ length: 40 }, (_, nth) => `s${nth}`)
    const objects = names.map((name, nth) => {
      const { metadata, ...rest } = using(name, '10.0.0.9')
      const creationTimestamp = new Date(Date.UTC(2026, 0, 1) - nth * 1000).toISOString()
      return { ...rest, metadata: { ...metadata, uid: name, resourceVersion: `${nth + 1}`, creationTimestamp } }
    })
    planner.observe({ kind: 'present', object: range('kubernetes', '10.0.0.0/24') })
    const events: string[] = []
    let woken = 0
    let nowMs = 0
    const observe = (change: Change) => {
      for (const key of planner.observe(change)) {
        woken++
        // what is wrong is reported when it is still wrong at a second look
        const plans = [1, 2].map(() => {
          nowMs += 1000
          const plan = planner.plan(key, { nowMs })
          if (plan !== undefined) planner.begin?.(plan)()
          return plan
        })
        const effects = plans.flatMap((plan) => plan?.effects ?? [])
        for (const effect of effects) if (effect.kind === 'event') events.push(effect.reason)
      }
    }
    // a younger one each time: the first one keeps the address
    for (const object of objects.toReversed()) observe({ kind: 'present', object })
    const told = () => events.filter((reason) => reason === 'ClusterIPAlreadyAllocated')
    expect(told()).toHaveLength(names.length - 1)
    expect(woken).toBeLessThan(4 * names.length)
    const { apiVersion, kind, metadata } = objects.at(-1)!
    observe({ kind: 'absent', ref: { apiVersion, kind, namespace: 'a', name: metadata.name }, uid: metadata.uid })
    // the others have the same cause as before, whichever Service keeps the address
    expect(told()).toHaveLength(names.length - 1)
    expect(woken).toBeLessThan(6 * names.length)
  })

  test('a ServiceCIDR that addresses keep is reported once, however many of them are released', async () => {
    await started()
    const names = Array.from({ length: 8 }, (_, nth) => `10.0.0.${nth + 20}`)
    await world.create(
      ...names.flatMap((ip) => [using(`s${ip}`.replaceAll('.', '-'), ip), address(ip, `s${ip}`.replaceAll('.', '-'))]),
    )
    await world.pass(1)
    await world.delete(range('kubernetes', '10.0.0.0/24'))
    await world.pass(700)
    for (const ip of names.slice(0, -1)) {
      await world.delete(using(`s${ip}`.replaceAll('.', '-'), ip))
      await world.delete(address(ip, 'x'))
      await world.pass(1)
    }
    const told = world.events.filter((text) => text.includes('ServiceCIDRNotReady'))
    expect(told).toEqual([expect.stringMatching(/kept by (10\.0\.0\.\d+ of Service a\/s[\d-]+, ){5}and more$/)])
  })

  test('with the address of another one, of no range, or with none at all, is reported once', async () => {
    await started()
    await world.create(using('old', '10.0.0.9'), address('10.0.0.9', 'old'))
    await world.pass(1)
    await world.create(
      using('new', '10.0.0.9'),
      using('far', '10.9.0.1'),
      using('odd', 'x'),
      using('edge', '10.0.0.255'),
    )
    await world.pass(3600)
    const texts = [
      'Warning Service new ClusterIPAlreadyAllocated: cluster IP 10.0.0.9 is also that of Service a/old, which keeps it: create this Service again',
      'Warning Service far ClusterIPOutOfRange: cluster IP 10.9.0.1 is in no range of a ServiceCIDR: create the Service again, or a ServiceCIDR that has it',
      'Warning Service odd ClusterIPNotValid: cluster IP "x" is not an IP address: create the Service again',
      'Warning Service edge ClusterIPOutOfRange: cluster IP 10.0.0.255 is in no range of a ServiceCIDR: create the Service again, or a ServiceCIDR that has it',
    ]
    expect(world.events).toEqual(texts)
    expect(await world.addresses()).toEqual(['10.0.0.9 old'])
    // what is reported ends with its cause
    await world.create(range('more', '10.9.0.0/24'))
    await world.pass(61)
    expect(await world.addresses()).toContain('10.9.0.1 far')
  })

  test('and an IPAddress that are in no range any more are reported, and stay', async () => {
    await world.create(using('web', '10.9.0.1'), address('10.9.0.1', 'web'))
    await started()
    await world.pass(3600)
    expect(world.events).toEqual([
      expect.stringMatching(/^Warning Service web ClusterIPOutOfRange/),
      'Warning IPAddress 10.9.0.1 IPAddressOutOfRange: IPAddress 10.9.0.1 is in no range of a ServiceCIDR',
    ])
    expect(await world.addresses()).toEqual(['10.9.0.1 web'])
  })

  test('of a range whose ServiceCIDR is told later by its watch is not reported', async () => {
    await world.create(using('web', '10.9.0.1'), address('10.9.0.1', 'web'))
    await started()
    await world.pass(30)
    await world.create(range('late', '10.9.0.0/24'))
    await world.pass(3600)
    expect(world.events).toEqual([])
  })

  test('whose IPAddress is still that of another one in a late watch is not reported', async () => {
    const old = address('10.0.0.9', 'old')
    await world.create(old, using('new', '10.0.0.9'))
    await started()
    await world.pass(30)
    await world.delete(old)
    await world.create(address('10.0.0.9', 'new'))
    await world.pass(3600)
    expect(world.events).toEqual([])
  })

  test('that cannot be read keeps its IPAddress', async () => {
    await started()
    await world.create({ ...service('web'), spec: { clusterIPs: 'x' } }, address('10.0.0.9', 'web'))
    await world.pass(3600)
    expect(world.outcomes.get('Service a/web')).toMatch(/^problem: .*spec\.clusterIPs/)
    expect(await world.addresses()).toEqual(['10.0.0.9 web'])
    expect(world.events).toEqual([
      expect.stringMatching(/^Warning IPAddress 10\.0\.0\.9 ServiceNotReadable: Service a\/web cannot be read/),
    ])
  })
})

describe('a Service that becomes unreadable', () => {
  const unreadable = (name: string) => service(name, { clusterIP: '10.0.0.9', clusterIPs: 42 })
  let planner: ReturnType<typeof serviceIPs>
  let nowMs = 0
  /** Shows a new version of an object; a longer name is that of a younger object. */
  const see = (object: KubeObject) => {
    const { name } = object.metadata
    const creationTimestamp = `2026-01-01T00:00:${10 + name.length}Z`
    const metadata = { ...object.metadata, uid: name, creationTimestamp, resourceVersion: `${++nowMs}` }
    return planner.observe({ kind: 'present', object: { ...object, metadata } })
  }
  /** What is wrong has to be wrong at a second look. */
  const plan = (key: string) => {
    const [, { outcome, effects } = {}] = [1, 2].map(() => planner.plan(key, { nowMs: ++nowMs }))
    return `${outcome?.kind}: ${outcome?.message} (${effects?.map((each) => (each.kind === 'event' ? each.reason : each.kind))})`
  }
  beforeEach(() => {
    planner = serviceIPs({ seed: 1, graceSeconds: 0 })
    see(range('kubernetes', '10.0.0.0/24', 'fd00::/112'))
  })

  test.each(['with its IPAddress', 'without an IPAddress'])('keeps its address, %s', (which) => {
    see(using('old', '10.0.0.9'))
    if (which === 'with its IPAddress') see(address('10.0.0.9', 'old'))
    const young = using('young', '10.0.0.9')
    see({ ...young, spec: { ...(young.spec as object), ipFamilyPolicy: 'RequireDualStack' } })
    const shared =
      'problem: cluster IP 10.0.0.9 is also that of Service a/old, which keeps it: create this Service again (ClusterIPAlreadyAllocated)'
    expect(plan('Service a/young')).toBe(shared)
    see(unreadable('old'))
    expect(plan('Service a/young')).toBe(shared)
    const { apiVersion, kind } = young
    const woken = planner.observe({
      kind: 'absent',
      ref: { apiVersion, kind, namespace: 'a', name: 'old' },
      uid: 'old',
    })
    expect(woken).toContain('Service a/young')
    expect(plan('Service a/young')).toMatch(/^(repaired|assigned): /)
  })

  test('keeps its IPAddress, also beside another Service that has the address', () => {
    see(using('old', '10.0.0.9'))
    see(using('young', '10.0.0.9'))
    see(address('10.0.0.9', 'old'))
    expect(plan('IPAddress 10.0.0.9')).toMatch(/^ready: /)
    expect(see(unreadable('old'))).toContain('IPAddress 10.0.0.9')
    expect(plan('IPAddress 10.0.0.9')).toMatch(/^problem: .* \(ServiceNotReadable\)$/)
    see(using('young', '10.0.0.8'))
    expect(plan('IPAddress 10.0.0.9')).toMatch(/^problem: .* \(ServiceNotReadable\)$/)
  })

  test('is a user of its address: the IPAddress of another Service is not deleted and not adopted', () => {
    see(using('old', '10.0.0.9'))
    see(using('other', '10.0.0.8'))
    see(service('waits'))
    see(address('10.0.0.9', 'other'))
    const wrong =
      /^problem: the parent .* Service a\/old has it: create that Service again \(IPAddressWrongReference\)$/
    expect(plan('IPAddress 10.0.0.9')).toMatch(wrong)
    see(unreadable('old'))
    expect(plan('IPAddress 10.0.0.9')).toMatch(wrong)
    see(address('10.0.0.9', 'waits'))
    expect(plan('Service a/waits')).toMatch(/^assigned: (?!10\.0\.0\.9 )/)
    expect(plan('IPAddress 10.0.0.9')).toMatch(wrong)
  })
})

test('a ServiceCIDR that cannot be used as a whole is reported, also if its first write meets a conflict or is refused', async () => {
  for (const code of ['STORE_CONFLICT', 'STORE_INVALID'] as const) {
    let isFirst = true
    world = new World((below) =>
      storeOver(below, {
        patch: async (ref, patch, options) => {
          const fails = isFirst
          isFirst = false
          if (!fails) return below.patch(ref, patch, options)
          return code === 'STORE_CONFLICT'
            ? fail(code, { object: 'ServiceCIDR wide', expected: '1', actual: '2' })
            : fail(code, { object: 'ServiceCIDR wide', path: 'metadata', problem: 'no' })
        },
      }),
    )
    await world.create(range('wide', 'fd00::/32'))
    world.start()
    await world.pass(60)
    isFirst = true
    await world.create(range('part', '10.0.0.0/24', 'x'))
    await world.pass(60)
    const reasons = world.events.filter((event) => !event.includes('WriteRefused')).map((event) => event.split(' ')[3])
    expect(reasons).toEqual(['ServiceCIDRNotReady:', 'InvalidRange:'])
    world.problems.length = 0
    await world.stop()
  }
})
