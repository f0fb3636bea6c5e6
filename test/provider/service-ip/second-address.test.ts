import { unwrap } from 'ipam-kit/errors'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { runUntilQuiet } from 'ipam-kit/run'
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

const raise = (name: string, spec: object) => world.patch(service(name), { spec })
const specOf = async (name: string) => (await world.service(name))?.spec
const ipsOf = async (name: string) => (await specOf(name))?.clusterIPs ?? []
const familiesOf = async (name: string) => (await ipsOf(name)).map((ip) => (ip.includes(':') ? 6 : 4))

describe('a Service that gets no address, or not its second one,', () => {
  const told = () => world.events.filter((event) => JSON.stringify(event).includes('ClusterIPNotAvailable')).length

  test('has one Event, and another one when that returns after it ended', async () => {
    await world.create(range('four', '10.0.0.0/24'), service('web', { ipFamilyPolicy: 'RequireDualStack' }))
    world.start()
    await world.pass(600)
    expect([told(), await ipsOf('web')]).toEqual([1, []])
    await world.create(range('six', 'fd00::/112'))
    await world.pass(1)
    expect([told(), await familiesOf('web')]).toEqual([1, [4, 6]])
  })

  test('because a range is full, is told once for each Service', async () => {
    await world.create(range('small', '10.0.0.0/30'), ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => service(name)))
    world.start()
    await world.pass(3600)
    const waiting = (await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(ipsOf))).filter((ips) => ips.length === 0)
    expect(waiting.length).toBeGreaterThan(2)
    expect(told()).toBe(waiting.length)
  })
})

describe('a Service with one address whose ipFamilyPolicy is raised', () => {
  test.each(['RequireDualStack', 'PreferDualStack'])(
    'to %s gets the second one, and keeps the first',
    async (policy) => {
      await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'), service('web'))
      world.start()
      await world.pass(1)
      const [first = ''] = await ipsOf('web')
      await raise('web', { ipFamilyPolicy: policy })
      await world.pass(1)
      const [, second = ''] = await ipsOf('web')
      expect(await specOf('web')).toEqual({
        clusterIP: first,
        clusterIPs: [first, second],
        ipFamilies: ['IPv4', 'IPv6'],
        ipFamilyPolicy: policy,
      })
      expect(second).toMatch(/^fd00::/)
      expect(await world.addresses()).toEqual([`${first} web`, `${second} web`])
      const { metadata } = unwrap(await world.store.get({ ...address(second, 'web'), name: second }))
      expect(metadata.labels).toMatchObject({ 'ipaddress.kubernetes.io/ip-family': 'IPv6' })
      await world.pass(3600)
      expect([world.events, await ipsOf('web')]).toEqual([[], [first, second]])
    },
  )

  test('gets it from another process, which did not see the change', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'), service('web', { ipFamilies: ['IPv6'] }))
    const run = () => runUntilQuiet(world.store, [serviceIPs({ seed: 1 })], { now: () => world.timers.now() })
    await run()
    await raise('web', { ipFamilyPolicy: 'PreferDualStack' })
    await run()
    expect(await familiesOf('web')).toEqual([6, 4])
  })

  test('to RequireDualStack is told why not, and gets it when there is a range of the family', async () => {
    await world.create(range('four', '10.0.0.0/24'), service('web'))
    world.start()
    await world.pass(1)
    await raise('web', { ipFamilyPolicy: 'RequireDualStack' })
    await world.pass(1)
    expect(world.outcomes.get('Service a/web')).toBe('mismatchedNetwork: no ServiceCIDR has an IPv6 range')
    expect(await familiesOf('web')).toEqual([4])
    await world.create(range('six', 'fd00::/112'))
    await world.pass(1)
    expect(await familiesOf('web')).toEqual([4, 6])
  })

  test('to PreferDualStack keeps its one address while there is no range of the other family', async () => {
    await world.create(range('four', '10.0.0.0/24'), service('web'))
    world.start()
    await world.pass(1)
    await raise('web', { ipFamilyPolicy: 'PreferDualStack' })
    await world.pass(1)
    const [ip] = await ipsOf('web')
    expect(world.outcomes.get('Service a/web')).toBe(`ready: it has ${ip}`)
    await world.create(range('six', 'fd00::/112'))
    await world.pass(1)
    expect(await familiesOf('web')).toEqual([4, 6])
  })

  test('waits where the range is full, and gets the address that becomes free', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/127'), service('old', { ipFamilies: ['IPv6'] }))
    await world.create(service('web'))
    world.start()
    await world.pass(1)
    await raise('web', { ipFamilyPolicy: 'RequireDualStack' })
    await world.pass(1)
    expect(world.outcomes.get('Service a/web')).toBe('full: no free IPv6 address in fd00::/127')
    await world.delete(service('old'))
    await world.pass(62)
    expect(await ipsOf('web')).toContain('fd00::1')
  })

  test('adopts what a writer has created before it was stopped', async () => {
    const spec = { ipFamilyPolicy: 'RequireDualStack', clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'] }
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'), service('web', spec))
    await world.create(address('10.0.0.9', 'web'), address('fd00::77', 'web'))
    world.start()
    await world.pass(3600)
    expect([await ipsOf('web'), world.events]).toEqual([['10.0.0.9', 'fd00::77'], []])
  })

  test('and lowered again keeps both; without the second one in clusterIPs it is released', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'))
    await world.create(service('web', { ipFamilyPolicy: 'RequireDualStack' }))
    world.start()
    await world.pass(1)
    const [first, second] = await ipsOf('web')
    await raise('web', { ipFamilyPolicy: 'SingleStack' })
    await world.pass(3600)
    expect(await ipsOf('web')).toEqual([first, second])
    await raise('web', { clusterIPs: [first], ipFamilies: ['IPv4'] })
    await world.pass(62)
    expect([await ipsOf('web'), await world.addresses()]).toEqual([[first], [`${first} web`]])
  })
})

describe('a Service with one address that a kube-apiserver gave it, and PreferDualStack', () => {
  const one = { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'], ipFamilyPolicy: 'PreferDualStack' }

  test('keeps its one address, as the API server leaves it when the cluster gets another family', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'))
    await world.create(service('web', { ...one, ipFamilies: ['IPv4'] }), address('10.0.0.9', 'web'))
    world.start()
    await world.pass(3600)
    expect(await ipsOf('web')).toEqual(['10.0.0.9'])
    expect([await world.addresses(), world.events]).toEqual([['10.0.0.9 web'], []])
    // both families in ipFamilies, or RequireDualStack, ask for the second address
    await raise('web', { ipFamilies: ['IPv4', 'IPv6'] })
    await world.pass(1)
    expect(await familiesOf('web')).toEqual([4, 6])
  })

  test('that has an IPAddress of another family too many loses that one', async () => {
    await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'))
    await world.create(service('web', { ...one, ipFamilies: ['IPv4'] }))
    await world.create(address('10.0.0.9', 'web'), address('fd00::77', 'web'))
    world.start()
    await world.pass(62)
    expect(await world.addresses()).toEqual(['10.0.0.9 web'])
  })
})

test('a Service whose one address has a fault gets no second one', async () => {
  await world.create(range('kubernetes', '10.0.0.0/24', 'fd00::/112'), using('far', '10.9.0.1'))
  await raise('far', { ipFamilyPolicy: 'RequireDualStack' })
  world.start()
  await world.pass(3600)
  expect(await ipsOf('far')).toEqual(['10.9.0.1'])
  expect(world.outcomes.get('Service a/far')).toMatch(/^problem: cluster IP 10\.9\.0\.1 is in no range/)
})
