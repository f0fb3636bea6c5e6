import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail, ok, unwrap } from 'ipam-kit/errors'
import type { Change, Effect, Plan, Planner } from 'ipam-kit/plan'
import { runKey } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { RunKeyOptions } from '../../../src/run/plan/run-key.js'

const ref = { apiVersion: 'example.com/v1', kind: 'Counter', namespace: 'default', name: 'x' }
const COUNTER = { ...ref, plural: 'counters', namespaced: true, statusSubresource: true }

/** Wants the counter that it was shown to be 10, and no less. */
class CountToTen implements Planner {
  readonly name = 'count-to-ten'
  readonly watches = [COUNTER]
  known: KubeObject | undefined
  plans = 0

  observe(change: Change): readonly string[] {
    this.known = change.kind === 'present' ? change.object : undefined
    return ['x']
  }

  plan(): Plan | undefined {
    this.plans++
    if (this.known === undefined) return undefined
    const { resourceVersion, uid } = this.known.metadata
    const { count } = this.known.spec as { count: number }
    const effect = {
      kind: 'patch',
      ref,
      patch: { spec: { count: 10 } },
      if: { uid, resourceVersion },
      why: '',
    } as const
    return {
      outcome: { kind: 'counted', message: `${count}` },
      effects: count < 10 ? [effect] : [],
      requeueAfterSeconds: 7,
    }
  }

  isAggregate(): boolean {
    return false
  }

  reset(): void {
    this.known = undefined
  }
}

let store: Store
let planner: CountToTen
const run = (over: Partial<Store> = {}, maxConflicts?: number) => {
  const shown: string[] = []
  const show = (change: Change, source: string) => {
    shown.push(`${source} ${change.kind}`)
    planner.observe(change)
  }
  return runKey(planner, 'x', storeOver(store, over), { now: () => 0, show, maxConflicts }).then((result) => ({
    result,
    shown,
  }))
}

beforeEach(async () => {
  store = memoryStore({ now: () => 0 })
  planner = new CountToTen()
  const made = await store.create({
    apiVersion: ref.apiVersion,
    kind: 'Counter',
    metadata: { namespace: 'default', name: 'x' },
    spec: { count: 1 },
  })
  planner.observe({ kind: 'present', object: unwrap(made) })
})

