import { Address } from 'ipam-kit/cidr'
import { IPAddress } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import type { ExternalResult } from 'ipam-kit/plan'
import { AddressLedger, defineProvider, type PoolHoldings, protectPool } from 'ipam-kit/provider/claims'
import { describe, expect, test } from 'vitest'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import type { ExternalOptions } from '../../../src/provider/claims/definition.js'
import { passResult } from '../pass-result.js'
import { stored } from '../stored.js'
import { addressRef, claim, claimRef, pool, poolRef } from './world.js'

const KEY = 'IPAddressClaim default/a'
const CLAIM_FINALIZER = 'ipam.cluster.x-k8s.io/ReleaseAddress'
const ADDRESS_FINALIZER = 'ipam.cluster.x-k8s.io/ProtectAddress'
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' }

/**
 * A provider that gives 10.20.0.1: what it is asked for in the external system is not looked at.
 * One that can fail says so with the reason AllocationFailed.
 */
function provider(
  external: ExternalOptions | undefined,
  { fails = false, seen = [] as string[] }: { readonly fails?: boolean; readonly seen?: string[] } = {},
) {
  return defineProvider({
    name: 'sample',
    pools: [InfobloxPool],
    external,
    sweepAfterSeconds: 60,
    ledger: (holdings) => new AddressLedger<InfobloxPool>(holdings),
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure({ results }) {
      if (fails) return { kind: 'wait', reason: 'AllocationFailed', message: 'in use by somebody else' }
      if (external !== undefined && results.allocate === undefined) {
        return { kind: 'call', operation: 'allocate', input: {}, why: 'the claim has no address' }
      }
      return { kind: 'address', address: Address.parse('10.20.0.1'), prefix: 30, why: 'it is the only one' }
    },
    release({ pool, isStale, results }) {
      seen.push(`${isStale ? 'left over' : 'its own'}, of ${pool?.metadata.name}`)
      if (external === undefined || results.release !== undefined) return { kind: 'done' }
      return { kind: 'call', operation: 'release', input: {}, why: 'its claim no longer needs it' }
    },
    planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
  })
}

/** An IPAddress that the provider has made for a claim, unless it is said otherwise. */
function address(name: string, metadata: object = {}): KubeObject {
  const { apiVersion, kind } = IPAddress.info
  const owner = { apiVersion, kind: 'IPAddressClaim', name, uid: `uid-IPAddressClaim-${name}`, controller: true }
  return {
    apiVersion,
    kind,
    metadata: {
      namespace: 'default',
      name,
      uid: `uid-${name}`,
      resourceVersion: '7',
      finalizers: [ADDRESS_FINALIZER],
      ownerReferences: [owner],
      ...metadata,
    },
    spec: {
      claimRef: { name },
      poolRef: { apiGroup: 'ipam.example.com', kind: 'InfobloxPool', name: 'lab' },
      address: '10.20.0.2',
      prefix: 30,
    },
  }
}

type Planner = ReturnType<typeof provider>

/** Shows objects. A pool that was not shown does not exist. */
function show(planner: Planner, ...objects: readonly KubeObject[]): readonly string[] {
  planner.complete?.(InfobloxPool.info)
  return objects.flatMap((object) => planner.observe({ kind: 'present', object }))
}

function gone(planner: Planner, ref: ObjectRef, uid: string): readonly string[] {
  return planner.observe({ kind: 'absent', ref, uid })
}

/** Plans the claim, and answers the call that the plan makes. */
function answered(planner: Planner, answer: ExternalResult): void {
  const [effect] = planner.plan(KEY, { nowMs: 0 })?.effects.filter(({ kind }) => kind === 'external') ?? []
  if (effect?.kind !== 'external') throw new Error('no call')
  expect(passResult(planner, { call: effect.call, answer, atMs: 0 })).toEqual([KEY])
}

