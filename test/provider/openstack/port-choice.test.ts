import { describe, expect, test } from 'vitest'
import { attachment, choosePort } from '../../../src/provider/openstack/port-choice.js'

const fip = { id: 'f1', address: '203.0.113.10', network: 'ext', port: '' }
const port = (id: string, ...subnets: string[]) => ({
  id,
  fixedIPs: subnets.map((subnet, nth) => ({ subnet, address: `10.0.0.${nth}` })),
})
const router = (gatewayNetwork: string | undefined, ...subnets: string[]) => ({ id: 'r', gatewayNetwork, subnets })

describe('the port of a floating IP is', () => {
  test.each([
    [[port('p1', 'a')], [router('ext', 'a')], 'p1'],
    [[port('p1', 'a'), port('p2', 'b')], [router('ext', 'b')], 'p2'],
    [[port('p1', 'a'), port('p2', 'b')], [router('other', 'a'), router('ext', 'b')], 'p2'],
    [[port('p1', 'a', 'b'), port('p2', 'b')], [router('ext', 'b')], 'p1'],
    [[port('p2', 'b'), port('p1', 'a')], [router('ext', 'a', 'b')], 'p2'],
  ])('the first with a way to its network: %j, %j', (ports, routers, id) => {
    expect(choosePort(fip, ports, routers)).toMatchObject({ ok: true, port: { id } })
  })

  test.each([
    [[], [router('ext', 'a')], 'NoPorts'],
    [[port('p1', 'a')], [], 'NoRouter'],
    [[port('p1')], [router('ext', 'a')], 'NoRouter'],
    [[port('p1', 'a')], [router('other', 'a')], 'NoRouter'],
    [[port('p1', 'a')], [router(undefined, 'a')], 'NoRouter'],
    [[port('p1', 'a')], [router('ext')], 'NoRouter'],
  ])('none, and why: %j, %j', (ports, routers, reason) => {
    expect(choosePort(fip, ports, routers)).toMatchObject({
      ok: false,
      reason,
      message: expect.stringMatching(/^Can't find port for floating IP "203.0.113.10" on external network ext: /),
    })
  })
})

describe('the fixed address of a floating IP is', () => {
  const ports = [
    {
      id: 'p1',
      fixedIPs: [
        { subnet: 'a', address: '10.0.0.4' },
        { subnet: 'b', address: '2001:db8::4' },
        { subnet: 'b', address: '10.0.1.4' },
      ],
    },
  ]

  test('the one in the subnet of the router, of the same family', () => {
    expect(choosePort(fip, ports, [router('ext', 'b')])).toMatchObject({ ok: true, fixedAddress: '10.0.1.4' })
    expect(choosePort(fip, ports, [router('ext', 'a', 'b')])).toMatchObject({ ok: true, fixedAddress: '10.0.0.4' })
    const only6 = [{ id: 'p1', fixedIPs: [{ subnet: 'b', address: '2001:db8::4' }] }]
    expect(choosePort(fip, only6, [router('ext', 'b')])).toMatchObject({ ok: false, reason: 'NoRouter' })
  })
})

describe('a server', () => {
  const network = (change: object = {}) => ({
    ...{ addresses: ['10.0.0.4'], ports: [port('p1', 'a')], routers: [router('ext', 'a')], floatingIPs: [fip] },
    ...change,
  })
  const kindOf = (change: object, address = '203.0.113.10') => attachment(address, network(change)).kind

  test('has an address that is on a port of it, or that it shows', () => {
    expect(kindOf({ floatingIPs: [{ ...fip, port: 'p1' }] })).toBe('attached')
    expect(kindOf({ addresses: ['203.0.113.10'], floatingIPs: [] })).toBe('attached')
    expect(kindOf({ addresses: ['::ffff:203.0.113.10'], floatingIPs: [] })).toBe('attached')
  })

  test('gets one that is free, and none that is unknown, elsewhere, or without a way', () => {
    expect(attachment('203.0.113.10', network())).toMatchObject({ kind: 'attach', port: { id: 'p1' }, floatingIP: fip })
    expect(kindOf({ floatingIPs: [] })).toBe('unknown')
    expect(kindOf({ floatingIPs: [] }, 'x')).toBe('unknown')
    expect(kindOf({ routers: [] })).toBe('noPort')
    expect(kindOf({ floatingIPs: [{ ...fip, port: 'p9' }] })).toBe('conflict')
  })

  test('gets, of two with one address, the one of the network that it reaches', () => {
    const other = { ...fip, id: 'f2', network: 'other' }
    const both = { floatingIPs: [other, fip] }
    expect(attachment('203.0.113.10', network(both))).toMatchObject({ kind: 'attach', floatingIP: fip })
    expect(kindOf({ floatingIPs: [{ ...other, port: 'p9' }, fip] })).toBe('attach')
    expect(kindOf({ floatingIPs: [other, { ...fip, port: 'p1' }] })).toBe('attached')
    expect(kindOf({ ...both, routers: [] })).toBe('noPort')
    const routers = [router('ext', 'a'), router('other', 'a')]
    expect(attachment('203.0.113.10', network({ ...both, routers }))).toMatchObject({
      kind: 'unknown',
      message: 'the server can reach several floating IPs "203.0.113.10": f2, f1',
    })
  })

  test('does not have an address that it shows, and that is attached elsewhere', () => {
    expect(kindOf({ addresses: ['203.0.113.10'], floatingIPs: [{ ...fip, port: 'p9' }] })).toBe('conflict')
  })
})
