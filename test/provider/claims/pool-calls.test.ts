import type { Json, KubeObject } from 'ipam-kit/crd/meta'
import type { ExternalCall, ExternalResult } from 'ipam-kit/plan'
import { AddressLedger, defineProvider, type PoolPlan, protectPool } from 'ipam-kit/provider/claims'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import type { PoolPlanInput } from '../../../src/provider/claims/definition.js'
import { passResult } from '../pass-result.js'
import { stored } from '../stored.js'
import { claim, kinds, pool } from './world.js'

type Input = PoolPlanInput<InfobloxPool, AddressLedger<InfobloxPool>>
type Result = PoolPlan<{ readonly kind: string; readonly message: string }>

const POOL = 'InfobloxPool default/lab'
const UID = 'uid-InfobloxPool-lab'

/** A provider whose pools are planned like this. Its claims have what the pool was told. */
function provider(planPool: (input: Input) => Result, resolved: Json[] = []) {
  return defineProvider({
    name: 'sample',
    pools: [InfobloxPool],
    external: { marker: 'kept' },
    ledger: (holdings) => new AddressLedger<InfobloxPool>(holdings),
    resolve: ({ calls }) => {
      resolved.push(calls.of('list')?.value ?? null)
      return { kind: 'notReady', message: 'not in this test' }
    },
    ensure: () => ({ kind: 'wait', reason: 'AllocationFailed', message: 'not in this test' }),
    planPool,
  })
}

const LIST = { operation: 'list', input: { network: 'a' }, why: 'what is there is not known' }
const says = (kind: string, more: object = {}): Result => ({ outcome: { kind, message: kind }, effects: [], ...more })

/** Shows a pool, and plans it. */
function started(planPool: (input: Input) => Result) {
  const planner = provider(planPool)
  const present = (object: KubeObject, metadata: object = {}) =>
    planner.observe({ kind: 'present', object: stored(object, metadata) })
  present(pool())
  /** Plans the pool, and sends the call of the plan. */
  let end: ReturnType<NonNullable<typeof planner.begin>> | undefined
  const plan = (nowMs: number) => {
    const made = planner.plan(POOL, { nowMs })
    end = made && planner.begin?.(made)
    for (const effect of made?.effects ?? []) {
      if (effect.kind === 'external') planner.onSend?.(effect.call, { nowMs })
    }
    return made
  }
  const callOf = (nowMs: number): ExternalCall | undefined => {
    const effect = plan(nowMs)?.effects.find(({ kind }) => kind === 'external')
    return effect?.kind === 'external' ? effect.call : undefined
  }
  const onResult = (call: ExternalCall | undefined, answer: ExternalResult, atMs: number) => {
    const keys = planner.onResult?.({ call: call as ExternalCall, answer, atMs }) ?? []
    end?.()
    return keys
  }
  return { planner, present, plan, callOf, onResult }
}

const done = (value: Json): ExternalResult => ({ ok: true, value })
const failed = (more: object = {}): ExternalResult => ({
  ok: false,
  failure: { message: 'down', retryable: true, ...more },
})