describe('an IPAddress without its claim', () => {
  const OUTSIDE: ExternalOptions = { marker: 'kept' }
  const planOf = (planner: Planner, metadata: object) => {
    show(planner, stored(pool()), address('a', metadata))
    planner.plan(KEY, { nowMs: 0 })
    return planner.plan(KEY, { nowMs: 61_000 })
  }

  test('is swept where nothing is kept in the external system', () => {
    expect(planOf(provider(undefined), {})?.outcome).toMatchObject({ kind: 'swept', address: '10.20.0.2' })
  })

  test('is let go where nothing is kept in the external system', () => {
    expect(planOf(provider(undefined), DELETED)?.outcome).toMatchObject({ kind: 'swept' })
  })

  test.each([
    ['swept', {}],
    ['let go', DELETED],
  ])('is not %s where an external system has it: it is unknown what is to be given back there', (_, metadata) => {
    expect(planOf(provider(OUTSIDE), metadata)).toBeUndefined()
  })
})

describe('an IPAddress that an earlier claim of the name has left', () => {
  const left = address('a', {
    ownerReferences: [
      { apiVersion: IPAddress.info.apiVersion, kind: 'IPAddressClaim', name: 'a', uid: 'before', controller: true },
    ],
  })

  test('is given back to the pool that it is of, and not to that of the claim', () => {
    const seen: string[] = []
    const planner = provider(undefined, { seen })
    show(planner, stored(pool()), stored(pool('10.21.0.0/30', 'other')), stored(claim('a', {}, 'other')), left)
    expect(planner.plan(KEY, { nowMs: 0 })?.outcome).toMatchObject({ reason: 'AllocationFailed' })
    expect(seen).toEqual(['left over, of lab'])
  })
})

describe('a claim that has failed', () => {
  const failing = (external: ExternalOptions | undefined) => {
    const planner = provider(external, { fails: true })
    show(planner, stored(pool()), stored(claim('a')), address('b'))
    expect(planner.plan(KEY, { nowMs: 0 })?.outcome).toMatchObject({ kind: 'waiting', reason: 'AllocationFailed' })
    const { apiVersion, kind } = IPAddress.info
    return gone(planner, { apiVersion, kind, namespace: 'default', name: 'b' }, 'uid-b')
  }

  test('is tried again when an address of its pool goes', () => {
    expect(failing(undefined)).toContain(KEY)
  })

  test('is not where an external system has refused it: that has its own time', () => {
    expect(failing({ marker: 'kept' })).not.toContain(KEY)
  })

  test('is not forgotten by an external system that says that it is full', () => {
    const planner = provider({ marker: 'kept' })
    show(planner, stored(pool()), stored(claim('a')), address('b'))
    answered(planner, { ok: false, failure: { message: 'full', reason: 'PoolExhausted', retryable: false } })
    expect(planner.plan(KEY, { nowMs: 0 })?.outcome).toMatchObject({ reason: 'PoolExhausted' })
    const { apiVersion, kind } = IPAddress.info
    expect(gone(planner, { apiVersion, kind, namespace: 'default', name: 'b' }, 'uid-b')).toContain(KEY)
    expect(planner.plan(KEY, { nowMs: 0 })?.outcome).toMatchObject({ reason: 'ExternalCall' })
  })
})

