import { admitIPAddressClaim, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { describe, expect, test } from 'vitest'

const GROUP = 'ipam.cluster.x-k8s.io'
const LABEL = 'cluster.x-k8s.io/cluster-name'
const DATA = 'cluster.x-k8s.io/conversion-data'
const MARK = 'conversion.cluster.x-k8s.io/cluster-name-label-set'

const poolRef = { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'blue' }
const ready = { type: 'Ready', status: 'True', reason: 'Up', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
const legacy = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }

const claim = (version: string, fields: object, metadata: object = {}) => ({
  apiVersion: `${GROUP}/${version}`,
  kind: 'IPAddressClaim',
  metadata: { name: 'web', namespace: 'lab', ...metadata },
  spec: { poolRef },
  ...fields,
})
const to = (object: unknown, version: string) => IPAddressClaim.convert(object, `${GROUP}/${version}`)

describe('a claim of v1alpha1', () => {
  test('has the name of its Cluster as a label, which is marked if it was not there', () => {
    const hub = claim('v1beta2', { spec: { poolRef, clusterName: 'c1' } })
    const old = to(hub, 'v1alpha1')
    expect(old.metadata).toMatchObject({ labels: { [LABEL]: 'c1' }, annotations: { [MARK]: 'false' } })
    expect(old.spec).toEqual({ poolRef })
    expect(to(old, 'v1beta2')).toEqual(hub)
  })

  test('keeps a label that was there, and needs no mark for it', () => {
    const hub = claim('v1beta2', { spec: { poolRef, clusterName: 'c1' } }, { labels: { [LABEL]: 'c1' } })
    const old = to(hub, 'v1alpha1')
    expect(old.metadata.annotations).toBeUndefined()
    expect(to(old, 'v1beta2')).toEqual(hub)
  })

  test('knows one name only: as upstream, the label follows the field; but no field comes of a label alone', () => {
    const both = claim('v1beta2', { spec: { poolRef, clusterName: 'c1' } }, { labels: { [LABEL]: 'c2' } })
    expect(to(both, 'v1alpha1').metadata.labels).toEqual({ [LABEL]: 'c1' })
    const labelled = claim('v1beta2', {}, { labels: { [LABEL]: 'c2' } })
    expect(to(to(labelled, 'v1alpha1'), 'v1beta2').spec).toEqual({ poolRef })
  })

  test('carries conditions of metav1 in an annotation, and has the annotation only where there are some', () => {
    const hub = claim('v1beta2', { status: { conditions: [ready], deprecated: { v1beta1: { conditions: [legacy] } } } })
    const old = to(hub, 'v1alpha1')
    expect(old.status).toEqual({ conditions: [legacy] })
    expect(JSON.parse(old.metadata.annotations?.[DATA] ?? '')).toEqual({ status: { conditions: [ready] } })
    expect(to(old, 'v1beta2')).toEqual(hub)
    expect(to(claim('v1beta2', {}), 'v1alpha1').metadata.annotations).toBeUndefined()
  })

  test('takes what upstream has written into the annotation', () => {
    const data = JSON.stringify({ spec: { poolRef: {} }, status: { conditions: [ready] } })
    const old = claim('v1alpha1', {}, { annotations: { [DATA]: data } })
    expect(to(old, 'v1beta2')).toEqual(claim('v1beta2', { status: { conditions: [ready] } }))
  })

  test.each(['{', '[]', '"x"', 'null'])('with %s in the annotation has no form in v1beta2', (data) => {
    const result = IPAddressClaim.safeConvert(
      claim('v1alpha1', {}, { annotations: { [DATA]: data } }),
      `${GROUP}/v1beta2`,
    )
    expect(result).toMatchObject({
      ok: false,
      failure: {
        code: 'INVALID_CONVERSION',
        context: { object: 'IPAddressClaim lab/web', path: `metadata.annotations[${DATA}]` },
      },
    })
  })
})

describe('v1beta1', () => {
  test('a reference without a name is none, and a status of nothing but that is none', () => {
    expect(to(claim('v1beta1', { status: { addressRef: {}, conditions: [] } }), 'v1beta2')).not.toHaveProperty('status')
  })

  test('keeps what it does not know beside what it moves', () => {
    const old = claim('v1beta1', { status: { conditions: [legacy], v1beta2: { conditions: [ready], x: 1 }, y: 2 } })
    const hub = to(old, 'v1beta2')
    expect(hub.status).toEqual({
      conditions: [ready],
      deprecated: { v1beta1: { conditions: [legacy] } },
      v1beta2: { x: 1 },
      y: 2,
    })
    expect(to(hub, 'v1beta1')).toEqual(old)
    const whole = claim('v1beta2', { status: { deprecated: { v1beta1: { conditions: [legacy], x: 1 }, y: 2 } } })
    expect(to(to(whole, 'v1beta1'), 'v1beta2')).toEqual(whole)
  })

  test('an empty group of a pool is null, as Go writes it', () => {
    const hub = claim('v1beta2', { spec: { poolRef: { ...poolRef, apiGroup: '' } } })
    expect(to(hub, 'v1beta1').spec).toEqual({ poolRef: { ...poolRef, apiGroup: null } })
    expect(to(to(hub, 'v1beta1'), 'v1beta2')).toEqual(hub)
  })
})

test('a prefix that is not there is 0, on both ways', () => {
  const spec = { poolRef, claimRef: { name: 'web' }, address: '10.0.0.1' }
  const address = { apiVersion: `${GROUP}/v1beta2`, kind: 'IPAddress', metadata: { name: 'web' }, spec }
  expect(IPAddress.convert(address, `${GROUP}/v1alpha1`).spec).toEqual({ ...spec, prefix: 0 })
  expect(IPAddress.convert({ ...address, apiVersion: `${GROUP}/v1beta1` }, `${GROUP}/v1beta2`).spec).toEqual({
    ...spec,
    prefix: 0,
  })
})

describe('what cannot be converted', () => {
  test('to its own version it is the object itself', () => {
    const hub = claim('v1beta2', {})
    expect(to(hub, 'v1beta2')).toBe(hub)
  })

  test.each([
    ['an unknown version', claim('v1beta2', {}), `${GROUP}/v9`],
    ['a version of another group', claim('v1beta2', {}), 'example.com/v1beta1'],
    ['an object of an unknown version', claim('v9', {}), `${GROUP}/v1beta2`],
    ['another kind', { ...claim('v1beta2', {}), kind: 'IPAddressClaimList' }, `${GROUP}/v1beta1`],
    ['no object', null, `${GROUP}/v1beta1`],
  ])('is refused: %s', (_, object, apiVersion) => {
    expect(() => IPAddressClaim.convert(object, apiVersion)).toThrow(
      expect.objectContaining({ code: 'OBJECT_KIND_MISMATCH' }),
    )
  })
})

describe('a claim that has the label of its Cluster, and not the field', () => {
  const poolRef = { apiGroup: 'g', kind: 'Pool', name: 'p' }
  const hub = (more: object = {}, spec: object = {}) => ({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    metadata: { name: 'web', labels: { 'cluster.x-k8s.io/cluster-name': 'blue' } },
    spec: { poolRef, ...spec },
    ...more,
  })
  const back = (claim: object) => IPAddressClaim.convert(claim, 'ipam.cluster.x-k8s.io/v1beta2')
  const old = (claim: object) => IPAddressClaim.convert(claim, 'ipam.cluster.x-k8s.io/v1alpha1')
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'R',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }

  test.each([{}, { status: { addressRef: { name: 'a' } } }, { status: { conditions: [condition] } }])(
    'comes back from v1alpha1 without it: %j',
    (more) => {
      const claim = hub(more)
      expect(back(old(claim))).toEqual(claim)
      expect(back(old(back(old(claim))))).toEqual(claim)
    },
  )

  test('so that an edit by an old client is not refused', () => {
    const claim = hub()
    const read = old(claim)
    const edited = { ...read, metadata: { ...read.metadata, finalizers: ['example.com/a'] } }
    expect(admitIPAddressClaim({ operation: 'UPDATE', object: edited, oldObject: claim })).toMatchObject({
      allowed: true,
    })
    const relabelled = { ...read, metadata: { ...read.metadata, labels: { 'cluster.x-k8s.io/cluster-name': 'red' } } }
    expect(admitIPAddressClaim({ operation: 'UPDATE', object: relabelled, oldObject: claim })).toMatchObject({
      allowed: true,
    })
  })

  test('one that an old client creates gets the field, as upstream', () => {
    const created = { ...hub(), apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1' }
    expect(back(created).spec).toMatchObject({ clusterName: 'blue' })
    const named = hub({}, { clusterName: 'blue' })
    expect(back(old(named))).toEqual(named)
  })
})
