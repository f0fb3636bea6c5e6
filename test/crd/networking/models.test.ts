import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { describe, expect, test } from 'vitest'

const range = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'ServiceCIDR',
  metadata: { name: 'kubernetes', managedFields: [{ manager: 'kube-apiserver' }] },
  spec: { cidrs: ['10.96.0.0/16', 'fd00::/112'], later: true },
  status: {
    conditions: [
      // a kube-apiserver gives no reason
      { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: '', message: 'ready' },
    ],
  },
}
const address = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IPAddress',
  metadata: { name: 'fd00::a', labels: { 'ipaddress.kubernetes.io/ip-family': 'IPv6' } },
  spec: { parentRef: { group: '', resource: 'services', namespace: 'default', name: 'web', uid: 'u' } },
}

describe('ServiceCIDR and IPAddress', () => {
  test('fields that are not known pass through', () => {
    expect(ServiceCIDR.parse(range)).toEqual(range)
    expect(IPAddress.parse(address)).toEqual(address)
  })

  test('v1beta1 is read as v1, with the same fields', () => {
    const apiVersion = 'networking.k8s.io/v1beta1'
    expect(ServiceCIDR.parse({ ...range, apiVersion })).toEqual(range)
    expect(IPAddress.parse({ ...address, apiVersion })).toEqual(address)
    expect(IPAddress.safeParse({ ...address, apiVersion: 'networking.k8s.io/v1alpha1' })).toMatchObject({
      failure: { code: 'OBJECT_KIND_MISMATCH' },
    })
  })

  test('an IPAddress without a parent and CIDRs that are no texts are refused, each with its path', () => {
    expect(IPAddress.safeParse({ ...address, spec: {} })).toMatchObject({
      failure: { code: 'INVALID_OBJECT', context: { issues: [{ path: 'spec.parentRef' }] } },
    })
    expect(ServiceCIDR.safeParse({ ...range, spec: { cidrs: [1] } })).toMatchObject({
      failure: { code: 'INVALID_OBJECT', context: { issues: [{ path: 'spec.cidrs[0]' }] } },
    })
  })

  test('a ServiceCIDR without a spec has no CIDRs', () => {
    const { spec: _, ...rest } = range
    expect(ServiceCIDR.parse(rest).spec.cidrs).toEqual([])
  })
})
