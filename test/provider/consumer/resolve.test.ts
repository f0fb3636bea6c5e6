import { claimsFor, type DesiredClaim, dialects, resolveClaim, resolveClaims } from 'ipam-kit/provider/consumer'
import { describe, expect, test } from 'vitest'
import { addressOf, claimOf, machine, poolRef, ready } from './world.js'

const [desired] = claimsFor(machine(), [{ pools: [poolRef('lab')] }], 'capv') as [DesiredClaim]
const strictly = { ...dialects.proxmox, adoptsUnowned: false }
const [strict] = claimsFor(machine(), [{ name: 'net0', pools: [poolRef('lab')] }], strictly) as [DesiredClaim]
const earlier = { ...desired.ownerReference, uid: 'uid-of-an-earlier-vm' }
const other = { ...desired.ownerReference, name: 'other', uid: 'uid-other' }
const named = { addressRef: 'an-address' }
const address = addressOf(desired, { name: 'an-address' })

describe('a claim is', () => {
  test('missing', () => {
    expect(resolveClaim(desired)).toEqual({ kind: 'missing', message: 'IPAddressClaim default/vm-0-0 is not there' })
    const orphan = addressOf(desired)
    expect(resolveClaim(desired, undefined, orphan)).toMatchObject({ kind: 'missing', orphanAddress: orphan })
  })

  test('pending, with what Ready says', () => {
    expect(resolveClaim(desired, claimOf(desired))).toMatchObject({ kind: 'pending', reason: undefined })
    const full = claimOf(desired, { conditions: [ready('False', 'PoolExhausted', 'no address available')] })
    expect(resolveClaim(desired, full)).toMatchObject({
      kind: 'pending',
      state: { phase: 'Error', reason: 'PoolExhausted' },
      reason: 'PoolExhausted',
      message: 'IPAddressClaim default/vm-0-0 has no address yet: PoolExhausted: no address available',
    })
    expect(resolveClaim(desired, claimOf(desired, { conditions: [ready('True')] }))).toMatchObject({
      reason: undefined,
    })
  })

  test('bound, with the annotations of both', () => {
    const claim = claimOf(desired, { ...named, annotations: { a: 'claim', c: 'claim' } })
    const own = addressOf(desired, { name: 'an-address', annotations: { a: 'address', b: 'address' } })
    expect(resolveClaim(desired, claim, own)).toMatchObject({
      kind: 'bound',
      address: own,
      annotations: { a: 'claim', b: 'address', c: 'claim' },
    })
  })

  test('bound too, if its owner reference has another version', () => {
    const owners = [{ ...desired.ownerReference, apiVersion: 'example.com/v2' }]
    expect(resolveClaim(desired, claimOf(desired, { ...named, owners }), address).kind).toBe('bound')
  })

  test('on its way out: ours, with what it still has, or not ours', () => {
    const claim = claimOf(desired, { ...named, isDeleting: true })
    expect(resolveClaim(desired, claim, address)).toMatchObject({ kind: 'deleting', whose: 'mine', address })
    expect(resolveClaim(desired, claim)).not.toHaveProperty('address')
    expect(resolveClaim(desired, claim, addressOf(desired, { name: 'an-address', pool: 'other' }))).not.toHaveProperty(
      'address',
    )
    for (const owners of [[earlier], [other]]) {
      const foreign = claimOf(desired, { ...named, isDeleting: true, owners })
      expect(resolveClaim(desired, foreign, address)).toMatchObject({ kind: 'deleting', whose: 'foreign' })
      expect(resolveClaim(desired, foreign, address)).not.toHaveProperty('address')
    }
  })
})

describe('a claim is of no use', () => {
  test.each([
    ['OwnerMismatch', claimOf(desired, { ...named, owners: [other] }), address],
    ['OwnerMismatch', claimOf(desired, { ...named, owners: [earlier, other] }), address],
    ['OwnerMismatch', claimOf(desired, { ...named, owners: [other], pool: 'other' }), address],
    ['PoolMismatch', claimOf(desired, { ...named, pool: 'other' }), address],
    ['AddressMissing', claimOf(desired, named), undefined],
    [
      'AddressPoolRef',
      claimOf(desired, named),
      addressOf(desired, { name: 'an-address', pool: 'other', claim: 'other' }),
    ],
    ['AddressClaimRef', claimOf(desired, named), addressOf(desired, { name: 'an-address', claim: 'other' })],
  ])('%s', (reason, claim, found) => {
    expect(resolveClaim(desired, claim, found)).toMatchObject({ kind: 'conflict', reason, claim })
  })

  test('a claim without an owner is taken over where the dialect does so', () => {
    expect(resolveClaim(desired, claimOf(desired, { owners: [] })).kind).toBe('pending')
    expect(resolveClaim(strict, claimOf(strict, { owners: [] }))).toMatchObject({ reason: 'OwnerMismatch' })
  })
})

describe('objects that were mixed up are refused', () => {
  test.each([
    ['a claim of another name', claimOf({ ...desired, name: 'other' }), undefined],
    ['a claim of another namespace', claimOf({ ...desired, namespace: 'other' }), undefined],
    ['an address that the claim does not name', claimOf(desired, named), addressOf(desired)],
    ['an address of a claim that names none', claimOf(desired), addressOf(desired)],
    ['an orphan of another name', undefined, address],
  ])('%s', (_, claim, found) => {
    expect(() => resolveClaim(desired, claim, found)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

test('many are looked up by name, in their own namespace only', () => {
  const both = claimsFor(machine(), [{ pools: [poolRef('lab'), poolRef('other')] }], 'capv') as [
    DesiredClaim,
    DesiredClaim,
  ]
  const claims = both.map((each) => claimOf(each, { addressRef: `${each.name}-x` }))
  const elsewhere = claimOf({ ...both[0], namespace: 'elsewhere' }, { owners: [other] })
  const addresses = [
    addressOf(both[1], { name: 'vm-0-1-x' }),
    addressOf({ ...both[0], namespace: 'elsewhere' }, { name: 'vm-0-0-x' }),
  ]
  const resolved = resolveClaims(both, [...claims, elsewhere], addresses)
  expect(resolved.map(({ resolution }) => resolution.kind)).toEqual(['conflict', 'bound'])
  expect(resolveClaims(both, [], [addressOf(both[1])]).map(({ resolution }) => 'orphanAddress' in resolution)).toEqual([
    false,
    true,
  ])
})
