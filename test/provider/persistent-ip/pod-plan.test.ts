import { createHash } from 'node:crypto'
import { Address, Prefix } from 'ipam-kit/cidr'
import { isIpamError, unwrap } from 'ipam-kit/errors'
import {
  claimPlan,
  heldByPod,
  type PodSituation,
  podPlan,
  podStage,
  readNetwork,
} from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'

function network(more: object = {}) {
  const config = JSON.stringify({
    name: 'lab',
    type: 'ovn-k8s-cni-overlay',
    topology: 'layer2',
    role: 'primary',
    netAttachDefName: 'a/blue',
    subnets: '10.0.0.0/28,fd00::/124',
    allowPersistentIPs: true,
    ...more,
  })
  return unwrap(readNetwork({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } }))
}

function addresses(...texts: readonly string[]) {
  return texts.map((text) => ({ address: Prefix.parse(text).address, prefixLength: Prefix.parse(text).length }))
}

const BOTH = ['10.0.0.5/28', 'fd00::5/124']
const FREE = ['10.0.0.9/28', 'fd00::9/124']

/** `given 10.0.0.5/28 0a:58:0a:00:00:05 new pod`, or `refused StaticRequest`. */
function textOf(given: Partial<PodSituation>, taken: readonly string[] = []): string {
  const plan = podPlan({
    ...{ pod: 'p', network: network(), requests: [], addresses: [] },
    isTaken: (address) => taken.includes(Address.format(address)),
    next: () => FREE.map((text) => Prefix.parse(text)),
    ...given,
  })
  if (plan.kind === 'refused') return `refused ${plan.reason}`
  return ['given', ...plan.addresses.map(Prefix.format), plan.mac, plan.isNew ? 'new' : 'old', plan.holder].join(' ')
}

const claim = (ips: readonly string[]) => ({
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  metadata: { name: 'vm1.net', namespace: 'a' },
  spec: { network: 'lab', interface: '' },
  status: { ips },
})

function planOf(ips: readonly string[], interfaces = 1, pod = 'p') {
  const pods = [{ name: pod, interfaces, requests: [], addresses: [] }]
  return claimPlan({ claim: claim(ips), network: network(), pods, isTaken: () => false, next: () => undefined })
}

