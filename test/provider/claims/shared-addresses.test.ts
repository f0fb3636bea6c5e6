import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { beforeEach, expect, test } from 'vitest'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import type { PoolKinds } from '../../../src/provider/claims/rules.js'
import { isSameRival, SharedAddresses } from '../../../src/provider/claims/shared-addresses.js'

const pools: PoolKinds = {
  kinds: [{ ...InfobloxPool.info, group: 'ipam.example.com' }],
  emptyGroup: 'ipam.example.com',
}
const poolRef = { apiGroup: 'ipam.example.com', kind: 'InfobloxPool', name: 'lab' }

interface Status {
  readonly isBound?: boolean
  readonly isTold?: boolean
}

function claimOf(name: string, { isBound = false, isTold = false }: Status = {}): IPAddressClaim {
  const time = { lastTransitionTime: '2026-01-01T00:00:00Z' }
  const told = { type: 'AddressUnique', status: 'False', reason: 'DuplicateAddress', message: 'it is shared', ...time }
  return IPAddressClaim.parse({
    apiVersion: IPAddressClaim.info.apiVersion,
    kind: 'IPAddressClaim',
    metadata: { namespace: 'default', name, uid: `uid-${name}` },
    spec: { poolRef },
    status: { ...(isBound ? { addressRef: { name } } : {}), ...(isTold ? { conditions: [told] } : {}) },
  })
}

function addressOf(name: string, minute: number): IPAddress {
  const { apiVersion, kind } = IPAddressClaim.info
  return IPAddress.parse({
    apiVersion: IPAddress.info.apiVersion,
    kind: 'IPAddress',
    metadata: {
      namespace: 'default',
      name,
      creationTimestamp: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
      ownerReferences: [{ apiVersion, kind, name, uid: `uid-${name}`, controller: true }],
    },
    spec: { claimRef: { name }, poolRef, address: '10.20.0.1', prefix: 30 },
  })
}

let shared: SharedAddresses
let claims: Map<string, IPAddressClaim>
let lookedAt: number
beforeEach(() => {
  shared = new SharedAddresses(pools)
  claims = new Map()
  lookedAt = 0
})

/** Claims `0`, `1`, ... with one address, the older first. */
function make(count: number, statuses: { readonly [key: string]: Status } = {}): void {
  for (let nth = 0; nth < count; nth++) claims.set(`${nth}`, claimOf(`${nth}`, statuses[nth]))
}

function rivalsOf(key: string, nowMs = 0) {
  const claim = claims.get(key) as IPAddressClaim
  const others = [...claims.keys()].filter((other) => other !== key)
  const contenderOf = (other: string) => {
    lookedAt++
    return { address: addressOf(other, Number(other)), claim: claims.get(other) }
  }
  const own = { address: addressOf(key, Number(key)), claim }
  const sharing = { key, own, others, names: () => others, claimOf: (other: string) => claims.get(other), contenderOf }
  return shared.rivalsOf(sharing, { nowMs, mayGiveWay: true })!
}
const after = (changed: string, of: 'afterAddress' | 'afterClaim') =>
  shared[of](
    changed,
    [...claims.keys()].filter((key) => key !== changed),
  )

test('a claim gives way as soon as one is found that does not: the rest is not compared', () => {
  make(1000)
  const given = [...claims.keys()].filter((key) => rivalsOf(key).giveWay)
  expect(given).toEqual(['0'])
  // the oldest is compared with all others, and each of the others with the oldest alone
  expect(lookedAt).toBe(999 + 999)
})

test('a claim that gives way waits for the Bound one, and for nothing else', () => {
  make(1000, { 500: { isBound: true } })
  for (const key of claims.keys()) expect(rivalsOf(key).isUnreported).toBe(key !== '500')
  expect(after('7', 'afterClaim')).toEqual([])
  // the Bound one names the first of them, and depends on that one alone
  expect(after('7', 'afterAddress')).toEqual([])
  expect(after('0', 'afterAddress')).toEqual(['500'])
  claims.set('500', claimOf('500', { isBound: true, isTold: true }))
  expect(after('500', 'afterClaim')).toHaveLength(999)
  // each is woken once until it is planned
  expect(after('500', 'afterClaim')).toEqual([])
  expect(rivalsOf('8')).toMatchObject({ giveWay: false, isUnreported: false })
})

test('when an IPAddress is deleted, the claims that went by it are planned again, and the one that keeps the address', () => {
  make(100)
  for (const key of claims.keys()) rivalsOf(key)
  claims.delete('7')
  expect(after('7', 'afterAddress')).toEqual(['0'])
  rivalsOf('0')
  claims.delete('0')
  expect(after('0', 'afterAddress')).toHaveLength(98)
})

test('a claim that had its address for itself is planned again when another one has it too', () => {
  make(2)
  rivalsOf('1')
  shared.forget('1')
  expect(after('0', 'afterClaim')).toEqual([])
  expect(after('0', 'afterAddress')).toEqual(['1'])
})

test('the wait for a claim that says nothing ends after a minute, whichever claim it is', () => {
  make(3, { 0: { isBound: true }, 1: { isBound: true } })
  expect(rivalsOf('2', 1000).isUnreported).toBe(true)
  claims.set('0', claimOf('0', { isBound: true, isTold: true }))
  expect(after('0', 'afterClaim')).toEqual(['2'])
  expect(rivalsOf('2', 60_999).isUnreported).toBe(true)
  expect(rivalsOf('2', 61_000)).toMatchObject({ giveWay: false, isUnreported: false })
})

test('a change of a claim means something to the others only if it changes whether it gives way', () => {
  const [before, bound] = [claimOf('a'), claimOf('a', { isBound: true })]
  const labelled = { ...before, metadata: { ...before.metadata, labels: { tier: 'one' } } }
  expect([isSameRival(before, labelled), isSameRival(undefined, undefined)]).toEqual([true, true])
  const paused = { ...before.metadata, annotations: { 'cluster.x-k8s.io/paused': '' } }
  const others = [
    undefined,
    bound,
    { ...before, metadata: { ...before.metadata, uid: 'another' } },
    { ...before, metadata: { ...before.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    { ...before, metadata: paused },
  ]
  for (const other of others) expect(isSameRival(before, other)).toBe(false)
  expect(isSameRival(bound, claimOf('a', { isBound: true, isTold: true }))).toBe(false)
})
