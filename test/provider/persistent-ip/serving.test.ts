import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import type { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { unwrap } from 'ipam-kit/errors'
import {
  type ClaimPod,
  claimPlan,
  claimStatus,
  heldByClaim,
  networkSpace,
  readNetwork,
} from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'

function network(more: object = {}) {
  const config = JSON.stringify({
    name: 'lab',
    type: 'ovn-k8s-cni-overlay',
    topology: 'localnet',
    netAttachDefName: 'a/blue',
    subnets: '10.0.0.0/29,fd00::/125',
    allowPersistentIPs: true,
    ...more,
  })
  return unwrap(readNetwork({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } }))
}

function claim(ips?: readonly string[], metadata: object = {}, spec: object = {}): IPAMClaim {
  return {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { name: 'vm1.net', namespace: 'a', ...metadata },
    spec: { network: 'lab', interface: '', ...spec },
    ...(ips !== undefined && { status: { ips } }),
  }
}

const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }

function pod(name: string, more: Partial<ClaimPod> = {}): ClaimPod {
  return { name, interfaces: 1, requests: [], addresses: [], ...more }
}

function addresses(...texts: readonly string[]) {
  return texts.map((text) => ({ address: Prefix.parse(text).address, prefixLength: Prefix.parse(text).length }))
}

interface Given {
  readonly of: IPAMClaim
  readonly pods?: readonly ClaimPod[]
  readonly taken?: readonly string[]
  readonly on?: ReturnType<typeof network>
  readonly terminatingClaim?: 'refuse' | 'serve'
}

function planOf({ of, pods = [pod('p')], taken = [], on = network(), terminatingClaim }: Given) {
  const isTaken = (address: Address) => taken.includes(Address.format(address))
  const next = (within: RangeSet) => [...RangeSet.addresses(within)].find((address) => !isTaken(address))
  return claimPlan({ claim: of, network: on, pods, isTaken, next, terminatingClaim })
}

/** `Bound 10.0.0.1/29 SuccessfulAllocation > p, q:ClaimTerminating`. */
function textOf(given: Given): string {
  const { phase, addresses: own, isNew, condition, served, refused } = planOf(given)
  const has = own.map(Prefix.format).join(' ')
  const pods = [...served, ...refused.map((one) => `${one.pod}:${one.reason}`)].join(', ')
  return `${phase} ${isNew ? 'new ' : ''}${has} ${condition?.reason ?? '-'} > ${pods}`
}

const OWN = ['10.0.0.2/29', 'fd00::2/125']
const HAS = `${OWN.join(' ')} SuccessfulAllocation`

describe('the addresses of a network', () => {
  const spaceOf = (more: object) => {
    const { addresses: all, automatic } = networkSpace(network(more))
    return [RangeSet.format(all).join(), RangeSet.format(automatic).join()]
  }

  test.each([
    ['its subnets without their edges', { subnets: '10.0.0.0/29' }, '10.0.0.1-10.0.0.6', '10.0.0.1-10.0.0.6'],
    ['IPv6 has no last one', { subnets: 'fd00::/126' }, 'fd00::1-fd00::3', 'fd00::1-fd00::3'],
    [
      'excludes',
      { subnets: '10.0.0.0/29', excludeSubnets: '10.0.0.4/31,10.0.0.4/32' },
      '10.0.0.1-10.0.0.3,10.0.0.6-10.0.0.6',
      '10.0.0.1-10.0.0.3,10.0.0.6-10.0.0.6',
    ],
    [
      'a primary network keeps two more',
      { topology: 'layer2', role: 'primary', subnets: '10.0.0.0/29' },
      '10.0.0.3-10.0.0.6',
      '10.0.0.3-10.0.0.6',
    ],
    [
      'a secondary one does not',
      { topology: 'layer2', subnets: '10.0.0.0/29' },
      '10.0.0.1-10.0.0.6',
      '10.0.0.1-10.0.0.6',
    ],
    ['one address', { subnets: '10.0.0.0/32' }, '', ''],
  ])('%s', (_, more, all, automatic) => {
    expect(spaceOf(more)).toEqual([all, automatic])
  })

  test('reserved subnets are given on request alone, infrastructure is not given', () => {
    const on = {
      topology: 'layer2',
      role: 'primary',
      subnets: '10.0.0.0/28',
      reservedSubnets: '10.0.0.8/30',
      infrastructureSubnets: '10.0.0.4/30',
    }
    expect(spaceOf(on)).toEqual(['10.0.0.3-10.0.0.3,10.0.0.8-10.0.0.14', '10.0.0.3-10.0.0.3,10.0.0.12-10.0.0.14'])
  })

  test('none without subnets', () => {
    expect(spaceOf({ subnets: '' })).toEqual(['', ''])
  })
})

