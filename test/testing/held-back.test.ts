import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import { ALL_FAULTS, simulate } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import type { IPBlockRow } from '../../src/crd/ipam-kit/ip-block.js'
import { BlockRules } from '../../src/testing/simulation/block-rules.js'
import { simulateBlocks } from '../../src/testing/simulation/simulate-blocks.js'
import { BlocksWorld } from '../provider/in-cluster-blocks/world.js'
import { inClusterBlocksSystem } from './simulation/in-cluster-blocks-system.js'

const faults = [...ALL_FAULTS, 'stand-still'] as const
const HELD_BACK = { isHeldBack: true }
const AT_ONCE = { isHeldBack: false }

const present = (object: KubeObject): Change => ({ kind: 'present', object })

describe('the rules of blocks, where a create was held back while the block was created and removed', () => {
  const name = 'default-4-0a000000-24'
  const row = (uid: string, sequence: number): IPBlockRow => ({ owner: `ns/${uid}`, uid, sequence })

  function block(sequence: number, rows: { readonly [unit: string]: IPBlockRow }): Change {
    const { apiVersion, kind } = IPBlock.info
    const place = { cidr: '10.0.0.0/24', domain: 'default', allocationPrefixLength: 32, pool: 'blue' }
    return present({ apiVersion, kind, metadata: { name }, spec: { ...place, sequence, rows } })
  }

  /** Rules that have seen a block with rows of `a` (1000) and `b` (1001), which is gone. */
  function rules(): BlockRules {
    const { apiVersion, kind } = IPBlock.info
    const rules = new BlockRules({
      now: () => 0,
      mayLose: () => true,
      isReturning: () => false,
      versionsOf: () => [
        { metadata: { name: 'blue' }, spec: { domain: 'default', subnets: [{ cidr: '10.0.0.0/24' }] } } as never,
      ],
    })
    expect(rules.observe(block(1000, { 1: row('a', 1000) }), AT_ONCE)).toBeUndefined()
    expect(rules.observe(block(1001, { 1: row('a', 1000), 2: row('b', 1001) }), AT_ONCE)).toBeUndefined()
    expect(rules.observe(block(1001, {}), AT_ONCE)).toBeUndefined()
    expect(rules.observe({ kind: 'absent', ref: { apiVersion, kind, name } }, AT_ONCE)).toBeUndefined()
    return rules
  }

  test('let its row have a number of before, that of another owner too', () => {
    for (const sequence of [999, 1000, 1001])
      expect(rules().observe(block(sequence, { 1: row('c', sequence) }), HELD_BACK)).toBeUndefined()
  })

  test.each([
    ['a create that was sent at once', AT_ONCE, row('c', 999)],
    ['a row of an owner that had this number there', HELD_BACK, row('a', 1000)],
  ])('refuse %s', (_, write, late) => {
    expect(rules().observe(block(late.sequence, { 1: late }), write)).toMatch(/was used before/)
  })

  test('refuse what is added to it with a number of before, held back or not, and accept one above all', () => {
    for (const write of [AT_ONCE, HELD_BACK]) {
      const seen = rules()
      expect(seen.observe(block(1000, { 1: row('c', 1000) }), HELD_BACK)).toBeUndefined()
      expect(seen.observe(block(1001, { 1: row('c', 1000), 2: row('d', 1001) }), write)).toMatch(/was used before/)
      const other = rules()
      other.observe(block(1000, { 1: row('c', 1000) }), HELD_BACK)
      expect(other.observe(block(2000, { 1: row('c', 1000), 2: row('d', 2000) }), write)).toBeUndefined()
    }
  })
})

describe('the rules of claims on blocks, where the create of an IPAddress was held back', () => {
  const claim = (name: string, addressRef?: object): Change => {
    const { apiVersion, kind } = IPAddressClaim.info
    const spec = { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' } }
    const metadata = { name, namespace: 'default', uid: `uid-${name}` }
    return present({ apiVersion, kind, metadata, spec, ...(addressRef ? { status: { addressRef } } : {}) })
  }

  const address = (name: string): Change => {
    const { apiVersion, kind } = IPAddress.info
    const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' }
    const owner = { apiVersion: IPAddressClaim.info.apiVersion, kind: 'IPAddressClaim', name, uid: `uid-${name}` }
    const metadata = { name, namespace: 'default', uid: `address-${name}`, ownerReferences: [owner] }
    return present({
      apiVersion,
      kind,
      metadata,
      spec: { claimRef: { name }, poolRef, address: '10.0.0.2', prefix: 24 },
    })
  }

  /** Rules that have seen the claim `a`, and `b` that is Bound to 10.0.0.2. */
  function rules() {
    const rules = inClusterBlocksSystem().rules()
    for (const change of [claim('a'), claim('b'), address('b'), claim('b', { name: 'b' })])
      expect(rules.observe(change, AT_ONCE)).toBeUndefined()
    return rules
  }

  test('let it have the address of another one as long as its claim is not Bound', () => {
    const seen = rules()
    expect(seen.observe(address('a'), HELD_BACK)).toBeUndefined()
    expect(seen.observe(claim('a', { name: 'a' }), AT_ONCE)).toMatch(/10\.0\.0\.2 was given to 2 claims/)
  })

  test('refuse one that was sent at once', () => {
    expect(rules().observe(address('a'), AT_ONCE)).toMatch(/10\.0\.0\.2 was given to 2 claims/)
  })

  test('refuse one that is left at rest', async () => {
    const { store } = new BlocksWorld()
    const seen = rules()
    seen.observe(address('a'), HELD_BACK)
    for (const change of [address('a'), address('b')])
      if (change.kind === 'present') unwrap(await store.create(change.object))
    expect(await seen.atRest(store)).toBe('two IPAddress objects have one address')
  })
})

describe('schedules that went wrong', () => {
  // a block was created late, at the time of its plan, after another writer made it and the
  // operator removed it
  test('20096: writers of blocks', async () => {
    const { problems, schedule } = await simulateBlocks({ seed: 20096, faults })
    expect(problems).toEqual([])
    expect(schedule.join('\n')).toContain('  stand-still')
  })

  // an IPAddress arrived under the name of a new claim, which is paused
  test('206: claims on blocks, with writers that often stand still', async () => {
    const often = { faults: ['stand-still'], faultProbability: 0.3, actions: 40 } as const
    const options = { writers: 3, mayWrite: 'all', concurrency: 4, maxTurns: 100_000, ...often } as const
    const { problems } = await simulate({ system: inClusterBlocksSystem(), seed: 206, ...options })
    expect(problems).toEqual([])
  })

  // an IPAddress arrived after its claim was released, and its address given to another claim
  test('20596: claims on blocks', async () => {
    const system = inClusterBlocksSystem({ consumers: true })
    const options = { writers: 2, mayWrite: 'all', concurrency: 2, actions: 24, maxTurns: 60_000 } as const
    const { problems, schedule } = await simulate({ system, seed: 20596, faults, ...options })
    expect(problems).toEqual([])
    expect(schedule.join('\n')).toContain('  stand-still')
  })
})
