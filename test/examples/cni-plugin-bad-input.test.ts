import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { callDaemon } from '../../docs/examples/cni-plugin/call-daemon.js'
import { type Daemon, startDaemon } from '../../docs/examples/cni-plugin/daemon.js'
import { cniPlugin } from '../../docs/examples/cni-plugin/plugin.js'
import { serve } from '../../docs/examples/cni-plugin/serve.js'
import { SmallApi } from './small-api.js'

// Bad input of the plugin: each input with its exit code, its CNI error
// code and its message, and exactly one JSON text on stdout.

let isThick = false
const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-bad-input-'))
const kubeconfig = join(folder, 'kubeconfig')
const socket = join(folder, 'run', 'socket')
let daemon: Daemon
const api = new SmallApi()

beforeAll(async () => {
  const server = await api.listen()
  const part = (name: string, value: object) => [{ name: 'x', [name]: value }]
  const clusters = part('cluster', { server })
  const contexts = part('context', { cluster: 'x', user: 'x', namespace: 'pools' })
  const users = part('user', { token: 'secret' })
  const config = { apiVersion: 'v1', kind: 'Config', clusters, contexts, users, 'current-context': 'x' }
  daemon = await startDaemon(socket, { pluginOf: () => plugin, maxCalls: 10, receiveMs: 5000 })
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 })
})
afterAll(async () => {
  await daemon.stop()
  api.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  api.reset()
  plugin = patient
})

const pluginWith = (requestMs: number, totalMs: number) =>
  cniPlugin({ nodeName: 'node-a', kubeconfig, limits: { requestMs, totalMs } })
/** For an API server that answers. */
const patient = pluginWith(30_000, 100_000)
/** For an API server that refuses: a call sends its write again until its time is over. */
const short = pluginWith(30_000, 1500)
/** For an API server that does not answer. */
const hasty = pluginWith(300, 1500)
let plugin = patient

interface Call {
  readonly env?: { readonly [name: string]: string | undefined }
  readonly ipam?: object
  /** In place of the whole configuration. */
  readonly stdin?: string | Readable
}

const RANGE = { range: '10.0.0.0/24' }

/** One line: `1 7 the message`, the exit code, the CNI error code and the message; `0` for success. */
async function call(command: string, { env = {}, ipam = RANGE, stdin }: Call = {}): Promise<string> {
  const config = { cniVersion: '1.1.0', name: 'lab', type: 'macvlan', ipam: { type: 'whereabouts', ...ipam } }
  const rest = { 'cni.dev/valid-attachments': [], cniVersion: '1.1.0' }
  const text = stdin ?? JSON.stringify({ ...config, ...rest })
  const given = {
    env: {
      CNI_COMMAND: command,
      CNI_CONTAINERID: 'c1',
      CNI_NETNS: '/var/run/netns/none',
      CNI_IFNAME: 'net1',
      CNI_PATH: '/opt/cni/bin',
      CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=office;K8S_POD_NAME=web-0',
      ...env,
    },
    stdin: typeof text === 'string' ? Readable.from([Buffer.from(text)]) : text,
  }
  // a stream of a test may stay open
  const stdinMs = typeof text === 'string' ? 30_000 : 300
  const limits = { maxBytes: 4_194_304, timeoutMs: stdinMs }
  const answer = isThick
    ? await callDaemon(socket, { ...given, stdinMs })
    : await serve(plugin, { ...given, limits, options: { knownArgs: ['IP', 'GATEWAY'] } })
  if (answer.stdout === '') return String(answer.exitCode)
  // throws for a second text behind the first one
  const { code, msg = '', ips } = JSON.parse(answer.stdout)
  return ips === undefined
    ? `${answer.exitCode} ${code} ${msg}`
    : `${answer.exitCode} ${ips.map(({ address }: { address: string }) => address)}`
}

