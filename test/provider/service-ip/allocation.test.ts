import { IPAddress } from 'ipam-kit/crd/networking'
import { fail, unwrap } from 'ipam-kit/errors'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { runUntilQuiet } from 'ipam-kit/run'
import { storeOver } from 'ipam-kit/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ALLOCATED_ANNOTATION } from '../../../src/provider/service-ip/second-address.js'
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

const ipsOf = async (name: string) => (await world.service(name))?.spec.clusterIPs

describe('a Service without an address', () => {
  test('is given one of the upper band, and an IPAddress with its name', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'), service('web'))
    world.start()
    await world.pass(1)
    const web = await world.service('web')
    const [ip = ''] = web?.spec.clusterIPs ?? []
    expect(Number(ip.split('.')[3])).toBeGreaterThan(16)
    expect(web?.spec).toEqual({ clusterIP: ip, clusterIPs: [ip], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' })
    const object = unwrap(await world.store.get({ ...IPAddress.info, name: ip }))
    expect(object).toMatchObject({
      metadata: {
        labels: {
          'ipaddress.kubernetes.io/ip-family': 'IPv4',
          'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
        },
      },
      spec: { parentRef: { group: '', resource: 'services', namespace: 'a', name: 'web' } },
    })
    await world.pass(3600)
    expect(world.events).toEqual([])
    expect(world.outcomes.get('Service a/web')).toBe(`ready: it has ${ip}`)
  })

  test('is given the families that it asks for, all or none', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'))
    await world.create(
      service('both', { ipFamilyPolicy: 'RequireDualStack' }),
      service('six', { ipFamilies: ['IPv6'] }),
      service('six-first', { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] }),
    )
    world.start()
    await world.pass(1)
    const families = async (name: string) => (await ipsOf(name))?.map((ip) => (ip.includes(':') ? 6 : 4))
    expect([await families('both'), await families('six'), await families('six-first')]).toEqual([[4, 6], [6], [6, 4]])
  })

  test('that prefers two families has one where there is one; that requires two has none', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24'))
    await world.create(
      service('prefers', { ipFamilyPolicy: 'PreferDualStack' }),
      service('requires', { ipFamilyPolicy: 'RequireDualStack' }),
    )
    world.start()
    await world.pass(1)
    expect(await ipsOf('prefers')).toHaveLength(1)
    expect(await ipsOf('requires')).toBeUndefined()
    expect(world.outcomes.get('Service a/requires')).toBe('mismatchedNetwork: no ServiceCIDR has an IPv6 range')
    expect(await world.addresses()).toHaveLength(1)
  })

  test.each([
    'mismatchedNetwork: no ServiceCIDR has an IPv6 range',
    'notReady: no ServiceCIDR with an IPv6 range is ready (fd00::/112)',
  ])('is told what its second family lacks, also when the first one becomes full: %s', async (outcome) => {
    await world.create(range('kubernetes', '10.0.0.0/30'))
    if (outcome.startsWith('notReady')) {
      const six = range('six', 'fd00::/112')
      await world.create(six)
      const conditions = [{ ...READY, status: 'False', reason: 'Hold', message: 'no' }]
      await world.patch(six, { status: { conditions } }, 'status')
    }
    await world.create(service('web', { ipFamilyPolicy: 'RequireDualStack' }))
    world.start()
    await world.pass(1)
    expect(world.outcomes.get('Service a/web')).toBe(outcome)
    await world.create(using('a', '10.0.0.1'), using('b', '10.0.0.2'))
    await world.pass(1)
    // any change of the Service plans it again
    await world.patch(service('web'), { metadata: { labels: { plan: 'again' } } })
    await world.pass(1)
    expect(world.outcomes.get('Service a/web')).toBe(outcome)
  })

  test('is left alone if it is headless, an ExternalName, or being deleted', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24'))
    await world.create(
      service('headless', { clusterIP: 'None', clusterIPs: ['None'] }),
      service('headless-only', { clusterIP: 'None' }),
      service('external', { type: 'ExternalName' }),
      { ...service('going'), metadata: { namespace: 'a', name: 'going', finalizers: ['example.com/held'] } },
    )
    await world.delete(service('going'))
    world.start()
    await world.pass(120)
    expect(await world.addresses()).toEqual([])
    expect(world.outcomes.get('Service a/external')).toBe('ready: it has no cluster address')
  })

  test('is given the address that it names, or is told why not', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24'), service('web', { clusterIP: '10.0.0.10' }))
    world.start()
    await world.pass(1)
    expect(await ipsOf('web')).toEqual(['10.0.0.10'])
    const refused = {
      again: ['10.0.0.10', 'allocated: 10.0.0.10 is in use by Service a/web'],
      edge: ['10.0.0.255', 'notInRange: 10.0.0.255 is the network or broadcast address of 10.0.0.0/24'],
      far: ['10.1.0.1', 'mismatchedNetwork: 10.1.0.1 is in no range of a ServiceCIDR'],
      odd: ['x', 'mismatchedNetwork: cluster IP "x" is not an IP address'],
    }
    for (const [name, [clusterIP]] of Object.entries(refused)) await world.create(service(name, { clusterIP }))
    await world.create(
      service('mixed', { clusterIP: '10.0.0.11', ipFamilies: ['IPv6'] }),
      service('five', { ipFamilies: ['IPv5'] }),
    )
    await world.pass(1)
    for (const [name, [, outcome]] of Object.entries(refused))
      expect(world.outcomes.get(`Service a/${name}`)).toBe(outcome)
    expect(world.outcomes.get('Service a/mixed')).toBe('mismatchedNetwork: cluster IP 10.0.0.11 is not of family IPv6')
    expect(world.outcomes.get('Service a/five')).toBe('mismatchedNetwork: IP family "IPv5" is not IPv4 or IPv6')
    expect(await world.addresses()).toEqual(['10.0.0.10 web'])
  })

  test('waits where the ranges are full, and is given the address that becomes free', async () => {
    await world.create(range('kubernetes', '10.0.0.0/30'), service('a'), service('b'), service('c'))
    world.start()
    await world.pass(1)
    expect(world.outcomes.get('Service a/c')).toBe('full: no free IPv4 address in 10.0.0.0/30')
    await world.delete(service('a'))
    await world.pass(59)
    expect(await ipsOf('c')).toBeUndefined()
    await world.pass(2)
    expect(await ipsOf('c')).toHaveLength(1)
    expect(await world.addresses()).toHaveLength(2)
  })

  test('waits for the address that another plan is about to create, and is given it if that fails', async () => {
    // the first Service is refused by the store, for ever
    let calls = 0
    world = new World((below) =>
      storeOver(below, {
        create: async (object) => {
          const parent = IPAddress.is(object) ? IPAddress.parse(object).spec.parentRef.name : undefined
          if (parent !== 'bad') return below.create(object)
          calls++
          const failure = fail('STORE_IO', { operation: 'create', problem: 'no' }).failure
          return { ok: false, failure }
        },
      }),
    )
    await world.create(service('bad'), service('good'), range('kubernetes', '10.0.0.0/30'), using('old', '10.0.0.1'))
    world.start()
    await world.pass(50)
    expect(await ipsOf('good')).toEqual(['10.0.0.2'])
    // after a failure it waits longer and longer: nothing wakes it at once
    expect(calls).toBeLessThan(30)
    world.problems.length = 0
  })

  test('waits where there is no range, and is given an address when there is one', async () => {
    await world.create(service('web'))
    world.start()
    await world.pass(1)
    expect(world.outcomes.get('Service a/web')).toBe('mismatchedNetwork: there is no ServiceCIDR')
    await world.create(range('kubernetes', '10.0.0.0/24'))
    await world.pass(1)
    expect(await ipsOf('web')).toHaveLength(1)
  })
})

