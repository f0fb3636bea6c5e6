import { type ErrorCode, fail, registry } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import type { ErrorContexts } from '../../src/errors/codes.js'

const codes = Object.keys(registry) as ErrorCode[]

// An example of every code and the sentence it makes. Codes are append-only: lines may be added
// here, and never go or change their code.
const examples: { readonly [C in ErrorCode]: readonly [context: ErrorContexts[C], sentence: string] } = {
  MALFORMED_ADDRESS: [
    { text: '10.0.0.256', position: 7, problem: 'IPv4 field has value >255' },
    'not an IP address: "10.0.0.256": IPv4 field has value >255 (at position 7)',
  ],
  MALFORMED_PREFIX: [
    { text: '10.0.0.0', position: 8, problem: "no '/'" },
    'not a CIDR: "10.0.0.0": no \'/\' (at position 8)',
  ],
  MALFORMED_RANGE: [
    { text: '10.0.0.0', position: 8, problem: "no '-'" },
    'not an address range: "10.0.0.0": no \'-\' (at position 8)',
  ],
  MALFORMED_RANGE_SET_ENTRY: [
    { text: 'x', index: 2, position: 0, problem: 'unable to parse IP' },
    'entry 2 is not an address, range or CIDR: "x": unable to parse IP (at position 0)',
  ],
  MALFORMED_REVERSE_NAME: [
    { text: '256.in-addr.arpa', position: 0, problem: 'an octet above 255' },
    'not a reverse name: "256.in-addr.arpa": an octet above 255 (at position 0)',
  ],
  MALFORMED_URL_HOST: [
    { text: 'localhost:80', position: 0, problem: 'a DNS name, not an IP address', name: 'localhost' },
    'no IP address as host: "localhost:80": a DNS name, not an IP address (at position 0)',
  ],
  MALFORMED_BYTES: [
    { what: 'an address', position: 5, problem: '5 bytes, expected 4 or 16' },
    'not the bytes of an address: 5 bytes, expected 4 or 16 (at position 5)',
  ],
  INVALID_PREFIX_LENGTH: [{ length: 33, max: 32 }, 'prefix length 33 is not a whole number from 0 to 32'],
  INVALID_RANGE: [{ first: '10.0.0.2', last: '10.0.0.1' }, 'range ends before it begins: 10.0.0.2-10.0.0.1'],
  INVALID_ARGUMENT: [
    { argument: 'text', expected: 'a string', got: 'undefined' },
    'argument text: expected a string, got "undefined"',
  ],
  FAMILY_MISMATCH: [{ left: '10.0.0.1', right: '::1' }, 'IPv4 and IPv6 do not mix: "10.0.0.1" and "::1"'],
  ADDRESS_OUT_OF_RANGE: [
    { address: '255.255.255.255', offset: '1' },
    '255.255.255.255 plus 1 leaves the address space',
  ],
  INDEX_OUT_OF_RANGE: [{ index: '32', size: '32' }, 'index 32 is not from 0 to size - 1, where the size is 32'],
  INVALID_OBJECT: [
    {
      kind: 'IPAddress',
      name: 'web-0',
      issues: [
        { path: 'spec.address', message: 'required' },
        { path: 'spec.prefix', message: 'too large' },
      ],
    },
    'IPAddress "web-0" is invalid: spec.address: required; spec.prefix: too large',
  ],
  OBJECT_KIND_MISMATCH: [{ expected: 'IPAddress', got: 'Pod' }, 'expected IPAddress, got "Pod"'],
  INVALID_POOL_SPEC: [{ problems: ['no addresses', 'no prefix'] }, 'pool spec is invalid: no addresses; no prefix'],
  STORE_NOT_FOUND: [{ object: 'IPAddress default/web-0' }, 'IPAddress default/web-0 not found'],
  STORE_ALREADY_EXISTS: [{ object: 'IPAddress default/web-0' }, 'IPAddress default/web-0 already exists'],
  STORE_CONFLICT: [
    { object: 'IPAddress default/web-0', expected: 'version 1', actual: 'version 2' },
    'IPAddress default/web-0 has changed: expected version 1, found version 2',
  ],
  STORE_INVALID: [
    { object: 'IPAddress default/web-0', path: 'metadata.name', problem: 'may not change' },
    'IPAddress default/web-0 refused: metadata.name: may not change',
  ],
  STORE_OBJECT_TOO_LARGE: [
    { object: 'Pool blue', sizeBytes: 2_000_000, maxBytes: 1_500_000 },
    'Pool blue is too large: 2000000 bytes, at most 1500000 are stored',
  ],
  STORE_VERSION_GONE: [
    { resourceVersion: '5', oldest: '10' },
    'resource version "5" is gone, the oldest kept is 10: list again',
  ],
  STORE_IO: [{ operation: 'list', problem: 'connection reset' }, 'list failed: connection reset'],
  STORE_OUTCOME_UNKNOWN: [
    { operation: 'create', object: 'IPAddress default/web-0', problem: 'timeout' },
    'create of IPAddress default/web-0 may or may not have been done: timeout',
  ],
  STORE_WRITE_WITHHELD: [
    { operation: 'create', object: 'IPAddress default/web-0' },
    'create of IPAddress default/web-0 was not sent: this controller is no longer allowed to write',
  ],
  RUN_LIMIT_EXCEEDED: [
    { limit: 'rounds', max: 10, stillBusy: ['a', 'b', 'c', 'd', 'e', 'f'] },
    'not at rest after 10 rounds, still busy: a; b; c; d; e',
  ],
  CLAIM_NAME_CONFLICT: [
    { name: 'data-lab', first: 'IPPool lab on device eth0', second: 'InClusterIPPool lab on device eth1' },
    'two claims named "data-lab": IPPool lab on device eth0 and InClusterIPPool lab on device eth1',
  ],
  INVALID_CLAIM_NAME: [{ name: '', problem: 'it is empty' }, 'not a claim name: "": it is empty'],
  INVARIANT_BROKEN: [{ what: 'a slot is taken twice' }, 'broken invariant, please report: a slot is taken twice'],
  INVALID_CONVERSION: [
    { object: 'InClusterIPPool lab/blue', to: 'v1alpha2', path: 'spec.subnet', problem: "no '/'" },
    "InClusterIPPool lab/blue has no form in v1alpha2: spec.subnet: no '/'",
  ],
  INVALID_OBJECT_NAME: [
    { kind: 'IPPool', name: '--1-64', problem: 'must be a lowercase RFC 1123 subdomain' },
    'not a name of IPPool: "--1-64": must be a lowercase RFC 1123 subdomain',
  ],
  MALFORMED_EMBEDDED_JSON: [
    { what: 'annotation k8s.v1.cni.cncf.io/network-status', text: '[{' },
    'annotation k8s.v1.cni.cncf.io/network-status is not JSON: "[{"',
  ],
  MALFORMED_NETWORK_SELECTION: [
    { text: 'a/b/c', position: 0, problem: 'not of the form namespace/name@interface' },
    'not a list of networks: "a/b/c": not of the form namespace/name@interface (at position 0)',
  ],
  INVALID_ROW_ADDRESS: [
    { range: '10.0.0.8/24', address: '10.0.0.1', problem: 'it is below the address that the range is written with' },
    '10.0.0.1 has no row in a pool of 10.0.0.8/24: it is below the address that the range is written with',
  ],
  INVALID_IPAM_CONFIG: [
    { issues: [{ path: 'ipam.range', message: '"x" is not a CIDR' }] },
    'IPAM configuration is invalid: ipam.range: "x" is not a CIDR',
  ],
  MALFORMED_JSON: [
    { what: 'the network configuration', position: 9, problem: 'the name "range" stands twice in one object' },
    'the network configuration is not valid JSON: the name "range" stands twice in one object (at position 9)',
  ],
  INVALID_CNI_ENVIRONMENT: [
    { variables: ['CNI_NETNS', 'CNI_IFNAME'], problem: 'required for ADD' },
    'CNI_NETNS; CNI_IFNAME: required for ADD',
  ],
  INVALID_CNI_CONFIG: [
    { path: 'name', problem: 'it is missing' },
    'network configuration is invalid: name: it is missing',
  ],
  CNI_VERSION_MISMATCH: [
    { version: '1.0.0', problem: 'GC needs 1.1.0 or later' },
    'cniVersion "1.0.0": GC needs 1.1.0 or later',
  ],
  CNI_INPUT_LIMIT_EXCEEDED: [{ limit: 'milliseconds', max: 5000 }, 'stdin was not closed within 5000 ms'],
  CNI_RESULT_MISMATCH: [
    { version: '0.2.0', path: 'ips[1]', problem: 'it has one IPv4 address at most' },
    'CNI 0.2.0 cannot express the result: ips[1]: it has one IPv4 address at most',
  ],
  INVALID_SLICE_SIZE: [
    { sliceSize: 'abc', range: '10.0.0.0/24', problem: 'not a prefix length such as /26 or 26' },
    'no slices of size "abc" in 10.0.0.0/24: not a prefix length such as /26 or 26',
  ],
  INVALID_NETWORK: [
    { network: 'lab/blue', rule: 'persistentIPs', problem: 'layer3 topology does not allow persistent IPs' },
    'network lab/blue: layer3 topology does not allow persistent IPs',
  ],
}

