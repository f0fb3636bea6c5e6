import { ipamOfType, NetworkAttachmentDefinition, readNetworkConfig } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'

const whereabouts = { type: 'whereabouts', range: '10.0.0.0/24' }

describe('the configuration of a network', () => {
  test('of one plugin is a chain of one', () => {
    const config = { cniVersion: '1.0.0', name: 'lab', type: 'macvlan', master: 'eth0', ipam: whereabouts }
    const read = unwrap(readNetworkConfig(JSON.stringify(config)))
    expect(read).toEqual({
      cniVersion: '1.0.0',
      name: 'lab',
      isList: false,
      plugins: [{ type: 'macvlan', ipamType: 'whereabouts', ipam: whereabouts, stored: config }],
    })
    expect(ipamOfType(read, 'whereabouts')).toEqual([whereabouts])
  })

  test('of several plugins is a chain, and each can have an IPAM plugin', () => {
    const plugins = [
      { type: 'bridge', ipam: whereabouts },
      { type: 'tuning' },
      { type: 'sbr', ipam: { type: 'static' } },
    ]
    const read = unwrap(readNetworkConfig(JSON.stringify({ name: 'lab', plugins })))
    expect(read.isList).toBe(true)
    expect(read.plugins.map(({ type, ipamType }) => [type, ipamType])).toEqual([
      ['bridge', 'whereabouts'],
      ['tuning', undefined],
      ['sbr', 'static'],
    ])
    expect(ipamOfType(read, 'whereabouts')).toEqual([whereabouts])
  })

  test.each([
    { type: 'ovn-k8s-cni-overlay', topology: 'localnet', ipam: { type: 'dhcp' } },
    { type: 'macvlan', ipam: { type: 'never-heard-of' } },
    { type: 'macvlan', ipam: {} },
    { type: 'macvlan' },
    { plugins: [] },
    {},
  ])('%j is read, and has no addresses of whereabouts', (config) => {
    expect(ipamOfType(unwrap(readNetworkConfig(JSON.stringify(config))), 'whereabouts')).toEqual([])
  })

  test.each([
    ['[]', ''],
    ['{"plugins":{}}', 'plugins'],
    ['{"plugins":[{"type":"a"},{"ipam":[]}]}', 'plugins[1].ipam'],
    ['{"ipam":{"type":7}}', 'ipam.type'],
    ['{"name":5}', 'name'],
  ])('%s is refused in %j', (text, path) => {
    expect(readNetworkConfig(text)).toMatchObject({
      failure: { code: 'INVALID_OBJECT', context: { kind: 'CNI configuration', issues: [{ path }] } },
    })
  })

  test.each(['', '{', 'type: macvlan'])('%j is not JSON', (text) => {
    expect(readNetworkConfig(text)).toMatchObject({ failure: { code: 'MALFORMED_EMBEDDED_JSON' } })
  })
})

test('a NetworkAttachmentDefinition without a configuration is read', () => {
  const object = {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name: 'a' },
    spec: {},
  }
  expect(NetworkAttachmentDefinition.parse(object)).toEqual(object)
  expect(NetworkAttachmentDefinition.safeParse({ ...object, spec: { config: {} } })).toMatchObject({
    failure: { code: 'INVALID_OBJECT', context: { issues: [{ path: 'spec.config' }] } },
  })
})
