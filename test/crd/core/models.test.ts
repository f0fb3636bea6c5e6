import { Namespace, Node, Pod, Service, StatefulSet } from 'ipam-kit/crd/core'
import type { KubeObject, Model } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { describe, expect, test } from 'vitest'

const objects: readonly [Model<KubeObject>, object][] = [
  [
    Node,
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', labels: { 'kubernetes.io/os': 'linux' }, managedFields: [{ manager: 'kubelet' }] },
      spec: {
        podCIDR: '10.0.0.0/24',
        podCIDRs: ['10.0.0.0/24', 'fd00::/64'],
        providerID: 'aws:///a/i-1',
        taints: [{ key: 'k', effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' }],
        configSource: { configMap: { name: 'x' } },
      },
      status: {
        addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
        conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' }],
        allocatable: { cpu: '8' },
      },
    },
  ],
  [
    Pod,
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'd', annotations: { 'k8s.v1.cni.cncf.io/networks': 'a' } },
      spec: { nodeName: 'n', hostNetwork: false, containers: [{ name: 'c', image: 'i' }] },
      status: {
        phase: 'Running',
        podIP: '10.0.0.1',
        podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
        qosClass: 'Burstable',
      },
    },
  ],
  [
    Namespace,
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'd' },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active', conditions: [] },
    },
  ],
  [
    Service,
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's', namespace: 'd', uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' },
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.96.0.1',
        clusterIPs: ['10.96.0.1', 'fd00::1'],
        ipFamilies: ['IPv4', 'IPv6'],
        ipFamilyPolicy: 'PreferDualStack',
        ports: [{ port: 80, targetPort: 'http' }],
      },
      status: { loadBalancer: {} },
    },
  ],
  [
    StatefulSet,
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'web', namespace: 'd' },
      spec: { replicas: 3, ordinals: { start: 1 }, serviceName: 'web', template: { spec: {} } },
      status: { replicas: 3 },
    },
  ],
]

describe.each(objects)('%#', (model, object) => {
  test('fields that are not known pass through', () => {
    expect(model.parse(object)).toEqual(object)
  })

  test('another kind, another version and mistyped fields are refused', () => {
    expect(model.safeParse({ ...object, apiVersion: 'v2' })).toMatchObject({
      failure: { code: 'OBJECT_KIND_MISMATCH' },
    })
    expect(model.safeParse({ ...object, kind: 'Other' })).toMatchObject({ failure: { code: 'OBJECT_KIND_MISMATCH' } })
    for (const bad of [
      { spec: { clusterIPs: 1, replicas: 'x' }, status: { phase: 1, addresses: 'x' } },
      { metadata: {} },
      { metadata: { name: 1 } },
    ]) {
      expect(model.safeParse({ ...object, ...bad })).toMatchObject({ failure: { code: 'INVALID_OBJECT' } })
    }
  })
})

test('a Node, a Pod and a Service that say nothing of themselves have an empty spec', () => {
  expect(Node.parse({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }).spec).toEqual({})
  expect(Pod.parse({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }).spec).toEqual({})
  expect(Service.parse({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' } }).spec).toEqual({})
})

test('a node selector is read as a field of another kind', () => {
  const selector = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'], x: 1 }] }] }
  const read = (nodeSelector: object) =>
    ClusterCIDR.safeParse({
      apiVersion: 'networking.x-k8s.io/v1',
      kind: 'ClusterCIDR',
      metadata: { name: 'c' },
      spec: { nodeSelector, perNodeHostBits: 8 },
    })
  expect(read(selector)).toMatchObject({ ok: true, value: { spec: { nodeSelector: selector } } })
  // CRDs have a text there, and so API servers store it
  const unknown = { nodeSelectorTerms: [{ matchFields: [{ key: 'a', operator: 'Is' }] }] }
  expect(read(unknown)).toMatchObject({ ok: true, value: { spec: { nodeSelector: unknown } } })
  expect(read({ nodeSelectorTerms: [{ matchFields: [{ key: 'a' }] }] }).ok).toBe(false)
  expect(read({}).ok).toBe(false)
})
