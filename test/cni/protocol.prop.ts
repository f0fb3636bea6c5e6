import { fc, test as propertyTest } from '@fast-check/vitest'
import { Address, Prefix } from 'ipam-kit/cidr'
import {
  answerCni,
  CNI_VERSIONS,
  type CniOutcome,
  type CniResult,
  type CniRoute,
  checkCniFamilies,
  cniErrorOf,
  formatCniResult,
  readCniRequest,
  readCniResult,
} from 'ipam-kit/cni'
import { unwrap } from 'ipam-kit/errors'
import { address, prefix } from 'ipam-kit/testing/arbitraries'
import { expect } from 'vitest'

const version = fc.constantFrom(...CNI_VERSIONS)
const numbers = { requiredKeys: ['dst'] as 'dst'[] }
const route: fc.Arbitrary<CniRoute> = fc.record(
  {
    dst: prefix(),
    gw: address(),
    mtu: fc.nat(),
    advmss: fc.nat(),
    priority: fc.nat(),
    table: fc.nat(),
    scope: fc.nat(),
  },
  numbers,
)
const oldRoute: fc.Arbitrary<CniRoute> = fc.record({ dst: prefix(), gw: address() }, numbers)
const name = fc.stringMatching(/^[a-z]{1,8}$/)
const dns = fc.record(
  { nameservers: fc.array(name, { minLength: 1 }), domain: name, search: fc.array(name, { minLength: 1 }) },
  { requiredKeys: ['domain'] },
)
const ip = fc.record({ address: prefix(), gateway: address() }, { requiredKeys: ['address'] })
const interfaces = fc.array(
  fc.record(
    { name, mac: name, sandbox: name, mtu: fc.nat(), socketPath: name, pciId: name },
    { requiredKeys: ['name'] },
  ),
  { minLength: 1, maxLength: 3 },
)
const result: fc.Arbitrary<CniResult> = fc.record(
  {
    interfaces,
    ips: fc.array(ip, { minLength: 1, maxLength: 3 }),
    routes: fc.array(fc.oneof(oldRoute, route), { minLength: 1, maxLength: 3 }),
    dns,
  },
  { requiredKeys: [] },
)

/** The addresses and routes of a result as texts, in no order. */
function netOf({ ips = [], routes = [] }: CniResult): string[] {
  const texts = ips.map((each) => `${Prefix.format(each.address)} ${each.gateway && Address.format(each.gateway)}`)
  const ways = routes.map(({ dst, gw, ...rest }) => {
    const numbers = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))
    return `${Prefix.format(dst)} ${gw && Address.format(gw)} ${JSON.stringify(numbers)}`
  })
  return [...texts, ...ways].sort()
}

propertyTest.prop([version, result])('a result that is written has all its addresses and routes', (which, made) => {
  const written = formatCniResult(which, made)
  if (!written.ok) return
  const read = unwrap(readCniResult(which, JSON.parse(JSON.stringify(written.value))))
  expect(netOf(read)).toEqual(netOf(made))
  expect(read.dns).toEqual(made.dns)
  expect(unwrap(formatCniResult(which, read))).toStrictEqual(written.value)
})

propertyTest.prop([result])('1.1.0 expresses every result', (made) => {
  expect(unwrap(readCniResult('1.1.0', unwrap(formatCniResult('1.1.0', made))))).toEqual(made)
})

propertyTest.prop([version, fc.array(ip, { maxLength: 4 })])(
  'the check of families says before the allocation what the result says after it',
  (which, ips) => {
    const before = checkCniFamilies(
      which,
      ips.map((each) => each.address.address.family),
    )
    expect(formatCniResult(which, { ips }).ok).toBe(before.ok)
  },
)

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'c1', 'net1', 'a b', 'K8S_POD_NAME=a'),
)
const env = fc.record(
  {
    CNI_COMMAND: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('ADD', 'DEL', 'CHECK', 'GC', 'STATUS', 'VERSION') },
      text,
    ),
    CNI_CONTAINERID: fc.oneof({ weight: 6, arbitrary: fc.constant('c1') }, text),
    CNI_NETNS: text,
    CNI_IFNAME: fc.oneof({ weight: 6, arbitrary: fc.constant('net1') }, text),
    CNI_ARGS: fc.oneof({ weight: 4, arbitrary: fc.constantFrom('', 'IgnoreUnknown=1;A=b') }, text),
    CNI_PATH: fc.constantFrom('/opt', ''),
  },
  { requiredKeys: ['CNI_COMMAND', 'CNI_CONTAINERID', 'CNI_IFNAME'] },
)
const config = fc.record(
  {
    cniVersion: fc.oneof({ weight: 6, arbitrary: version }, fc.jsonValue()),
    name: fc.oneof({ weight: 6, arbitrary: fc.constant('lab') }, fc.jsonValue()),
    ipam: fc.jsonValue(),
    prevResult: fc.oneof(fc.constant({}), fc.jsonValue()),
    'cni.dev/valid-attachments': fc.oneof(fc.constant([]), fc.jsonValue()),
  },
  { requiredKeys: ['name'] },
)
const stdin = fc.oneof(
  { weight: 6, arbitrary: config.map((json) => JSON.stringify(json)) },
  fc.json(),
  fc.string(),
  fc.uint8Array(),
)
const outcome: fc.Arbitrary<CniOutcome> = fc.oneof(
  result.map((made) => ({ kind: 'added' as const, result: made })),
  fc.constant({ kind: 'failed' as const, error: { code: 11, msg: 'later' } }),
)

propertyTest.prop([env, stdin, outcome])(
  'any environment and any stdin get one JSON text or none, and an exit code',
  (variables, bytes, made) => {
    const request = readCniRequest({ env: variables, stdin: bytes }, { knownArgs: ['A'] })
    const answer = !request.ok
      ? answerCni(undefined, { kind: 'failed', error: cniErrorOf(request.failure) })
      : answerCni(request.value, made.kind === 'added' && request.value.command !== 'ADD' ? { kind: 'done' } : made)
    const isEmpty = request.ok && !['ADD', 'VERSION'].includes(request.value.command) && answer.exitCode === 0
    if (isEmpty) {
      expect(answer.stdout).toBe('')
      return
    }
    const json = JSON.parse(answer.stdout)
    expect(typeof json.code === 'number').toBe(answer.exitCode === 1)
    if (!request.ok) expect([1, 4, 5, 6, 7]).toContain(json.code)
  },
)