describe('several writers', () => {
  test('a name that is taken leads to the next address', async () => {
    // another writer is faster with each of the first three creates
    let taken = 0
    world = new World((below) =>
      storeOver(below, {
        create: async (object) => {
          if (object.kind === 'IPAddress' && taken < 3) {
            taken++
            await below.create(address(object.metadata.name, `other-${taken}`))
          }
          return below.create(object)
        },
      }),
    )
    await world.create(range('kubernetes', '10.0.0.0/24'), service('web'))
    world.start({ graceSeconds: 86_400 })
    await world.pass(1)
    const [ip] = (await ipsOf('web')) ?? []
    expect(taken).toBe(3)
    expect(await world.addresses()).toHaveLength(4)
    expect((await world.addresses()).filter((each) => each.endsWith(' web'))).toEqual([`${ip} web`])
  })

  test('what a writer has created before it was stopped is adopted, and written to first', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24'), service('web'), address('10.0.0.99', 'web'))
    await runUntilQuiet(world.store, [serviceIPs({ seed: 1 })], { now: () => world.timers.now() })
    expect(await ipsOf('web')).toEqual(['10.0.0.99'])
    const { metadata } = unwrap(await world.store.get({ ...IPAddress.info, name: '10.0.0.99' }))
    expect(metadata.annotations?.[ALLOCATED_ANNOTATION]).toMatch(/.\/\d+$/)
  })

  test('a range that was deleted meanwhile gives no address', async () => {
    // it is deleted between the plan and its first write
    let isDone = false
    world = new World((below) =>
      storeOver(below, {
        patch: async (ref, patch, options) => {
          if (ref.kind === 'ServiceCIDR' && Object.keys(patch).length === 0 && !isDone) {
            isDone = true
            await below.delete({ ...ref })
          }
          return below.patch(ref, patch, options)
        },
      }),
    )
    const kubernetes = range('kubernetes', '10.0.0.0/24')
    await world.create({ ...kubernetes, metadata: { ...kubernetes.metadata, finalizers: [FINALIZER] } })
    await world.create(service('web'))
    world.start()
    await world.pass(1)
    expect([isDone, await world.addresses()]).toEqual([true, []])
    expect(world.outcomes.get('Service a/web')).toBe(
      'notReady: no ServiceCIDR with an IPv4 range is ready (10.0.0.0/24)',
    )
  })

  test('a range without the finalizer gets it before an address of it is given', () => {
    const planner = serviceIPs({ seed: 1 })
    const kubernetes = range('kubernetes', '10.0.0.0/24')
    const versioned = { ...kubernetes, metadata: { ...kubernetes.metadata, uid: 'u', resourceVersion: '7' } }
    for (const object of [versioned, service('web')]) planner.observe({ kind: 'present', object })
    const effects = planner.plan('Service a/web', { nowMs: 0 })?.effects ?? []
    expect(effects.map((effect) => effect.kind)).toEqual(['patch', 'create', 'patch'])
    expect(effects[0]).toMatchObject({
      ref: { kind: 'ServiceCIDR', name: 'kubernetes' },
      patch: { metadata: { finalizers: [FINALIZER] } },
      if: { uid: 'u', resourceVersion: '7' },
    })
  })

  test('an address that a Service has counts as in use before it has an IPAddress', async () => {
    await world.create(range('kubernetes', '10.0.0.0/28'))
    await world.create(using('old', '10.0.0.5'))
    world.start()
    for (let nth = 0; nth < 13; nth++) await world.create(service(`s${nth}`))
    await world.pass(1)
    const all = await Promise.all(Array.from({ length: 13 }, (_, nth) => ipsOf(`s${nth}`)))
    expect(new Set([...all.flat(), '10.0.0.5']).size).toBe(14)
  })
})

