import { type CniRequest, type CniRequestOptions, MAX_CNI_STDIN_BYTES, readCniRequest } from 'ipam-kit/cni'
import { isIpamError, unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'

const ENV = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: 'c1',
  CNI_NETNS: '/run/netns/x',
  CNI_IFNAME: 'net1',
  CNI_PATH: '/opt',
}
const CONFIG = { cniVersion: '1.0.0', name: 'net1', type: 'macvlan', ipam: { type: 'static' } }

interface Given {
  readonly env?: { readonly [name: string]: string | undefined }
  readonly config?: object
  readonly stdin?: string | Uint8Array
  readonly options?: CniRequestOptions
}

const read = ({ env, config, stdin, options }: Given = {}) =>
  readCniRequest({ env: { ...ENV, ...env }, stdin: stdin ?? JSON.stringify({ ...CONFIG, ...config }) }, options)

const request = <C extends CniRequest['command']>(given: Given & { readonly command?: C } = {}) =>
  unwrap(read(given)) as Extract<CniRequest, { readonly command: C }>

const failureOf = (given: Given) => {
  const result = read(given)
  return result.ok ? 'no failure' : `${result.failure.code}: ${result.failure.message}`
}

const gc = { CNI_COMMAND: 'GC', CNI_CONTAINERID: '', CNI_IFNAME: '', CNI_NETNS: '' }

describe('a request', () => {
  test('of ADD has all parts', () => {
    const args =
      'IgnoreUnknown=1;K8S_POD_NAMESPACE=office;K8S_POD_NAME=web-0;K8S_POD_UID=u1;K8S_POD_INFRA_CONTAINER_ID=c1;IP=10.0.0.5/24'
    const config = {
      runtimeConfig: { ips: ['10.0.0.5/24'] },
      args: { cni: { ips: ['10.0.0.6'] } },
      prevResult: { ips: [] },
    }
    const { config: read, args: readArgs, ...rest } = request<'ADD'>({ env: { CNI_ARGS: args }, config })
    expect(rest).toEqual({
      command: 'ADD',
      cniVersion: '1.0.0',
      containerId: 'c1',
      ifname: 'net1',
      netns: '/run/netns/x',
      path: '/opt',
    })
    expect(readArgs.pod).toEqual({ namespace: 'office', name: 'web-0', uid: 'u1', infraContainerId: 'c1' })
    expect(readArgs.values.get('IP')).toBe('10.0.0.5/24')
    expect(read).toMatchObject({
      name: 'net1',
      type: 'macvlan',
      ipam: { type: 'static' },
      runtimeConfig: config.runtimeConfig,
      args: { ips: ['10.0.0.6'] },
      prevResult: { ips: [] },
    })
    expect(read.raw).toEqual({ ...CONFIG, ...config })
  })

  test('can be bytes', () => {
    expect(request({ stdin: new TextEncoder().encode(JSON.stringify(CONFIG)) })).toEqual(request())
  })

  test('of DEL needs no namespace, no CNI_PATH and no arguments', () => {
    const env = { CNI_COMMAND: 'DEL', CNI_NETNS: undefined, CNI_PATH: undefined }
    expect(request<'DEL'>({ env })).toMatchObject({ command: 'DEL', netns: undefined, args: { pod: undefined } })
  })

  test('without a version is one of 0.1.0', () => {
    expect(request({ config: { cniVersion: '' } }).cniVersion).toBe('0.1.0')
    expect(request({ config: { cniVersion: undefined } }).cniVersion).toBe('0.1.0')
  })

  test('of STATUS has a configuration and no container', () => {
    const found = request({
      env: { CNI_COMMAND: 'STATUS', CNI_CONTAINERID: undefined },
      config: { cniVersion: '1.1.0' },
    })
    expect(Object.keys(found).sort()).toEqual(['cniVersion', 'command', 'config', 'path'])
  })

  test('takes null for a member that does not exist', () => {
    expect(request({ config: { ipam: null, runtimeConfig: null, args: null } }).command).toBe('ADD')
  })

  test('of VERSION has the versions, with and without a configuration', () => {
    const env = { CNI_COMMAND: 'VERSION' }
    const versions = ['1.0.0', '0.4.0'] as const
    const found = { command: 'VERSION', cniVersion: '1.0.0', supportedVersions: ['0.4.0', '1.0.0'] }
    expect(request({ env, stdin: '', options: { versions } })).toEqual(found)
    expect(request({ env, stdin: '{"cniVersion":"0.4.0"}', options: { versions } })).toEqual({
      ...found,
      cniVersion: '0.4.0',
    })
    expect(request({ env, stdin: '{"cniVersion":"9.9.9"}', options: { versions } })).toEqual(found)
    expect(failureOf({ env, stdin: '{' })).toMatch(/^MALFORMED_JSON/)
    expect(failureOf({ env, stdin: '[]' })).toMatch(/^INVALID_CNI_CONFIG/)
    expect(failureOf({ env, stdin: '{"cniVersion":1}' })).toMatch(/^INVALID_CNI_CONFIG/)
  })
})

