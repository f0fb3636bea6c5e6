import { fail, unwrap } from 'ipam-kit/errors'
import { LEASE, LeaderElection } from 'ipam-kit/run'
import type { Store, StoreFailure } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { LeaderElectionOptions } from '../../src/run/leader-election.js'
import { VirtualTimers } from './controller/virtual-timers.js'

const lease = { namespace: 'system', name: 'ipam' }
const ref = { apiVersion: LEASE.apiVersion, kind: LEASE.kind, ...lease }
const down = fail('STORE_IO', { operation: 'any', problem: 'down' })

let timers: VirtualTimers
let store: Store
let problems: StoreFailure[]
beforeEach(async () => {
  timers = new VirtualTimers()
  store = memoryStore({ now: () => timers.now(), kinds: [LEASE] })
  problems = []
  // without a holder, as one that was given back: who takes it begins at once
  const { apiVersion, kind, ...metadata } = ref
  unwrap(await store.create({ apiVersion, kind, metadata }))
})

/** A process: whether it leads, and what became of its run. */
function candidate(identity: string, options: Partial<LeaderElectionOptions> = {}) {
  const onProblem = (failure: StoreFailure) => void problems.push(failure)
  const election = new LeaderElection({ store, timers, lease, identity, onProblem, ...options })
  const state = {
    leads: false,
    ended: undefined as string | undefined,
    since: Number.NaN,
    lost: false,
    canWrite: () => false,
  }
  const run = (endsAfterMs = 0) => {
    const running = election.run(async ({ ending, lost, canWrite }) => {
      Object.assign(state, { leads: true, since: timers.now(), canWrite })
      void lost.then(() => {
        state.lost = true
      })
      await ending
      if (endsAfterMs > 0) await new Promise<void>((resolve) => void timers.after(endsAfterMs, resolve))
      state.leads = false
    })
    void running.then((ended) => {
      state.ended = ended
    })
    return running
  }
  return { election, state, run }
}

const specOfLease = async () => unwrap(await store.get(ref)).spec as { [field: string]: unknown }

