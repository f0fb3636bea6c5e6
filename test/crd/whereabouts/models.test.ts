import { formatFieldError, type KubeObject } from 'ipam-kit/crd/meta'
import { IPPool, NodeSlicePool, OverlappingRangeIPReservation, WHEREABOUTS_GROUP } from 'ipam-kit/crd/whereabouts'
import { describe, expect, test } from 'vitest'

const apiVersion = `${WHEREABOUTS_GROUP}/v1alpha1`
const metadata = { name: 'x', namespace: 'kube-system', managedFields: [{ manager: 'whereabouts' }] }
const object = (kind: string, rest: object): KubeObject => ({ apiVersion, kind, metadata, ...rest })
const row = { id: 'c', podref: 'default/web-0', ifname: 'net1' }

describe('objects of whereabouts', () => {
  test.each([
    [IPPool, object('IPPool', { spec: { range: '10.0.0.0/24', allocations: { '1': { ...row, more: 1 }, x: 5 } } })],
    [
      OverlappingRangeIPReservation,
      object('OverlappingRangeIPReservation', { spec: { podref: 'default/web-0', ifname: 'net1', more: true } }),
    ],
    [
      NodeSlicePool,
      object('NodeSlicePool', {
        spec: { range: '10.0.0.0/24', sliceSize: '/26' },
        status: { allocations: [{ nodeName: '', sliceRange: '10.0.0.0/26', more: 1 }] },
      }),
    ],
  ])('are read with members that are not known: %#', (model, given) => {
    expect(model.parse(given)).toEqual(given)
  })

  test('what an API server refuses of a pool', () => {
    const errors = (spec: unknown) => IPPool.validate(object('IPPool', { spec })).map(formatFieldError)
    expect(errors({ range: '10.0.0.0/24', allocations: { '1': row, x: row } })).toEqual([])
    expect(errors({ range: '10.0.0.0/24' })).toEqual(['spec.allocations: Required value'])
    expect(errors({ range: '10.0.0.0/24', allocations: { '1': { id: 'c' } } })).toEqual([
      'spec.allocations.1.podref: Required value',
    ])
    expect(IPPool.validate(object('IPPool', {}))).toEqual([])
  })

  test.each([
    [IPPool, object('IPPool', {}), 'spec'],
    [IPPool, object('IPPool', { spec: { allocations: {} } }), 'spec.range'],
    [OverlappingRangeIPReservation, object('OverlappingRangeIPReservation', { spec: {} }), 'spec.podref'],
    [NodeSlicePool, object('NodeSlicePool', { spec: { range: '10.0.0.0/24' } }), 'spec.sliceSize'],
  ])('that lack what they are about are refused: %#', (model, given, path) => {
    expect(model.safeParse(given)).toMatchObject({
      failure: { code: 'INVALID_OBJECT', context: { issues: [{ path }] } },
    })
  })
})
