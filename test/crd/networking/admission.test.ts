import type { Admission } from 'ipam-kit/crd/meta'
import { admitServiceCIDR, admitServiceIPAddress, IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { describe, expect, test } from 'vitest'
import type { ParentReference } from '../../../src/crd/networking/ip-address.js'

const apiVersion = 'networking.k8s.io/v1'
const range = (...cidrs: readonly string[]) =>
  ServiceCIDR.parse({ apiVersion, kind: 'ServiceCIDR', metadata: { name: 'more' }, spec: { cidrs } })
const address = (name: string, parentRef: ParentReference = { resource: 'services', namespace: 'a', name: 'b' }) =>
  IPAddress.parse({ apiVersion, kind: 'IPAddress', metadata: { name }, spec: { parentRef } })

const errorsOf = (admission: Admission) =>
  admission.allowed ? [] : admission.errors.map(({ type, path, detail }) => `${type} ${path} ${detail}`.trim())
const created = (...cidrs: readonly string[]) =>
  errorsOf(admitServiceCIDR({ operation: 'CREATE', object: range(...cidrs) }))

describe('the CIDRs of a ServiceCIDR', () => {
  test.each([
    [['10.0.0.0/24']],
    [['fd00::/112']],
    [['10.0.0.0/24', 'fd00::/64']],
    [['fd00::/64', '10.0.0.0/24']],
    [['0.0.0.0/0']],
  ])('%j is admitted', (cidrs) => {
    expect(created(...cidrs)).toEqual([])
  })

  test.each([
    [[], 'Required spec.cidrs at least one CIDR required'],
    [['10.0.0.0/24', 'fd00::/64', '10.1.0.0/24'], 'Invalid spec.cidrs may only hold up to 2 values'],
    [['10.0.0.0/24', '10.1.0.0/24'], expect.stringContaining('may specify no more than one IP for each IP family')],
    [['fd00::/64', 'fd01::/64'], expect.stringContaining('may specify no more than one IP for each IP family')],
    [['10.0.0.1/24'], "Invalid spec.cidrs[0] wrong CIDR format, IP doesn't match network IP address"],
    [['FD00::/64'], 'Invalid spec.cidrs[0] CIDR not in RFC 5952 canonical format'],
    [['fd00:0::/64'], 'Invalid spec.cidrs[0] CIDR not in RFC 5952 canonical format'],
    [['::ffff:10.0.0.0/120'], 'Invalid spec.cidrs[0] CIDR not in RFC 5952 canonical format'],
    [['10.0.0.0/24', 'x'], expect.stringContaining('Invalid spec.cidrs[1] must be a valid CIDR')],
    [['010.0.0.0/24'], expect.stringContaining('Invalid spec.cidrs[0] must be a valid CIDR')],
    [['10.0.0.0'], expect.stringContaining('Invalid spec.cidrs[0] must be a valid CIDR')],
  ])('%j is refused', (cidrs, error) => {
    expect(created(...cidrs)).toEqual([error])
  })

  test('they never change, but a range of the other family may be added', () => {
    const update = (before: readonly string[], now: readonly string[]) =>
      errorsOf(admitServiceCIDR({ operation: 'UPDATE', oldObject: range(...before), object: range(...now) }))
    const refused = ['Invalid spec.cidrs field is immutable']
    expect(update(['10.0.0.0/24'], ['10.0.0.0/24'])).toEqual([])
    expect(update(['10.0.0.0/24'], ['10.0.0.0/24', 'fd00::/64'])).toEqual([])
    expect(update(['10.0.0.0/24'], ['fd00::/64', '10.0.0.0/24'])).toEqual(refused)
    expect(update(['10.0.0.0/24'], ['10.0.0.0/23'])).toEqual(refused)
    expect(update(['10.0.0.0/24', 'fd00::/64'], ['10.0.0.0/24'])).toEqual(refused)
    expect(update(['10.0.0.0/24', 'fd00::/64'], ['fd00::/64', '10.0.0.0/24'])).toEqual(refused)
  })

  test('the refusal is in the words of an API server, and a deletion is admitted', () => {
    expect(admitServiceCIDR({ operation: 'CREATE', object: range() })).toMatchObject({
      code: 422,
      message:
        'ServiceCIDR.networking.k8s.io "more" is invalid: spec.cidrs: Required value: at least one CIDR required',
    })
    expect(admitServiceCIDR({ operation: 'DELETE', oldObject: range() }).allowed).toBe(true)
    expect(() => admitServiceCIDR({ operation: 'CONNECT' } as never)).toThrow(/operation/)
  })
})

describe('an IPAddress', () => {
  const named = (name: string) => errorsOf(admitServiceIPAddress({ operation: 'CREATE', object: address(name) }))

  test.each(['10.0.0.1', 'fd00::1', '::'])('%s is a name', (name) => {
    expect(named(name)).toEqual([])
  })

  test.each([
    ['10.0.0.1.', 'must be a valid IP address'],
    ['web', 'must be a valid IP address'],
    ['fe80::1%eth0', 'must be a valid IP address'],
    ['::ffff:10.0.0.1', 'must be a valid IP address'],
    ['010.0.0.1', 'must be a valid IP address'],
    ['FD00::1', 'must be a canonical format IP address'],
    ['fd00:0::1', 'must be a canonical format IP address'],
  ])('%s is none', (name, detail) => {
    expect(named(name)).toEqual([`Invalid metadata.name ${detail}`])
  })

  test('its parent is named, and never changes', () => {
    const withParent = (parentRef: ParentReference) =>
      errorsOf(admitServiceIPAddress({ operation: 'CREATE', object: address('10.0.0.1', parentRef) }))
    expect(withParent({ group: 'gateway.networking.k8s.io', resource: 'gateways', name: 'b' })).toEqual([])
    expect(withParent({ resource: '', name: '' })).toEqual([
      'Required spec.parentRef.resource',
      'Required spec.parentRef.name',
    ])
    expect(withParent({ group: 'A_B', resource: 'a/b', namespace: '..', name: 'x%' })).toEqual([
      expect.stringContaining('Invalid spec.parentRef.group'),
      "Invalid spec.parentRef.resource may not contain '/'",
      "Invalid spec.parentRef.name may not contain '%'",
      "Invalid spec.parentRef.namespace may not be '..'",
    ])
    const [oldObject, object] = [
      address('10.0.0.1'),
      address('10.0.0.1', { resource: 'services', namespace: 'a', name: 'c' }),
    ]
    expect(errorsOf(admitServiceIPAddress({ operation: 'UPDATE', oldObject, object }))).toEqual([
      'Invalid spec.parentRef field is immutable',
    ])
    const same = address('10.0.0.1', { group: '', resource: 'services', namespace: 'a', name: 'b' })
    expect(errorsOf(admitServiceIPAddress({ operation: 'UPDATE', oldObject, object: same }))).toEqual([])
  })
})