describe('an election', () => {
  test('has one leader, which renews the lease; the others wait', async () => {
    const [a, b] = [candidate('a'), candidate('b')]
    void a.run()
    await timers.pass(100)
    void b.run()
    await timers.pass(120_000)
    expect([a.state.leads, b.state.leads]).toEqual([true, false])
    expect(await specOfLease()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:02:00.000000Z',
      leaseTransitions: 1,
    })
    expect(problems).toEqual([])
  })

  test('has another leader at once when the first one stops, and only when that has ended what it had begun', async () => {
    const [a, b] = [candidate('a'), candidate('b')]
    const running = a.run(5000)
    await timers.pass(100)
    void b.run()
    await timers.pass(1000)
    a.election.stop()
    await timers.pass(4900)
    expect([a.state.leads, b.state.leads]).toEqual([true, false])
    await timers.pass(2200)
    expect([a.state.leads, b.state.leads]).toEqual([false, true])
    expect(await running).toBe('stopped')
    expect(await specOfLease()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 2 })
  })

  test('has no other leader for as long as the first one takes to end', async () => {
    const [a, b] = [candidate('a'), candidate('b')]
    const running = a.run(120_000)
    await timers.pass(100)
    void b.run()
    await timers.pass(1000)
    a.election.stop()
    await timers.pass(119_000)
    expect(a.state).toMatchObject({ leads: true, lost: false })
    expect(b.state.leads).toBe(false)
    await timers.pass(5000)
    expect(await running).toBe('stopped')
    expect([a.state.leads, b.state.leads]).toEqual([false, true])
  })

  test('is not led by one that learns too late that it has the lease: another one may lead by then', async () => {
    let isSlow = true
    const update: Store['update'] = async (object) => {
      const answer = await store.update(object)
      if (isSlow) await new Promise<void>((resolve) => void timers.after(25_000, resolve))
      return answer
    }
    const a = candidate('a', { store: storeOver(store, { update }) })
    const b = candidate('b')
    void a.run()
    await timers.pass(100)
    void b.run()
    isSlow = false
    await timers.pass(24_000)
    expect(b.state.leads).toBe(true)
    await timers.pass(900)
    expect(a.state.since).toBeNaN()
    await timers.pass(60_000)
    expect(a.state.since).toBeNaN()
    b.election.stop()
    await timers.pass(5000)
    expect([a.state.leads, b.state.leads]).toEqual([true, false])
  })

  test.each([20_000, 3_600_000])(
    'is not won by the clock of one that waits, when that is set forward by %d ms',
    async (stepMs) => {
      // renewed less often than others look
      const update: Store['update'] = async (...args) => {
        await new Promise<void>((resolve) => void timers.after(1500, resolve))
        return store.update(...args)
      }
      let skewMs = 0
      const skewed = {
        now: () => timers.now() + skewMs,
        after: (ms: number, action: () => void) => timers.after(ms, action),
      }
      const [a, b] = [candidate('a', { store: storeOver(store, { update }) }), candidate('b', { timers: skewed })]
      void a.run()
      await timers.pass(100)
      void b.run()
      await timers.pass(60_000)
      skewMs = stepMs
      await timers.pass(60_000)
      expect([a.state.leads, b.state.leads]).toEqual([true, false])
      expect(a.state.lost).toBe(false)
    },
  )

  test('is won in time by one that waits whose clock is set back', async () => {
    let skewMs = 0
    const skewed = {
      now: () => timers.now() + skewMs,
      after: (ms: number, action: () => void) => timers.after(ms, action),
    }
    let isDown = false
    const get: Store['get'] = async (place) => (isDown ? down : store.get(place))
    const [a, b] = [candidate('a', { store: storeOver(store, { get }) }), candidate('b', { timers: skewed })]
    void a.run()
    await timers.pass(100)
    void b.run()
    await timers.pass(60_000)
    isDown = true
    await timers.pass(4000)
    skewMs = -3_600_000
    await timers.pass(30_000)
    expect([a.state.leads, b.state.leads]).toEqual([false, true])
  })

  test('ends in time for a leader that cannot renew, and whose clock is set back', async () => {
    let skewMs = 0
    const skewed = {
      now: () => timers.now() + skewMs,
      after: (ms: number, action: () => void) => timers.after(ms, action),
    }
    let isDown = false
    const get: Store['get'] = async (place) => (isDown ? down : store.get(place))
    const [a, b] = [candidate('a', { store: storeOver(store, { get }), timers: skewed }), candidate('b')]
    void a.run()
    await timers.pass(100)
    void b.run()
    await timers.pass(60_000)
    isDown = true
    await timers.pass(4000)
    skewMs = -3_600_000
    for (let i = 0; i < 300; i++) {
      await timers.pass(100)
      expect([a.state.leads, b.state.leads]).not.toEqual([true, true])
    }
    expect([a.state.lost, b.state.leads]).toEqual([true, true])
  })

  test('ends for one that waits when it is told to, also if the store does not answer at all', async () => {
    const get: Store['get'] = () => new Promise(() => {})
    const a = candidate('a', { store: storeOver(store, { get }) })
    void a.run()
    await timers.pass(1000)
    a.election.stop()
    await timers.pass(10_000)
    expect(a.state.ended).toBe('stopped')
    expect(timers.size).toBe(0)
  })

  test.each([2, 3, 7, 9.5])('ends at the deadline, and not a period of %d s later', async (retryPeriodSeconds) => {
    let isDown = false
    const get: Store['get'] = async (one) => (isDown ? down : store.get(one))
    const a = candidate('a', { store: storeOver(store, { get }), retryPeriodSeconds })
    const beganMs = timers.now()
    void a.run()
    await timers.pass(100)
    isDown = true
    await timers.pass(9800)
    expect(a.state).toMatchObject({ leads: true, lost: false })
    await timers.pass(200)
    expect(timers.now() - beganMs).toBe(10_100)
    expect(a.state).toMatchObject({ leads: false, lost: true, ended: 'lost' })
  })

  test('ends for a leader whose process stood still while another one has led and given the lease back', async () => {
    const a = candidate('a')
    void a.run()
    await timers.pass(2100)
    // what the other one leaves
    unwrap(await store.patch(ref, { spec: { holderIdentity: '', leaseTransitions: 1 } }))
    await timers.pass(2100)
    expect(a.state).toMatchObject({ leads: false, lost: true, ended: 'lost' })
    expect(await specOfLease()).toMatchObject({ holderIdentity: '' })
  })

  test('is told of a lease that is lost while it comes to its end', async () => {
    const a = candidate('a')
    const running = a.run(120_000)
    await timers.pass(1000)
    a.election.stop()
    await timers.pass(5000)
    unwrap(await store.patch(ref, { spec: { holderIdentity: 'thief' } }))
    await timers.pass(3000)
    expect(a.state).toMatchObject({ leads: true, lost: true })
    await timers.pass(120_000)
    expect(await running).toBe('lost')
    expect(await specOfLease()).toMatchObject({ holderIdentity: 'thief' })
  })

  test('has another leader when the first one is not heard of for as long as it had asked for', async () => {
    let isDead = false
    const deadStore = storeOver(store, {
      update: async (object) => (isDead ? new Promise(() => {}) : store.update(object)),
    })
    const a = candidate('a', { store: deadStore, leaseDurationSeconds: 30 })
    const b = candidate('b')
    void a.run()
    await timers.pass(100)
    void b.run()
    await timers.pass(10_000)
    isDead = true
    const diedMs = timers.now()
    await timers.pass(12_500)
    // its store does not even say no
    expect(a.state).toMatchObject({ leads: false, ended: 'lost' })
    await timers.pass(12_500)
    expect(b.state.leads).toBe(false)
    await timers.pass(10_000)
    expect(b.state.leads).toBe(true)
    expect(b.state.since - diedMs).toBeGreaterThanOrEqual(28_000)
  })

  test('does not trust the clock of another process', async () => {
    // a lease that was renewed in the far past, or will be in the far future, by the clock of its
    // holder
    for (const renewTime of ['1999-01-01T00:00:00.000000Z', '2099-01-01T00:00:00.000000Z']) {
      store = memoryStore({ now: () => timers.now(), kinds: [LEASE] })
      const { apiVersion, kind, ...metadata } = ref
      const spec = { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime }
      await store.create({ apiVersion, kind, metadata, spec })
      const a = candidate('a')
      void a.run()
      await timers.pass(14_900)
      expect(a.state.leads).toBe(false)
      await timers.pass(2100)
      expect(a.state.leads).toBe(true)
      a.election.stop()
      await timers.pass(1000)
    }
  })

  test('is lost by a leader that cannot renew, before another one may begin', async () => {
    let isDown = false
    const get: Store['get'] = async (place) => (isDown ? down : store.get(place))
    const [a, b] = [candidate('a', { store: storeOver(store, { get }) }), candidate('b')]
    const running = a.run()
    await timers.pass(100)
    void b.run()
    await timers.pass(10_000)
    isDown = true
    await timers.pass(12_000)
    expect(await running).toBe('lost')
    expect([a.state.leads, b.state.leads]).toEqual([false, false])
    await timers.pass(8000)
    expect([a.state.leads, b.state.leads]).toEqual([false, true])
    expect(problems.length).toBeGreaterThan(3)
  })

  test('is lost by a leader whose lease another candidate has taken', async () => {
    const a = candidate('a')
    const running = a.run()
    await timers.pass(5000)
    unwrap(await store.patch(ref, { spec: { holderIdentity: 'thief' } }))
    await timers.pass(2500)
    expect(await running).toBe('lost')
    expect(await specOfLease()).toMatchObject({ holderIdentity: 'thief' })
  })

  test('survives a renewal of unknown outcome, and a race for it', async () => {
    let calls = 0
    const update: Store['update'] = async (object) => {
      const done = await store.update(object)
      if (++calls === 2) return fail('STORE_OUTCOME_UNKNOWN', { operation: 'update', object: 'lease', problem: 'cut' })
      return calls === 3 ? fail('STORE_CONFLICT', { object: 'lease', expected: '1', actual: '2' }) : done
    }
    const a = candidate('a', { store: storeOver(store, { update }) })
    void a.run()
    await timers.pass(60_000)
    expect(a.state.leads).toBe(true)
    expect(problems.map(({ code }) => code)).toEqual(['STORE_OUTCOME_UNKNOWN'])
  })

  test('that is not wanted any more ends before it was won', async () => {
    const [a, b] = [candidate('a'), candidate('b')]
    void a.run()
    await timers.pass(100)
    const running = b.run()
    await timers.pass(5000)
    b.election.stop()
    await timers.pass(0)
    expect(await running).toBe('stopped')
    expect(b.state.leads).toBe(false)
    a.election.stop()
    await timers.pass(1000)
    expect(timers.size).toBe(0)
  })

  test('ends with what its leader throws, and gives the lease back', async () => {
    const election = new LeaderElection({ store, timers, lease, identity: 'a', onProblem: () => {} })
    const ended = election.run(async () => {
      throw new Error('broken')
    })
    const seen = expect(ended).rejects.toThrow('broken')
    await timers.pass(3000)
    await seen
    expect(await specOfLease()).toMatchObject({ holderIdentity: '' })
  })
})

