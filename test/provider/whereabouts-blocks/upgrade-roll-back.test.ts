import { rollBack } from 'ipam-kit/provider/whereabouts-blocks'
import { describe, expect, test } from 'vitest'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = '10.0.0.0-28'
const IPAM = { range: '10.0.0.0/28' }

/** A pool with two rows, also in blocks. */
async function world(phase: 'dual-write' | 'blocks', ...more: readonly object[]): Promise<UpgradeWorld> {
  const made = await new UpgradeWorld([IPAM, ...more]).prepare()
  await made.add('a')
  await made.add('b')
  expect(await made.start(POOL)).toMatchObject({ kind: 'phase' })
  expect(await made.copy(POOL)).toMatchObject({ kind: 'same' })
  if (phase === 'blocks') expect(await made.cut(POOL)).toMatchObject({ kind: 'phase' })
  return made
}

describe('rollBack from blocks', () => {
  test('without a change on either side writes only the phase', async () => {
    const made = await world('blocks')
    const before = await made.reservations()
    expect(await made.back(POOL)).toMatchObject({ kind: 'phase', phase: 'dual-write', rows: 2 })
    expect(await made.reservations()).toEqual(before)
    expect(await made.verify(POOL)).toMatchObject({ kind: 'same', phase: 'dual-write' })
  })

  test('gives the pool the rows of the blocks, and their reservations', async () => {
    const made = await world('blocks')
    // given, freed, and freed and given again on blocks
    expect(await made.blockAdd('c')).toBe('10.0.0.3')
    await made.blockDel('a')
    await made.blockDel('b')
    expect(await made.blockAdd('d')).toBe('10.0.0.1')
    expect(await made.back(POOL)).toMatchObject({ kind: 'phase', phase: 'dual-write', rows: 2 })
    expect(await made.oldRows(POOL)).toEqual(['10.0.0.1 ns/d c-d/net1', '10.0.0.3 ns/c c-c/net1'])
    expect(await made.reservations()).toEqual(['10.0.0.1 ns/d c-d/net1', '10.0.0.3 ns/c c-c/net1'])
    expect(await made.blockRows()).toEqual(await made.oldRows(POOL))
  })

  test('leaves nothing of the former holder in a row', async () => {
    const made = await world('blocks')
    await made.setRow(POOL, 1, { extra: 'kept', id: 'c-other' })
    await made.setRow(POOL, 2, { extra: 'kept' })
    expect(await made.back(POOL)).toMatchObject({ kind: 'phase' })
    expect(await made.stored(POOL)).toEqual({
      1: { id: 'c-a', podref: 'ns/a', ifname: 'net1' },
      2: { id: 'c-b', podref: 'ns/b', ifname: 'net1', extra: 'kept' },
    })
  })

  test('writes reservations that are missing, or of another container', async () => {
    const made = await world('blocks')
    await made.setReservation('10.0.0.1', null)
    await made.setReservation('10.0.0.2', { containerid: 'c-old', podref: 'ns/b' })
    await made.back(POOL)
    expect(await made.reservations()).toEqual(['10.0.0.1 ns/a c-a/net1', '10.0.0.2 ns/b c-b/net1'])
  })

  test('writes no reservations for networks without them', async () => {
    const made = await new UpgradeWorld([{ ...IPAM, enable_overlapping_ranges: false }]).prepare()
    await made.add('a')
    await made.start(POOL)
    await made.copy(POOL)
    await made.cut(POOL)
    await made.blockAdd('c')
    expect(await made.back(POOL)).toMatchObject({ kind: 'phase', rows: 2 })
    expect(await made.reservations()).toEqual([])
  })

  test('does nothing without the Lease', async () => {
    const made = await world('blocks')
    await made.blockAdd('c')
    await made.lease({ holderIdentity: '', leaseDurationSeconds: 1 })
    const before = await made.oldObjects()
    expect((await made.back(POOL)).kind).toBe('otherWriter')
    expect(await made.oldObjects()).toBe(before)
  })

  test('finds that another writer had the Lease before startUpgrade of another pool took it back', async () => {
    const made = await world('blocks', { range: '10.0.1.0/28' })
    await made.add('x', 'c-x', 1)
    const renewTime = new Date(made.nowMs).toISOString()
    await made.lease({ holderIdentity: 'n1/x', leaseDurationSeconds: 1, leaseTransitions: 1, renewTime })
    await made.add('c')
    made.nowMs += 2000
    expect(await made.start('10.0.1.0-28')).toMatchObject({ kind: 'phase', phase: 'dual-write' })
    const before = await made.oldObjects()
    for (const step of ['back', 'finish'] as const) {
      expect(await made[step](POOL)).toMatchObject({ kind: 'otherWriter', holder: 'ipam-kit-upgrade' })
    }
    expect(await made.oldObjects()).toBe(before)
    expect(await made.start(POOL)).toMatchObject({ kind: 'different', differences: [{ kind: 'missing' }] })
    expect((await made.back(POOL)).kind).toBe('otherWriter')
    await made.del('c')
    expect(await made.start(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks' })
    expect(await made.back(POOL)).toMatchObject({ kind: 'phase', phase: 'dual-write' })
  })

  test('cannot give the pool a row of a holder that is no Pod', async () => {
    const made = await world('blocks')
    await made.setBlockRow(5, { owner: 'm1', uid: 'u', kind: 'Machine', sequence: 1 })
    expect(await made.back(POOL)).toMatchObject({
      kind: 'different',
      phase: 'blocks',
      differences: [{ kind: 'surplus' }],
    })
  })

  test('may end before each of its requests, and be repeated', async () => {
    let request = 0
    for (let isReached = true; isReached; request++) {
      const made = await world('blocks')
      await made.blockAdd('c')
      await made.blockDel('a')
      await made.blockAdd('d')
      isReached = await made.crash(POOL, request, 'back')
      if (isReached) {
        expect(await made.verify(POOL)).toMatchObject({ phase: 'blocks' })
        expect(await made.back(POOL)).toMatchObject({ kind: 'phase', phase: 'dual-write' })
      }
      expect(await made.verify(POOL)).toMatchObject({ kind: 'same', phase: 'dual-write', rows: 3 })
      expect(await made.reservations()).toEqual(await made.oldRows(POOL))
    }
    expect(request).toBeGreaterThan(15)
  })
})

describe('rollBack from dual-write', () => {
  test('removes the phase, and gives the Lease up', async () => {
    const made = await world('dual-write')
    expect(await made.leave(POOL)).toMatchObject({ kind: 'phase', rows: 2 })
    expect(await made.verify(POOL)).not.toHaveProperty('phase')
    expect(await made.leaseSpec()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 })
    const before = await made.oldObjects()
    expect(await made.leave(POOL)).toMatchObject({ kind: 'phase' })
    expect(await made.oldObjects()).toBe(before)
    made.knowsPhases = true
    expect(await made.add('c')).toBe('10.0.0.3')
  })

  test('keeps the Lease while another pool has a phase', async () => {
    const made = await world('dual-write', { range: '10.0.1.0/28' })
    await made.add('x', 'c-x', 1)
    await made.start('10.0.1.0-28')
    await made.leave(POOL)
    expect(await made.leaseSpec()).toMatchObject({ holderIdentity: 'ipam-kit-upgrade' })
    await made.leave('10.0.1.0-28')
    expect(await made.leaseSpec()).toMatchObject({ holderIdentity: '' })
  })

  test('leaves a Lease that another writer has', async () => {
    const made = await world('dual-write')
    await made.lease({ holderIdentity: 'n1/x', leaseDurationSeconds: 1 })
    expect(await made.leave(POOL)).toMatchObject({ kind: 'phase' })
    expect(await made.leaseSpec()).toMatchObject({ holderIdentity: 'n1/x' })
  })

  test('needs each row of the blocks in the pool, and no more', async () => {
    const made = await world('dual-write')
    await made.add('c')
    await made.blockDel('a')
    expect(await made.blockAdd('d')).toBe('10.0.0.1')
    await made.del('b')
    expect(await made.leave(POOL)).toMatchObject({
      kind: 'different',
      phase: 'dual-write',
      differences: [{ kind: 'other' }, { kind: 'surplus' }],
    })
    await made.blockDel('d')
    await made.blockDel('b')
    expect(await made.leave(POOL)).toMatchObject({ kind: 'phase', rows: 2 })
  })

  test('may end before each of its requests, and be repeated', async () => {
    let request = 0
    for (let isReached = true; isReached; request++) {
      const made = await world('dual-write')
      isReached = await made.crash(POOL, request, 'leave')
      expect(await made.leave(POOL)).toMatchObject({ kind: 'phase', rows: 2 })
      expect(await made.leaseSpec()).toMatchObject({ holderIdentity: '' })
    }
    // the pool three times, the Lease twice, the pool of blocks, the blocks, the pools, two writes
    expect(request).toBe(10)
  })
})

test('rollBack may be repeated, and goes back one phase at most', async () => {
  const made = await world('blocks')
  expect(await made.leave(POOL)).toMatchObject({ kind: 'wrongPhase', phase: 'blocks' })
  const [first, again] = [await made.back(POOL), await made.back(POOL)]
  expect(again).toEqual(first)
  expect(first).toMatchObject({ kind: 'phase', phase: 'dual-write' })
  expect(await made.leave(POOL)).toMatchObject({ kind: 'phase' })
  const before = [await made.oldObjects(), await made.leaseSpec()]
  expect(await made.leave(POOL)).toMatchObject({ kind: 'phase' })
  expect((await made.back(POOL)).kind).toBe('wrongPhase')
  expect([await made.oldObjects(), await made.leaseSpec()]).toEqual(before)
})

test('rollBack with another leaseHolder says which upgrade holds the Lease, and writes nothing', async () => {
  const made = await world('dual-write')
  const request = { pool: POOL, networks: made.networks, to: 'none', leaseHolder: 'me' } as const
  const before = await made.oldObjects()
  const outcome = await made.run(rollBack(request))
  expect(outcome).toMatchObject({ kind: 'otherWriter', holder: 'ipam-kit-upgrade', message: /as leaseHolder/u })
  expect(await made.oldObjects()).toBe(before)
  expect(await made.leave(POOL)).toMatchObject({ kind: 'phase' })
  expect(await made.leaseSpec()).toMatchObject({ holderIdentity: '' })
})

test('rollBack ends for a pool that it cannot read', async () => {
  const made = new UpgradeWorld([IPAM])
  made.phase = 'paused'
  await made.prepare()
  expect((await made.back(POOL)).kind).toBe('notReady')
  await made.add('a')
  expect((await made.back(POOL)).kind).toBe('wrongPhase')
  expect(() => rollBack({ networks: [], to: 'none' } as never)).toThrow(/pool/u)
  for (const to of [undefined, 'blocks']) {
    expect(() => rollBack({ pool: POOL, networks: [], to } as never)).toThrow(/one of dual-write, none/u)
  }
})
