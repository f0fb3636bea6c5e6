import { Address } from 'ipam-kit/cidr'
import {
  claimAddresses,
  claimStatusPatch,
  IPAMClaim,
  IPAMClaimWithRequests,
  requestedClaimAddresses,
  vmClaimName,
} from 'ipam-kit/crd/ipamclaims'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { formatFieldError } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'

const claim = (rest: object) => ({
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  metadata: { name: 'vm1.net', namespace: 'default' },
  spec: { network: 'lab', interface: '' },
  ...rest,
})

describe('a claim', () => {
  test('is read with members that are not known', () => {
    const given = claim({ status: { ips: ['10.0.0.7/24'], ownerPod: { name: 'p' }, later: 1 } })
    expect(IPAMClaim.parse(given)).toEqual(given)
    expect(IPAMClaim.parse(claim({}))).toEqual(claim({}))
  })

  test('with null for its addresses has none', () => {
    expect(IPAMClaim.parse(claim({ status: { ips: null, ownerPod: null } })).status).toEqual({ ips: [] })
    expect(IPAMClaim.parse(claim({ status: {} })).status).toEqual({ ips: [] })
  })

  test('without addresses in its status is refused by an API server', () => {
    expect(IPAMClaim.validate(claim({ status: {} })).map(formatFieldError)).toEqual(['status.ips: Required value'])
    expect(IPAMClaim.validate(claim({ status: { ips: [] } }))).toEqual([])
    expect(IPAMClaim.validate(claim({ spec: {} })).map(({ path }) => path)).toEqual(['spec.network', 'spec.interface'])
  })

  test('has addresses with and without a length', () => {
    expect(claimAddresses(IPAMClaim.parse(claim({ status: { ips: ['10.0.0.7/24', 'FD00::7'] } })))).toEqual({
      ok: true,
      value: [{ address: Address.parse('10.0.0.7'), prefixLength: 24 }, { address: Address.parse('fd00::7') }],
    })
    expect(claimAddresses(IPAMClaim.parse(claim({})))).toEqual({ ok: true, value: [] })
    expect(claimAddresses(IPAMClaim.parse(claim({ status: { ips: ['10.0.0.7', 'x', '10.0.0.1/33'] } })))).toMatchObject(
      {
        failure: {
          code: 'INVALID_OBJECT',
          context: { issues: [{ path: 'status.ips[1]' }, { path: 'status.ips[2]' }] },
        },
      },
    )
  })

  test('is never written with null for its addresses', () => {
    expect(claimStatusPatch({ ips: [] })).toEqual({ status: { ips: [], ownerPod: null } })
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'Ok', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ] as const
    expect(claimStatusPatch({ ips: ['10.0.0.7/24'], ownerPod: { name: 'p' }, conditions })).toEqual({
      status: { ips: ['10.0.0.7/24'], ownerPod: { name: 'p' }, conditions },
    })
    expect(() => claimStatusPatch({ ips: null as never })).toThrow(
      'claimStatusPatch: argument status.ips: expected a list, got null',
    )
  })
})

describe('requests of a claim', () => {
  const asks = (...ipRequests: readonly string[]) =>
    claim({ spec: { network: 'lab', interface: '', ipRequests } }) as unknown as IPAMClaim

  test('are read with the released definition, which does not have them', () => {
    expect(IPAMClaim.parse(asks('10.0.0.7/24'))).toEqual(asks('10.0.0.7/24'))
    expect(IPAMClaim.warnings(asks('10.0.0.7/24'))).toEqual(['unknown field "spec.ipRequests"'])
    expect(IPAMClaimWithRequests.warnings(asks('10.0.0.7/24'))).toEqual([])
    expect(IPAMClaim.safeParse(asks(7 as never)).ok).toBe(false)
  })

  test('are at most two, and never change, in the definition', () => {
    const three = IPAMClaimWithRequests.validate(asks('10.0.0.1/24', 'fd00::1/64', '10.0.0.2/24'))
    expect(three.map(formatFieldError)).toEqual(['spec.ipRequests: Too many: 3: must have at most 2 items'])
    const text = JSON.stringify(crdManifest(IPAMClaimWithRequests).spec)
    expect(text.match(/self == oldSelf/g)).toHaveLength(3)
    expect(JSON.stringify(crdManifest(IPAMClaim).spec)).not.toContain('ipRequests')
  })

  test('are addresses, of two families', () => {
    expect(requestedClaimAddresses(asks('10.0.0.7/24', 'fd00::7/64'))).toMatchObject({
      value: [{ prefixLength: 24 }, { prefixLength: 64 }],
    })
    expect(requestedClaimAddresses(asks())).toEqual({ ok: true, value: [] })
    expect(requestedClaimAddresses(asks('fd00::1/64', 'x', 'fd00::2/64'))).toMatchObject({
      failure: { code: 'INVALID_OBJECT', context: { issues: [{ path: 'spec.ipRequests[1]' }] } },
    })
    expect(requestedClaimAddresses(asks('fd00::1/64', '10.0.0.1/24', 'fd00::2/64'))).toMatchObject({
      failure: { context: { issues: [{ path: 'spec.ipRequests[2]', message: 'a second IPv6 address' }] } },
    })
  })
})

describe('the name of a claim of a VM', () => {
  test.each([
    ['vm1', 'random_net', 'vm1.random.net'],
    ['VM1', '-net-', 'vm1.net'],
    ['vm-', 'a b/c', 'vm.a.b.c'],
    ['vm1', '', 'vm1'],
    ['vm.a', 'net', 'vm.a.net'],
    ['vm', 'a.net', 'vm.a.net'],
    ['vm1', 'über', 'vm1.ber'],
  ])('%s with %s is %s', (vm, network, value) => {
    expect(vmClaimName({ vm, network })).toEqual({ ok: true, value })
  })

  test.each([
    ['', '', ''],
    ['a'.repeat(252), 'net', `${'a'.repeat(252)}.`],
    ['a'.repeat(250), 'n-et', `${'a'.repeat(250)}.n-`],
    ['vm', 'a\\xb', 'vm.a\\xb'],
  ])('%s with %s is a failure', (vm, network, name) => {
    expect(vmClaimName({ vm, network })).toMatchObject({
      ok: false,
      failure: { code: 'INVALID_CLAIM_NAME', context: { name } },
    })
  })
})
