import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { refOf } from 'ipam-kit/crd/meta'
import { OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { DualWorld, type Phase } from './dual-world.js'
import { row } from './old-objects.js'

const IPAM = { range: '10.0.0.0/29' }
const POOL = '10.0.0.0-29'
const BLOCK = 'whereabouts.10.0.0.0-29'

async function world(phase: Phase, ipam: object = IPAM): Promise<DualWorld> {
  const made = await new DualWorld().prepare(ipam)
  return made.pool('10.0.0.0/29', phase)
}

const A = '10.0.0.1 ns/a c-a/net1'
const B = '10.0.0.2 ns/b c-b/net1'

describe('a pool without a phase', () => {
  test('has the requests of `add` and `del`, and no row in blocks', async () => {
    const made = await world(null)
    expect(await made.add(IPAM)).toBe('10.0.0.1')
    expect(made.requests).toEqual([
      `get IPPool ${POOL}`,
      `patch IPPool ${POOL}`,
      'create OverlappingRangeIPReservation 10.0.0.1',
    ])
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[A], []])
    expect(await made.del(IPAM)).toBe('released 10.0.0.1')
    expect(made.requests.filter((request) => request.includes('IPBlock'))).toEqual([])
    expect(await made.reservations()).toEqual([])
  })

  test('is created by the first ADD', async () => {
    const made = await new DualWorld().prepare(IPAM)
    expect(await made.add(IPAM)).toBe('10.0.0.1')
  })
})

describe.each(['dual-write', 'blocks'] as const)('a pool in the phase %s', (phase) => {
  test('gets the row first, then the block, and is read again', async () => {
    const made = await world(phase)
    expect(await made.add(IPAM)).toBe('10.0.0.1')
    expect(made.requests.map((request) => request.replace(/ (whereabouts\S*|10\S*)$/u, ''))).toEqual([
      'get IPPool',
      'get IPPool',
      'list IPBlock',
      'patch IPPool',
      'create OverlappingRangeIPReservation',
      'create IPBlock',
      'get IPPool',
    ])
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[A], [A]])
  })

  test('gives the same address again, and adds what is missing on either side', async () => {
    const made = await world(phase)
    await made.add(IPAM)
    expect(await made.add(IPAM)).toBe('10.0.0.1')
    await made.blockDel(IPAM)
    expect(await made.add(IPAM)).toBe('10.0.0.1')
    expect(await made.blockRows()).toEqual([A])
  })

  test('DEL removes both rows and the reservation, and may be repeated', async () => {
    const made = await world(phase)
    await made.add(IPAM)
    await made.add(IPAM, { pod: 'b' })
    expect(await made.del(IPAM)).toBe('released 10.0.0.1')
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[B], [B]])
    expect(await made.reservations()).toEqual(['10.0.0.2'])
    expect(await made.del(IPAM)).toMatch(/^nothing/u)
  })

  test('does not give an address that only a block has', async () => {
    const made = await world(phase)
    expect(await made.blockAdd(IPAM, { pod: 'b' })).toBe('10.0.0.1')
    expect(await made.add(IPAM)).toBe('10.0.0.2')
    expect(await made.oldRows()).toEqual(['10.0.0.2 ns/a c-a/net1'])
    expect(await made.reservations()).toEqual(['10.0.0.2'])
  })

  test('gives a row up that another writer of blocks was faster to take', async () => {
    const made = await world(phase)
    made.before = async (request) => {
      if (request === 5) {
        made.before = () => {}
        expect(await made.blockAdd(IPAM, { pod: 'b' })).toBe('10.0.0.1')
      }
    }
    expect(await made.add(IPAM)).toBe('10.0.0.2')
    expect(await made.oldRows()).toEqual(['10.0.0.2 ns/a c-a/net1'])
    expect(await made.reservations()).toEqual(['10.0.0.2'])
  })

  test('writes the row again that was removed from the pool before the block had it', async () => {
    const made = await world(phase)
    made.before = async (request) => {
      if (request !== 5) return
      await made.setRows(POOL, { '1': null })
      const [reservation] = unwrap(await made.store.list(OverlappingRangeIPReservation.info)).items
      unwrap(await made.store.delete(refOf(reservation!)))
    }
    expect(await made.add(IPAM)).toBe('10.0.0.1')
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[A], [A]])
    expect(await made.reservations()).toEqual(['10.0.0.1'])
  })

  test('without a phase at the end the row of the block is removed again', async () => {
    const made = await world(phase)
    made.before = async (request) => {
      if (request === 5) await made.setPhase(POOL, null)
    }
    expect(await made.add(IPAM)).toBe('10.0.0.1')
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[A], []])
  })

  test('is not created again after the upgrade has deleted it', async () => {
    const made = await world(phase)
    made.before = async (request) => {
      if (request === 3) await made.deletePool(POOL)
    }
    expect(await made.add(IPAM)).toMatch(/^poolNotReady/u)
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[], []])
  })

  test('an ADD that finds no address leaves no row on either side', async () => {
    const ipam = { ipRanges: [{ range: '10.0.0.0/29' }, { range: 'fd00::/126' }] }
    const made = await world(phase, ipam)
    for (const pod of ['x', 'y']) await made.add({ range: 'fd00::/126' }, { pod })
    expect(await made.add(ipam)).toMatch(/^exhausted/u)
    expect(await made.oldRows()).toHaveLength(2)
    expect(await made.blockRows()).toEqual([])
  })

  test('an ADD that fails after the block has the row removes both rows', async () => {
    const made = await world(phase)
    made.before = async (request) => {
      if (request === 6) await made.setPhase(POOL, 'other')
    }
    expect(await made.add(IPAM)).toMatch(/^poolNotReady.*"other"/u)
    expect([await made.oldRows(), await made.blockRows(), await made.reservations()]).toEqual([[], [], []])
  })

  test('DEL removes a row that a roll-back has written to the pool again', async () => {
    const made = await world(phase)
    await made.add(IPAM)
    made.before = async () => {
      if (made.requests.at(-1)?.startsWith('patch IPBlock')) await made.setRows(POOL, { '1': row('a') })
    }
    expect(await made.del(IPAM)).toBe('released 10.0.0.1')
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[], []])
  })

  test('reads the Pod if the runtime does not say its uid', async () => {
    const made = await world(phase)
    expect(await made.add(IPAM, { uid: '' })).toMatch(/^noPod/u)
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[], []])
    const uid = await made.makePod('a')
    expect(await made.add(IPAM, { uid: '' })).toBe('10.0.0.1')
    expect(await made.add(IPAM, { uid })).toBe('10.0.0.1')
  })

  test('refuses what blocks cannot have', async () => {
    const made = await world(phase)
    expect(await made.add({ ...IPAM, range: '10.0.0.0/29' }, { uid: 'ü' })).toMatch(/^refused.*uid/u)
    const none = await new DualWorld().pool('10.0.0.0/29', phase)
    expect(await none.add(IPAM)).toBe('poolNotReady: there is no IPPool whereabouts.10.0.0.0-29')
    expect([await made.oldRows(), await none.oldRows()]).toEqual([[], []])
  })

  test('does not give an earlier row of the container up that has another holder in blocks', async () => {
    const made = await new DualWorld().prepare(IPAM)
    await made.pool('10.0.0.0/29', phase, { '1': row('a') })
    await made.blockAdd(IPAM, { pod: 'b' })
    expect(await made.add(IPAM)).toMatch(/^taken: another interface has 10\.0\.0\.1 in the blocks/u)
    expect(await made.oldRows()).toEqual([A])
  })

  test('a row of a Pod before it is taken over by a later container of the same Pod only', async () => {
    const made = await world(phase)
    const uid = await made.makePod('a')
    await made.add(IPAM, { uid })
    expect(await made.add(IPAM, { container: 'c2', uid }, { sticky: 'pod' })).toBe('10.0.0.1')
    expect(await made.blockRows()).toEqual(['10.0.0.1 ns/a c2/net1'])
    await made.removePod('a')
    const later = { container: 'c3', uid: await made.makePod('a') }
    expect(await made.add(IPAM, later, { sticky: 'pod' })).toBe('10.0.0.2')
    const rows = ['10.0.0.1 ns/a c2/net1', '10.0.0.2 ns/a c3/net1']
    expect([await made.oldRows(), await made.blockRows()]).toEqual([rows, rows])
  })
})

