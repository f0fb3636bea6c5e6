import { Address } from 'ipam-kit/cidr'
import { claimAddresses, claimStatusPatch, IPAMClaim, vmClaimName } from 'ipam-kit/crd/ipamclaims'
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
