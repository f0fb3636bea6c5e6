import { describe, expect, test } from 'vitest'
import { attachment, choosePort } from '../../../src/provider/openstack/port-choice.js'

const fip = { id: 'f1', address: '203.0.113.10', network: 'ext', port: '' }
const port = (id: string, ...subnets: string[]) => ({ id, subnets })
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

describe('a server', () => {
  const network = (change: object = {}) => ({
    ...{ addresses: ['10.0.0.4'], ports: [port('p1', 'a')], routers: [router('ext', 'a')], floatingIP: fip },
    ...change,
  })
  const kindOf = (change: object, address = '203.0.113.10') => attachment(address, network(change)).kind

  test('has an address that is on a port of it, or that it shows', () => {
    expect(kindOf({ floatingIP: { ...fip, port: 'p1' } })).toBe('attached')
    expect(kindOf({ addresses: ['203.0.113.10'], floatingIP: undefined })).toBe('attached')
    expect(kindOf({ addresses: ['::ffff:203.0.113.10'], floatingIP: undefined })).toBe('attached')
  })

  test('gets one that is free, and none that is unknown, elsewhere, or without a way', () => {
    expect(attachment('203.0.113.10', network())).toMatchObject({ kind: 'attach', port: { id: 'p1' }, floatingIP: fip })
    expect(kindOf({ floatingIP: undefined })).toBe('unknown')
    expect(kindOf({ floatingIP: undefined }, 'x')).toBe('unknown')
    expect(kindOf({ routers: [] })).toBe('noPort')
    expect(kindOf({ floatingIP: { ...fip, port: 'p9' } })).toBe('conflict')
  })

  test('does not have an address that it shows, and that is attached elsewhere', () => {
    expect(kindOf({ addresses: ['203.0.113.10'], floatingIP: { ...fip, port: 'p9' } })).toBe('conflict')
  })
})
