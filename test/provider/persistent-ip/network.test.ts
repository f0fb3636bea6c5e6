import { Prefix } from 'ipam-kit/cidr'
import { networkOfDefinitions, readNetwork, readUserDefinedNetwork } from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { definitionOf, nadOf, ovn, ruleOf } from './definitions.js'

describe('the configuration of a network', () => {
  test('says where addresses come from, and whether claims hold them', () => {
    const of = (rest: object) => {
      const { addressing, claims } = definitionOf(readNetwork(nadOf(ovn(rest))))
      return [addressing, claims]
    }
    const persistent = { allowPersistentIPs: true }
    expect(of(persistent)).toEqual(['subnets', 'honoured'])
    expect(of({})).toEqual(['subnets', 'notAllowed'])
    expect(of({ ...persistent, subnets: '' })).toEqual(['none', 'noSubnets'])
    expect(of({ ...persistent, topology: 'localnet' })).toEqual(['subnets', 'honoured'])
    expect(of({ ...persistent, excludeSubnets: '10.0.0.0/25,10.0.0.128/25' })).toEqual(['subnets', 'fullyExcluded'])
    expect(of({ topology: 'layer3', subnets: '10.0.0.0/16' })).toEqual(['subnets', 'notAllowed'])
    const lease = { ...persistent, topology: 'localnet', subnets: '', ipam: { type: 'dhcp' } }
    expect(of(lease)).toEqual(['dhcp', 'dhcp'])
    expect(of({ ...persistent, topology: '' })).toEqual(['subnets', 'defaultNetwork'])
  })

  test('of another plugin has a name, a role and subnets, and its own fields are passed over', () => {
    const macvlan = { name: 'lab', type: 'macvlan', allowPersistentIPs: true, topology: 7, mtu: 'x' }
    expect(definitionOf(readNetwork(nadOf(macvlan)))).toEqual({
      nad: 'ns1/nad1',
      name: 'lab',
      plugin: 'macvlan',
      role: 'secondary',
      addressing: 'plugin',
      allowPersistentIPs: true,
      claims: 'honoured',
      subnets: [],
      excludes: [],
      reserved: [],
      infrastructure: [],
    })
    const read = readNetwork(nadOf(macvlan), { plugins: 'ovn' })
    expect(read).toMatchObject({ failure: { code: 'INVALID_NETWORK', context: { rule: 'plugin' } } })
    const chain = { name: 'lab', allowPersistentIPs: true, plugins: [{ type: 'macvlan' }, { type: 'tuning' }] }
    expect(definitionOf(readNetwork(nadOf(chain)))).toMatchObject({ plugin: 'macvlan', claims: 'honoured' })
  })

  test.each<readonly [rule: string, config: unknown]>([
    ['json', ''],
    ['json', '{"name":"a","name":"b"}'],
    ['json', '[]'],
    ['json', 'null'],
    ['type', ovn({ subnets: ['10.0.0.0/24'] })],
    ['type', ovn({ ipam: 'x' })],
    ['type', ovn({ allowPersistentIPs: 'true' })],
    ['type', ovn({ mtu: -1 })],
    ['chain', { name: 'lab', plugins: [] }],
    ['chain', { name: 'lab', plugins: { type: 'macvlan' } }],
    ['chain', { name: 'lab', plugins: [ovn(), { type: 'tuning' }] }],
    ['chain', { ...ovn(), plugins: [ovn()] }],
    ['nadName', ovn({ netAttachDefName: '' })],
    ['nadName', ovn({ netAttachDefName: 'ns2/nad1' })],
    ['name', ovn({ name: '' })],
    ['name', ovn({ name: 'default' })],
    ['name', ovn({ name: 'ovn-kubernetes' })],
    ['topology', ovn({ topology: 'layer4' })],
    ['role', ovn({ role: 'Primary' })],
    ['role', ovn({ topology: 'localnet', role: 'primary' })],
    ['persistentIPs', ovn({ topology: 'layer3', allowPersistentIPs: true })],
    ['ipam', ovn({ ipam: { type: 'whereabouts' } })],
    ['ipam', ovn({ ipam: { type: 'dhcp' } })],
    ['field', ovn({ topology: 'localnet', joinSubnet: '100.66.0.0/16' })],
    ['field', ovn({ topology: 'localnet', reservedSubnets: '10.0.0.0/28' })],
    ['field', ovn({ topology: 'layer3', infrastructureSubnets: '10.0.0.0/28' })],
    ['field', ovn({ topology: 'layer3', defaultGatewayIPs: '10.0.0.1' })],
    ['subnets', ovn({ role: 'primary', subnets: '' })],
    ['subnets', ovn({ subnets: '10.0.0.0' })],
    ['subnets', ovn({ subnets: '10.0.0.0/24/28' })],
    ['subnets', ovn({ subnets: '10.0.0.0/24,' })],
    ['subnets', ovn({ subnets: '10.0.0.0/33' })],
    ['subnets', ovn({ excludeSubnets: '10.0.0.0/28,' })],
    ['subnets', { name: 'lab', type: 'macvlan', subnets: '10.0.0.0' }],
    ['subnets', ovn({ topology: 'layer3', subnets: '10.0.0.0/24' })],
    ['subnets', ovn({ topology: 'layer3', subnets: '10.0.0.0/16/33' })],
    ['subnets', ovn({ topology: 'layer3', subnets: 'fd00::/48/63' })],
    ['containment', ovn({ excludeSubnets: '10.0.1.0/28' })],
    ['containment', ovn({ reservedSubnets: '10.0.0.0/23' })],
    ['containment', ovn({ infrastructureSubnets: 'fd00::/64' })],
    ['overlap', ovn({ subnets: '10.0.0.0/24, 10.0.0.128/25' })],
  ])('that breaks the rule %s is refused: %j', (rule, config) => {
    expect(ruleOf(config)).toBe(rule)
  })

  test.each([
    ['10.0.0.0/16,10.1.0.0/24,fd00::/64,10.0.5.0/24', '10.0.5.0/24 10.0.0.0/16'],
    ['10.9.0.0/24,10.1.0.0/24,10.1.0.0/24,10.9.0.0/25', '10.9.0.0/25 10.9.0.0/24'],
    ['10.2.0.0/24,10.1.0.0/25,10.0.0.0/24,10.1.0.0/24', '10.1.0.0/24 10.1.0.0/25'],
  ])('names the first two subnets of %s that overlap', (subnets, pair) => {
    const read = readNetwork(nadOf(ovn({ subnets })))
    const [later, first] = pair.split(' ')
    expect(read.ok || read.failure.context.problem).toContain(`"${later}" overlaps user defined subnet "${first}"`)
  })

  test('divides the subnets of layer3 among Nodes', () => {
    const { subnets } = definitionOf(
      readNetwork(nadOf(ovn({ topology: 'layer3', subnets: '10.1.2.3/16/28,fd00::/48' }))),
    )
    expect(subnets.map(({ prefix, nodeLength }) => [Prefix.format(prefix), nodeLength])).toEqual([
      ['10.1.0.0/16', 28],
      ['fd00::/48', 64],
    ])
  })
})