describe('a wrong environment', () => {
  test.each<[string, { readonly [name: string]: string | undefined }, string]>([
    ['no command', { CNI_COMMAND: undefined }, 'CNI_COMMAND: required'],
    ['an unknown command', { CNI_COMMAND: 'add' }, 'CNI_COMMAND: unknown command "add"'],
    [
      'a command that is a member of every object',
      { CNI_COMMAND: 'toString' },
      'CNI_COMMAND: unknown command "toString"',
    ],
    ['ADD without a namespace', { CNI_NETNS: '' }, 'CNI_NETNS: required for ADD'],
    ['CHECK without a namespace', { CNI_COMMAND: 'CHECK', CNI_NETNS: '' }, 'CNI_NETNS: required for CHECK'],
    ['two that are missing', { CNI_CONTAINERID: '', CNI_IFNAME: '' }, 'CNI_CONTAINERID; CNI_IFNAME: required for ADD'],
    ['GC without a path', { ...gc, CNI_PATH: '' }, 'CNI_PATH: required for GC'],
    ['a container with a space', { CNI_CONTAINERID: 'c 1' }, 'CNI_CONTAINERID: "c 1" is not the id of a container'],
    ['a container with a path', { CNI_CONTAINERID: '../c' }, 'CNI_CONTAINERID: "../c" is not the id of a container'],
    ['an interface with a space', { CNI_IFNAME: 'net 1' }, 'CNI_IFNAME: "net 1" is not the name of an interface'],
    ['an interface with a slash', { CNI_IFNAME: 'a/b' }, 'CNI_IFNAME: "a/b" is not the name of an interface'],
    ['the interface ..', { CNI_IFNAME: '..' }, 'CNI_IFNAME: ".." is not the name of an interface'],
    ['an interface of 16 characters', { CNI_IFNAME: 'abcdefghijklmnop' }, 'is not the name of an interface'],
    ['arguments without a value', { CNI_ARGS: 'FOO' }, 'CNI_ARGS: not NAME=VALUE: "FOO"'],
    ['an empty argument', { CNI_ARGS: 'IgnoreUnknown=1;' }, 'CNI_ARGS: not NAME=VALUE: ""'],
    ['an argument with two values', { CNI_ARGS: 'IgnoreUnknown=1;A=B=C' }, 'CNI_ARGS: not NAME=VALUE: "A=B=C"'],
    ['an argument that is given twice', { CNI_ARGS: 'IgnoreUnknown=1;A=1;A=2' }, 'CNI_ARGS: "A" is given twice'],
    ['an unknown argument', { CNI_ARGS: 'FOO=1' }, 'CNI_ARGS: unknown argument "FOO", and IgnoreUnknown is not 1'],
    ['an unknown argument and 0', { CNI_ARGS: 'FOO=1;IgnoreUnknown=0' }, 'unknown argument "FOO"'],
    ['IgnoreUnknown=maybe', { CNI_ARGS: 'IgnoreUnknown=maybe' }, 'IgnoreUnknown is none of 0, 1, false and true'],
    ['a Pod without its namespace', { CNI_ARGS: 'K8S_POD_NAME=a' }, 'K8S_POD_NAME is given without K8S_POD_NAMESPACE'],
    ['a namespace without its Pod', { CNI_ARGS: 'K8S_POD_NAMESPACE=a;K8S_POD_NAME=' }, 'without K8S_POD_NAME'],
    ['a Pod with a space', { CNI_ARGS: 'K8S_POD_NAMESPACE=a;K8S_POD_NAME=b c' }, '"b c" is not the name of a Pod'],
    [
      'a namespace with a slash',
      { CNI_ARGS: 'K8S_POD_NAMESPACE=a/b;K8S_POD_NAME=b' },
      'is not the name of a namespace',
    ],
  ])('with %s is code 4', (_, env, message) => {
    expect(failureOf({ env })).toMatch(/^INVALID_CNI_ENVIRONMENT: /)
    expect(failureOf({ env })).toContain(message)
  })

  test('is told before stdin is read', () => {
    expect(failureOf({ env: { CNI_COMMAND: '' }, stdin: '{' })).toMatch(/^INVALID_CNI_ENVIRONMENT/)
  })

  test('has no arguments that the plugin knows', () => {
    expect(request({ env: { CNI_ARGS: 'IP=10.0.0.1/24' }, options: { knownArgs: ['IP'] } }).command).toBe('ADD')
  })
})

