import {
  admitOpenStackFloatingIPPool,
  admitOpenStackMachine,
  admitOpenStackMachineTemplate,
  admitOpenStackServer,
} from 'ipam-kit/crd/openstack'
import { describe, expect, test } from 'vitest'
import { floatingIPPoolErrors } from '../../../src/crd/openstack/admission.js'
import { machine, pool, poolRef, server, template } from './objects.js'

const create = (spec: object, metadata: object = {}) =>
  admitOpenStackFloatingIPPool({ operation: 'CREATE', object: pool(spec, metadata) })
const update = (before: object, after: object, metadata: object = {}) =>
  admitOpenStackFloatingIPPool({
    operation: 'UPDATE',
    oldObject: pool(before, metadata),
    object: pool(after, metadata),
  })
const pathsOf = (spec: object, metadata: object = {}) =>
  floatingIPPoolErrors(pool(spec, metadata)).map(({ type, path }) => `${type} ${path}`)

describe('a pool', () => {
  test.each([
    {},
    { maxIPs: 0 },
    { preAllocatedFloatingIPs: ['203.0.113.1', '2001:db8::1'], maxIPs: 5 },
    { floatingIPNetwork: { id: '6c90b532-7ba0-418a-a276-5ae55060b5b0' } },
    { floatingIPNetwork: { filter: { name: 'ext' } } },
  ])('is admitted with %j', (spec) => {
    expect(create(spec)).toEqual({ allowed: true, warnings: [] })
  })

  test.each([
    [{ preAllocatedFloatingIPs: ['x'] }, 'Invalid spec.preAllocatedFloatingIPs[0]'],
    [{ preAllocatedFloatingIPs: ['203.0.113.0/30'] }, 'Invalid spec.preAllocatedFloatingIPs[0]'],
    [{ preAllocatedFloatingIPs: [''] }, 'Invalid spec.preAllocatedFloatingIPs[0]'],
    [{ preAllocatedFloatingIPs: ['10.0.0.1', '10.0.0.1'] }, 'Duplicate spec.preAllocatedFloatingIPs[1]'],
    [{ preAllocatedFloatingIPs: ['2001:db8::1', '2001:DB8:0::1'] }, 'Duplicate spec.preAllocatedFloatingIPs[1]'],
    [{ preAllocatedFloatingIPs: ['10.0.0.1', '::ffff:10.0.0.1'] }, 'Duplicate spec.preAllocatedFloatingIPs[1]'],
    [{ maxIPs: -1 }, 'Invalid spec.maxIPs'],
    [{ floatingIPNetwork: {} }, 'Invalid spec.floatingIPNetwork'],
    [{ floatingIPNetwork: { id: 'a', filter: { name: 'b' } } }, 'Invalid spec.floatingIPNetwork'],
  ])('is refused with %j', (spec, error) => {
    expect(pathsOf(spec)).toEqual([error])
    expect(create(spec)).toMatchObject({ allowed: false, code: 422 })
  })

  test('a maxIPs that is no whole number is refused, also where no schema has seen it', () => {
    const { spec, ...rest } = pool()
    for (const maxIPs of [1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      const object = { ...rest, spec: { ...spec, maxIPs } }
      expect(() => admitOpenStackFloatingIPPool({ operation: 'CREATE', object })).toThrow(
        /request\.object\.spec\.maxIPs/u,
      )
    }
  })

  test.each([
    ['ipam-kit.dev/min-free', '-1'],
    ['ipam-kit.dev/min-free', '1.5'],
    ['ipam-kit.dev/min-free', ''],
    ['ipam-kit.dev/min-free', '100001'],
    ['ipam-kit.dev/adopt-by-tag', 'yes'],
    ['ipam-kit.dev/adopt-by-tag', 'True'],
  ])('an annotation %s that is %j is refused', (name, text) => {
    const annotations = { [name]: text }
    expect(pathsOf({}, { annotations })).toEqual([`Invalid metadata.annotations[${name}]`])
  })

  test('all faults are reported at once', () => {
    const spec = { preAllocatedFloatingIPs: ['x', '10.0.0.1', '10.0.0.1'], maxIPs: -1, floatingIPNetwork: {} }
    const annotations = { 'ipam-kit.dev/min-free': 'a', 'ipam-kit.dev/adopt-by-tag': 'b' }
    expect(pathsOf(spec, { annotations })).toHaveLength(6)
  })

  test('a change is not refused for what the pool had before, and is for what is new', () => {
    const bad = { preAllocatedFloatingIPs: ['x'] }
    expect(update(bad, { ...bad, maxIPs: 3 })).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining('spec.preAllocatedFloatingIPs[0]: Invalid value: "x"')],
    })
    expect(update(bad, { preAllocatedFloatingIPs: ['x', 'y'] })).toMatchObject({
      allowed: false,
      errors: [{ path: 'spec.preAllocatedFloatingIPs[1]' }],
    })
  })

  test('the region is not changed, added or removed; other fields are', () => {
    const withRegion = (region?: string) => ({ identityRef: { name: 'cloud', cloudName: 'o', region } })
    for (const [before, after] of [
      ['a', 'b'],
      ['a', undefined],
      [undefined, 'a'],
    ]) {
      expect(update(withRegion(before), withRegion(after))).toMatchObject({
        allowed: false,
        errors: [{ path: 'spec.identityRef', detail: 'region is immutable' }],
      })
    }
    const changed = { maxIPs: 9, reclaimPolicy: 'Retain', identityRef: { name: 'b', cloudName: 'b', region: 'a' } }
    expect(update(withRegion('a'), changed).allowed).toBe(true)
  })

  test('is deleted as it is', () => {
    const oldObject = pool({ maxIPs: -1 })
    expect(admitOpenStackFloatingIPPool({ operation: 'DELETE', oldObject })).toEqual({ allowed: true, warnings: [] })
  })
})

