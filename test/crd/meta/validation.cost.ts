import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPPool } from 'ipam-kit/crd/metal3'
import { expect, test } from 'vitest'
import { msOf } from '../../setup/cost.js'

test('a text of any length is answered at once', () => {
  const apiGroup = 'ipam.cluster.x-k8s.io'
  const claim = (name: string) => ({
    apiVersion: `${apiGroup}/v1beta2`,
    kind: 'IPAddressClaim',
    spec: { poolRef: { apiGroup, kind: 'InClusterIPPool', name } },
  })
  const gateway = `1${':1'.repeat(500_000)}`
  const pool = { apiVersion: 'ipam.metal3.io/v1alpha1', kind: 'IPPool', spec: { namePrefix: 'a', gateway } }
  const ms = msOf(() => {
    expect(IPAddressClaim.validate(claim(`${'a'.repeat(1_000_000)}!`))).toHaveLength(1)
    expect(IPAddressClaim.validate(claim(`${'a'.repeat(4000)}!`))).toHaveLength(2)
    expect(IPPool.validate(pool)).toMatchObject([{ path: 'spec.gateway' }])
  })
  expect(ms).toBeLessThan(2000)
})