describe('what a claim has in the external system is given back', () => {
  const planOf = (...beside: readonly KubeObject[]) => {
    const planner = provider({ marker: 'kept' })
    show(planner, stored(pool()), stored(claim('a'), { ...DELETED, finalizers: [CLAIM_FINALIZER] }), ...beside)
    return planner.plan(KEY, { nowMs: 0 })?.effects ?? []
  }
  const { apiVersion, kind } = IPAddress.info

  test('when the store says that there is no IPAddress of it', () => {
    expect(planOf()).toMatchObject([
      { kind: 'patch', ref: claimRef('a'), patch: {} },
      { kind: 'absent', ref: { apiVersion, kind, namespace: 'default', name: 'a' } },
      { kind: 'external' },
    ])
  })

  test('when that of its name is still the one that is none of it', () => {
    const other = address('a', { ownerReferences: [] })
    const plan = planOf({ ...other, spec: { ...(other.spec as object), claimRef: { name: 'b' } } })
    expect(plan).toMatchObject([
      { kind: 'patch', ref: claimRef('a'), patch: {} },
      { kind: 'patch', ref: { kind, name: 'a' }, patch: {}, if: { uid: 'uid-a', resourceVersion: '7' } },
      { kind: 'external' },
    ])
  })

  test('not while that of its name cannot be read', () => {
    expect(planOf({ ...address('a'), spec: { address: 7 } })).toEqual([])
  })

  test('and then the claim goes, if there is still none', () => {
    const planner = provider({ marker: 'kept' })
    show(planner, stored(pool()), stored(claim('a'), { ...DELETED, finalizers: [CLAIM_FINALIZER] }))
    answered(planner, { ok: true, value: {} })
    expect(planner.plan(KEY, { nowMs: 0 })).toMatchObject({
      outcome: { kind: 'released' },
      effects: [{ kind: 'absent' }, { kind: 'patch', ref: claimRef('a'), patch: { metadata: { finalizers: [] } } }],
    })
  })

  test('before the one that it has is: that is seen', () => {
    expect(planOf(address('a')).map((effect) => effect.kind)).toEqual(['patch', 'external'])
  })
})

describe('a release that the external system has refused for good', () => {
  const OUTSIDE: ExternalOptions = { marker: 'kept' }
  const deleted = (metadata: object = {}) =>
    stored(claim('a'), { ...DELETED, finalizers: [CLAIM_FINALIZER], ...metadata })
  const PAUSED = { annotations: { 'cluster.x-k8s.io/paused': '' } }
  const refused = () => {
    const planner = provider(OUTSIDE)
    show(planner, stored(pool()), deleted())
    answered(planner, { ok: false, failure: { message: 'no such record', retryable: false } })
    return planner
  }
  const reasonOf = (planner: Planner) => {
    const { outcome, requeueAfterSeconds } = planner.plan(KEY, { nowMs: 86_400_000 }) ?? {}
    expect(requeueAfterSeconds).toBeUndefined()
    return outcome?.kind === 'waiting' ? outcome.reason : outcome?.kind
  }

  test('is not asked again by itself, nor when the claim changes, nor the labels or the status of the pool', () => {
    const planner = refused()
    expect(reasonOf(planner)).toBe('AllocationFailed')
    show(planner, deleted({ resourceVersion: '8', annotations: { note: 'please' } }))
    show(planner, stored({ ...pool(), status: { seen: true } }, { resourceVersion: '8', labels: { note: 'please' } }))
    expect(reasonOf(planner)).toBe('AllocationFailed')
  })

  test('is when the spec of the pool changes', () => {
    const planner = refused()
    show(planner, stored({ ...pool(), spec: { network: '10.20.0.0/29', prefix: 29 } }, { resourceVersion: '8' }))
    expect(reasonOf(planner)).toBe('ExternalCall')
  })

  test('is when the pool was paused and no longer is', () => {
    const planner = refused()
    show(planner, stored(pool(), { resourceVersion: '8', ...PAUSED }))
    expect(reasonOf(planner)).toBe('paused')
    show(planner, stored(pool(), { resourceVersion: '9' }))
    expect(reasonOf(planner)).toBe('ExternalCall')
  })

  test('is after a restart', () => {
    const planner = refused()
    planner.reset()
    show(planner, stored(pool()), deleted())
    expect(reasonOf(planner)).toBe('ExternalCall')
  })
})