describe('a user defined network', () => {
  const read = (topology: string, config: object, kind = 'UserDefinedNetwork', namespace?: string) => {
    const network = { topology, [topology.toLowerCase()]: config }
    const spec = kind === 'UserDefinedNetwork' ? network : { network }
    const udn = { apiVersion: 'k8s.ovn.org/v1', kind, metadata: { name: 'blue', namespace: 'a' }, spec }
    return readUserDefinedNetwork(udn as never, { namespace })
  }
  const ruleIn = (topology: string, config: object) => {
    const found = read(topology, config)
    return found.ok ? undefined : found.failure.context.rule
  }
  const primary = { role: 'Primary', subnets: ['10.0.0.0/24'] }

  test('has the name and the fields of its NetworkAttachmentDefinition', () => {
    const config = { ...primary, mtu: 1500, ipam: { lifecycle: 'Persistent' } }
    expect(definitionOf(read('Layer2', config))).toMatchObject({
      nad: 'a/blue',
      name: 'a_blue',
      role: 'primary',
      claims: 'honoured',
      mtu: 1500,
    })
    const cluster = read('Layer2', config, 'ClusterUserDefinedNetwork', 'b')
    expect(definitionOf(cluster)).toMatchObject({ nad: 'b/blue', name: 'cluster_udn_blue' })
  })

  test('with DHCP or an external IPAM is known, and its addresses are not allocated here', () => {
    const lease = { role: 'Secondary', physicalNetworkName: 'p', ipam: { mode: 'DHCP' } }
    expect(definitionOf(read('Localnet', lease))).toMatchObject({ addressing: 'dhcp', claims: 'dhcp' })
    const external = { role: 'Primary', ipam: { mode: 'External' } }
    expect(definitionOf(read('Layer2', external))).toMatchObject({ addressing: 'external', claims: 'external' })
  })

  test.each<readonly [rule: string, topology: string, config: object]>([
    ['role', 'Localnet', { ...primary, physicalNetworkName: 'p' }],
    ['field', 'Localnet', { ...primary, role: 'Secondary' }],
    ['field', 'Localnet', { ...primary, role: 'Secondary', physicalNetworkName: 'p'.repeat(254) }],
    ['persistentIPs', 'Layer2', { ...primary, ipam: { mode: 'Disabled', lifecycle: 'Persistent' } }],
    ['persistentIPs', 'Layer2', { ...primary, ipam: { mode: 'External', lifecycle: 'Persistent' } }],
    ['ipam', 'Layer2', { role: 'Secondary', ipam: { mode: 'DHCP' } }],
    ['ipam', 'Layer2', { role: 'Secondary', ipam: { mode: 'External' } }],
    ['subnets', 'Layer2', { role: 'Secondary' }],
    ['subnets', 'Layer2', { ...primary, ipam: { mode: 'Disabled' } }],
    ['subnets', 'Layer2', { role: 'Primary', ipam: { mode: 'Disabled' } }],
    [
      'subnets',
      'Localnet',
      { role: 'Secondary', physicalNetworkName: 'p', ipam: { mode: 'DHCP' }, excludeSubnets: ['x'] },
    ],
    ['topology', 'Layer4', primary],
  ])('that breaks the rule %s is refused: %s %j', (rule, topology, config) => {
    expect(ruleIn(topology, config)).toBe(rule)
  })

  test('that is persistent breaks a rule where the cluster has the feature off', () => {
    const layer2 = { ...primary, ipam: { lifecycle: 'Persistent' } }
    const udn = (spec: object) =>
      ({
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'UserDefinedNetwork',
        metadata: { name: 'blue', namespace: 'a' },
        spec,
      }) as never
    const off = (config: object) =>
      readUserDefinedNetwork(udn({ topology: 'Layer2', layer2: config }), { persistentIPs: false })
    expect(off(layer2)).toMatchObject({ failure: { context: { rule: 'persistentIPs' } } })
    expect(off(primary).ok).toBe(true)
  })

  test('without the configuration of its topology is refused', () => {
    const udn = { apiVersion: 'k8s.ovn.org/v1', kind: 'UserDefinedNetwork', metadata: { name: 'blue' } }
    const found = readUserDefinedNetwork({ ...udn, spec: { topology: 'Layer2' } } as never)
    expect(found).toMatchObject({ failure: { context: { rule: 'topology' } } })
  })
})

