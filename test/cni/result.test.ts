import { Address, Prefix } from 'ipam-kit/cidr'
import {
  CNI_VERSIONS,
  type CniResult,
  type CniVersion,
  checkCniFamilies,
  formatCniResult,
  readCniResult,
} from 'ipam-kit/cni'
import { isIpamError, unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'

const v4 = { address: Prefix.parse('10.4.0.1/24'), gateway: Address.parse('10.4.0.254') }
const v6 = { address: Prefix.parse('fd00:4::1/64') }
const way4 = { dst: Prefix.parse('172.16.0.0/12'), gw: Address.parse('10.4.0.2') }
const way6 = { dst: Prefix.parse('::/0') }

const format = (version: CniVersion, result: CniResult) => unwrap(formatCniResult(version, result))
const problemOf = (version: CniVersion, result: CniResult) => {
  const answer = formatCniResult(version, result)
  return answer.ok ? undefined : answer.failure.message
}

describe('the form of a result', () => {
  // as recorded of a plugin that is written in Go
  test.each([
    ['0.1.0', { ip4: { ip: '10.4.0.1/24', gateway: '10.4.0.254' }, dns: {} }],
    ['0.2.0', { ip4: { ip: '10.4.0.1/24', gateway: '10.4.0.254' }, dns: {} }],
    ['0.3.0', { ips: [{ version: '4', address: '10.4.0.1/24', gateway: '10.4.0.254' }], dns: {} }],
    ['0.3.1', { ips: [{ version: '4', address: '10.4.0.1/24', gateway: '10.4.0.254' }], dns: {} }],
    ['0.4.0', { ips: [{ version: '4', address: '10.4.0.1/24', gateway: '10.4.0.254' }], dns: {} }],
    ['1.0.0', { ips: [{ address: '10.4.0.1/24', gateway: '10.4.0.254' }] }],
    ['1.1.0', { ips: [{ address: '10.4.0.1/24', gateway: '10.4.0.254' }] }],
  ] as const)('in %s', (version, expected) => {
    expect(format(version, { ips: [v4] })).toStrictEqual({ cniVersion: version, ...expected })
  })

  test('has routes below their family in 0.2.0', () => {
    const result = { ips: [v6, v4], routes: [way6, way4], dns: { nameservers: ['10.4.0.53'] } }
    expect(format('0.2.0', result)).toStrictEqual({
      cniVersion: '0.2.0',
      ip4: { ip: '10.4.0.1/24', gateway: '10.4.0.254', routes: [{ dst: '172.16.0.0/12', gw: '10.4.0.2' }] },
      ip6: { ip: 'fd00:4::1/64', routes: [{ dst: '::/0' }] },
      dns: { nameservers: ['10.4.0.53'] },
    })
  })

  const full: CniResult = {
    interfaces: [
      { name: 'eth0', mac: '02:00:00:00:00:01', sandbox: '/run/netns/x', mtu: 1500, socketPath: '/s', pciId: '1' },
    ],
    ips: [{ ...v4, interface: 0 }],
    dns: { domain: 'x.test', search: ['x.test'], options: ['ndots:5'] },
  }

  test('leaves out what describes an interface where a version lacks it', () => {
    const interfaceOf = (version: CniVersion) => (format(version, full).interfaces as object[] | undefined)?.[0]
    const old = { name: 'eth0', mac: '02:00:00:00:00:01', sandbox: '/run/netns/x' }
    expect(interfaceOf('0.2.0')).toBeUndefined()
    expect(interfaceOf('0.4.0')).toStrictEqual(old)
    expect(interfaceOf('1.0.0')).toStrictEqual(old)
    expect(interfaceOf('1.1.0')).toStrictEqual({ ...old, mtu: 1500, socketPath: '/s', pciID: '1' })
  })

  test('has dns in 1.0.0 if it says something', () => {
    expect(format('1.0.0', full).dns).toStrictEqual({ domain: 'x.test', search: ['x.test'], options: ['ndots:5'] })
    expect(format('1.0.0', { dns: { search: [], domain: '' } })).toStrictEqual({ cniVersion: '1.0.0' })
  })

  test.each(CNI_VERSIONS.filter((version) => version < '0.3.0'))('%s has no second address of a family', (version) => {
    expect(problemOf(version, { ips: [v4, v6, v4] })).toBe(
      `CNI ${version} cannot express the result: ips[2]: it has one IPv4 address at most`,
    )
    expect(problemOf(version, { ips: [v6, v6] })).toContain('ips[1]: it has one IPv6 address at most')
    expect(problemOf(version, { ips: [v4], routes: [way4, way6] })).toContain('routes[1]: ')
    expect(checkCniFamilies(version, [4, 6]).ok).toBe(true)
    expect(checkCniFamilies(version, [4, 6, 6]).ok).toBe(false)
  })

  test('has several addresses of a family from 0.3.0', () => {
    expect(format('0.3.0', { ips: [v4, v4] }).ips).toHaveLength(2)
    expect(checkCniFamilies('0.3.0', [4, 4]).ok).toBe(true)
  })

  test.each(['mtu', 'advmss', 'priority', 'table', 'scope'])('never loses %s of a route', (member) => {
    const result = { ips: [v4], routes: [{ ...way4, [member]: 7 }] }
    expect((format('1.1.0', result).routes as object[])[0]).toMatchObject({ [member]: 7 })
    for (const version of CNI_VERSIONS.filter((each) => each !== '1.1.0')) {
      expect(problemOf(version, result)).toContain(`routes[0].${member}: it came with 1.1.0`)
    }
  })

  test('is refused for an index of no interface', () => {
    const wrong = () => formatCniResult('1.0.0', { ips: [{ ...v4, interface: 0 }] })
    expect(wrong).toThrow('result.ips[0].interface: expected an index into 0 interfaces, got 0')
    expect(codeOf(wrong)).toBe('INVALID_ARGUMENT')
  })
})

describe('reading a result', () => {
  const problemIn = (version: CniVersion, json: unknown) => {
    const read = readCniResult(version, json)
    return read.ok ? undefined : `${read.failure.context.path}: ${read.failure.context.problem}`
  }

  test.each<[CniVersion, unknown, string]>([
    ['1.0.0', [], 'result: expected an object, got a list'],
    ['1.0.0', { ips: {} }, 'ips: expected a list, got an object'],
    ['1.0.0', { ips: [5] }, 'ips[0]: expected an object, got a number'],
    ['1.0.0', { ips: [{}] }, 'ips[0].address: expected a text, got nothing'],
    ['1.0.0', { ips: [{ address: '10.0.0.1' }] }, 'ips[0].address: not an address with a length'],
    ['1.0.0', { ips: [{ address: '10.0.0.1/24', gateway: 'x' }] }, 'ips[0].gateway: not an address'],
    [
      '1.0.0',
      { ips: [{ address: '10.0.0.1/24', interface: 0 }] },
      'ips[0].interface: it is not an index of an interface',
    ],
    ['1.0.0', { ips: [{ address: '10.0.0.1/24', interface: -1 }] }, 'ips[0].interface: expected a whole number from 0'],
    [
      '0.4.0',
      { ips: [{ address: '10.0.0.1/24', version: '6' }] },
      'ips[0].version: it is not the family of the address',
    ],
    ['1.0.0', { routes: [{ dst: 'default' }] }, 'routes[0].dst: not an address with a length'],
    ['1.1.0', { routes: [{ dst: '::/0', mtu: 'x' }] }, 'routes[0].mtu: expected a whole number from 0'],
    ['1.0.0', { interfaces: [{}] }, 'interfaces[0].name: expected a text, got nothing'],
    ['1.0.0', { dns: { search: [1] } }, 'dns.search[0]: expected a text, got a number'],
    ['1.0.0', { dns: [] }, 'dns: expected an object, got a list'],
    ['0.2.0', { ip4: { ip: 'fd00::1/64' } }, 'ip4.ip: not an IPv4 address'],
    ['0.2.0', { ip6: { ip: 'fd00::1/64', routes: [{ dst: 1 }] } }, 'ip6.routes[0].dst: expected a text, got a number'],
  ])('of %s: %o', (version, json, problem) => {
    expect(problemIn(version, json)).toBe(problem)
  })

  test('takes the gateway without a text that Go writes', () => {
    expect(unwrap(readCniResult('1.0.0', { ips: [{ address: '10.4.0.1/24', gateway: '' }] }))).toStrictEqual({
      ips: [{ address: v4.address }],
    })
  })
})

function codeOf(call: () => unknown): string | undefined {
  try {
    call()
  } catch (error) {
    if (isIpamError(error)) return error.code
  }
  return undefined
}