test('options that mean nothing are refused', () => {
  expect(() => serviceIPs(undefined as never)).toThrow(/options/)
  expect(() => serviceIPs({ seed: 1, graceSeconds: -1 })).toThrow(/graceSeconds/)
  expect(() => serviceIPs({ seed: 1, reportSeconds: 1e9 })).toThrow(/reportSeconds/)
})

describe('a ServiceCIDR whose finalizer is refused', () => {
  let isRefused = true
  const refusing = () =>
    new World((below) => ({
      ...below,
      patch: async (ref, patch, options) =>
        isRefused && ref.kind === 'ServiceCIDR' && ref.name === 'a' && options?.subresource === undefined
          ? fail('STORE_INVALID', { object: 'ServiceCIDR a', path: 'metadata.finalizers', problem: 'no' })
          : below.patch(ref, patch, options),
    }))

  test('holds up no Service: the next range gives the address', async () => {
    isRefused = true
    world = refusing()
    await world.create(range('a', '10.0.0.0/24'), service('one'))
    await world.pass(1)
    await world.create(range('b', '10.1.0.0/24'))
    world.start()
    await world.pass(5)
    await world.create(service('two'))
    await world.pass(5)
    for (const name of ['one', 'two']) expect((await ipsOf(name))?.[0]).toMatch(/^10\.1\.0\./)
    expect(world.events).toEqual([expect.stringMatching(/^Warning ServiceCIDR a WriteRefused: could not patch .* no$/)])
    world.problems.length = 0
  })

  test('holds up no Service either when it has the finalizer and its other writes are refused', async () => {
    isRefused = true
    world = refusing()
    const kept = range('a', '10.0.0.0/24')
    await world.create({ ...kept, metadata: { name: 'a', finalizers: [FINALIZER] } }, service('one'))
    world.start()
    await world.pass(5)
    expect(await ipsOf('one')).toBeUndefined()
    await world.create(range('b', '10.1.0.0/24'), service('two'))
    await world.pass(5)
    for (const name of ['one', 'two']) expect((await ipsOf(name))?.[0]).toMatch(/^10\.1\.0\./)
    isRefused = false
    await world.delete(range('b'))
    await world.create(service('three'))
    await world.pass(600)
    expect((await ipsOf('three'))?.[0]).toMatch(/^10\.0\.0\./)
    world.problems.length = 0
  })

  test('gives addresses when it is written, where there is no other one', async () => {
    isRefused = true
    world = refusing()
    await world.create(range('a', '10.0.0.0/24'), service('one'))
    world.start()
    await world.pass(5)
    expect(await ipsOf('one')).toBeUndefined()
    expect(world.outcomes.get('Service a/one')).toMatch(/^notReady: /)
    isRefused = false
    await world.pass(60)
    expect((await ipsOf('one'))?.[0]).toMatch(/^10\.0\.0\./)
    expect(world.events).toHaveLength(1)
    world.problems.length = 0
  })
})