describe('a verb that makes two calls', () => {
  /**
   * How many calls are made until there is an address, at most 20, if each of the two takes this
   * many seconds.
   */
  function callsUntilDone(reserveSeconds: number, registerSeconds: number): number {
    const planner = defineProvider({
      name: 'sample',
      pools: [InfobloxPool],
      external: { marker: 'kept' },
      ledger: (holdings) => new AddressLedger<InfobloxPool>(holdings),
      resolve: () => ({ kind: 'ready', offer: undefined }),
      ensure({ results }) {
        for (const operation of ['reserve', 'register']) {
          if (results[operation] === undefined) return { kind: 'call', operation, input: {}, why: 'it takes two' }
        }
        return { kind: 'address', address: Address.parse('10.20.0.1'), prefix: 30, why: 'it is the only one' }
      },
      planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
    })
    for (const object of [stored(pool()), stored(claim('a'))]) planner.observe({ kind: 'present', object })
    let nowMs = 0
    for (let calls = 0; calls < 20; calls++) {
      const effect = planner.plan(KEY, { nowMs })?.effects.find(({ kind }) => kind === 'external')
      if (effect?.kind !== 'external') return calls
      nowMs += 1000 * (effect.call.operation === 'reserve' ? reserveSeconds : registerSeconds)
      passResult(planner, { call: effect.call, answer: { ok: true, value: {} }, atMs: nowMs })
    }
    return 20
  }

  test.each([
    [1, 60],
    [61, 61],
    [86_400, 86_400],
  ])('of %d and %d s makes 2: an answer does not become stale with time', (reserve, register) => {
    expect(callsUntilDone(reserve, register)).toBe(2)
  })
})

describe('leakPossible', () => {
  const asked = (marker: ExternalOptions['marker'], ...objects: readonly KubeObject[]) => {
    const planner = provider({ marker })
    show(planner, ...objects)
    return planner.plan(KEY, { nowMs: 0 })?.outcome
  }
  const deleted = stored(claim('a'), { ...DELETED, finalizers: [CLAIM_FINALIZER] })

  test.each([
    ['none', true],
    ['kept', undefined],
  ] as const)('of an external system that keeps markers: %s', (marker, leakPossible) => {
    const ensured = asked(marker, stored(pool()), stored(claim('a')))
    expect(ensured).toMatchObject({ kind: 'waiting', reason: 'ExternalCall' })
    expect(ensured).toHaveProperty('message', 'waiting for the external system to allocate')
    expect((ensured as { leakPossible?: true }).leakPossible).toBe(leakPossible)
    const released = asked(marker, stored(pool()), deleted)
    expect(released).toHaveProperty('message', 'waiting for the external system to release')
    expect((released as { leakPossible?: true }).leakPossible).toBe(leakPossible)
  })

  test('of a claim whose pool was removed by force, so that no marker is known', () => {
    expect(asked('kept', deleted)).toMatchObject({ kind: 'released', address: undefined, leakPossible: true })
  })

  test('not of one that never had our finalizer: nothing was asked for it', () => {
    expect(asked('kept', stored(claim('a'), { ...DELETED, finalizers: ['example.com/other'] }))).toEqual({
      kind: 'released',
      address: undefined,
      message: 'the claim has no address',
    })
  })

  test('not where the IPAddress says under which marker it is kept', () => {
    const marked = address('a', { annotations: { 'ipam-kit.dev/marker': 'pool/claim' } })
    const planner = provider({ marker: 'kept' })
    show(planner, deleted, marked)
    const [, call] = planner.plan(KEY, { nowMs: 0 })?.effects ?? []
    expect(call).toMatchObject({ kind: 'external', call: { operation: 'release', key: 'pool/claim' } })
    answered(planner, { ok: true, value: {} })
    expect(planner.plan(KEY, { nowMs: 0 })?.outcome).toEqual({
      kind: 'released',
      address: '10.20.0.2',
      message: '10.20.0.2 is released',
    })
  })

  test('not where nothing is outside', () => {
    const planner = provider(undefined)
    show(planner, deleted)
    expect(planner.plan(KEY, { nowMs: 0 })?.outcome).not.toHaveProperty('leakPossible')
  })
})