test('a value that is no phase gives no address, and DEL removes both rows', async () => {
  const made = await world('dual-write')
  await made.add(IPAM)
  await made.setPhase(POOL, 'paused')
  expect(await made.add(IPAM, { pod: 'b' })).toMatch(/^poolNotReady.*"paused"/u)
  expect(await made.del(IPAM)).toBe('released 10.0.0.1')
  expect([await made.oldRows(), await made.blockRows()]).toEqual([[], []])
})

test('of several ranges those are written to blocks whose pool has a phase', async () => {
  const ipam = { ipRanges: [{ range: '10.0.0.0/29' }, { range: 'fd00::/125' }] }
  const made = await world('dual-write', ipam)
  expect(await made.add(ipam)).toBe('10.0.0.1 fd00::1')
  expect(await made.oldRows()).toEqual([A, 'fd00::1 ns/a c-a/net1'])
  expect(await made.blockRows()).toEqual([A])
  expect(await made.del(ipam)).toBe('released 10.0.0.1 fd00::1')
  expect([await made.oldRows(), await made.blockRows()]).toEqual([[], []])
})

test('a pool of blocks that is disabled gets the row', async () => {
  const made = await world('blocks')
  await made.disable(BLOCK)
  expect(await made.blockAdd(IPAM)).toMatch(/^poolNotReady/u)
  expect(await made.add(IPAM)).toBe('10.0.0.1')
  expect(await made.blockRows()).toEqual([A])
})

