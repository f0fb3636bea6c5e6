import { Prefix, RangeSet } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ExternalCall, ExternalResult, Plan } from 'ipam-kit/plan'
import { AddressLedger, defineProvider, protectPool } from 'ipam-kit/provider/claims'
import { describe, expect, test } from 'vitest'
import { InfobloxPool } from '../../../docs/examples/external-provider/pool.js'
import { stored } from '../stored.js'
import { claim, NETWORK, pool, poolRef } from './world.js'

/** Chooses an address itself, and has the external system register it. */
class ChoosingLedger extends AddressLedger<InfobloxPool> {
  override setPool(object: InfobloxPool | undefined, problems: readonly string[] = []): void {
    super.setPool(object, problems)
    if (object !== undefined) this.ledger.setSpace({ space: RangeSet.parse(['10.20.0.1-10.20.0.2']) })
  }

  next() {
    return this.ledger.next()?.address
  }
}

const POOL = 'InfobloxPool default/lab'
const keyOf = (name: string) => `IPAddressClaim default/${name}`
const OFFLINE: ExternalResult = { ok: false, failure: { message: 'down', retryable: true } }

/** @param unused an address that the pool has the external system delete */
function provider(unused?: string) {
  return defineProvider({
    name: 'choosing',
    pools: [InfobloxPool],
    external: { marker: 'kept' },
    ledger: (holdings) => new ChoosingLedger(holdings),
    resolve: () => ({ kind: 'ready', offer: undefined }),
    ensure({ ledger, results }) {
      const address = ledger.next()
      const prefix = 30
      if (results.register !== undefined) {
        return {
          kind: 'address',
          address: Prefix.parse(`${results.register}/32`).address,
          prefix,
          why: 'it is registered',
        }
      }
      if (address === undefined) return { kind: 'wait', reason: 'PoolExhausted', message: `no address in ${NETWORK}` }
      const input = Prefix.format({ address, length: 32 })
      return { kind: 'call', operation: 'register', input, why: 'it is free', pending: { address, prefix } }
    },
    planPool({ pool: object, ledger, claims }) {
      const plan = protectPool({ pool: object, addresses: ledger.size, claims })
      if (unused === undefined) return plan
      const { address } = Prefix.parse(`${unused}/32`)
      const why = 'nothing uses it'
      return { ...plan, call: { operation: 'delete', id: unused, input: {}, why, pending: { address, prefix: 30 } } }
    },
  })
}

function started(unused?: string) {
  const planner = provider(unused)
  const present = (object: KubeObject) => planner.observe({ kind: 'present', object: stored(object, {}) })
  present(pool())
  for (const name of ['a', 'b', 'c']) present(claim(name))
  const plan = (key: string): Plan => planner.plan(key, { nowMs: 0 })!
  const callIn = ({ effects }: Plan): ExternalCall | undefined =>
    effects.flatMap((effect) => (effect.kind === 'external' ? [effect.call] : []))[0]
  const begin = (key: string) => {
    const made = plan(key)
    return { call: callIn(made)!, end: planner.begin!(made) }
  }
  return { planner, plan, callIn, begin }
}

describe('an address that a call in flight asks for', () => {
  test('is pending in the ledger, and offered to no other claim', () => {
    const run = started()
    expect(run.begin(keyOf('a')).call.input).toBe('10.20.0.1/32')
    expect(run.planner.entries()).toMatchObject([{ reason: 'pending', holder: { owner: 'default/a' } }])
    expect(run.begin(keyOf('b')).call.input).toBe('10.20.0.2/32')
    expect(run.plan(keyOf('c')).outcome).toMatchObject({ kind: 'waiting', reason: 'PoolExhausted' })
  })

  test('is free again when the call has ended without a result, and claims that wait for room are planned', () => {
    const run = started()
    const [first] = [run.begin(keyOf('a')), run.begin(keyOf('b'))]
    run.plan(keyOf('c'))
    run.planner.onResult!({ call: first.call, answer: OFFLINE, atMs: 0 })
    expect(first.end()).toContain(keyOf('c'))
    expect(run.callIn(run.plan(keyOf('c')))?.input).toBe('10.20.0.1/32')
    expect(first.end()).toEqual([])
  })

  test('is that of the claim when the call has given it', () => {
    const run = started()
    const { call, end } = run.begin(keyOf('a'))
    run.planner.onResult!({ call, answer: { ok: true, value: '10.20.0.1' }, atMs: 0 })
    end()
    const plan = run.plan(keyOf('a'))
    expect(plan.outcome).toMatchObject({ kind: 'bound', address: '10.20.0.1' })
    run.planner.begin!(plan)
    expect(run.begin(keyOf('b')).call.input).toBe('10.20.0.2/32')
  })

  test('for the pool is offered to no claim, and keeps the pool no longer than the call', () => {
    const run = started('10.20.0.1')
    const { call, end } = run.begin(POOL)
    expect(call).toMatchObject({ operation: 'delete' })
    expect(run.callIn(run.plan(keyOf('a')))?.input).toBe('10.20.0.2/32')
    end()
    expect(run.planner.ledgerOf(poolRef()).size).toBe(0)
    expect(run.callIn(run.plan(keyOf('a')))?.input).toBe('10.20.0.1/32')
  })
})