describe.each(['in the process itself', 'by the daemon'])('a call that is served %s', (by) => {
  beforeEach(() => {
    isThick = by === 'by the daemon'
  })

  describe('a wrong configuration', () => {
    const invalid = /^1 7 IPAM configuration is invalid: /
    test.each<[string, string, string]>([
      ['not JSON', '{"cniVersion"', '1 6 the network configuration is not valid JSON: unexpected end of JSON input'],
      ['nothing', '', '1 6 the network configuration is not valid JSON: unexpected end of JSON input'],
      [
        'a list where a map is due',
        '[]',
        '1 7 network configuration is invalid: the configuration: expected an object, got a list',
      ],
      [
        'ipam as a list',
        '{"cniVersion":"1.1.0","name":"lab","ipam":[]}',
        '1 7 network configuration is invalid: ipam: expected an object, got a list',
      ],
      [
        'a member twice',
        '{"name":"a","name":"b"}',
        '1 6 the network configuration is not valid JSON: the name "name" stands twice',
      ],
    ])('that is %s', async (_, stdin, answer) => {
      expect(await call('ADD', { stdin })).toContain(answer)
      expect(api.asked).toEqual([])
    })

    test.each<[string, object, string]>([
      ['ipRanges as an object', { ipRanges: {} }, 'ipam.ipRanges: expected a list, got an object'],
      ['two families in one range', { range: '10.0.0.1-fd00::9/64' }, 'ipam.range: 10.0.0.1 is not in fd00::/64'],
      [
        'an exclude larger than the range',
        { ...RANGE, exclude: ['10.0.0.0/8'] },
        'ipam.exclude: leaves no address of 10.0.0.0/24',
      ],
      [
        'start after end',
        { ...RANGE, range_start: '10.0.0.9', range_end: '10.0.0.5' },
        'ipam.range_end: 10.0.0.5 is before the start 10.0.0.9',
      ],
      [
        'the slice size abc',
        { ...RANGE, node_slice_size: 'abc' },
        'ipam.node_slice_size: "abc" is not a prefix length',
      ],
      [
        'the slice size /33',
        { ...RANGE, node_slice_size: '/33' },
        'ipam.node_slice_size: "/33" has no usable address in 10.0.0.0/24',
      ],
      ['the slice size 0', { ...RANGE, node_slice_size: '0' }, 'ipam.node_slice_size: "0" is larger than 10.0.0.0/24'],
      [
        'a mapped range',
        { range: '::ffff:10.6.0.0/120' },
        'ipam.range: "::ffff:10.6.0.0/120" has another meaning in other software: write 10.6.0.0/24',
      ],
      ['a mapped exclude', { ...RANGE, exclude: ['::ffff:10.0.0.0/24'] }, 'ipam.exclude[0]'],
      [
        'a mapped start',
        { ...RANGE, range_start: '::ffff:10.0.0.5' },
        'ipam.range_start: "::ffff:10.0.0.5" has another meaning',
      ],
      [
        'a mapped gateway',
        { ...RANGE, gateway: '::ffff:10.0.0.1' },
        'ipam.gateway: "::ffff:10.0.0.1" has another meaning',
      ],
    ])('with %s', async (_, ipam, problem) => {
      const answer = await call('ADD', { ipam })
      expect(answer).toMatch(invalid)
      expect(answer).toContain(problem)
      expect(api.asked).toEqual([])
    })
  })

  describe('a wrong environment', () => {
    test.each<[string, { readonly [name: string]: string | undefined }, string]>([
      ['no CNI_COMMAND', { CNI_COMMAND: undefined }, 'CNI_COMMAND: required'],
      ['an unknown command', { CNI_COMMAND: 'MOVE' }, 'CNI_COMMAND: unknown command "MOVE"'],
      ['a container with a space', { CNI_CONTAINERID: 'c 1' }, 'CNI_CONTAINERID: "c 1" is not the id of a container'],
      ['an interface with a space', { CNI_IFNAME: 'net 1' }, 'CNI_IFNAME: "net 1" is not the name of an interface'],
      ['a Pod with a space', { CNI_ARGS: 'K8S_POD_NAMESPACE=a;K8S_POD_NAME=b c' }, '"b c" is not the name of a Pod'],
      ['CNI_ARGS with junk', { CNI_ARGS: 'junk' }, 'CNI_ARGS: not NAME=VALUE: "junk"'],
      [
        'CNI_ARGS with a name that is not known',
        { CNI_ARGS: 'JUNK=1' },
        'CNI_ARGS: unknown argument "JUNK", and IgnoreUnknown is not 1',
      ],
      ['no network namespace', { CNI_NETNS: '' }, 'CNI_NETNS: required for ADD'],
      ['no Pod', { CNI_ARGS: '' }, 'CNI_ARGS has no K8S_POD_NAMESPACE and K8S_POD_NAME'],
    ])('with %s', async (_, env, problem) => {
      const answer = await call('ADD', { env })
      expect(answer).toMatch(/^1 4 /)
      expect(answer).toContain(problem)
      expect(api.asked).toEqual([])
    })

    test('with a gateway that is none is code 7, and names it once', async () => {
      const CNI_ARGS = 'IgnoreUnknown=1;K8S_POD_NAMESPACE=a;K8S_POD_NAME=b;IP=10.9.0.1/24;GATEWAY=x'
      expect(await call('ADD', { env: { CNI_ARGS } })).toMatch(/^1 7 [^"]*args\.GATEWAY: "x" is not an address$/)
    })

    test('a DEL without a network namespace and without a Pod succeeds', async () => {
      expect(await call('DEL', { env: { CNI_NETNS: '', CNI_ARGS: '' } })).toBe('0')
    })

    test('stdin of 10 MB is code 5', async () => {
      const stdin = Readable.from(Array.from({ length: 10 }, () => Buffer.alloc(1_000_000, ' ')))
      expect(await call('ADD', { stdin })).toBe('1 5 the network configuration on stdin is longer than 4194304 bytes')
    })

    test('stdin that stays open is code 5', async () => {
      const stdin = new Readable({ read() {} })
      stdin.push('{')
      expect(await call('ADD', { stdin })).toBe('1 5 stdin was not closed within 300 ms')
    })
  })

  const POOL = '10.0.0.0-24'
  const row = (pod: string) => ({ id: pod, podref: `office/${pod}`, ifname: 'net1' })

  describe('wrong objects', () => {
    test.each(['-1', '4294967296', 'x'])('a row with the key %s: others get addresses, and it stays', async (key) => {
      api.addPool(POOL, { spec: { range: '10.0.0.0/24', allocations: { [key]: row('odd') } } })
      expect(await call('ADD')).toBe('0 10.0.0.1/24')
      expect(await call('DEL')).toBe('0')
      expect(api.pool(POOL)).toMatchObject({ spec: { allocations: { [key]: row('odd') } } })
    })

    test('a row without podref: its address is not given, and it stays', async () => {
      api.addPool(POOL, { spec: { range: '10.0.0.0/24', allocations: { 1: { id: 'c9' } } } })
      expect(await call('ADD')).toBe('0 10.0.0.2/24')
      expect(await call('DEL')).toBe('0')
      expect(api.pool(POOL)).toMatchObject({ spec: { allocations: { 1: { id: 'c9' } } } })
    })

    test('a base with host bits: addresses below it are not given', async () => {
      api.addPool(POOL, { spec: { range: '10.0.0.8/24', allocations: {} } })
      expect(await call('ADD')).toBe('0 10.0.0.8/24')
      expect(api.pool(POOL)).toMatchObject({ spec: { allocations: { 0: { id: 'c1' } } } })
    })

    test('a base of another range, and one that is no CIDR, are code 101', async () => {
      api.addPool(POOL, { spec: { range: '10.8.0.0/24', allocations: {} } })
      expect(await call('ADD')).toBe(`1 101 IPPool ${POOL} has the range 10.8.0.0/24, not 10.0.0.0/24`)
      api.addPool(POOL, { spec: { range: 'x', allocations: {} } })
      expect(await call('ADD')).toMatch(/^1 101 IPPool 10\.0\.0\.0-24: spec\.range is not a CIDR/)
    })

    test('a pool that is terminating is code 101', async () => {
      const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] }
      api.addPool(POOL, { metadata, spec: { range: '10.0.0.0/24', allocations: {} } })
      expect(await call('ADD')).toBe(`1 101 IPPool ${POOL} is being deleted`)
      expect(await call('STATUS')).toBe(`1 50 IPPool ${POOL} is being deleted`)
    })

    test('namespace-gone: a namespace that does not exist or is terminating fails the ADD, and no DEL', async () => {
      const details = { kind: 'namespaces', name: 'pools' }
      api.refuse('POST', 404, 'NotFound', 'namespaces "pools" not found', details)
      expect(await call('ADD')).toBe('1 11 Namespace pools not found')
      expect(await call('DEL')).toBe('0')
      const terminating =
        'object is forbidden: unable to create new content in namespace pools because it is being terminated'
      api.refuse('POST', 403, 'Forbidden', terminating, details)
      expect(await call('ADD')).toMatch(/^1 (11|100) .*being terminated/)
      expect(await call('DEL')).toBe('0')
    })

    test('a foreign reservation: its address is not given, and it stays', async () => {
      api.addReservation('10.0.0.1', { spec: { podref: 'office/other', ifname: 'net1' } })
      expect(await call('ADD')).toBe('0 10.0.0.2/24')
      expect(await call('DEL')).toBe('0')
      expect(api.names()).toEqual(['10.0.0.1', POOL])
    })
  })

  describe('an API server', () => {
    const VERBS = { GET: 'get', POST: 'create', PATCH: 'patch', DELETE: 'delete' } as const
    const setUp = () => {
      api.addPool(POOL, {
        spec: { range: '10.0.0.0/24', allocations: { 1: { ...row('web-0'), id: 'c1' }, 7: row('x') } },
      })
      api.addReservation('10.0.0.1', { spec: { podref: 'office/web-0', ifname: 'net1' } })
    }
    const forbidden = (verb: string) => `ippools is forbidden: User "whereabouts" cannot ${verb}`

    test.each<[keyof typeof VERBS, string]>([
      ['GET', 'ADD'],
      ['POST', 'ADD'],
      ['PATCH', 'ADD'],
      ['GET', 'DEL'],
      ['PATCH', 'DEL'],
      ['DELETE', 'DEL'],
      ['GET', 'CHECK'],
      ['GET', 'STATUS'],
      ['GET', 'GC'],
    ])('that answers %s with 403 fails %s, and nothing is half done', async (method, command) => {
      if (command !== 'ADD') setUp()
      else api.addPool(POOL, { spec: { range: '10.0.0.0/24', allocations: {} } })
      const [before, pool] = [api.state(), api.pool(POOL)]
      api.refuse(method, 403, 'Forbidden', forbidden(VERBS[method]))
      const answer = await call(command)
      expect(answer).toMatch(command === 'STATUS' ? /^1 50 / : /^1 (11|100) /)
      expect(answer).toContain(forbidden(VERBS[method]))
      // a DEL deletes the reservation before the row: the next one finds what is left by the row
      if (command === 'DEL' && method === 'PATCH') expect(api.pool(POOL)).toBe(pool)
      else expect(api.state()).toEqual(before)
    })

    test('that answers 409 without end fails ADD and DEL within the time of the call', async () => {
      plugin = short
      setUp()
      api.refuse('PATCH', 409, 'Conflict', 'the object has been modified')
      const env = { CNI_CONTAINERID: 'c2', CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=office;K8S_POD_NAME=web-2' }
      expect(await call('ADD', { env })).toMatch(/^1 11 /)
      expect(await call('DEL')).toMatch(/^1 11 /)
      expect(api.names()).toContain(POOL)
    })

    test.each<[string, number, string, string, RegExp]>([
      ['422', 422, 'Invalid', 'IPPool is invalid: spec.allocations: Invalid value', /^1 100 .*Invalid value/],
      ['pool-too-large: request is too large', 500, '', 'etcdserver: request is too large', /^1 100 .*too large/],
      ['pool-too-large: 413', 413, 'RequestEntityTooLarge', 'limit is 3145728', /^1 100 .*larger|^1 100 .*large/],
      [
        '429',
        429,
        'TooManyRequests',
        'too many requests',
        /^1 11 .*(too many requests|the time of the call is over|no answer within)/,
      ],
      [
        '503',
        503,
        'ServiceUnavailable',
        'apiserver not ready',
        /^1 11 .*(not ready|the time of the call is over|no answer within)/,
      ],
    ])(
      'that answers a write with %s fails the ADD, and the next one finds no row of it',
      async (_, code, reason, message, expected) => {
        plugin = short
        api.addPool(POOL, { spec: { range: '10.0.0.0/24', allocations: {} } })
        const before = api.state()
        api.refuse('PATCH', code, reason, message)
        expect(await call('ADD')).toMatch(expected)
        expect(api.state()).toEqual(before)
        expect(await call('ADD', { ipam: { ipRanges: [RANGE, { range: 'fd00::/64' }] } })).toMatch(expected)
        expect(api.state()).toEqual(before)
      },
    )

    test.each(['half', 'hang', 'html'] as const)('whose answer is a %s fails ADD, DEL and STATUS', async (fault) => {
      plugin = hasty
      setUp()
      const before = api.state()
      api.break(fault)
      const env = { CNI_CONTAINERID: 'c2' }
      expect(await call('ADD', { env })).toMatch(/^1 11 ./)
      expect(await call('DEL')).toMatch(/^1 11 ./)
      expect(await call('CHECK')).toMatch(/^1 11 ./)
      expect(await call('STATUS')).toMatch(/^1 50 ./)
      expect(api.state()).toEqual(before)
    })

    test('whose answer to a write is lost: the ADD finds its row', async () => {
      api.addPool(POOL, { spec: { range: '10.0.0.0/24', allocations: {} } })
      api.loseOneAnswer('PATCH')
      expect(await call('ADD')).toBe('0 10.0.0.1/24')
      expect(api.names()).toEqual([POOL, '10.0.0.1'])
    })
  })
})
