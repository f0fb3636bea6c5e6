import { startUpgrade } from 'ipam-kit/provider/whereabouts-blocks'
import { describe, expect, test } from 'vitest'
import { oldPool, row } from './old-objects.js'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = '10.0.0.0-28'
const IPAM = { range: '10.0.0.0/28' }
const HELD = { holderIdentity: 'ipam-kit-upgrade', leaseDurationSeconds: 2_147_483_647 }

async function world(): Promise<UpgradeWorld> {
  const made = await new UpgradeWorld([IPAM]).prepare()
  made.knowsPhases = true
  await made.add('a')
  return made
}

describe('startUpgrade', () => {
  test('takes the Lease, and gives the pool the phase', async () => {
    const made = await world()
    expect(await made.start(POOL)).toMatchObject({ kind: 'phase', phase: 'dual-write', rows: 1 })
    expect(await made.leaseSpec()).toEqual({
      ...HELD,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    })
    expect(await made.verify(POOL)).toMatchObject({ kind: 'different', phase: 'dual-write' })
    expect([await made.add('b'), await made.add('a'), await made.status()]).toEqual([
      'poolNotReady',
      'poolNotReady',
      'notReady',
    ])
  })

  test('ends the same way again, and writes nothing then', async () => {
    const made = await world()
    const first = await made.start(POOL)
    const before = [await made.oldObjects(), await made.leaseSpec()]
    expect(await made.start(POOL)).toEqual(first)
    expect([await made.oldObjects(), await made.leaseSpec()]).toEqual(before)
  })

  test('renews the Lease when it is run again: a late patch that gives the Lease up is refused', async () => {
    const made = await world()
    await made.start(POOL)
    made.nowMs += 1
    expect(await made.start(POOL)).toMatchObject({ kind: 'phase' })
    expect(await made.leaseSpec()).toMatchObject({
      ...HELD,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.001000Z',
      leaseTransitions: 0,
    })
  })

  test('takes a Lease again that is given up before the pool has its phase', async () => {
    const made = await world()
    made.before = async () => {
      const spec = await made.leaseSpec()
      const isOurs = (spec as { readonly holderIdentity?: string } | undefined)?.holderIdentity === 'ipam-kit-upgrade'
      if (isOurs) await made.lease({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 1 })
      if (isOurs) made.before = () => {}
    }
    expect(await made.start(POOL)).toMatchObject({ kind: 'phase' })
    expect(await made.leaseSpec()).toMatchObject({ ...HELD, leaseTransitions: 2 })
  })

  test('waits for a writer of upstream that has the Lease', async () => {
    const made = await world()
    const now = () => new Date(made.nowMs).toISOString()
    await made.lease({ holderIdentity: 'n1/x', leaseDurationSeconds: 1, renewTime: now(), leaseTransitions: 7 })
    expect(await made.start(POOL)).toMatchObject({ kind: 'leaseHeld', holder: 'n1/x' })
    expect(await made.verify(POOL)).not.toHaveProperty('phase')
    made.nowMs += 1000
    expect(await made.start(POOL)).toMatchObject({ kind: 'leaseHeld' })
    made.nowMs += 1
    expect(await made.start(POOL)).toMatchObject({ kind: 'phase' })
    expect(await made.leaseSpec()).toMatchObject({
      ...HELD,
      leaseTransitions: 8,
      acquireTime: '2026-01-01T00:00:01.001000Z',
    })
  })

  test('takes a Lease that was given back, or names no time', async () => {
    for (const spec of [{}, { holderIdentity: '', leaseDurationSeconds: 1 }, { holderIdentity: 'n1/x' }]) {
      const made = await world()
      await made.lease(spec)
      expect(await made.start(POOL)).toMatchObject({ kind: 'phase' })
      expect(await made.leaseSpec()).toMatchObject(HELD)
    }
  })

  test('takes a lost Lease again in the phase dual-write', async () => {
    const made = await world()
    await made.start(POOL)
    await made.lease({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 1 })
    // whatever became of the plan meanwhile
    await made.removePod('a')
    expect(await made.start(POOL)).toMatchObject({ kind: 'phase', phase: 'dual-write' })
    expect(await made.leaseSpec()).toMatchObject({ ...HELD, leaseTransitions: 2 })
  })

  test('needs a pool without obstacles, and pools of blocks that are accepted', async () => {
    const obstacle = await new UpgradeWorld([IPAM]).prepare()
    await obstacle.put(oldPool(IPAM.range, { 1: row('a', { podref: 'a' }) }))
    expect(await obstacle.start(POOL)).toMatchObject({ kind: 'notReady', oddities: [{ kind: 'row-texts' }] })
    const none = new UpgradeWorld([IPAM])
    await none.put(oldPool(IPAM.range))
    expect(await none.start(POOL)).toMatchObject({ kind: 'notReady', message: /there is no IPPool/u })
    const proposed = await new UpgradeWorld([IPAM]).prepare({ accepted: false })
    await proposed.put(oldPool(IPAM.range))
    expect(await proposed.start(POOL)).toMatchObject({ kind: 'notReady', message: /not accepted/u })
    for (const made of [obstacle, none, proposed]) expect(await made.leaseSpec()).toBe('STORE_NOT_FOUND')
    expect(await (await world()).start('other')).toMatchObject({ kind: 'notReady' })
  })

  test('refuses a pool of blocks that gives an address which one of its networks excludes', async () => {
    const made = await new UpgradeWorld([IPAM, { ...IPAM, exclude: ['10.0.0.2/32'] }]).prepare()
    await made.put(oldPool(IPAM.range))
    expect(await made.start(POOL)).toMatchObject({
      kind: 'notReady',
      message: 'IPPool whereabouts.10.0.0.0-28 gives 10.0.0.2, which the configuration does not',
    })
    expect(await made.leaseSpec()).toBe('STORE_NOT_FOUND')
  })

  test('does nothing for another phase', async () => {
    const made = await new UpgradeWorld([IPAM]).prepare()
    made.knowsPhases = true
    await made.put(oldPool(IPAM.range, {}, { annotations: { 'ipam-kit.dev/upgrade': 'paused' } }))
    expect(await made.start(POOL)).toMatchObject({ kind: 'wrongPhase', phase: 'unknown', message: /"paused"/u })
    expect(await made.add('b')).toBe('poolNotReady')
  })

  test('may end before each of its requests, and be repeated', async () => {
    let request = 0
    for (let isReached = true; isReached; request++) {
      const made = await world()
      isReached = await made.crash(POOL, request, 'start')
      expect(await made.start(POOL)).toMatchObject({ kind: 'phase', phase: 'dual-write' })
      expect(await made.leaseSpec()).toMatchObject({ ...HELD, leaseTransitions: 0 })
    }
    // the pool, the lists, the pool of blocks, the blocks, two writes, and the Lease before and after them
    expect(request).toBe(11)
  })

  test('stops an ADD that has begun, before each of its requests', async () => {
    const answers = new Set<string>()
    for (let request = 0; request < 6; request++) {
      const made = await world()
      const answer = await made.addWith('b', request, async () => {
        await made.start(POOL)
      })
      answers.add(answer)
      // its row was there when the pool got its phase, or no row exists
      const old = await made.oldRows(POOL)
      expect(old.some((each) => each.includes(' ns/b '))).toBe(answer === '10.0.0.2')
    }
    expect([...answers].sort()).toEqual(['10.0.0.2', 'poolNotReady'])
  })

  test('refuses a request that is none', () => {
    expect(() => startUpgrade({ pool: 'a' } as never)).toThrow(/networks/u)
    expect(() => startUpgrade({ pool: 'a', networks: [], leaseHolder: 3 } as never)).toThrow(/leaseHolder/u)
    for (const wrong of [
      { pool: '' },
      { pool: 'A B' },
      { pool: '../x' },
      { namespace: 'Bad_NS' },
      { leaseHolder: 'x'.repeat(254) },
      { leaseHolder: 'a\nb' },
    ]) {
      const [member = ''] = Object.keys(wrong)
      expect(() => startUpgrade({ pool: 'a', networks: [], ...wrong })).toThrow(new RegExp(`request.${member}`, 'u'))
    }
    startUpgrade({ pool: '10.0.0.0-28', networks: [], namespace: '', leaseHolder: '' })
  })
})
