import { Machine } from 'ipam-kit/crd/cluster-api'
import { describe, expect, test } from 'vitest'

const metadata = { name: 'web-0', namespace: 'default', labels: { 'cluster.x-k8s.io/cluster-name': 'blue' } }

const v1beta2 = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Machine',
  metadata,
  spec: {
    clusterName: 'blue',
    version: 'v1.36.0',
    failureDomain: 'a',
    providerID: 'vsphere://1',
    bootstrap: { dataSecretName: 'web-0' },
    infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'VSphereMachine', name: 'web-0' },
  },
  status: {
    phase: 'Running',
    addresses: [{ type: 'InternalIP', address: '10.0.0.5' }],
    nodeRef: { name: 'node-0' },
    conditions: [
      { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Ready', message: '' },
    ],
  },
}

describe('a Machine', () => {
  test('of v1beta2 is read, with the fields that the schema does not define', () => {
    expect(Machine.parse(v1beta2)).toEqual(v1beta2)
  })

  test('of v1beta1 is read as v1beta2: references by group, the older conditions aside', () => {
    const old = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
    const machine = Machine.parse({
      ...v1beta2,
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      spec: {
        ...v1beta2.spec,
        infrastructureRef: {
          apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
          kind: 'VSphereMachine',
          name: 'web-0',
          namespace: 'default',
          uid: 'u',
        },
      },
      status: {
        ...v1beta2.status,
        nodeRef: { apiVersion: 'v1', kind: 'Node', name: 'node-0', uid: 'n' },
        conditions: old,
        v1beta2: { conditions: v1beta2.status.conditions },
      },
    })
    expect(machine.apiVersion).toBe('cluster.x-k8s.io/v1beta2')
    expect(machine.spec).toEqual(v1beta2.spec)
    expect(machine.status).toEqual({ ...v1beta2.status, deprecated: { v1beta1: { conditions: old } } })
  })

  test('may have no more than its cluster', () => {
    for (const version of ['v1beta1', 'v1beta2']) {
      const bare = {
        apiVersion: `cluster.x-k8s.io/${version}`,
        kind: 'Machine',
        metadata,
        spec: { clusterName: 'blue' },
      }
      expect(Machine.parse(bare).spec).toEqual({ clusterName: 'blue' })
    }
  })

  test.each([
    ['no cluster', { ...v1beta2, spec: { ...v1beta2.spec, clusterName: '' } }, 'spec.clusterName'],
    ['no spec', { ...v1beta2, spec: undefined }, 'spec'],
    [
      'a reference without a group',
      {
        ...v1beta2,
        apiVersion: 'cluster.x-k8s.io/v1beta1',
        spec: { clusterName: 'b', infrastructureRef: { kind: 'K', name: 'n' } },
      },
      'spec.infrastructureRef.apiGroup',
    ],
  ])('with %s is refused', (_, json, path) => {
    const read = Machine.safeParse(json)
    expect(read.ok).toBe(false)
    expect(JSON.stringify(read)).toContain(path)
  })
})