test('without a pool of whereabouts nothing is read of blocks, whose kinds may not exist', async () => {
  const made = new DualWorld()
  const commands = [
    () => made.del(IPAM),
    () => made.check(IPAM),
    () => made.gc(IPAM, { valid: [] }),
    () => made.status(IPAM),
  ]
  for (const command of commands) {
    await command()
    expect(made.requests).toEqual([`get IPPool ${POOL}`])
  }
  await made.add(IPAM)
  expect(made.requests).toHaveLength(3)
})

describe('CHECK goes by the truth', () => {
  test.each([
    ['dual-write', 'present', 'missing'],
    ['blocks', 'missing', 'present'],
  ] as const)('in the phase %s', async (phase, withoutBlock, withoutPool) => {
    const made = await world(phase)
    await made.add(IPAM)
    expect([await made.check(IPAM, {}, ['10.0.0.1']), await made.check(IPAM, {}, ['10.0.0.2'])]).toEqual([
      'present',
      'missing',
    ])
    await made.setRows(POOL, { '1': null })
    expect(await made.check(IPAM)).toBe(withoutPool)
    await made.add(IPAM)
    await made.blockDel(IPAM)
    expect(await made.check(IPAM)).toBe(withoutBlock)
  })

  test('of each range by itself', async () => {
    const ranges = { ipRanges: [{ range: '10.0.0.0/29' }, { range: '10.1.0.0/29' }] }
    const made = await new DualWorld().prepare(ranges)
    await made.pool('10.0.0.0/29', 'dual-write')
    await made.pool('10.1.0.0/29', 'blocks')
    await made.add(ranges)
    await made.setRows('10.1.0.0-29', { '1': null })
    const both = ['10.0.0.1', '10.1.0.1']
    expect([await made.check(ranges), await made.check(ranges, {}, both)]).toEqual(['present', 'present'])
    expect(await made.check(ranges, {}, [...both, '10.2.0.1'])).toBe('missing')
    await made.setRows('10.0.0.0-29', { '1': null })
    expect(await made.check(ranges)).toBe('missing')
  })

  test('and is the plain one without a phase', async () => {
    const made = await world(null)
    await made.add(IPAM)
    expect(await made.check(IPAM)).toBe('present')
    expect(made.requests).toEqual([`get IPPool ${POOL}`, 'get OverlappingRangeIPReservation 10.0.0.1'])
  })
})

test('a row of a block that has no unit stops no command, and DEL says it', async () => {
  const made = await world('dual-write')
  await made.add(IPAM)
  const [block] = unwrap(await made.store.list(IPBlock.info)).items
  const x = { owner: 'ns/z', uid: 'z', container: 'c-z', interface: 'net1', sequence: 1 }
  unwrap(await made.store.patch(refOf(block!), { spec: { rows: { x } } } as never))
  expect(await made.del(IPAM, { pod: 'z' })).toMatch(/^poolNotReady.* row x is not in the block/u)
  expect(await made.gc(IPAM, { valid: [] })).toBe('')
  expect(await made.check(IPAM)).toBe('present')
})

describe('GC', () => {
  const record = ['a', 'b'].map((pod) => ({ containerId: `c-${pod}`, ifname: 'net1', network: 'lab', addedMs: 0 }))

  test('frees the rows of both sides', async () => {
    const made = await world('dual-write')
    await made.add(IPAM)
    await made.add(IPAM, { pod: 'b' })
    await made.setRows(POOL, { '1': null })
    made.nowMs += 120_000
    expect(await made.gc(IPAM, { valid: [], record })).toBe('10.0.0.2 10.0.0.1')
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[], []])
  })

  test('reads no block without a phase or without a list of attachments', async () => {
    const made = await world(null)
    await made.add(IPAM)
    made.nowMs += 120_000
    expect(await made.gc(IPAM, { record })).toBe('off')
    expect(await made.gc(IPAM, { valid: [], record })).toBe('10.0.0.1')
    expect(made.requests.filter((request) => request.includes('IPBlock'))).toEqual([])
  })
})

describe('STATUS', () => {
  test('is the plain one without a phase', async () => {
    const made = await world(null)
    expect(await made.status(IPAM)).toBe('ready')
    expect(made.requests).toEqual([`get IPPool ${POOL}`])
  })

  test('wants the pools of both sides with a phase', async () => {
    const made = await world('dual-write')
    expect(await made.status(IPAM)).toBe('ready')
    await made.setPhase(POOL, 'other')
    expect(await made.status(IPAM)).toMatch(/^notReady: .*"other"/u)
    const none = await new DualWorld().pool('10.0.0.0/29', 'blocks')
    expect(await none.status(IPAM)).toBe(`notReady: there is no IPPool ${BLOCK}`)
    await made.setPhase(POOL, 'blocks')
    await made.disable(BLOCK)
    expect(await made.status(IPAM)).toBe('ready')
    for (const pod of ['a', 'b', 'c', 'd', 'e', 'f']) await made.add(IPAM, { pod })
    await made.setRows(POOL, { '1': null })
    await made.operate()
    expect(await made.status(IPAM)).toBe(`notReady: IPPool ${BLOCK} has no free IPv4 address`)
  })
})