describe('what an interface of a Pod gets', () => {
  test.each<[string, string, Partial<PodSituation>, string[]?]>([
    ['free addresses', `given ${FREE.join(' ')} 0a:58:0a:00:00:09 new pod`, {}],
    ['none, if a family is exhausted', 'refused SubnetExhausted', { next: () => undefined }],
    [
      'what it has, unchanged',
      `given ${BOTH.join(' ')} 02:00:00:00:00:01 old pod`,
      { addresses: addresses(...BOTH), mac: '02:00:00:00:00:01', requestedMAC: '02:00:00:00:00:02' },
    ],
    [
      'what it has, and another holder too',
      'refused IPAddressConflict',
      { addresses: addresses(...BOTH) },
      ['fd00::5'],
    ],
    ['no request by default', 'refused StaticRequest', { requests: addresses(...BOTH) }],
    [
      'a request',
      `given ${BOTH.join(' ')} 0a:58:0a:00:00:05 new pod`,
      { requests: addresses(...BOTH), staticRequests: 'serve' },
    ],
    [
      'no request in a secondary network',
      'refused StaticRequest',
      { requests: addresses(...BOTH), staticRequests: 'serve', network: network({ role: 'secondary' }) },
    ],
    [
      'no address with the length 0',
      'refused InternalError',
      { requests: addresses('10.0.0.5/0', 'fd00::5/124'), staticRequests: 'serve' },
    ],
    [
      'one family of two is asked for',
      'refused FamilyMismatch',
      { requests: addresses('10.0.0.5/28'), staticRequests: 'serve' },
    ],
    [
      'an address of the gateway is asked for',
      'refused OutsideNetwork',
      { requests: addresses('10.0.0.1/28', 'fd00::5/124'), staticRequests: 'serve' },
    ],
    [
      'another holder has what is asked for',
      'refused IPAddressConflict',
      { requests: addresses(...BOTH), staticRequests: 'serve' },
      ['10.0.0.5'],
    ],
    [
      'free ones in place of a wish that another holder has',
      `given ${FREE.join(' ')} 0a:58:0a:00:00:09 new pod`,
      { requests: addresses(...BOTH), staticRequests: 'prefer' },
      ['10.0.0.5'],
    ],
    [
      'a MAC address that is asked for',
      `given ${FREE.join(' ')} 02:00:00:00:00:02 new pod`,
      { requestedMAC: '02:00:00:00:00:02' },
    ],
    ['a MAC address that cannot be read', 'refused InvalidMAC', { requestedMAC: '02:00:00:00:00' }],
    [
      'a network without addresses takes requests as they are',
      'given 172.16.0.1/24 0a:58:ac:10:00:01 new nothing',
      {
        requests: addresses('172.16.0.1/24'),
        network: network({ role: 'secondary', subnets: '', allowPersistentIPs: false }),
      },
    ],
    ['the addresses of its claim', `given ${BOTH.join(' ')} 0a:58:0a:00:00:05 new claim`, { claim: planOf(BOTH) }],
    ['the refusal of its claim', 'refused SharedByInterfaces', { claim: planOf(BOTH, 2) }],
    ['the condition of its claim', 'refused SubnetExhausted', { claim: planOf([]) }],
    [
      'a claim in a network without claims has no effect',
      `given ${FREE.join(' ')} 0a:58:0a:00:00:09 new pod`,
      { claim: planOf(BOTH), network: network({ allowPersistentIPs: false }) },
    ],
  ])('%s', (_, expected, given, taken) => {
    expect(textOf(given, taken)).toBe(expected)
  })

  test('the plan of a claim that is about another Pod is a mistake', () => {
    expect(() => textOf({ claim: planOf(BOTH, 1, 'q') })).toThrow(expect.toSatisfy(isIpamError))
  })

  test('a MAC address from IPv6 is that of OVN-Kubernetes', () => {
    for (let index = 0; index < 200; index++) {
      const text = `fd00::${(index * 7919)
        .toString(16)
        .replace(/(.{1,4})$/, ':$1')
        .replace(/^:/, '')}`
      const next = () => [Prefix.parse(`${text}/64`)]
      const plan = podPlan({ pod: 'p', network: network(), requests: [], addresses: [], isTaken: () => false, next })
      const hash = createHash('sha256').update(Address.format(next()[0]!.address)).digest()
      const bytes = [0x0a, 0x58, ...hash.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, '0'))
      expect(plan).toMatchObject({ mac: bytes.join(':') })
    }
  })
})

describe('a Pod', () => {
  const networks = {
    'a/blue': { ip_addresses: ['10.0.0.7/24', 'fd00::7/64'] },
    'a/green': { ip_address: '10.1.0.7/24' },
    'a/lease': { ip_addresses: ['10.2.0.7/24'], ipam_mode: 'dhcp' },
  }
  const pod = (more: object = {}, text = JSON.stringify(networks)) => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', annotations: { 'k8s.ovn.org/pod-networks': text } } },
    ...{ spec: { nodeName: 'n1' }, ...more },
  })

  test('holds its addresses until it has ended, without leases', () => {
    const held = (of: ReturnType<typeof pod>) =>
      heldByPod(of).map((one) => `${one.network} ${Prefix.format(one.prefix)}`)
    expect(held(pod())).toEqual(['a/blue 10.0.0.7/32', 'a/blue fd00::7/128', 'a/green 10.1.0.7/32'])
    expect(held(pod({ status: { phase: 'Failed' } }))).toEqual([])
    expect(held(pod({}, 'x'))).toEqual([])
  })

  test('is served from its Node to its end', () => {
    expect([pod(), pod({ spec: {} }), pod({ status: { phase: 'Succeeded' } })].map(podStage)).toEqual([
      'served',
      'waiting',
      'ended',
    ])
  })
})