const base = {
  flavor: 'm1.large',
  floatingIPPoolRef: poolRef,
  identityRef: { name: 'cloud', cloudName: 'o' },
  ports: [{ network: 'n', allowedAddressPairs: [{ ipAddress: '10.0.0.1' }] }],
}
const otherPairs = { ports: [{ network: 'n', allowedAddressPairs: [] }] }
const otherPorts = { ports: [{ network: 'm', allowedAddressPairs: [{ ipAddress: '10.0.0.1' }] }] }
const identityRef = { name: 'other', cloudName: 'o' }

describe('a machine', () => {
  const change = (spec: object) =>
    admitOpenStackMachine({ operation: 'UPDATE', oldObject: machine(base), object: machine({ ...base, ...spec }) })

  test.each([
    {},
    { providerID: 'openstack:///x' },
    { instanceID: 'x' },
    { identityRef },
    { ...otherPairs, identityRef, providerID: 'x' },
  ])('can be changed by %j', (spec) => {
    expect(change(spec)).toEqual({ allowed: true, warnings: [] })
  })

  test.each([
    { flavor: 'm1.small' },
    { floatingIPPoolRef: { ...poolRef, name: 'red' } },
    { floatingIPPoolRef: undefined },
    otherPorts,
    { ports: [] },
    { ...otherPairs, flavor: 'm1.small' },
    { added: true },
  ])('cannot be changed by %j', (spec) => {
    expect(change(spec)).toMatchObject({
      allowed: false,
      message: 'OpenStackMachine.infrastructure.cluster.x-k8s.io "a" is invalid: spec: Forbidden: cannot be modified',
    })
  })
})

describe('a server', () => {
  const change = (spec: object, metadata: object = {}, options = {}) =>
    admitOpenStackServer(
      { operation: 'UPDATE', oldObject: server(base), object: server({ ...base, ...spec }, metadata) },
      options,
    )

  test('can change its identityRef alone', () => {
    expect(change({ identityRef })).toEqual({ allowed: true, warnings: [] })
    for (const spec of [{ floatingIPPoolRef: { ...poolRef, name: 'red' } }, otherPairs, { flavor: 'b' }]) {
      expect(change(spec)).toMatchObject({
        allowed: false,
        errors: [{ type: 'Forbidden', path: 'spec', detail: expect.stringContaining('spec field is immutable') }],
      })
    }
  })

  test('can change in a dry run of the topology controller, and in no other one', () => {
    const annotations = { 'topology.cluster.x-k8s.io/dry-run': '' }
    expect(change({ flavor: 'b' }, { annotations }, { isDryRun: true }).allowed).toBe(true)
    expect(change({ flavor: 'b' }, { annotations }).allowed).toBe(false)
    expect(change({ flavor: 'b' }, {}, { isDryRun: true }).allowed).toBe(false)
  })
})

describe('a template', () => {
  const change = (spec: object, options = {}) => {
    const object = template({ ...base, ...spec }, { annotations: { 'topology.cluster.x-k8s.io/dry-run': '' } })
    return admitOpenStackMachineTemplate({ operation: 'UPDATE', oldObject: template(base), object }, options)
  }

  test('can change the allowed address pairs of its ports alone', () => {
    expect(change(otherPairs)).toEqual({ allowed: true, warnings: [] })
    for (const spec of [{ identityRef }, otherPorts, { providerID: 'x' }]) {
      expect(change(spec)).toMatchObject({ allowed: false, errors: [{ type: 'Invalid', path: 'spec.template.spec' }] })
      expect(change(spec, { isDryRun: true }).allowed).toBe(true)
    }
  })
})

test.each([undefined, ''])('a pool reference with the group %j is refused, where it is created', (apiGroup) => {
  const spec = { floatingIPPoolRef: { kind: 'OpenStackFloatingIPPool', name: 'blue', apiGroup } }
  const refused = (path: string) => ({ allowed: false, errors: [{ type: 'Required', path }] })
  expect(admitOpenStackServer({ operation: 'CREATE', object: server(spec) })).toMatchObject(
    refused('spec.floatingIPPoolRef.apiGroup'),
  )
  expect(admitOpenStackMachine({ operation: 'CREATE', object: machine(spec) })).toMatchObject(
    refused('spec.floatingIPPoolRef.apiGroup'),
  )
  expect(admitOpenStackMachineTemplate({ operation: 'CREATE', object: template(spec) })).toMatchObject(
    refused('spec.template.spec.floatingIPPoolRef.apiGroup'),
  )
  const [before, after] = [server(spec), server(spec, { finalizers: [] })]
  expect(admitOpenStackServer({ operation: 'UPDATE', oldObject: before, object: after }).allowed).toBe(true)
  expect(admitOpenStackServer({ operation: 'CREATE', object: server() }).allowed).toBe(true)
})