describe('a network with several definitions', () => {
  const named = (nad: string, rest: object = {}) =>
    definitionOf(readNetwork(nadOf(ovn({ netAttachDefName: nad, ...rest }), nad)))

  test('is as the oldest says, and the others that disagree are listed', () => {
    const network = networkOfDefinitions([
      { definition: named('b/net', { subnets: '10.0.1.0/24' }) },
      { definition: named('c/net', { allowPersistentIPs: true, mtu: 1400 }), createdAt: '2026-03-01T00:00:00Z' },
      { definition: named('d/net'), createdAt: '2026-01-01T00:00:00Z' },
      { definition: named('e/net'), createdAt: '2026-01-01T00:00:00Z' },
    ])
    expect(network.definition.nad).toBe('d/net')
    expect([...network.nads]).toEqual(['d/net', 'e/net', 'c/net', 'b/net'])
    expect(network.disagreeing).toEqual([
      { nad: 'c/net', members: ['allowPersistentIPs', 'mtu'] },
      { nad: 'b/net', members: ['subnets'] },
    ])
  })

  test('agrees where subnets are in another order', () => {
    const one = named('a/net', { subnets: '10.0.0.0/24,fd00::/64' })
    const other = named('b/net', { subnets: 'fd00::/64, 10.0.0.9/24' })
    expect(networkOfDefinitions([{ definition: one }, { definition: other }]).disagreeing).toEqual([])
  })

  test('is never made of none, or of two names', () => {
    expect(() => networkOfDefinitions([])).toThrow('expected at least one definition')
    const other = named('b/net', { name: 'other' })
    expect(() => networkOfDefinitions([{ definition: named('a/net') }, { definition: other }])).toThrow(
      'expected definitions of the network lab',
    )
  })
})