test('a pool that claims and IPAddress objects have named is forgotten when they do not exist any more', () => {
  let made = 0
  const planner = defineProvider({
    name: 'forgetful',
    pools: [InfobloxPool],
    ledger: (holdings) => {
      made++
      return new AddressLedger<InfobloxPool>(holdings)
    },
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure: () => ({ kind: 'wait', reason: 'PoolExhausted', message: 'full' }),
    planPool: () => ({ outcome: { kind: 'ready', message: '' }, effects: [] }),
  })
  const passBy = (name: string) => {
    for (const object of [claim(name), address(name), pool()]) {
      planner.observe({ kind: 'present', object: stored(object) })
    }
    for (const ref of [poolRef(), addressRef(name), claimRef(name)]) planner.observe({ kind: 'absent', ref })
  }
  passBy('a')
  expect(made).toBe(1)
  passBy('b')
  expect(made).toBe(2)
  // the pool of a claim is remembered as long as the claim
  planner.observe({ kind: 'present', object: stored(claim('c')) })
  passBy('d')
  expect(made).toBe(3)
  planner.observe({ kind: 'present', object: stored(claim('c', { metadata: { labels: { a: 'b' } } } as never)) })
  expect(made).toBe(3)
})

test('a refused write of a pool is not told to a claim that has its name', () => {
  const planner = provider(undefined)
  const name = pool().metadata.name
  for (const object of [claim(name), pool()]) planner.observe({ kind: 'present', object: stored(object) })
  const effect = { kind: 'patch', ref: poolRef(), patch: { status: {} }, if: {}, why: 'a test' } as const
  const refusal = { effect, code: 'STORE_INVALID', message: 'a webhook says no' }
  expect(planner.refused?.(`InfobloxPool default/${name}`, refusal, { nowMs: 0 })).toBeUndefined()
  expect(planner.refused?.(`IPAddressClaim default/${name}`, refusal, { nowMs: 0 })).toBeDefined()
})

