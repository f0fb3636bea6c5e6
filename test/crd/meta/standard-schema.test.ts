import * as ClusterApi from 'ipam-kit/crd/cluster-api'
import * as Core from 'ipam-kit/crd/core'
import * as InCluster from 'ipam-kit/crd/in-cluster'
import * as IpamKit from 'ipam-kit/crd/ipam-kit'
import * as IpamClaims from 'ipam-kit/crd/ipamclaims'
import * as KubeVirt from 'ipam-kit/crd/kubevirt'
import type { KubeObject, Model } from 'ipam-kit/crd/meta'
import * as Metal3 from 'ipam-kit/crd/metal3'
import * as Multinet from 'ipam-kit/crd/multinet'
import * as Networking from 'ipam-kit/crd/networking'
import * as NodeIpam from 'ipam-kit/crd/node-ipam'
import * as OpenStack from 'ipam-kit/crd/openstack'
import * as Ovn from 'ipam-kit/crd/ovn'
import * as Whereabouts from 'ipam-kit/crd/whereabouts'
import { describe, expect, test } from 'vitest'

const { InClusterIPPool } = InCluster
const pool = {
  apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
  kind: 'InClusterIPPool',
  metadata: { name: 'pool', namespace: 'default' },
  spec: { addresses: ['10.0.0.0/24'], prefix: 24 },
}

function isModel(value: unknown): value is Model<KubeObject> {
  return typeof value === 'object' && value !== null && 'info' in value && 'safeParse' in value
}

const entries = [
  ClusterApi,
  Core,
  InCluster,
  IpamKit,
  Metal3,
  Networking,
  NodeIpam,
  OpenStack,
  Multinet,
  IpamClaims,
  KubeVirt,
  Ovn,
  Whereabouts,
]
const models = entries.flatMap((entry) => Object.values(entry as object).filter(isModel))

test.each(models.map((model) => [model.info.kind, model] as const))('%s is a Standard Schema', (_, model) => {
  const { version, vendor, validate } = model['~standard']
  expect([version, vendor]).toEqual([1, 'ipam-kit'])
  for (const value of [undefined, null, 7, 'text', [], {}]) {
    expect(validate(value)).toEqual({ issues: [{ message: expect.stringContaining(model.info.kind) }] })
  }
})

describe('a model where a Standard Schema is due', () => {
  test('accepts and refuses, in a library that knows the standard only', () => {
    expect(pool).toEqual(expect.schemaMatching(InClusterIPPool))
    expect({ ...pool, spec: {} }).not.toEqual(expect.schemaMatching(InClusterIPPool))
  })

  test('answers the object that parse answers', () => {
    expect(InClusterIPPool['~standard'].validate(pool)).toEqual({ value: InClusterIPPool.parse(pool) })
    const old = { ...pool, apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1' }
    expect(InClusterIPPool['~standard'].validate(old)).toEqual({ value: InClusterIPPool.parse(old) })
  })

  test('gives each problem with the path of its field, as a list', () => {
    const labels = { 'example.com/a.b': 7 }
    const wrong = { ...pool, metadata: { name: 'pool', labels }, spec: { addresses: ['10.0.0.0/24', 7], prefix: 24 } }
    const { issues } = InClusterIPPool['~standard'].validate(wrong)
    expect(issues?.map(({ path }) => path)).toEqual([
      ['metadata', 'labels', 'example.com/a.b'],
      ['spec', 'addresses', 1],
    ])
  })

  test('says what an older version cannot be converted for', () => {
    const old = { ...pool, apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1', spec: { subnet: '10.0.0.0' } }
    const read = InClusterIPPool.safeParse(old)
    if (read.ok || read.failure.code !== 'INVALID_OBJECT') return expect.unreachable()
    const messages = read.failure.context.issues.map(({ path, message }) => `${path}: ${message}`)
    expect(InClusterIPPool['~standard'].validate(old)).toEqual({ issues: messages.map((message) => ({ message })) })
  })
})
