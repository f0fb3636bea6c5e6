import { phaseOf, stateOf } from 'ipam-kit/claim'
import { describe, expect, test } from 'vitest'
import type { ClaimStatusLike, NotReadyReason, Phase } from '../../src/claim/state.js'

const failed = (type: string, reason: string) => ({ conditions: [{ type, status: 'False', reason }] })

describe('where a claim stands, by its kind', () => {
  test.each<[kind: string, status: ClaimStatusLike['status'], phase: Phase, reason?: NotReadyReason]>([
    ['IPAddressClaim', { addressRef: { name: 'web-0' } }, 'Bound'],
    ['IPAddressClaim', { addressRef: { name: '' } }, 'Pending'],
    ['IPAddressClaim', failed('Ready', 'PoolExhausted'), 'Error', 'PoolExhausted'],
    ['IPAddressClaim', failed('Ready', 'PoolNotReady'), 'Pending', 'PoolNotReady'],
    ['IPAddressClaim', failed('Ready', 'SomethingElse'), 'Pending'],
    ['IPAddressClaim', { address: { name: 'web-0' } }, 'Pending'],
    ['IPClaim', undefined, 'Pending'],
    ['IPClaim', { address: { name: 'pool-192-168-0-10' } }, 'Bound'],
    ['IPClaim', { address: { name: 'pool-192-168-0-10' }, errorMessage: 'an earlier one' }, 'Bound'],
    ['IPClaim', { errorMessage: 'Exhausted IP Pools' }, 'Error', 'PoolExhausted'],
    ['IPClaim', { errorMessage: 'Pre-allocated IP out of bounds' }, 'Error', 'AllocationFailed'],
    ['IPClaim', { errorMessage: '' }, 'Pending'],
    ['IPAMClaim', { ips: ['10.128.20.8/24'] }, 'Bound'],
    ['IPAMClaim', { ips: [] }, 'Pending'],
    ['IPAMClaim', { ips: [], ...failed('IPsAllocated', 'SubnetExhausted') }, 'Error', 'PoolExhausted'],
    ['IPAMClaim', { ips: [], ...failed('IPsAllocated', 'IPAddressConflict') }, 'Error', 'AllocationFailed'],
    ['IPAMClaim', failed('Ready', 'PoolExhausted'), 'Pending'],
  ])('%s with the status %j is %s', (kind, status, phase, reason) => {
    const claim = { kind, status }
    expect(phaseOf(claim)).toBe(phase)
    expect(stateOf(claim)).toEqual(reason === undefined ? { phase } : { phase, reason })
  })

  test('a claim without a kind, or of a kind that is not known, is read as Cluster API has it', () => {
    for (const kind of [undefined, 'toString']) {
      expect(phaseOf({ kind, status: { addressRef: { name: 'a' } } })).toBe('Bound')
    }
  })
})