describe('AddressLedger', () => {
  const WAITING = 'IPAddressClaim default/waiting'
  let version = 7
  const held = (name: string, text: string, metadata: object = {}) =>
    IPAddress.parse({
      ...address(name, { resourceVersion: `${++version}`, ...metadata }),
      spec: { ...(address(name).spec as object), address: text },
    })
  const begin = (planner: Planner, object: IPAddress) => {
    const effects = [{ kind: 'create', object, why: 'it is free' }] as const
    return planner.begin!({ outcome: { kind: 'bound', message: '' }, effects })
  }
  /** A planner that observes IPAddress objects, and a claim that waits until an address is free. */
  const watching = (...objects: readonly IPAddress[]) => {
    const planner = provider(undefined, { fails: true })
    show(planner, stored(pool()), stored(claim('waiting')), ...objects)
    planner.plan(WAITING, { nowMs: 0 })
    return { planner, ledger: planner.ledgerOf(poolRef()) }
  }

  test('compares by value, and names the others in order', () => {
    const { ledger } = watching(held('c', 'fd00::1'), held('b', 'fd00:0::1'), held('a', 'fd00::2'))
    expect(ledger.othersHolding(held('a', 'FD00::1'))).toEqual(['default/b', 'default/c'])
    expect(ledger.othersHolding(held('b', 'fd00::1'))).toEqual(['default/c'])
    expect(ledger.othersHolding(held('x', 'fd00::3'))).toEqual([])
  })

  test('drops a zone, and lets a text that is no address collide with nothing', () => {
    const { ledger } = watching(held('a', 'fe80::1%eth0'), held('b', 'nonsense'), held('c', 'nonsense'))
    expect(ledger.othersHolding(held('x', 'fe80::1'))).toEqual(['default/a'])
    expect(ledger.othersHolding(held('x', 'nonsense'))).toEqual([])
    expect(ledger.size).toBe(3)
  })

  test('follows an object that is observed again, changed, and deleted', () => {
    const { planner, ledger } = watching(held('a', '10.0.0.1'), held('a', '10.0.0.1'), held('a', '10.0.0.2'))
    expect(ledger.size).toBe(1)
    expect(ledger.othersHolding(held('x', '10.0.0.1'))).toEqual([])
    expect(ledger.othersHolding(held('x', '10.0.0.2'))).toEqual(['default/a'])
    const absences = [0, 1].map(() => planner.observe({ kind: 'absent', ref: addressRef('a') }).includes(WAITING))
    expect(absences).toEqual([true, false])
    expect([ledger.size, ledger.othersHolding(held('x', '10.0.0.2'))]).toEqual([0, []])
  })

  test('holds what is about to be written, once for each running plan', () => {
    const { planner, ledger } = watching()
    const ends = [begin(planner, held('a', '10.0.0.1')), begin(planner, held('a', '10.0.0.1'))]
    expect([ledger.size, ledger.othersHolding(held('b', '10.0.0.1'))]).toEqual([2, ['default/a']])
    // not in the way of itself
    expect(ledger.othersHolding(held('a', '10.0.0.1'))).toEqual([])
    // the last end frees the address
    expect(ends.map((end) => end().includes(WAITING))).toEqual([false, true])
    expect(ends.map((end) => end())).toEqual([[], []])
    expect([ledger.size, ledger.othersHolding(held('b', '10.0.0.1'))]).toEqual([0, []])
  })

  test('lists which object holds what, since when and for which claim, also before it is written', () => {
    const old = held('a', '10.0.0.1', { uid: 'u1', creationTimestamp: '2026-01-01T00:00:00Z' })
    const { planner, ledger } = watching(old)
    begin(planner, held('b', '10.0.0.2'))
    expect(ledger.holdings.ledger.entries()).toMatchObject([
      {
        prefix: { address: { value: 0x0a000001 }, length: 32 },
        reason: 'held',
        sinceMs: Date.UTC(2026, 0, 1),
        holder: { key: KEY, object: addressRef('a'), uid: 'u1', owner: `default/${old.spec.claimRef.name}` },
      },
      {
        prefix: { address: { value: 0x0a000002 } },
        reason: 'pending',
        holder: { key: 'IPAddressClaim default/b', owner: 'default/b' },
      },
    ])
    // another object of that name with the same address
    show(planner, held('a', '10.0.0.1', { uid: 'u2' }))
    expect(ledger.holdings.ledger.entries()[0]).toMatchObject({ reason: 'held', holder: { uid: 'u2' } })
    expect(ledger.holdings.ledger.entries()[0]?.sinceMs).toBeUndefined()
  })

  test('frees nothing at the end of a plan whose object was written', () => {
    const { planner, ledger } = watching()
    const end = begin(planner, held('a', '10.0.0.1'))
    show(planner, held('a', '10.0.0.1'))
    expect([end().includes(WAITING), ledger.size]).toEqual([false, 1])
  })

  test('is that of one pool, and knows what is wrong with it', () => {
    const [lab, other] = [pool(), pool(undefined, 'other')].map((object) => InfobloxPool.parse(object))
    const ledger = new AddressLedger<InfobloxPool>()
    expect(ledger.serves(lab!)).toBe(false)
    ledger.setPool(lab)
    expect([ledger.serves(lab!), ledger.serves(other!), ledger.problems]).toEqual([true, false, []])
    ledger.setPool(undefined, ['unreadable'])
    expect([ledger.serves(lab!), ledger.problems]).toEqual([false, ['unreadable']])
  })
})

