import { Address, Prefix } from 'ipam-kit/cidr'
import { readCniRequest } from 'ipam-kit/cni'
import { unwrap } from 'ipam-kit/errors'
import { type ReadConfigOptions, readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { describe, expect, test } from 'vitest'
import { readJson } from '../../../src/cni/json.js'

const conf = (ipam: object, rest: object = {}) => ({
  cniVersion: '1.0.0',
  name: 'blue',
  type: 'macvlan',
  ipam: { type: 'whereabouts', ...ipam },
  ...rest,
})

const KUBECONFIG = { kubernetes: { kubeconfig: '/k' } }

const read = (ipam: object, options?: ReadConfigOptions) => unwrap(readWhereaboutsConfig(conf(ipam), options))

function issuesOf(input: string | object, options?: ReadConfigOptions): readonly string[] {
  const result = readWhereaboutsConfig(input, options)
  if (result.ok) return []
  return result.failure.context.issues.map(({ path, message }) => `${path}: ${message}`)
}

const pathsOf = (ipam: object, options?: ReadConfigOptions) =>
  issuesOf(conf(ipam), options).map((issue) => issue.slice(0, issue.indexOf(':')))

function textOf(input: string | object, options: ReadConfigOptions = {}): string {
  const result = readWhereaboutsConfig(input, { rules: 'upstream', ...options })
  return result.ok ? 'accepted' : result.failure.message
}

describe('a configuration', () => {
  test('has range before ipRanges, each with its own bounds and excludes', () => {
    const { ranges } = read({
      range: '10.0.0.7/24',
      range_start: '10.0.0.10',
      exclude: ['10.0.0.0/28'],
      ipRanges: [{ range: 'fd00::5-fd00::9/64', exclude: ['fd00::6'] }],
    })
    expect(ranges.map(({ prefix }) => Prefix.format(prefix))).toEqual(['10.0.0.0/24', 'fd00::/64'])
    expect(ranges[0]).toMatchObject({ start: Address.parse('10.0.0.10'), exclude: ['10.0.0.0/28'] })
    expect(ranges[0]?.end).toBeUndefined()
    expect(ranges[1]).toMatchObject({
      start: Address.parse('fd00::5'),
      end: Address.parse('fd00::9'),
      exclude: ['fd00::6'],
    })
  })

  test('is filled by the flat file; inline values count first, and enable_overlapping_ranges is not filled', () => {
    const flatFile = {
      gateway: '10.0.0.254',
      log_level: 'debug',
      enable_overlapping_ranges: false,
      kubernetes: { kubeconfig: '/k', k8s_api_root: 'https://a' },
    }
    const config = read({ range: '10.0.0.0/24', gateway: '10.0.0.1', kubernetes: { kubeconfig: '/own' } }, { flatFile })
    expect(config).toMatchObject({
      logLevel: 'debug',
      overlappingRanges: true,
      kubeconfig: '/own',
      k8sApiRoot: 'https://a',
    })
    expect(config.gateway).toEqual(Address.parse('10.0.0.1'))
    expect(read({}, { flatFile: JSON.stringify({ gateway: '10.0.0.9' }) }).gateway).toEqual(Address.parse('10.0.0.9'))
  })

  test('of a list is that of its first plugin whose IPAM is whereabouts', () => {
    const plugins = [
      { type: 'a', ipam: { type: 'dhcp' } },
      { type: 'b', ipam: { type: 'whereabouts', range: '10.0.0.0/24' } },
    ]
    const config = unwrap(readWhereaboutsConfig({ cniVersion: '1.1.0', name: 'blue', plugins }))
    expect(config).toMatchObject({ cniVersion: '1.1.0', name: 'blue', ranges: [{ exclude: [] }] })
  })

  test('has routes and the settings of the resolver', () => {
    const [routes, dns] = [[{ dst: '0.0.0.0/0', gw: '10.0.0.1', mtu: 1400 }], { nameservers: ['10.0.0.53'] }]
    const config = read({ range: '10.0.0.0/24', routes, dns })
    expect(config.routes).toEqual([{ dst: Prefix.parse('0.0.0.0/0'), gw: Address.parse('10.0.0.1'), mtu: 1400 }])
    expect(config.dns).toEqual({ nameservers: ['10.0.0.53'] })
    expect(pathsOf({ routes: [{ gw: 'x' }] })).toEqual(['ipam.routes[0].dst', 'ipam.routes[0].gw'])
  })

  test('asks for addresses by runtimeConfig, args.cni and IP; an IP of no range is static', () => {
    const input = conf(
      { range: '10.0.0.0/24' },
      {
        runtimeConfig: { ips: ['10.0.0.50/24'] },
        args: { cni: { ips: ['10.0.0.50', '10.0.0.51'] } },
      },
    )
    const args = { IP: '10.0.0.52,172.16.0.1/16', GATEWAY: '172.16.0.254' }
    const { asked, addresses } = unwrap(readWhereaboutsConfig(input, { args }))
    expect(asked.map(({ address, path }) => `${path} ${Address.format(address)}`)).toEqual([
      'runtimeConfig.ips[0] 10.0.0.50',
      'args.cni.ips[1] 10.0.0.51',
      'args.IP 10.0.0.52',
    ])
    expect(addresses).toEqual([{ prefix: Prefix.parse('172.16.0.1/16'), gateway: Address.parse('172.16.0.254') }])
  })

  test('names its claim in the selection, or as pull request 737 proposes', () => {
    const selected = conf(
      { range: '10.0.0.0/24', IPAMClaimReference: 'x' },
      { args: { cni: { 'ipam-claim-reference': 'vm-1' } } },
    )
    expect(unwrap(readWhereaboutsConfig(selected)).claim).toEqual({ name: 'vm-1' })
    expect(read({ IPAMClaimReference: 'vm-2', ipamClaimNamespace: 'lab' }).claim).toEqual({
      name: 'vm-2',
      namespace: 'lab',
    })
  })
})

describe('bad input', () => {
  test.each<[string, object, readonly string[]]>([
    ['a start outside', { range: '10.0.0.0/24', range_start: '10.0.1.5' }, ['ipam.range_start']],
    ['a start that is no address', { range: '10.0.0.0/24', range_start: 'junk' }, ['ipam.range_start']],
    ['an end before the start', { range: '10.0.0.9-10.0.0.5/24' }, ['ipam.range_end']],
    ['a start of the other family', { range: 'fd00::/64', range_start: '10.0.0.1' }, ['ipam.range_start']],
    ['an exclude that is none', { range: '10.0.0.0/24', exclude: ['10.0.0.0/30', 'banana'] }, ['ipam.exclude[1]']],
    ['an exclude larger than the range', { range: '10.0.0.0/24', exclude: ['10.0.0.0/8'] }, ['ipam.exclude']],
    ['an exclude of the other family', { range: '10.0.0.0/24', exclude: ['fd00::/64'] }, ['ipam.exclude[0]']],
    ['a range of two addresses', { ipRanges: [{ range: '10.0.0.0/31' }] }, ['ipam.ipRanges[0].range']],
    ['a mapped range', { range: '::ffff:10.6.0.0/120' }, ['ipam.range']],
    ['leading zeros', { range: '010.0.0.0/24' }, ['ipam.range']],
    ['two families in one range', { range: '10.0.0.1-fd00::9/64' }, ['ipam.range']],
    ['a slice size that is no number', { range: '10.0.0.0/24', node_slice_size: 'abc' }, ['ipam.node_slice_size']],
    ['a slice size of /33', { range: '10.0.0.0/24', node_slice_size: '/33' }, ['ipam.node_slice_size']],
    ['a slice size of 0', { range: '10.0.0.0/24', node_slice_size: '0' }, ['ipam.node_slice_size']],
    [
      'bounds without a range',
      { range_start: '10.0.0.1', exclude: ['10.0.0.2'] },
      ['ipam.range_start', 'ipam.exclude'],
    ],
    ['a network name in capitals', { range: '10.0.0.0/24', network_name: 'Blue' }, ['ipam.network_name']],
  ])('%s is refused, and neither by upstream nor for a release unless upstream refuses it', (_, ipam, paths) => {
    expect(pathsOf(ipam)).toEqual(paths)
    const isRefusedByBoth = textOf(conf({ ...ipam, kubernetes: { kubeconfig: '/k' } })) !== 'accepted'
    expect(pathsOf(ipam, { use: 'release' })).toEqual(isRefusedByBoth ? paths : [])
  })

  test.each<[string, string | object, string]>([
    ['not JSON', '{"cniVersion"', 'input: is not JSON: unexpected end of JSON input (at position 13)'],
    ['a list', [], 'input: expected an object, got a list'],
    ['no ipam', { name: 'x' }, 'ipam: is missing'],
    ['ipam as a list', { ipam: [] }, 'ipam: expected an object, got a list'],
    ['another type', { ipam: { type: 'dhcp' } }, 'ipam.type: expected whereabouts, got dhcp'],
    ['ipRanges as an object', conf({ ipRanges: {} }), 'ipam.ipRanges: expected a list, got an object'],
    ['a flag as text', conf({ gc: 'no' }), 'ipam.gc: expected true or false, got a text'],
    [
      'a static address without length',
      conf({ addresses: [{ address: '10.0.0.1' }] }),
      'ipam.addresses[0].address: "10.0.0.1" is not a CIDR',
    ],
    [
      'an asked address outside',
      conf({ range: '10.0.0.0/24' }, { runtimeConfig: { ips: ['10.0.9.1'] } }),
      'runtimeConfig.ips[0]: "10.0.9.1" is in none of the ranges',
    ],
  ])('%s', (_, input, issue) => {
    expect(issuesOf(input)).toEqual([issue])
  })

  test.each<[string, string]>([
    ['a member twice', '{"name":"a","name":"b"}'],
    ['the same member in another spelling', '{"name":"a","\\u006eame":"b"}'],
  ])('JSON with %s is refused as by ipam-kit/cni, and read by upstream and for a release', (_, members) => {
    const input = `{"ipam":{"type":"whereabouts","range":"10.0.0.0/24"},"args":${members}}`
    const message = 'the name "name" stands twice in one object (at position 72)'
    expect(issuesOf(input)).toEqual([`input: ${message}`])
    const cni = readCniRequest({ env: { CNI_COMMAND: 'STATUS' }, stdin: input })
    expect(cni.ok ? '' : cni.failure.message).toContain(message)
    expect(issuesOf(input, { use: 'release' })).toEqual([])
    expect(issuesOf('{"ipam":{"type":"whereabouts"}}', { flatFile: members })).toEqual([
      'flatFile: the name "name" stands twice in one object (at position 12)',
    ])
  })

  test.each<[string, object, string]>([
    [
      'a claim with a space',
      conf({}, { runtimeConfig: { 'ipam-claim-reference': 'A B' } }),
      'runtimeConfig.ipam-claim-reference: "A B" must be a lowercase RFC 1123 subdomain',
    ],
    ['a claim in capitals', conf({ IPAMClaimReference: 'VM' }), 'ipam.IPAMClaimReference: "VM" must be'],
    [
      'a claim of a namespace with a slash',
      conf({ ipamclaimreference: 'vm', ipamclaimnamespace: 'a/b' }),
      'ipam.ipamclaimnamespace: "a/b" must be a lowercase RFC 1123 label',
    ],
  ])('%s is refused, and is no claim for upstream and for a release', (_, input, issue) => {
    expect(issuesOf(input)).toEqual([expect.stringContaining(issue)])
    for (const options of [{ use: 'release' }, { rules: 'upstream', flatFile: KUBECONFIG }] as const) {
      expect(unwrap(readWhereaboutsConfig(input, options)).claim).toBeUndefined()
    }
  })

  test('a network_name that is too long is named by its length', () => {
    const issues = (length: number) => issuesOf(conf({ network_name: 'a'.repeat(length) }))
    expect(issues(202)).toEqual([])
    expect(issues(300)).toEqual(['ipam.network_name: has 300 characters: names of objects have room for 202'])
    expect(issuesOf(conf({ network_name: 'Blue' }))).toEqual([
      'ipam.network_name: "Blue" cannot begin the name of an object: use a-z, 0-9, "-" and "."',
    ])
  })

  test('a gateway of CNI_ARGS is named once', () => {
    const args = { IP: '172.16.0.1/16', GATEWAY: 'x' }
    expect(issuesOf(conf({ range: '10.0.0.0/24' }), { args })).toEqual(['args.GATEWAY: "x" is not an address'])
  })

  test('leading zeros are refused with the text that has one meaning', () => {
    expect(issuesOf(conf({ range: '010.0.0.0/24' }))).toEqual([
      'ipam.range: "010.0.0.0/24" has another meaning in other software: write 10.0.0.0/24',
    ])
  })

  test('of the flat file is named as its own', () => {
    expect(issuesOf(conf({ range: '10.0.0.0/24' }), { flatFile: { gateway: 'x' } })).toEqual([
      'flatFile.gateway: "x" is not an address',
    ])
    expect(issuesOf(conf({}), { flatFile: '[]' })).toEqual(['flatFile: expected an object, got a list'])
  })
})

describe('the sentences of upstream', () => {
  const ipam = { range: '10.12.0.0/24', kubernetes: { kubeconfig: '/k' } }
  test.each<[object, string]>([
    [{ range: '10.12.0.0' }, 'invalid CIDR 10.12.0.0: invalid CIDR address: 10.12.0.0'],
    [{ range: '', ipRanges: [{}] }, 'invalid CIDR : invalid CIDR address: '],
    [{ gateway: '10.4.0' }, "couldn't parse gateway IP: 10.4.0"],
    [{ addresses: [{ address: 'x/24' }] }, 'invalid CIDR in addresses x/24: invalid CIDR address: x/24'],
    [{ range_start: 'junk', range_end: '10.0.0.1' }, 'accepted'],
    [{ exclude: ['banana'], node_slice_size: 'abc' }, 'accepted'],
    [
      { kubernetes: {} },
      "you have not configured the storage engine (looks like you're using an invalid `kubernetes.kubeconfig` parameter in your config)",
    ],
  ])('for %j', (members, sentence) => {
    expect(textOf(conf({ ...ipam, ...members }))).toBe(sentence)
  })

  test.each<[object, string]>([
    [{ range: 5 }, 'cannot unmarshal number into Go struct field Net.ipam.range of type string'],
    [
      { ipRanges: {} },
      'cannot unmarshal object into Go struct field Net.ipam.ipRanges of type []types.RangeConfiguration',
    ],
    [
      { enable_overlapping_ranges: 'x' },
      'cannot unmarshal string into Go struct field Net.ipam.enable_overlapping_ranges of type bool',
    ],
  ])('for %j of another type', (members, sentence) => {
    expect(textOf(conf({ ...ipam, ...members }))).toContain(`LoadIPAMConfig - JSON Parsing Error: json: ${sentence}`)
  })

  test('for CNI_ARGS', () => {
    expect(textOf(conf(ipam), { args: { IP: '10.4.0.78' } })).toBe(
      'invalid CIDR 10.4.0.78: invalid CIDR address: 10.4.0.78',
    )
    expect(textOf(conf(ipam), { args: { IP: '10.4.0.78/24', GATEWAY: 'x' } })).toBe('invalid gateway address: x')
    expect(
      textOf({
        ...conf({ ...ipam, addresses: [{ address: '10.1.1.1/24' }, { address: '10.1.1.2/24' }] }),
        cniVersion: '0.2.0',
      }),
    ).toBe('CNI version 0.2.0 does not support more than 1 address per family')
  })
})

describe('JSON text', () => {
  test.each([
    ['{"ipam": { asdf }}', "invalid character 'a' looking for beginning of object key string"],
    ['', 'unexpected end of JSON input'],
    ['{"a":1', 'unexpected end of JSON input'],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 2}', "invalid character '2' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{} {}', "invalid character '{' after top-level value"],
    ['[[1],[{"a":[]}],trux]', "invalid character 'x' in literal true (expecting 'e')"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['[1.x]', "invalid character 'x' after decimal point in numeric literal"],
    ['[1e+]', "invalid character ']' in exponent of numeric literal"],
    ['-', 'unexpected end of JSON input'],
    ["'", "invalid character '\\'' looking for beginning of value"],
    ['[01]', "invalid character '1' after array element"],
    ['é', "invalid character 'Ã' looking for beginning of value"],
    ['['.repeat(20_000), 'exceeded max depth'],
  ])('%#: the sentence of Go', (text, problem) => {
    expect(readJson(text).problem).toMatchObject({ problem })
  })
})

test('an item of a list that is null is named so', () => {
  const ipam = { type: 'whereabouts', range: '10.0.0.0/24', exclude: [null], ipRanges: [null] }
  const read = readWhereaboutsConfig({ name: 'lab', ipam })
  const messages = read.ok ? [] : read.failure.context.issues.map(({ message }) => message)
  expect(messages).toEqual(['expected a text, got null', 'expected an object, got null'])
})