describe('a claim without addresses', () => {
  test.each<[string, Given, string]>([
    ['gets none without a Pod', { of: claim(), pods: [] }, 'Pending  - > '],
    ['gets one of each family', { of: claim([]) }, 'Bound new 10.0.0.1/29 fd00::1/125 SuccessfulAllocation > p'],
    [
      'gets all families or none (T5)',
      { of: claim(), taken: ['fd00::1', 'fd00::2', 'fd00::3', 'fd00::4', 'fd00::5', 'fd00::6', 'fd00::7'] },
      'Error  SubnetExhausted > ',
    ],
    ['gets what it asks for', { of: claim([], {}, { ipRequests: OWN }) }, `Bound new ${HAS} > p`],
    [
      'gets what its Pod asks for',
      { of: claim(), pods: [pod('p', { requests: addresses(...OWN) })] },
      `Bound new ${HAS} > p`,
    ],
    [
      'gets what its Pod has already',
      { of: claim(), pods: [pod('q'), pod('p', { addresses: addresses(...OWN) })] },
      `Bound new ${HAS} > q, p`,
    ],
    [
      'gets no request that another holder has',
      { of: claim([], {}, { ipRequests: OWN }), taken: ['fd00::2'] },
      'Error  IPAddressConflict > ',
    ],
    [
      'gets no request outside',
      { of: claim([], {}, { ipRequests: ['10.0.0.0/29', 'fd00::2/125'] }) },
      'Error  OutsideNetwork > ',
    ],
    ['gets no half request', { of: claim([], {}, { ipRequests: ['10.0.0.2/29'] }) }, 'Error  FamilyMismatch > '],
    [
      'gets no request with the length 0',
      { of: claim([], {}, { ipRequests: ['10.0.0.2/0', OWN[1]!] }) },
      'Error  InternalError > ',
    ],
    ['gets no request that is no address', { of: claim([], {}, { ipRequests: ['x'] }) }, 'Error  InternalError > '],
    ['that is being deleted gets none (T1)', { of: claim([], GOING) }, 'Releasing  - > p:ClaimTerminating'],
    [
      'that is being deleted gets some by choice',
      { of: claim([], GOING), terminatingClaim: 'serve' },
      'Releasing new 10.0.0.1/29 fd00::1/125 SuccessfulAllocation > p',
    ],
    [
      'gets none for two interfaces (T2)',
      { of: claim(), pods: [pod('p', { interfaces: 2 })] },
      'Pending  - > p:SharedByInterfaces',
    ],
  ])('%s', (_, given, wanted) => {
    expect(textOf(given)).toBe(wanted)
  })

  test('gets reserved addresses on request alone', () => {
    const on = network({ topology: 'layer2', role: 'primary', subnets: '10.0.0.0/28', reservedSubnets: '10.0.0.0/30' })
    expect(textOf({ of: claim(), on })).toBe('Bound new 10.0.0.4/28 SuccessfulAllocation > p')
    expect(textOf({ of: claim([], {}, { ipRequests: ['10.0.0.3/28'] }), on })).toBe(
      'Bound new 10.0.0.3/28 SuccessfulAllocation > p',
    )
  })
})

describe('a claim with addresses', () => {
  test.each<[string, Given, string]>([
    ['keeps them without a Pod', { of: claim(OWN), pods: [] }, `Bound ${HAS} > `],
    [
      'gives them to both Pods of a migration',
      { of: claim(OWN), pods: [pod('p', { addresses: addresses(...OWN) }), pod('q')] },
      `Bound ${HAS} > p, q`,
    ],
    [
      'gives none if it has one twice',
      { of: claim(['10.0.0.2/29', '10.0.0.2']) },
      'Error 10.0.0.2/29 10.0.0.2/29 InternalError > ',
    ],
    ['gives none with the length 0', { of: claim(['10.0.0.2/0']) }, 'Error 10.0.0.2/0 InternalError > '],
    ['is not extended', { of: claim(OWN.slice(0, 1)) }, 'Bound 10.0.0.2/29 SuccessfulAllocation > p'],
    [
      'keeps them if another holder has one',
      { of: claim(OWN), taken: ['10.0.0.2'] },
      `Error ${OWN.join(' ')} IPAddressConflict > `,
    ],
    ['keeps them outside of the network', { of: claim(['10.9.0.2/29']) }, 'Error 10.9.0.2/29 OutsideNetwork > '],
    ['that is no address gives none (T8)', { of: claim(['10.0.0.2/29', 'x']) }, 'Error  InternalError > '],
    [
      'does not follow its Pod',
      { of: claim(OWN), pods: [pod('p', { addresses: addresses('10.0.0.3/29') })] },
      `Bound ${HAS} > p:AddressesDiffer`,
    ],
    [
      'gives no other address',
      { of: claim(OWN), pods: [pod('p', { requests: addresses('10.0.0.3/29') })] },
      `Bound ${HAS} > p:NotOfClaim`,
    ],
    [
      'gives one that is asked for',
      { of: claim(OWN), pods: [pod('p', { requests: addresses(OWN[0]!) })] },
      `Bound ${HAS} > p`,
    ],
    [
      'that is being deleted serves the Pods that have them',
      { of: claim(OWN, GOING), pods: [pod('p', { addresses: addresses(...OWN) }), pod('q')] },
      `Releasing ${HAS} > p, q:ClaimTerminating`,
    ],
    [
      'that is being deleted serves new Pods by choice',
      { of: claim(OWN, GOING), terminatingClaim: 'serve' },
      `Releasing ${HAS} > p`,
    ],
    [
      'serves one interface of a Pod (T2)',
      { of: claim(OWN), pods: [pod('p', { interfaces: 2 }), pod('q')] },
      `Bound ${HAS} > q, p:SharedByInterfaces`,
    ],
    ['of another network serves none', { of: claim(OWN, {}, { network: 'other' }) }, 'Pending  - > p:NetworkMismatch'],
    [
      'serves none on a network without claims',
      { of: claim(OWN), on: network({ allowPersistentIPs: false }) },
      'Pending  - > p:NotSupported',
    ],
  ])('%s', (_, given, wanted) => {
    expect(textOf(given)).toBe(wanted)
  })
})