test('a ledger that ignores the holdings it is given is refused before its provider gives anything', () => {
  const make = (ledger: (holdings: PoolHoldings) => AddressLedger<InfobloxPool>) =>
    defineProvider({
      name: 'sample',
      pools: [InfobloxPool],
      ledger,
      resolve: () => ({ kind: 'ready', offer: undefined }),
      ensure: () => ({ kind: 'address', address: Address.parse('10.20.0.1'), prefix: 30, why: 'it is the only one' }),
      planPool: ({ pool, ledger, claims }) => protectPool({ pool, addresses: ledger.size, claims }),
    })
  const refused = expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    context: expect.objectContaining({ argument: 'ledger' }),
  })
  const planner = make(() => new AddressLedger())
  for (const object of [pool(), claim('a'), address('a')]) {
    expect(() => planner.observe({ kind: 'present', object: stored(object) })).toThrow(refused)
  }
  expect(() => planner.ledgerOf(poolRef())).toThrow(refused)
  // a claim of a pool of another provider
  const other = make(() => new AddressLedger())
  const poolRefOfOther = { apiGroup: 'other.example.com', kind: 'OtherPool', name: 'lab' }
  const elsewhere = stored({ ...claim('a'), spec: { poolRef: poolRefOfOther } } as KubeObject)
  other.observe({ kind: 'present', object: elsewhere })
  expect(() => other.plan(KEY, { nowMs: 0 })).toThrow(refused)
  // one of all objects of the pool, however it is made
  expect(() => make((holdings) => new AddressLedger({ ...holdings })).ledgerOf(poolRef())).toThrow(refused)
  expect(make((holdings) => new AddressLedger(holdings)).ledgerOf(poolRef()).size).toBe(0)
})

test('what a definition leaves out is as Cluster API has it', () => {
  const planner = provider(undefined)
  expect(planner.watches.map(({ kind }) => kind)).toEqual(['IPAddressClaim', 'IPAddress', 'Cluster', 'InfobloxPool'])
  expect(planner.onResult).toBeUndefined()
  show(planner, stored(pool()), stored(claim('a')))
  const [finalizer, create] = planner.plan(KEY, { nowMs: 0 })?.effects ?? []
  expect(finalizer).toMatchObject({
    kind: 'patch',
    ref: claimRef('a'),
    patch: { metadata: { finalizers: [CLAIM_FINALIZER] } },
  })
  expect(create).toMatchObject({ object: { metadata: { finalizers: [ADDRESS_FINALIZER] } } })
  expect(planner.ledgerOf(poolRef()).size).toBe(0)
})

test.each([
  ['name', { name: '' }],
  ['definition', undefined],
  ['pools', { pools: undefined }],
  ['pools', { pools: [] }],
  [
    'pools',
    { pools: [InfobloxPool, { ...InfobloxPool, info: { ...InfobloxPool.info, apiVersion: 'other.example.com/v1' } }] },
  ],
  ['pools', { pools: [IPAddress] }],
  ['ledger', { ledger: undefined }],
  ['resolve', { resolve: 'ready' }],
  ['ensure', { ensure: undefined }],
  ['planPool', { planPool: undefined }],
  ['release', { release: true }],
  ['finalizers.claim', { finalizers: { claim: '' } }],
  ['external.marker', { external: {} }],
  ['external', { external: null }],
  ['sweepAfterSeconds', { sweepAfterSeconds: Number.NaN }],
])('a definition without a good %s is refused: %j', (argument, wrong) => {
  const good = {
    name: 'sample',
    pools: [InfobloxPool],
    ledger: (holdings: PoolHoldings) => new AddressLedger<InfobloxPool>(holdings),
    resolve: () => ({ kind: 'ready', offer: undefined }) as const,
    ensure: () => ({ kind: 'wait', reason: 'PoolExhausted', message: 'full' }) as const,
    planPool: ({ pool }: { readonly pool: InfobloxPool }) => protectPool({ pool, addresses: 0, claims: 0 }),
  }
  expect(() => defineProvider(good)).not.toThrow()
  const definition = (wrong === undefined ? undefined : { ...good, ...wrong }) as unknown as typeof good
  expect(() => defineProvider(definition)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) }),
  )
})