describe('runKey', () => {
  test('plans, writes, shows what was written', async () => {
    const { result, shown } = await run()
    expect(result).toMatchObject({ kind: 'done', attempts: 1, requeueAfterSeconds: 7, outcome: { message: '1' } })
    expect(shown).toEqual(['written present'])
    expect(planner.known).toMatchObject({ spec: { count: 10 } })
  })

  test('is done with a key under which there is nothing', async () => {
    planner.reset()
    expect((await run()).result).toEqual({ kind: 'done', outcome: undefined, attempts: 1, wakes: [] })
  })

  test('reads again after a conflict, and plans from that', async () => {
    await store.patch(ref, { spec: { count: 5 } })
    const { result, shown } = await run()
    expect(result).toMatchObject({ kind: 'done', attempts: 2, outcome: { message: '5' } })
    expect(shown).toEqual(['read present', 'written present'])
  })

  test('finds that a write whose outcome is unknown was done', async () => {
    const lost: Store['patch'] = async (...args) => {
      await store.patch(...args)
      return fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'Counter', problem: 'cut' })
    }
    const { result, shown } = await run({ patch: lost })
    expect(result).toMatchObject({ kind: 'done', attempts: 2, outcome: { message: '10' } })
    expect(shown).toEqual(['read present'])
  })

  test('learns after a conflict that the object is gone, and which one it was', async () => {
    const { uid } = planner.known!.metadata
    await store.delete(ref)
    const seen: Change[] = []
    const show = (change: Change) => {
      seen.push(change)
      planner.observe(change)
    }
    expect(await runKey(planner, 'x', store, { now: () => 0, show })).toMatchObject({
      kind: 'done',
      outcome: undefined,
    })
    expect(seen).toEqual([{ kind: 'absent', ref, uid, confirmed: true }])
  })

  test('tells what it has read for an absence from what it has written', async () => {
    const uid = planner.known!.metadata.uid as string
    const effects: Plan['effects'][number][] = [
      { kind: 'absent', ref: { ...ref, name: 'y' }, uid, why: '' },
      { kind: 'patch', ref, patch: { spec: { count: 10 } }, if: { uid }, why: '' },
    ]
    planner.plan = () => ({ outcome: { kind: 'counted', message: '' }, effects })
    expect((await run()).shown).toEqual(['read absent', 'written present'])
    effects[0] = { kind: 'absent', ref, uid, why: '' }
    const { result, shown } = await run({}, 0)
    expect(result).toMatchObject({ kind: 'failed', failure: { code: 'STORE_CONFLICT' } })
    expect(shown, 'it is read again, and is there').toEqual(['read present'])
  })

  test('tells the end of what others have removed as read', async () => {
    const effects: Effect[] = [{ kind: 'delete', ref: { ...ref, name: 'gone' }, if: { uid: 'u' }, why: '' }]
    planner.plan = () => ({ outcome: { kind: 'counted', message: '' }, effects })
    expect((await run()).shown).toEqual(['read absent'])
  })

  test.each([0, 1, 3])('gives up after %i conflicts in a row', async (maxConflicts) => {
    const patch: Store['patch'] = async () => fail('STORE_CONFLICT', { object: 'x', expected: 'a', actual: 'b' })
    const { result } = await run({ patch }, maxConflicts)
    expect(result).toMatchObject({ kind: 'failed', attempts: maxConflicts + 1, failure: { code: 'STORE_CONFLICT' } })
    expect(planner.plans).toBe(maxConflicts + 1)
  })

  test.each([
    [0, []],
    [2, ['STORE_CONFLICT']],
  ])('with a limit of %i conflicts the planner is told of refusals: %j', async (maxConflicts, told) => {
    const codes: string[] = []
    const refused: Planner['refused'] = (_, { code }) => {
      codes.push(code)
      return { outcome: { kind: 'told', message: '' }, effects: [] }
    }
    Object.assign(planner, { refused })
    const patch: Store['patch'] = async () => fail('STORE_CONFLICT', { object: 'x', expected: 'a', actual: 'b' })
    const { result } = await run({ patch }, maxConflicts)
    expect(codes).toEqual(told)
    expect(result).toMatchObject({ kind: 'failed', conflicts: maxConflicts + 1 })
  })

  test('stops at what is no conflict', async () => {
    const patch: Store['patch'] = async () => fail('STORE_IO', { operation: 'patch', problem: 'down' })
    const { result, shown } = await run({ patch })
    expect(result).toMatchObject({ kind: 'failed', attempts: 1, failure: { code: 'STORE_IO' } })
    expect(shown).toEqual([])
  })

  test('says that it is not known what is stored if reading again fails, and plans nothing more', async () => {
    const { result } = await run({
      patch: async () => fail('STORE_OUTCOME_UNKNOWN', { operation: 'patch', object: 'Counter', problem: 'cut' }),
      get: async () => fail('STORE_IO', { operation: 'get', problem: 'down' }),
    })
    expect(result).toMatchObject({
      kind: 'unsettled',
      attempts: 1,
      unsettled: { effect: { kind: 'patch' }, failure: { code: 'STORE_OUTCOME_UNKNOWN' } },
      failure: { code: 'STORE_IO' },
    })
    expect(planner.plans).toBe(1)
  })

  test.each([-1, 1.5, Number.NaN])('refuses a bound of %s conflicts', async (maxConflicts) => {
    await expect(run({}, maxConflicts)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      context: { argument: expect.stringMatching(/maxConflicts$/u) },
    })
  })

  test.each(['now', 'show'])('refuses to run without %s', async (argument) => {
    const options = { now: () => 0, show: () => {}, [argument]: undefined } as unknown as RunKeyOptions
    await expect(runKey(planner, 'x', store, options)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      context: { argument: `options.${argument}`, got: 'undefined' },
    })
  })

  test('counts a plan before it is carried out', async () => {
    const plans: (Plan | undefined)[] = []
    const onPlan = (plan: Plan | undefined) => plans.push(plan)
    const get: Store['get'] = async () => ok(planner.known!)
    await runKey(planner, 'x', storeOver(store, { get }), { now: () => 0, show: () => {}, onPlan })
    expect(plans).toMatchObject([{ outcome: { message: '1' } }])
  })
})