describe('the status of a claim', () => {
  const NOW = '2026-01-01T00:00:00Z'
  const statusOf = (given: Given) => claimStatus(given.of, planOf(given), NOW)

  test('has its addresses, its Pod and the condition, and is not written again', () => {
    const status = statusOf({ of: claim() })!
    expect(status.ips).toEqual(['10.0.0.1/29', 'fd00::1/125'])
    expect(status.ownerPod).toEqual({ name: 'p' })
    expect(status.conditions).toMatchObject([{ type: 'IPsAllocated', status: 'True', reason: 'SuccessfulAllocation' }])
    expect(statusOf({ of: { ...claim(), status } })).toBeUndefined()
    expect(statusOf({ of: { ...claim(), status }, pods: [] })).toBeUndefined()
  })

  test('keeps its texts as they are, also the ones that are no addresses', () => {
    const ips = ['10.0.0.2', 'x']
    expect(statusOf({ of: claim(ips) })).toMatchObject({
      ips,
      conditions: [{ status: 'False', reason: 'InternalError' }],
    })
  })

  test('names the target of a migration when the source has ended', () => {
    const [p, q] = [pod('p'), pod('q')]
    const status = statusOf({ of: claim(OWN) })!
    expect(statusOf({ of: { ...claim(), status }, pods: [q, p] })).toBeUndefined()
    expect(statusOf({ of: { ...claim(), status }, pods: [q] })?.ownerPod).toEqual({ name: 'q' })
  })

  test.each<[string, string | undefined, readonly (readonly [string, ClaimPod['migration']])[], string]>([
    [
      'the source until the machine runs in the target',
      'a',
      [
        ['a', 'none'],
        ['b', 'target'],
      ],
      'a',
    ],
    [
      'the source also if the target is served first',
      undefined,
      [
        ['b', 'target'],
        ['a', 'none'],
      ],
      'a',
    ],
    [
      'the source after a status that was too early',
      'b',
      [
        ['a', 'none'],
        ['b', 'target'],
      ],
      'a',
    ],
    [
      'the target when the machine runs in it',
      'a',
      [
        ['a', 'none'],
        ['b', 'migrated'],
      ],
      'b',
    ],
    ['the source of a migration that has failed', 'b', [['a', 'none']], 'a'],
    [
      'the source of the next migration',
      'b',
      [
        ['b', 'migrated'],
        ['c', 'target'],
      ],
      'b',
    ],
    [
      'the target of the next migration',
      'b',
      [
        ['b', 'migrated'],
        ['c', 'migrated'],
      ],
      'c',
    ],
    ['a target that is alone', 'a', [['b', 'target']], 'b'],
    [
      'the Pod of the status without a migration',
      'b',
      [
        ['a', 'none'],
        ['b', undefined],
      ],
      'b',
    ],
    [
      'the oldest Pod',
      undefined,
      [
        ['a', 'none'],
        ['b', 'none'],
      ],
      'a',
    ],
  ])('names one Pod: %s', (_, before, pods, wanted) => {
    const of = claim(OWN)
    const status = { ips: OWN, ...(before !== undefined && { ownerPod: { name: before } }) }
    const given = { of: { ...of, status }, pods: pods.map(([name, migration]) => pod(name, { migration })) }
    expect(planOf(given).user).toBe(wanted)
    expect(statusOf(given)?.ownerPod).toEqual({ name: wanted })
  })

  test('holds each address that can be read (T8)', () => {
    expect(heldByClaim(claim(['10.0.0.2/29', 'x', 'fd00::2'])).map(Prefix.format)).toEqual([
      '10.0.0.2/32',
      'fd00::2/128',
    ])
    expect(heldByClaim(claim())).toEqual([])
  })
})