describe('a plan for a pool that makes a call', () => {
  test('is made again with the result, at once', async () => {
    const store = memoryStore({ now: () => 0, kinds })
    await store.create(pool())
    const seen: unknown[] = []
    const planner = provider(({ calls }) => {
      const listed = calls.of('list')
      seen.push(listed?.value)
      return listed === undefined ? says('asking', { call: LIST }) : says('ready')
    })
    const asked: ExternalCall[] = []
    const result = await runUntilQuiet(store, [planner], {
      now: () => 0,
      external: async (call) => {
        asked.push(call)
        return done(['10.0.0.1'])
      },
    })
    expect(result.outcomes.get(POOL)).toMatchObject({ kind: 'ready' })
    expect(asked).toMatchObject([{ operation: 'list', about: { kind: 'InfobloxPool', name: 'lab' } }])
    expect(seen.at(-1)).toEqual(['10.0.0.1'])
  })

  test('does its effects first, and checks that the pool is still the one that was seen', () => {
    const marked = started(({ pool: object }) => ({
      ...protectPool({ pool: object, addresses: 0, claims: 0 }),
      call: LIST,
    }))
    expect(marked.plan(0)?.effects).toMatchObject([
      { kind: 'patch', patch: { metadata: { finalizers: ['ipam.cluster.x-k8s.io/ProtectPool'] } } },
      { kind: 'external', call: { operation: 'list', key: UID, input: { network: 'a' } } },
    ])
    const bare = started(() => says('asking', { call: LIST }))
    expect(bare.plan(0)?.effects).toMatchObject([{ kind: 'patch', patch: {}, if: { uid: UID } }, { kind: 'external' }])
  })

  test.each([true, false])('that has done nothing, and is not made again, is forgotten: %s', (nothingDone) => {
    let isWanted = true
    let known = 0
    const run = started(({ calls }) => {
      known = calls.all().length
      return isWanted ? says('asking', { call: { ...LIST, effectSeconds: 10 } }) : says('ready', { shownMs: 0 })
    })
    run.onResult(run.callOf(0), failed({ nothingDone }), 0)
    isWanted = false
    for (const nowMs of [1000, 60_000, 61_000]) run.plan(nowMs)
    // the other one may have an effect that the pool does not know
    expect(known).toBe(nothingDone ? 0 : 1)
  })

  test('and has read a failure whose effect it knows, makes the same plan again', () => {
    const run = started(({ calls, nowMs }) => {
      const failure = calls.of('delete')?.failure
      if (nowMs === 0) return says('asking', { call: { ...LIST, operation: 'delete', effectSeconds: 10 } })
      return says(failure?.message ?? 'ready', { shownMs: nowMs })
    })
    run.onResult(run.callOf(0), failed(), 0)
    const kinds = [1, 2].map(() => run.plan(60_000)?.outcome.kind)
    expect(kinds).toEqual(['down', 'down'])
  })

  test('tells calls of one operation apart by their id', () => {
    const ids = ['a', 'b']
    const run = started(({ calls }) => {
      const id = ids.find((each) => calls.of('create', each) === undefined)
      return id === undefined ? says('ready') : says('asking', { call: { ...LIST, operation: 'create', id } })
    })
    const first = run.callOf(0)
    expect(first?.key).toBe(`${UID}/a`)
    expect(run.onResult(first, done(1), 1)).toEqual([POOL])
    const second = run.callOf(2)
    expect(second?.key).toBe(`${UID}/b`)
    run.onResult(second, done(2), 3)
    expect(run.plan(4)).toMatchObject({ outcome: { kind: 'ready' }, effects: [] })
  })

  // what was made while the list was read may not be in it
  test('says when it was asked, and not when it was answered', () => {
    let asked: number | undefined
    const run = started(({ calls }) => {
      asked = calls.of('list')?.askedAtMs
      return asked === undefined ? says('asking', { call: LIST }) : says('ready')
    })
    run.onResult(run.callOf(1000), done([]), 9000)
    run.plan(9001)
    expect(asked).toBe(1000)
  })

  test('an inventory is read again when it is too old', () => {
    const run = started(() => says('ready', { call: { ...LIST, maxAgeSeconds: 60 }, requeueAfterSeconds: 300 }))
    run.onResult(run.callOf(0), done([1]), 500)
    expect(run.plan(1000)).toMatchObject({ effects: [], requeueAfterSeconds: 59 })
    expect(run.callOf(59_999)).toBeUndefined()
    expect(run.callOf(60_000)).toMatchObject({ operation: 'list' })
  })

  test('a call that has failed is made again after a while, and the value before is still known', () => {
    const seen: unknown[] = []
    const run = started(({ calls }) => {
      const listed = calls.of('list')
      seen.push([listed?.value, listed?.failure?.message, listed?.retryAfterSeconds])
      return says('ready', { call: { ...LIST, maxAgeSeconds: 60 } })
    })
    run.onResult(run.callOf(0), done([1]), 0)
    run.onResult(run.callOf(60_000), failed(), 60_000)
    expect(run.plan(61_000)).toMatchObject({ effects: [], requeueAfterSeconds: 4 })
    expect(seen.at(-1)).toEqual([[1], 'down', 4])
    run.onResult(run.callOf(65_000), failed(), 65_000)
    expect(run.plan(65_000)).toMatchObject({ effects: [], requeueAfterSeconds: 10 })
    run.onResult(run.callOf(75_000), done([2]), 75_000)
    run.plan(75_000)
    expect(seen.at(-1)).toEqual([[2], undefined, undefined])
  })

  test('a call that was refused for good is not repeated until the pool changes, and other calls continue', () => {
    const run = started(({ calls }) => {
      const isRefused = calls.of('delete', 'a')?.failure !== undefined
      return says('ready', {
        call: { ...LIST, operation: 'delete', id: isRefused && calls.of('delete', 'b') === undefined ? 'b' : 'a' },
      })
    })
    run.onResult(run.callOf(0), failed({ retryable: false }), 0)
    const other = run.callOf(1)
    expect(other?.key).toBe(`${UID}/b`)
    run.onResult(other, done(true), 1)
    expect(run.plan(1_000_000)).toEqual(says('ready'))
    run.present(pool('10.21.0.0/30'), { resourceVersion: '9' })
    expect(run.callOf(1_000_001)?.key).toBe(`${UID}/a`)
  })

  test('an answer about the pool as it was is not used, and neither is one of an earlier pool of the name', () => {
    const run = started(({ calls }) =>
      says(calls.of('list') === undefined ? 'asking' : 'ready', calls.of('list') === undefined ? { call: LIST } : {}),
    )
    const before = run.callOf(0)
    run.present(pool('10.21.0.0/30'), { resourceVersion: '9' })
    expect(run.onResult(before, done([]), 1)).toEqual([POOL])
    expect(run.plan(2)?.outcome.kind).toBe('asking')
    const again = run.callOf(3)
    run.planner.observe({ kind: 'absent', ref: { ...InfobloxPool.info, namespace: 'default', name: 'lab' }, uid: UID })
    run.present(pool('10.21.0.0/30'), { uid: 'another', resourceVersion: '11' })
    run.onResult(again, done([]), 4)
    expect(run.plan(5)?.outcome.kind).toBe('asking')
  })

  test('its claims are given what the pool was told, and those that wait are planned again', () => {
    const told: Json[] = []
    const planner = provider(({ calls }) => says('x', calls.of('list') === undefined ? { call: LIST } : {}), told)
    for (const object of [pool(), claim('a')]) planner.observe({ kind: 'present', object: stored(object) })
    planner.plan('IPAddressClaim default/a', { nowMs: 0 })
    const effect = planner.plan(POOL, { nowMs: 0 })?.effects.find(({ kind }) => kind === 'external')
    if (effect?.kind !== 'external') throw new Error('nothing is asked')
    expect(passResult(planner, { call: effect.call, answer: done(['x']), atMs: 0 })).toEqual([
      POOL,
      'IPAddressClaim default/a',
    ])
    planner.plan('IPAddressClaim default/a', { nowMs: 0 })
    expect(told).toEqual([null, ['x']])
  })

  test('forgets everything with the planner', () => {
    const run = started(({ calls }) => says('x', calls.of('list') === undefined ? { call: LIST } : {}))
    run.onResult(run.callOf(0), done([]), 0)
    run.planner.reset()
    run.present(pool())
    expect(run.callOf(1)).toMatchObject({ operation: 'list' })
  })
})

