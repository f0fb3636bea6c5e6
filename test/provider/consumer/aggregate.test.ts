import { claimsFor, resolveClaim, resolveClaims } from 'ipam-kit/provider/consumer'
import { describe, expect, test } from 'vitest'
import { aggregate } from '../../../src/provider/consumer/aggregate.js'
import type { DialectName } from '../../../src/provider/consumer/dialects.js'
import { addressOf, type ClaimParts, claimOf, machine, poolRef, ready } from './world.js'

/**
 * The condition of a machine with these claims: `undefined` is one that is not there. Addresses of
 * the name `x` are there.
 */
function conditionOf(naming: DialectName, parts: readonly (ClaimParts | undefined)[]) {
  const pools = parts.map((_, index) => poolRef(`pool-${index}`))
  const desired = claimsFor(machine(), [{ name: 'net0', pools }], naming)
  const resolved = desired.map((each, index) => {
    const claim = parts[index] && claimOf(each, parts[index])
    const address = claim?.status?.addressRef?.name === 'x' ? addressOf(each, { name: 'x' }) : undefined
    return { desired: each, resolution: resolveClaim(each, claim, address) }
  })
  return aggregate(resolved, naming).condition
}

const bound: ClaimParts = { addressRef: 'x' }
const other = { apiVersion: 'example.com/v1', kind: 'Machine', name: 'other', uid: 'o' }

describe('capv', () => {
  const type = 'IPAddressClaimsFulfilled'

  test('counts claims that name an address', () => {
    expect(conditionOf('capv', [bound, bound])).toEqual({ type, status: 'True', reason: 'Fulfilled', message: '' })
    expect(conditionOf('capv', [undefined, {}, bound])).toMatchObject({
      status: 'False',
      reason: 'IPAddressClaimsBeingCreated',
      message: '1/3 claims being created',
    })
    expect(conditionOf('capv', [{}, {}, bound])).toMatchObject({
      reason: 'WaitingForIPAddress',
      message: '2/3 claims being processed',
    })
    expect(conditionOf('capv', [bound, { addressRef: 'not there yet' }])).toMatchObject({ reason: 'Fulfilled' })
    expect(conditionOf('capv', [])).toMatchObject({ status: 'True', reason: 'Fulfilled' })
  })

  test('sums up Ready where every claim has it, and only then', () => {
    const isReady = { ...bound, conditions: [ready('True')] }
    const full = { conditions: [ready('False', 'PoolExhausted', 'no address available')] }
    expect(conditionOf('capv', [isReady, full])).toEqual({
      type,
      status: 'False',
      reason: 'IssuesReported',
      message: 'vm-0-1: PoolExhausted: no address available',
    })
    expect(conditionOf('capv', [isReady, { conditions: [ready('Unknown', 'Asking')] }])).toMatchObject({
      status: 'Unknown',
      reason: 'UnknownReported',
      message: 'vm-0-1: Asking',
    })
    expect(conditionOf('capv', [isReady, isReady])).toMatchObject({ status: 'True', reason: 'InfoReported' })
    expect(conditionOf('capv', [isReady, full, {}])).toMatchObject({ reason: 'WaitingForIPAddress' })
  })

  test('tells of a claim that is another’s', () => {
    expect(conditionOf('capv', [bound, { owners: [other] }])).toMatchObject({
      status: 'False',
      reason: 'NotFulfilled',
      message: expect.stringContaining('OwnerMismatch: IPAddressClaim default/vm-0-1 is not owned by Machine vm'),
    })
  })
})

test('openshift counts those that wait', () => {
  expect(conditionOf('openshift', [bound, {}, undefined])).toEqual({
    type: 'IPAddressClaimed',
    status: 'False',
    reason: 'WaitingForIPAddress',
    message: 'Waiting on 2 IP address claims to be bound',
  })
  expect(conditionOf('openshift', [bound])).toMatchObject({ status: 'True', reason: 'IPAddressClaimed' })
})

test('proxmox says what each claim waits for, and continues', () => {
  expect(conditionOf('proxmox', [bound, { owners: [other] }])).toMatchObject({
    type: 'VirtualMachineProvisioned',
    status: 'False',
    reason: 'WaitingForStaticIPAllocation',
    message: expect.stringMatching(/^OwnerMismatch: /),
  })
  expect(conditionOf('proxmox', [bound])).toMatchObject({
    status: 'False',
    reason: 'WaitingForBootstrapDataReconciliation',
    message: '',
  })
})

test('capo has a reason to wait, and metal3 no word at all', () => {
  expect(conditionOf('capo', [{}])).toMatchObject({
    type: 'FloatingAddressFromPoolReady',
    reason: 'WaitingForIPAddress',
  })
  expect(conditionOf('capo', [bound])).toBeUndefined()
  expect(conditionOf('metal3', [{}])).toBeUndefined()
})

test('counts say where each claim stands', () => {
  const desired = claimsFor(machine(), [{ pools: [poolRef('a'), poolRef('b'), poolRef('c'), poolRef('d')] }], 'capv')
  const claims = [
    claimOf(desired[1]!),
    claimOf(desired[2]!, { owners: [other], addressRef: 'nowhere' }),
    claimOf(desired[3]!, { isDeleting: true }),
  ]
  expect(aggregate(resolveClaims(desired, claims, []), 'capv').counts).toEqual({
    ...{ total: 4, missing: 1, pending: 1, bound: 0, deleting: 1, conflict: 1, fulfilled: 1 },
  })
})
