import { describe, expect, test } from 'vitest'
import { isDeep } from '../setup/depth.js'
import { callsOf, problemsOf, runSlowly } from './slow-cluster.js'

describe('claims on a store whose every call takes time', () => {
  test.each([
    // 300: a pass over all claims takes longer than a minute
    { name: 'one process, 1 to 2 s', processes: 1, claims: isDeep ? 300 : 120, latencyMs: [1000, 2000] as const },
    { name: 'three processes, 150 to 450 ms', processes: 3, claims: isDeep ? 120 : 60, latencyMs: [150, 450] as const },
    { name: 'four processes, 50 ms to 2 s', processes: 4, claims: 80, latencyMs: [50, 2000] as const },
    {
      name: 'three processes, one pool',
      processes: 3,
      claims: isDeep ? 120 : 60,
      pools: 1,
      latencyMs: [150, 450] as const,
    },
  ])('are Bound one after the other, with few calls: $name', async (options) => {
    const result = await runSlowly({ ledger: 'blocks', seed: 1, ...options })
    expect(problemsOf(result, options)).toEqual([])
  })

  test('cost one process about as much on blocks as on IPAddress objects', async () => {
    const options = { seed: 2, processes: 1, claims: 120, latencyMs: [150, 450] as const }
    const objects = await runSlowly({ ledger: 'objects', ...options })
    const blocks = await runSlowly({ ledger: 'blocks', ...options })
    expect(problemsOf(blocks, options)).toEqual([])
    const perClaim = (result: typeof blocks) => callsOf(result) / options.claims
    expect(perClaim(objects)).toBeLessThan(3.2)
    expect(perClaim(blocks)).toBeLessThan(4.2)
    expect(blocks.boundMs.at(-1)).toBeLessThan((objects.boundMs.at(-1) as number) / 0.6)
  })

  test('are left to the process that has begun with them', async () => {
    const options = { seed: 5, processes: 4, claims: 200, pools: 5, latencyMs: [20, 80] as const }
    const result = await runSlowly({ ledger: 'blocks', ...options })
    expect(problemsOf(result, options)).toEqual([])
    expect(callsOf(result) / options.claims).toBeLessThan(6)
  })

  test('of one pool share the writes of its block', async () => {
    const result = await runSlowly({
      ledger: 'blocks',
      seed: 3,
      processes: 1,
      claims: 120,
      pools: 1,
      latencyMs: [150, 450],
    })
    // finalizer, IPAddress and status are three of them
    expect(callsOf(result) / 120).toBeLessThan(3.8)
  })

  test('that wait come before those that have an address since before the ledger was switched', async () => {
    const options = { processes: 1, claims: 40, older: 200, latencyMs: [150, 450] as const }
    const result = await runSlowly({ ledger: 'blocks', seed: 4, ...options })
    expect(result.boundMs).toHaveLength(40)
    // now and then one of the older ones has its turn
    const olderBefore = result.olderServedMs.filter((ms) => ms < (result.boundMs.at(-1) as number))
    expect(olderBefore.length).toBeLessThan(20)
  })
})
