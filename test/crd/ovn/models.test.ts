import { crdManifest } from 'ipam-kit/crd/manifest'
import { formatFieldError } from 'ipam-kit/crd/meta'
import { ClusterUserDefinedNetwork, UserDefinedNetwork } from 'ipam-kit/crd/ovn'
import { describe, expect, test } from 'vitest'

const layer2 = {
  role: 'Primary',
  subnets: ['10.0.0.0/24', 'fd00::/64'],
  ipam: { mode: 'External', externalIPAM: { name: 'atlas' } },
}

const udn = (spec: object) => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { name: 'blue', namespace: 'a' },
  spec,
})

describe('a user defined network', () => {
  test('keeps fields that the subset does not name', () => {
    const given = udn({ topology: 'Layer2', layer2 })
    expect(UserDefinedNetwork.parse(given)).toEqual(given)
    expect(UserDefinedNetwork.warnings(given)).toEqual([])
  })

  test('of a cluster has its network one level deeper', () => {
    const given = {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: { name: 'blue' },
      spec: { namespaceSelector: { matchLabels: { team: 'a' } }, network: { topology: 'Layer2', layer2 } },
    }
    expect(ClusterUserDefinedNetwork.parse(given)).toEqual(given)
  })

  test('with a mode that is not known is refused', () => {
    const given = udn({ topology: 'Layer2', layer2: { ...layer2, ipam: { mode: 'Other' } } })
    expect(UserDefinedNetwork.safeParse(given).ok).toBe(false)
    expect(UserDefinedNetwork.validate(given).map(formatFieldError)).toEqual([
      'spec.layer2.ipam.mode: Unsupported value: "Other": supported values: "Enabled", "Disabled", "DHCP", "External"',
    ])
  })

  test('has the rule of upstream that ties Persistent to Enabled in its definition', () => {
    const text = JSON.stringify(crdManifest(UserDefinedNetwork))
    expect(text).toContain('lifecycle Persistent is only supported when ipam.mode is Enabled')
  })
})
