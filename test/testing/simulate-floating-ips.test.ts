import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import type { Effect, Outcome, Plan, Planner } from 'ipam-kit/plan'
import { describe, expect, test } from 'vitest'
import { share, some } from '../setup/depth.js'
import { ProcessClock, WorldClock } from './simulation/floating-ips/clock.js'
import { FAULT_KINDS, type FaultKind } from './simulation/floating-ips/faults.js'
import { type FloatingIPsOptions, simulateFloatingIPs } from './simulation/floating-ips/index.js'
import { poolObject } from './simulation/floating-ips/kinds.js'
import { plannersOf } from './simulation/floating-ips/library.js'
import { LimitRule } from './simulation/floating-ips/rule-limit.js'
import type { CloudCall, RuleWorld } from './simulation/floating-ips/rules.js'

/** The first problem of each seed from 1 that goes wrong. */
async function problems(seeds: number, options: Partial<FloatingIPsOptions>): Promise<readonly string[]> {
  const found: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await simulateFloatingIPs({ seed, ...options })
    found.push(...result.problems.slice(0, 1))
  }
  return found
}

/** What the trace shows of each kind of fault, within the first schedules that have only that. */
const SIGNS: { readonly [kind in FaultKind]: RegExp } = {
  'recreate-claims': /delete claims (\S+)[\s\S]*create claim \1/,
  'recreate-pools': /delete pools (\S+)[\s\S]*create pool \1/,
  'late-watch': /FAULT the watch of \w+ is late/,
  limit: /edit pool \S+ {"maxIPs"/,
  reclaim: /edit pool \S+ {"reclaimPolicy"/,
  'edit-spec': /edit pool \S+ {"preAllocatedFloatingIPs"/,
  pause: /pause claims/,
  'operator-own': /operator: attach/,
  'operator-pool': /operator: change the description/,
  reuse: /cloud: deletes (\S+)[\s\S]*cloud: creates \1/,
  lists: /answer to listAddresses.* (\S+) .*\1\b/,
  'cloud-calls': /FAULT createAddress/,
  'store-calls': /FAULT patch/,
  quota: /Quota exceeded/,
  'shared-address': /create pool team-b.*"203.0.113.60"/,
  move: /move: pool \S+ and \d+ claims are in cluster B/,
  copy: /copy pool \S+ to cluster B/,
  suspend: /FAULT suspended for \d+ s (before|after)/,
  crash: /FAULT crash (before|after)/,
  handover: /FAULT told to end/,
  'two-leaders': /works without a Lease/,
  clocks: /its clock is -?[1-9]\d* s off/,
  servers: /answer to attachFloatingIP/,
}

describe('the world of floating IPs', () => {
  test('has nothing wrong without faults', async () => {
    expect(await problems(share(40, 8), { faults: [] })).toEqual([])
  })

  test('does the same for the same seed', async () => {
    const [one, two] = [await simulateFloatingIPs({ seed: 7 }), await simulateFloatingIPs({ seed: 7 })]
    expect(one).toEqual(two)
    expect(one.schedule.length).toBeGreaterThan(50)
  })

  test.each(some(FAULT_KINDS))('has the fault %s', async (kind) => {
    for (let seed = 1; seed <= 12; seed++) {
      const { schedule } = await simulateFloatingIPs({ seed, faults: [kind] })
      expect(schedule[0]).toContain(`faults: ${kind}`)
      if (SIGNS[kind].test(schedule.join('\n'))) return
    }
    expect.unreachable(`none of 12 schedules shows ${SIGNS[kind]}`)
  })
})

describe('the clock of a process', () => {
  test('holds its timers while the process is suspended, and rings them in order afterwards', async () => {
    const world = new WorldClock(() => {})
    const clock = new ProcessClock(world, 60_000)
    const rang: string[] = []
    clock.after(1000, () => rang.push(`first at ${clock.now() - startMs}`))
    clock.after(2000, () => rang.push('second'))
    clock.after(3000, () => rang.push('called off'))()
    const startMs = clock.now()
    expect(startMs - world.nowMs).toBe(60_000)
    clock.suspend()
    await world.pass(10_000, () => false)
    expect(rang).toEqual([])
    clock.resume()
    await world.pass(0, () => false)
    expect(rang).toEqual(['first at 10000', 'second'])
  })

  test('does nothing more after the end of the process', async () => {
    const world = new WorldClock(() => {})
    const clock = new ProcessClock(world, 0)
    const rang: string[] = []
    clock.after(1000, () => rang.push('timer'))
    clock.kill()
    void clock.running().then(() => rang.push('continued'))
    clock.resume()
    await world.pass(10_000, () => false)
    expect(rang).toEqual([])
  })
})

describe('the rules find a planted fault', () => {
  test.each<[string, (effect: Effect) => readonly Effect[], RegExp]>([
    [
      'one address for all claims',
      (effect) => [isAddress(effect) ? withSpec(effect, { address: '203.0.113.60' }) : effect],
      /has two Bound claims|is given to|has had two claims/,
    ],
    ['no IPAddress is created', (effect) => (isAddress(effect) ? [] : [effect]), /which does not exist/],
    [
      'an address of people is deleted',
      // the first address that people have created
      (effect) => [
        isCall(effect, 'createAddress') ? asDeletion(effect, '00000000-0000-4000-8000-000000000009') : effect,
      ],
      /deletes 203\.0\.113\.\d+ in the cloud/,
    ],
  ])('%s', async (_, change, text) => {
    const planners = () => plannersOf().map((planner) => changed(planner, change))
    const found = await problems(6, { faults: [], planners })
    expect(found.join('\n')).toMatch(text)
  })

  test('a status that is written for ever', async () => {
    const planners = () => plannersOf().map((planner) => withPlans(planner, flapping))
    expect((await problems(1, { faults: [], planners, actions: 2 })).join()).toMatch(/times at rest/)
  })

  test('a call that creates an address beyond the limit', () => {
    const reports: string[] = []
    const pool = poolObject(
      { namespace: 'team-a', name: 'blue' },
      { reclaimPolicy: 'Delete', maxIPs: 1, floatingIPNetwork: { id: 'n' } },
    )
    const existing = [{ creator: { uid: undefined, isLate: false }, isEdited: false, text: '203.0.113.2' }]
    const report = (message: string) => void reports.push(message)
    const rule = new LimitRule({ project: { existing }, nowMs: 0, report } as unknown as RuleWorld)
    const process = { name: 'A1', cluster: { addresses: new Map() } }
    const made = {
      call: { operation: 'createAddress' },
      process,
      pool: 'team-a/blue',
      known: [pool],
      stored: pool,
      madeMs: 0,
    }
    rule.onCall({ ...made, isByLeader: false } as unknown as CloudCall)
    expect(reports).toEqual([])
    rule.onCall({ ...made, isByLeader: true } as unknown as CloudCall)
    expect(reports.join()).toContain('may have 1: 203.0.113.2')
  })
})

type Plans = (made: Plan<Outcome> | undefined, key: string, nowMs: number) => Plan<Outcome> | undefined

function withPlans(planner: Planner<Outcome>, change: Plans): Planner<Outcome> {
  const plan = planner.plan.bind(planner)
  planner.plan = (key, time) => change(plan(key, time), key, time.nowMs) as Plan<Outcome>
  return planner
}

/** Plans that write another status each time. */
function flapping(made: Plan<Outcome> | undefined, key: string, nowMs: number): Plan<Outcome> | undefined {
  const [, namespace, name] = /^OpenStackFloatingIPPool (\S+)\/(\S+)$/.exec(key) ?? []
  if (made === undefined || made.effects.length > 0 || name === undefined) return made
  const { apiVersion, kind } = OpenStackFloatingIPPool.info
  const conditions = [{ type: 'Flap', status: 'True', reason: `R${nowMs}`, message: '' }]
  const patch = { status: { conditions } }
  const flap = {
    kind: 'patch',
    ref: { apiVersion, kind, namespace, name },
    patch,
    if: {},
    subresource: 'status',
    why: 'flaps',
  }
  return { ...made, effects: [flap as unknown as Effect] }
}

function changed(planner: Planner<Outcome>, change: (effect: Effect) => readonly Effect[]): Planner<Outcome> {
  return withPlans(planner, (made) => made && { ...made, effects: made.effects.flatMap(change) })
}

type Create = Extract<Effect, { readonly kind: 'create' }>
type Call = Extract<Effect, { readonly kind: 'external' }>

function isAddress(effect: Effect): effect is Create {
  return effect.kind === 'create' && effect.object.kind === 'IPAddress'
}

function withSpec(effect: Create, spec: object): Effect {
  return { ...effect, object: { ...effect.object, spec: { ...(effect.object.spec as object), ...spec } } } as Effect
}

function isCall(effect: Effect, operation: string): effect is Call {
  return effect.kind === 'external' && effect.call.operation === operation
}

function asDeletion(effect: Call, id: string): Effect {
  const seen = { id, marker: '', revision: '' }
  const input = { ...(effect.call.input as object), seen, address: '203.0.113.60' }
  return { ...effect, call: { ...effect.call, operation: 'deleteAddress', input } } as Effect
}