describe.each(codes)('%s', (code) => {
  const [context, sentence] = examples[code]
  const { retry, conditionReason } = registry[code]

  test('makes its sentence: one line, without a full stop', () => {
    const described = fail(code, context).failure.message
    expect(described).toBe(sentence)
    expect(described).not.toMatch(/\n|\.$/)
  })

  test('has a retry class, and a reason that Kubernetes takes for a condition', () => {
    expect(['now', 'after', 'on-pool-change', 'never']).toContain(retry)
    expect(conditionReason).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
  })
})

test('each code has an example, and is the code of its definition', () => {
  expect([...codes].sort()).toEqual(Object.keys(examples).sort())
  for (const code of codes) expect(registry[code].code).toBe(code)
})

test('a code tells by its name when to try again', () => {
  for (const code of codes)
    if (/^(MALFORMED|INVARIANT)_|_MISMATCH$/.test(code)) expect(registry[code].retry).toBe('never')
  expect(codes.filter((code) => registry[code].retry === 'now')).toEqual([
    'STORE_NOT_FOUND',
    'STORE_ALREADY_EXISTS',
    'STORE_CONFLICT',
    'STORE_VERSION_GONE',
    'STORE_OUTCOME_UNKNOWN',
  ])
  expect(codes.filter((code) => registry[code].retry === 'after')).toEqual([
    'STORE_IO',
    'STORE_WRITE_WITHHELD',
    'RUN_LIMIT_EXCEEDED',
    'CNI_INPUT_LIMIT_EXCEEDED',
  ])
  expect(codes.filter((code) => registry[code].retry === 'on-pool-change')).toEqual(['INVALID_POOL_SPEC'])
})
