import { admitIPAddress, IPAddress } from 'ipam-kit/crd/cluster-api'
import { admitInClusterPool, InClusterIPPool, InClusterPrefixPool } from 'ipam-kit/crd/in-cluster'
import { answerAdmissionReview, parseAdmissionReview } from 'ipam-kit/crd/webhook'
import { describe, expect, test } from 'vitest'

const GROUP = 'ipam.cluster.x-k8s.io'
const address = {
  apiVersion: `${GROUP}/v1beta2`,
  kind: 'IPAddress',
  metadata: { name: 'web', namespace: 'lab' },
  spec: {
    claimRef: { name: 'web' },
    poolRef: { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'blue' },
    address: '10.0.0.1',
    prefix: 24,
  },
}
const pool = (kind: string, spec: object) => ({
  apiVersion: `${GROUP}/v1alpha2`,
  kind,
  metadata: { name: 'blue', namespace: 'lab' },
  spec,
})
const review = (kind: string, fields: object) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u-1',
    kind: { group: GROUP, version: 'v1beta2', kind },
    resource: { group: GROUP, version: 'v1beta2', resource: 'x' },
    name: 'web',
    namespace: 'lab',
    userInfo: { username: 'someone' },
    ...fields,
  },
})

describe('a refusal', () => {
  test('has every field error as a cause', () => {
    const object = { ...address, spec: { ...address.spec, address: 'x', prefix: -1 } }
    const request = parseAdmissionReview(review('IPAddress', { operation: 'CREATE', object, oldObject: null }))
    if (request.operation !== 'CREATE') return expect.unreachable()
    const admission = admitIPAddress({ ...request, claim: { kind: 'failed', problem: 'timeout' } })
    expect(answerAdmissionReview(request, admission)).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: 'u-1',
        allowed: false,
        status: {
          status: 'Failure',
          code: 403,
          reason: 'Forbidden',
          message:
            '[spec.address: Invalid value: "x": not a valid IP address, spec.prefix: Invalid value: -1: prefix cannot be negative, spec.claimRef: Internal error: failed to fetch claim: timeout]',
          details: {
            group: GROUP,
            kind: 'IPAddress',
            name: 'web',
            causes: [
              {
                reason: 'FieldValueInvalid',
                message: 'Invalid value: "x": not a valid IP address',
                field: 'spec.address',
              },
              {
                reason: 'FieldValueInvalid',
                message: 'Invalid value: -1: prefix cannot be negative',
                field: 'spec.prefix',
              },
              {
                reason: 'InternalError',
                message: 'Internal error: failed to fetch claim: timeout',
                field: 'spec.claimRef',
              },
            ],
          },
        },
      },
    })
  })

  test('has the reason that goes with its code', () => {
    const object = pool('InClusterIPPool', { addresses: [], prefix: 24 })
    const created = parseAdmissionReview(review('InClusterIPPool', { operation: 'CREATE', object }))
    const invalid = answerAdmissionReview(
      created,
      admitInClusterPool({ operation: 'CREATE', object: InClusterIPPool.parse(object) }),
    )
    expect(invalid.response.status).toMatchObject({ code: 422, reason: 'Invalid' })

    const deleted = parseAdmissionReview(
      review('InClusterIPPool', { operation: 'DELETE', oldObject: object, object: null }),
    )
    const inUse = [IPAddress.parse(address)]
    const held = admitInClusterPool({ operation: 'DELETE', oldObject: InClusterIPPool.parse(object), inUse })
    const { response } = answerAdmissionReview(deleted, held)
    expect(response.status).toMatchObject({ code: 400, reason: 'BadRequest', details: { causes: [] } })
  })
})

test('warnings go along with a yes', () => {
  const object = pool('InClusterPrefixPool', { prefixes: ['fd00::/64'], allocationPrefixLength: 128 })
  const request = parseAdmissionReview(review('InClusterPrefixPool', { operation: 'CREATE', object }))
  const admission = admitInClusterPool({ operation: 'CREATE', object: InClusterPrefixPool.parse(object) })
  const { response } = answerAdmissionReview(request, admission)
  expect(response).toEqual({ uid: 'u-1', allowed: true, warnings: [expect.stringContaining('=128')] })
})

describe('what is no request', () => {
  test.each<[object, string]>([
    [{ operation: 'CONNECT' }, 'request.operation'],
    [{ operation: 'CREATE' }, 'request.object'],
    [{ operation: 'CREATE', object: 'x' }, 'request.object'],
    [{ operation: 'UPDATE', object: address }, 'request.oldObject'],
    [{ operation: 'DELETE', object: address, oldObject: null }, 'request.oldObject'],
    [{ operation: 'DELETE', oldObject: address, uid: 1 }, 'request.uid'],
  ])('%j is refused for what is missing', (fields, path) => {
    expect(() => parseAdmissionReview(review('IPAddress', fields))).toThrow(
      expect.objectContaining({
        code: 'INVALID_OBJECT',
        context: expect.objectContaining({ issues: [expect.objectContaining({ path })] }),
      }),
    )
  })

  test.each([null, address, { ...review('IPAddress', {}), apiVersion: 'admission.k8s.io/v1beta1' }])(
    '%j is refused for what it is',
    (json) => {
      expect(() => parseAdmissionReview(json)).toThrow(expect.objectContaining({ code: 'OBJECT_KIND_MISMATCH' }))
    },
  )
})