describe('a wrong configuration', () => {
  test.each<[string, Omit<Given, 'env'>, string]>([
    [
      'nothing',
      { stdin: '' },
      'MALFORMED_JSON: the network configuration is not valid JSON: unexpected end of JSON input',
    ],
    ['half of a JSON text', { stdin: '{"cniVersion":"1.0.0",' }, 'unexpected end of JSON input (at position 22)'],
    [
      'a name twice',
      { stdin: '{"name":"a","name":"b"}' },
      'the name "name" stands twice in one object (at position 12)',
    ],
    ['bytes that are not UTF-8', { stdin: new Uint8Array([0x22, 0xff, 0x22]) }, 'MALFORMED_JSON'],
    [
      'a list',
      { stdin: '[]' },
      'INVALID_CNI_CONFIG: network configuration is invalid: the configuration: expected an object, got a list',
    ],
    ['null', { stdin: 'null' }, 'expected an object, got null'],
    [
      'a list of plugins',
      { stdin: '{"name":"a","cniVersion":"1.0.0","plugins":[]}' },
      'plugins: this is a list of configurations',
    ],
    ['no name', { config: { name: undefined } }, 'name: it is missing'],
    ['an empty name', { config: { name: '' } }, 'name: it is missing'],
    ['a name with a space', { config: { name: 'a b' } }, 'name: "a b" has a character that is not allowed'],
    ['a name that is a number', { config: { name: 5 } }, 'name: expected a text, got a number'],
    ['a type that is a list', { config: { type: [] } }, 'type: expected a text, got a list'],
    ['ipam as a list', { config: { ipam: [] } }, 'ipam: expected an object, got a list'],
    ['runtimeConfig as a text', { config: { runtimeConfig: 'x' } }, 'runtimeConfig: expected an object, got a text'],
    ['args.cni as a list', { config: { args: { cni: [1] } } }, 'args.cni: expected an object, got a list'],
    ['a result that is a flag', { config: { prevResult: true } }, 'prevResult: expected an object, got a boolean'],
    ['a version that is a number', { config: { cniVersion: 1 } }, 'INVALID_CNI_CONFIG: '],
    [
      'another version',
      { config: { cniVersion: '9.9.9' } },
      'CNI_VERSION_MISMATCH: cniVersion "9.9.9": this plugin supports 0.1.0, ',
    ],
    ['a version that the plugin lacks', { options: { versions: ['0.4.0'] } }, 'this plugin supports 0.4.0'],
  ])('of %s is refused', (_, given, message) => {
    expect(failureOf(given)).toContain(message)
  })

  test.each([
    ['CHECK', '0.3.1', '0.4.0'],
    ['GC', '1.0.0', '1.1.0'],
    ['STATUS', '1.0.0', '1.1.0'],
  ])('%s is refused for version %s, and not for %s', (command, old, since) => {
    const given = (cniVersion: string) => ({
      env: { CNI_COMMAND: command },
      config: { cniVersion, 'cni.dev/valid-attachments': [] },
    })
    expect(failureOf(given(old))).toBe(`CNI_VERSION_MISMATCH: cniVersion "${old}": ${command} needs ${since} or later`)
    expect(request(given(since)).command).toBe(command)
  })

  test('of more than 4 MiB is refused, before it is parsed', () => {
    const longest = `"${'x'.repeat(MAX_CNI_STDIN_BYTES - 2)}"`
    expect(failureOf({ stdin: longest })).toMatch(/^INVALID_CNI_CONFIG/)
    const expected = 'CNI_INPUT_LIMIT_EXCEEDED: the network configuration on stdin is longer than 4194304 bytes'
    expect(failureOf({ stdin: `${longest} ` })).toBe(expected)
    expect(failureOf({ stdin: new Uint8Array(10_000_000) })).toBe(expected)
    // fewer characters, and more bytes
    expect(failureOf({ stdin: `"${'ä'.repeat(3_000_000)}"` })).toBe(expected)
  })
})