describe('a mistake in a plan for a pool is refused', () => {
  test.each<[string, Result]>([
    [
      'a call as an effect, whose answer nothing would read',
      says('x', {
        effects: [
          {
            kind: 'external',
            call: { operation: 'list', key: 'k', about: { ...InfobloxPool.info, name: 'lab' }, input: {} },
            why: '',
          },
        ],
      }),
    ],
    ['no operation', says('x', { call: { ...LIST, operation: '' } })],
    ['an age of no seconds, which would ask without a pause', says('x', { call: { ...LIST, maxAgeSeconds: 0 } })],
  ])('%s', (_, plan) => {
    expect(() => started(() => plan).plan(0)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  test('a call that was answered, and has no age', () => {
    const run = started(() => says('x', { call: LIST }))
    run.onResult(run.callOf(0), done([]), 0)
    expect(() => run.plan(1)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  test('a call of a provider that says it makes none', () => {
    const planner = defineProvider({
      name: 'sample',
      pools: [InfobloxPool],
      ledger: (holdings) => new AddressLedger<InfobloxPool>(holdings),
      resolve: () => ({ kind: 'notReady', message: '' }),
      ensure: () => ({ kind: 'wait', reason: 'AllocationFailed', message: '' }),
      planPool: () => says('x', { call: LIST }),
    })
    planner.observe({ kind: 'present', object: stored(pool()) })
    expect(() => planner.plan(POOL, { nowMs: 0 })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

describe('a result that planPool reads no more', () => {
  const steps = (run: ReturnType<typeof started>, operation: string, nowMs: number) => {
    const call = run.callOf(nowMs)
    expect(call?.operation).toBe(operation)
    return call
  }
  /** Has what is wanted, as the note of the pool says it. */
  const noting = () => {
    const state = { wanted: true, note: false }
    const run = started(({ calls }) => {
      if (state.wanted === state.note) return says('ready')
      const operation = state.wanted ? 'create' : 'delete'
      const result = calls.of(operation, 'x')
      if (result?.value !== undefined) return says(`noted ${operation}`)
      return says('asking', { call: { ...LIST, operation, id: 'x' } })
    })
    return { state, run }
  }

  test('is dropped: the call can be made again', () => {
    const { state, run } = noting()
    for (const [at, wanted] of [true, false, true, false].entries()) {
      state.wanted = wanted
      run.onResult(steps(run, wanted ? 'create' : 'delete', at), done(at), at)
      expect(run.plan(at)?.outcome.kind).toBe(`noted ${wanted ? 'create' : 'delete'}`)
      state.note = wanted
      expect(run.plan(at)?.outcome.kind).toBe('ready')
    }
  })

  test('is kept while it is read, and a failure until its call can be made again', () => {
    const { state, run } = noting()
    run.onResult(run.callOf(0), failed({ retryAfterSeconds: 60 }), 0)
    state.wanted = false
    expect(run.plan(1000)?.outcome.kind).toBe('ready')
    state.wanted = true
    expect(run.plan(2000)).toMatchObject({ effects: [], requeueAfterSeconds: 58 })
    run.onResult(run.callOf(60_000), done(1), 60_000)
    for (const nowMs of [60_000, 70_000]) expect(run.plan(nowMs)?.outcome.kind).toBe('noted create')
  })
})