test.each([
  [{ identity: '' }, 'identity'],
  [{ lease: { namespace: 'a' } }, 'lease'],
  [{ onProblem: undefined }, 'onProblem'],
  [{ leaseDurationSeconds: 1.5 }, 'leaseDurationSeconds'],
  [{ renewDeadlineSeconds: 15 }, 'renewDeadlineSeconds'],
  [{ retryPeriodSeconds: 10 }, 'retryPeriodSeconds'],
  [{ retryPeriodSeconds: 0 }, 'retryPeriodSeconds'],
])('%j is refused', (bad, argument) => {
  const options = {
    store,
    timers,
    lease,
    identity: 'a',
    onProblem: () => {},
    ...bad,
  } as unknown as LeaderElectionOptions
  expect(() => new LeaderElection(options)).toThrow(
    expect.objectContaining({ context: expect.objectContaining({ argument: expect.stringContaining(argument) }) }),
  )
})

describe('what a leader may send', () => {
  /** A process that stands still: its clock goes on, and nothing else of it. */
  function standing(identity: string) {
    let isStill = false
    const waiting: (() => void)[] = []
    const still = {
      now: () => timers.now(),
      after: (ms: number, action: () => void) =>
        timers.after(ms, () => void (isStill ? waiting.push(action) : action())),
    }
    const held = <T>(answer: T): Promise<T> =>
      isStill ? new Promise((resolve) => void waiting.push(() => resolve(answer))) : Promise.resolve(answer)
    const own = storeOver(store, {
      get: async (one) => held(await store.get(one)),
      update: async (object) => held(await store.update(object)),
    })
    const stop = () => {
      isStill = true
    }
    const goOn = () => {
      isStill = false
      for (const action of waiting.splice(0)) action()
    }
    return { ...candidate(identity, { store: own, timers: still }), stop, goOn }
  }

  test.each([0, 30, 400, 9_999])(
    'ends at the deadline, also after it stood still until %d ms after another one leads',
    async (ms) => {
      const [a, b] = [standing('a'), candidate('b')]
      void a.run()
      await timers.pass(100)
      void b.run()
      await timers.pass(10_000)
      expect(a.state.canWrite()).toBe(true)
      a.stop()
      await timers.pass(5000)
      while (!b.state.leads) await timers.pass(1)
      await timers.pass(ms)
      // it is asked by what goes on first, before the election has had its turn
      expect([a.state.canWrite(), a.state.lost, b.state.canWrite()]).toEqual([false, false, true])
      a.goOn()
      await timers.pass(0)
      expect(a.state).toMatchObject({ lost: true, leads: false, ended: 'lost' })
    },
  )

  test('ends once for all: a renewal that is answered later takes nothing back', async () => {
    let isSlow = false
    const update: Store['update'] = async (object) => {
      const answer = await store.update(object)
      if (isSlow) await new Promise<void>((resolve) => void timers.after(5000, resolve))
      return answer
    }
    let skewMs = 0
    const skewed = {
      now: () => timers.now() + skewMs,
      after: (ms: number, action: () => void) => timers.after(ms, action),
    }
    const a = candidate('a', { store: storeOver(store, { update }), timers: skewed })
    const running = a.run()
    await timers.pass(7900)
    isSlow = true
    await timers.pass(1000)
    skewMs = 9000
    expect(a.state.canWrite()).toBe(false)
    skewMs = 0
    expect(a.state.canWrite()).toBe(false)
    await timers.pass(6000)
    expect([await running, a.state.canWrite()]).toEqual(['lost', false])
  })

  test('is nothing after it has ended by itself and given the lease back', async () => {
    const a = candidate('a')
    const running = a.run()
    await timers.pass(5000)
    expect(a.state.canWrite()).toBe(true)
    a.election.stop()
    await timers.pass(100)
    expect([await running, a.state.canWrite()]).toEqual(['stopped', false])
  })

  test('is nothing from the moment at which another candidate has the lease', async () => {
    const a = candidate('a')
    void a.run(60_000)
    await timers.pass(5000)
    unwrap(await store.patch(ref, { spec: { holderIdentity: 'thief' } }))
    await timers.pass(2500)
    expect([a.state.lost, a.state.canWrite()]).toEqual([true, false])
  })
})