describe('the attachments of GC', () => {
  const a = { containerID: 'c1', ifname: 'net1' }
  const b = { containerID: 'c2', ifname: 'net1' }
  const given = (config: object) => ({ env: gc, config: { cniVersion: '1.1.0', ...config } })
  const listed = (config: object) =>
    request<'GC'>(given(config)).validAttachments.map(({ containerId, ifname }) => `${containerId}/${ifname}`)

  test('are those of either list', () => {
    expect(listed({ 'cni.dev/valid-attachments': [a] })).toEqual(['c1/net1'])
    expect(listed({ 'cni.dev/attachments': [b] })).toEqual(['c2/net1'])
    expect(listed({ 'cni.dev/valid-attachments': [a], 'cni.dev/attachments': [a, b] })).toEqual(['c1/net1', 'c2/net1'])
  })

  test('can be none, which Go can write as null', () => {
    expect(listed({ 'cni.dev/valid-attachments': [] })).toEqual([])
    expect(listed({ 'cni.dev/valid-attachments': null })).toEqual([])
  })

  test('are needed: without a list, GC is refused', () => {
    expect(failureOf(given({}))).toContain('cni.dev/valid-attachments: GC needs the list, and it is missing')
  })

  test.each([
    [{ 'cni.dev/valid-attachments': {} }, 'expected a list, got an object'],
    [{ 'cni.dev/valid-attachments': [a, { ifname: 'net1' }] }, 'cni.dev/valid-attachments[1].containerID: '],
    [{ 'cni.dev/valid-attachments': [{ containerID: 'c1' }] }, 'cni.dev/valid-attachments[0].ifname: '],
    [{ 'cni.dev/attachments': ['c1'] }, 'cni.dev/attachments[0].containerID: '],
  ])('are refused as a whole if one is wrong: %o', (config, message) => {
    expect(failureOf(given(config))).toContain(message)
  })
})

test('no version at all is a wrong argument', () => {
  const error = (() => {
    try {
      return read({ options: { versions: [] } })
    } catch (thrown) {
      return thrown
    }
  })()
  expect(isIpamError(error, 'INVALID_ARGUMENT')).toBe(true)
})