describe('a write for a Service that is refused', () => {
  /** A server that refuses the creation of some IPAddresses. */
  const refusing = (isRefused: (name: string) => boolean, latencyMs = 0): World => {
    const made = new World((below) => ({
      ...below,
      create: async (object) => {
        if (object.kind !== 'IPAddress' || !isRefused(object.metadata.name)) return below.create(object)
        if (latencyMs > 0) await new Promise<void>((resolve) => made.timers.after(latencyMs, resolve))
        return fail('STORE_INVALID', { object: `IPAddress ${object.metadata.name}`, path: 'object', problem: 'no' })
      },
    }))
    return made
  }

  test('leads to another address, and is an Event of the Service', async () => {
    const refused = new Set<string>()
    world = refusing((name) => (refused.size === 0 || refused.has(name) ? refused.add(name).has(name) : false))
    await world.create(range('kubernetes', '10.0.0.0/28'), service('web'))
    world.start()
    await world.pass(60)
    const [ip = ''] = (await ipsOf('web')) ?? []
    expect(ip).toMatch(/^10\.0\.0\./)
    expect(refused).not.toContain(ip)
    expect(world.events).toEqual([expect.stringMatching(/^Warning Service web WriteRefused: could not create .* no$/)])
    world.problems.length = 0
  })

  test('leads to the next range if only the address that is refused is free in the first one', async () => {
    world = refusing((name) => name === '10.0.0.1')
    await world.create(range('a', '10.0.0.0/30'), using('old', '10.0.0.2'), service('web'))
    await world.pass(1)
    await world.create(range('b', '10.1.0.0/24'))
    world.start()
    await world.pass(5)
    expect((await ipsOf('web'))?.[0]).toMatch(/^10\.1\.0\./)
    expect(world.events).toEqual([expect.stringMatching(/^Warning Service web WriteRefused: /)])
    world.problems.length = 0
  })

  test('is one Event of each Service that waits for the one free address', async () => {
    // the other Services are planned while a creation is in flight
    world = refusing((name) => name === '10.0.0.1', 100)
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    await world.create(
      range('kubernetes', '10.0.0.0/30'),
      using('old', '10.0.0.2'),
      ...names.map((name) => service(name)),
    )
    world.start()
    await world.pass(5)
    const told = world.events.map((event) => event.split(' ').slice(2, 4).join(' ')).sort()
    expect(told).toEqual([...new Set(told)])
    for (const name of names) expect(told).toContain(`${name} WriteRefused:`)
    // the creation in flight ends
    void world.stop()
    await world.pass(1)
    world.problems.length = 0
  })

  test.each([1, 2, 8])(
    'is tried after growing delays by each of %i Services, and freed addresses are given at once',
    async (count) => {
      let creations = 0
      // the other Services are planned while a creation is in flight
      world = refusing((name) => name === '10.0.0.1' && ++creations > 0, 100)
      const names = Array.from({ length: count }, (_, index) => `web-${index}`)
      await world.create(range('kubernetes', '10.0.0.0/30'), using('old', '10.0.0.2'))
      await world.create(...names.map((name) => service(name)))
      world.start({ graceSeconds: 0 })
      await world.pass(3600)
      // 3,600 s have room for 20 tries from 5 ms on
      expect(creations).toBeGreaterThan(15 * count ** 0.5)
      expect(creations).toBeLessThan(25 * count)
      await world.delete(service('old'))
      await world.pass(2)
      const given = await Promise.all(names.map(async (name) => (await ipsOf(name)) ?? []))
      expect(given.flat()).toEqual(['10.0.0.2'])
      void world.stop()
      await world.pass(1)
      world.problems.length = 0
    },
  )

  test('is one Event however often it is tried, and another one after it was done', async () => {
    let isRefused = true
    world = refusing(() => isRefused)
    await world.create(range('kubernetes', '10.0.0.0/28'), service('web', { ipFamilyPolicy: 'RequireDualStack' }))
    world.start()
    await world.pass(1)
    await world.create(range('six', 'fd00::/120'))
    await world.pass(3600)
    expect(world.problems.length).toBeGreaterThan(5)
    expect(world.events).toEqual([
      'Warning Service web ClusterIPNotAvailable: no ServiceCIDR has an IPv6 range',
      expect.stringMatching(/^Warning Service web WriteRefused: /),
    ])
    isRefused = false
    await world.pass(1000)
    expect(await ipsOf('web')).toHaveLength(2)
    isRefused = true
    await world.create(service('api'))
    await world.pass(60)
    expect(world.events.slice(2)).toEqual([expect.stringMatching(/^Warning Service api WriteRefused: /)])
    world.problems.length = 0
  })
})

test('an IPAddress that was created for a Service is given to it only if a range can hold it', async () => {
  await world.create(range('kubernetes', '10.0.0.0/28'))
  for (const [name, ip] of [
    ['outside', '10.9.0.1'],
    ['network', '10.0.0.0'],
    ['inside', '10.0.0.3'],
  ] as const) {
    await world.create(address(ip, name), service(name))
  }
  await world.create(address('fd00::1', 'six'), service('six', { ipFamilyPolicy: 'RequireDualStack' }))
  world.start()
  await world.pass(120)
  expect(await ipsOf('inside')).toEqual(['10.0.0.3'])
  for (const name of ['outside', 'network']) expect((await ipsOf(name))?.[0]).toMatch(/^10\.0\.0\.([1-9]|1[0-4])$/)
  expect(await ipsOf('six')).toBeUndefined()
  expect((await world.addresses()).filter((each) => /^(10\.9|10\.0\.0\.0 |fd00)/.test(each))).toEqual([])
})