describe('a leader that follows another one', () => {
  /** @returns how long after the last renewal of a the next one leads, in milliseconds */
  async function followed(options: Partial<LeaderElectionOptions>, ofFormer: Partial<LeaderElectionOptions> = options) {
    let isDead = false
    const deadStore = storeOver(store, {
      update: async (object) => {
        if (isDead) return new Promise(() => {})
        renewedMs = timers.now()
        return store.update(object)
      },
    })
    let renewedMs = 0
    const [a, b] = [candidate('a', { store: deadStore, ...ofFormer }), candidate('b', options)]
    void a.run()
    await timers.pass(100)
    void b.run()
    await timers.pass(10_000)
    isDead = true
    while (!b.state.leads) await timers.pass(10)
    return b.state.since - renewedMs
  }

  test.each([
    // what was sent until the deadline has arrived when the lease is over
    [{}, 15_000],
    [{ writeTimeoutSeconds: 5 }, 15_000],
    [{ writeTimeoutSeconds: 1 }, 15_000],
    [{ writeTimeoutSeconds: 10 }, 20_000],
    [{ writeTimeoutSeconds: 60 }, 70_000],
    [{ leaseDurationSeconds: 6, renewDeadlineSeconds: 3, retryPeriodSeconds: 1, writeTimeoutSeconds: 30 }, 33_000],
  ] as const)('begins when the last write of that one can no longer arrive: %j', async (options, atLeastMs) => {
    const afterMs = await followed(options)
    expect(afterMs).toBeGreaterThanOrEqual(atLeastMs)
    expect(afterMs).toBeLessThan(atLeastMs + 4100)
  })

  test('goes by the duration that the other one had asked for', async () => {
    const afterMs = await followed({ writeTimeoutSeconds: 10 }, { leaseDurationSeconds: 30 })
    expect(afterMs).toBeGreaterThanOrEqual(35_000)
    expect(afterMs).toBeLessThan(40_000)
  })

  /** A Lease whose holder is never heard of again. */
  const leaveLease = async () =>
    unwrap(await store.patch(ref, { spec: { holderIdentity: 'former', leaseDurationSeconds: 15 } }))

  test('holds and renews the lease while it waits', async () => {
    await leaveLease()
    const b = candidate('b', { writeTimeoutSeconds: 60 })
    void b.run()
    await timers.pass(50_000)
    expect([await specOfLease(), b.state.leads]).toEqual([expect.objectContaining({ holderIdentity: 'b' }), false])
    await timers.pass(25_000)
    expect(b.state.leads).toBe(true)
  })

  test('does not give the lease back while it waits: the next one would not know of the former one', async () => {
    await leaveLease()
    const leftMs = timers.now()
    const options = { writeTimeoutSeconds: 60 }
    const [b, c] = [candidate('b', options), candidate('c', options)]
    const running = b.run()
    await timers.pass(18_000)
    expect(await specOfLease()).toMatchObject({ holderIdentity: 'b' })
    void c.run()
    b.election.stop()
    await timers.pass(100)
    expect([await running, b.state.since]).toEqual(['stopped', Number.NaN])
    await timers.pass(120_000)
    expect(c.state.leads).toBe(true)
    expect(c.state.since - leftMs).toBeGreaterThanOrEqual(70_000)
  })

  test.each([
    ['has seen that Lease', true],
    ['has never seen it', false],
  ])('waits for one whose Lease was deleted: a process that %s', async (_, hasSeen) => {
    const options = { writeTimeoutSeconds: 30 }
    let isCut = false
    const get: Store['get'] = async (one) => (isCut ? down : store.get(one))
    const [a, b] = [candidate('a', { ...options, store: storeOver(store, { get }) }), candidate('b', options)]
    void a.run()
    await timers.pass(100)
    if (hasSeen) void b.run()
    await timers.pass(10_500)
    // otherwise it would create the Lease again itself
    isCut = true
    unwrap(await store.delete(ref))
    const deletedMs = timers.now()
    if (!hasSeen) void b.run()
    let sentMs = deletedMs
    for (; !b.state.leads; await timers.pass(100)) if (a.state.canWrite()) sentMs = timers.now()
    expect(b.state.since - sentMs).toBeGreaterThanOrEqual(30_000)
    expect(a.state.lost).toBe(true)
  })

  test.each([
    ['the same election', true],
    ['another election', false],
  ])('waits for what it has sent itself when it has lost the lease and has it again: %s', async (_, isSame) => {
    let isDown = false
    const update: Store['update'] = async (object) => (isDown ? down : store.update(object))
    const options = { writeTimeoutSeconds: 30, store: storeOver(store, { update }) }
    const first = candidate('a', options)
    const lost = first.run()
    await timers.pass(5000)
    isDown = true
    let sentMs = timers.now()
    for (; first.state.canWrite(); await timers.pass(100)) sentMs = timers.now()
    expect(await lost).toBe('lost')
    isDown = false
    const again = isSame ? first : candidate('a', options)
    void again.run()
    await timers.pass(60_000)
    expect(again.state.leads).toBe(true)
    expect(again.state.since - sentMs).toBeGreaterThanOrEqual(30_000)
  })

  test('begins at once after one that has given the lease back, and where the Lease has no holder', async () => {
    const [a, b] = [candidate('a', { writeTimeoutSeconds: 60 }), candidate('b', { writeTimeoutSeconds: 60 })]
    const beganMs = timers.now()
    void a.run()
    await timers.pass(100)
    expect(a.state.since).toBe(beganMs)
    void b.run()
    await timers.pass(5000)
    a.election.stop()
    const stoppedMs = timers.now()
    await timers.pass(10_000)
    expect(b.state.since - stoppedMs).toBeLessThan(4100)
  })

  test.each([0, -1, Number.NaN, 86_401, '4'])(
    'has to have a limit for its writes that is one: %s',
    (writeTimeoutSeconds) => {
      const options = { writeTimeoutSeconds } as Partial<LeaderElectionOptions>
      expect(() => candidate('a', options)).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          context: expect.objectContaining({ argument: expect.stringMatching(/writeTimeoutSeconds$/u) }),
        }),
      )
    },
  )
})
