import { OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { DualWorld, type Phase } from './dual-world.js'
import { NAMESPACE, row } from './old-objects.js'

const IPAM = { range: '10.0.0.0/29' }
const POOL = '10.0.0.0-29'
const A = '10.0.0.1 ns/a c-a/net1'

async function world(phase: Phase): Promise<DualWorld> {
  const made = await new DualWorld().prepare(IPAM)
  return made.pool('10.0.0.0/29', phase)
}

describe('an ADD and the rows that blocks have', () => {
  test('an interface that blocks alone have given an address gets the same again', async () => {
    const made = await world('blocks')
    expect(await made.add(IPAM, { pod: 'b' })).toBe('10.0.0.1')
    expect(await made.blockAdd(IPAM)).toBe('10.0.0.2')
    await made.del(IPAM, { pod: 'b' })
    expect(await made.add(IPAM)).toBe('10.0.0.2')
    const own = '10.0.0.2 ns/a c-a/net1'
    expect([await made.oldRows(), await made.blockRows()]).toEqual([[own], [own]])
  })

  test('an interface gets no second row in blocks while another holder has its address in the pool', async () => {
    const made = await world('blocks')
    expect(await made.blockAdd(IPAM)).toBe('10.0.0.1')
    await made.setRows(POOL, { '1': row('x', { ipamclaim: 'ns/vm' }) })
    expect(await made.add(IPAM)).toMatch(/^taken: the interface has 10\.0\.0\.1 in the blocks/u)
    expect(await made.blockRows()).toEqual([A])
    await made.setPhase(POOL, 'dual-write')
    expect(await made.add(IPAM)).toBe('10.0.0.2')
  })
})

describe.each(['dual-write', 'blocks'] as const)(
  'another container of a Pod before the DEL of the earlier one, in the phase %s',
  (phase) => {
    const LATER = ['10.0.0.1 ns/a c2/net1']

    async function later(uid?: string) {
      const made = await world(phase)
      const first = await made.makePod('a')
      await made.add(IPAM, { uid: first })
      return { made, who: { container: 'c2', uid: uid ?? first } }
    }

    test('gets the same address, and the rows and the reservation name it', async () => {
      const { made, who } = await later()
      expect(await made.add(IPAM, who)).toBe('10.0.0.1')
      expect([await made.oldRows(), await made.blockRows()]).toEqual([LATER, LATER])
      const [reservation] = unwrap(await made.store.list(OverlappingRangeIPReservation.info)).items
      expect(reservation?.spec).toEqual({ podref: 'ns/a', containerid: 'c2', ifname: 'net1' })
      expect(await made.del(IPAM)).toMatch(/^nothing/u)
      expect([await made.oldRows(), await made.blockRows()]).toEqual([LATER, LATER])
      expect(await made.del(IPAM, who)).toBe('released 10.0.0.1')
      expect([await made.oldRows(), await made.blockRows(), await made.reservations()]).toEqual([[], [], []])
    })

    test('gets it in a network without another free address', async () => {
      const { made, who } = await later()
      for (const pod of ['b', 'c', 'd', 'e', 'f']) await made.add(IPAM, { pod })
      expect(await made.add(IPAM, who)).toBe('10.0.0.1')
    })

    test('gets another address if it is one of a later Pod of the name', async () => {
      const { made, who } = await later('uid-2')
      expect(await made.add(IPAM, who)).toBe('10.0.0.2')
      const rows = ['10.0.0.1 ns/a c-a/net1', '10.0.0.2 ns/a c2/net1']
      expect([await made.oldRows(), await made.blockRows()]).toEqual([rows, rows])
    })

    test('gets nothing if the Pod does not exist', async () => {
      const { made, who } = await later()
      await made.removePod('a')
      expect(await made.add(IPAM, who)).toMatch(/^noPod/u)
      expect([await made.oldRows(), await made.blockRows()]).toEqual([[A], [A]])
    })

    test('gets another address while no block has the row', async () => {
      const { made, who } = await later()
      await made.blockDel(IPAM, { uid: who.uid })
      expect(await made.add(IPAM, who)).toBe(phase === 'blocks' ? '10.0.0.1' : '10.0.0.2')
    })
  },
)

describe('a full pool whose rows the blocks do not have', () => {
  async function full(phase: Phase) {
    const made = await world('dual-write')
    for (const pod of ['u', 'v', 'w', 'x', 'y', 'z']) await made.add(IPAM, { pod })
    await made.setPhase(POOL, phase)
    for (const pod of ['v', 'x']) await made.blockDel(IPAM, { pod })
    return made
  }

  test('gives their addresses in the phase `blocks`, and no others', async () => {
    const made = await full('blocks')
    expect(await made.add(IPAM)).toBe('10.0.0.2')
    expect(await made.add(IPAM, { pod: 'b' })).toBe('10.0.0.4')
    expect(await made.add(IPAM, { pod: 'c' })).toMatch(/^exhausted/u)
    const rows = await made.oldRows()
    expect(rows).toContain('10.0.0.2 ns/a c-a/net1')
    expect([rows, rows]).toEqual([await made.blockRows(), await made.oldRows()])
    const reservations = unwrap(await made.store.list(OverlappingRangeIPReservation.info)).items
    expect(reservations.map(({ spec }) => (spec as { podref: string }).podref)).toEqual(
      rows.map((one) => one.split(' ')[1]),
    )
    expect(await made.del(IPAM, { pod: 'v' })).toMatch(/^nothing/u)
    expect(await made.del(IPAM)).toBe('released 10.0.0.2')
  })

  test('gives none in the phase `dual-write`', async () => {
    const made = await full('dual-write')
    expect(await made.add(IPAM)).toMatch(/^exhausted/u)
    expect(await made.oldRows()).toHaveLength(6)
  })

  test('gives an interface the address that it has in blocks', async () => {
    const made = await full('blocks')
    expect(await made.add(IPAM)).toBe('10.0.0.2')
    expect(await made.blockAdd(IPAM, { pod: 'b' })).toBe('10.0.0.4')
    expect(await made.add(IPAM, { pod: 'b' })).toBe('10.0.0.4')
    expect(await made.oldRows()).toEqual(await made.blockRows())
  })

  test('gives no address that a Pod of another network has reserved', async () => {
    const made = await full('blocks')
    for (const { metadata } of unwrap(await made.store.list(OverlappingRangeIPReservation.info)).items) {
      if (metadata.name !== '10.0.0.2') continue
      const { apiVersion, kind } = OverlappingRangeIPReservation.info
      const ref = { apiVersion, kind, namespace: metadata.namespace, name: metadata.name }
      unwrap(await made.store.patch(ref as never, { spec: { podref: 'ns/other' } } as never))
    }
    expect(await made.add(IPAM)).toBe('10.0.0.4')
    expect(await made.reservations()).toContain('10.0.0.2')
  })

  test('an ADD that ends early leaves no row and no reservation of it', async () => {
    const made = await full('blocks')
    made.before = async () => {
      if (made.requests.at(-1)?.startsWith('patch IPBlock')) {
        made.before = () => {}
        await made.setPhase(POOL, 'other')
      }
    }
    expect(await made.add(IPAM)).toMatch(/^poolNotReady/u)
    expect(await made.blockRows()).toHaveLength(4)
    expect(await made.oldRows()).toHaveLength(5)
    expect(await made.reservations()).not.toContain('10.0.0.2')
  })

  test('an ADD whose row another one takes over before the block has it gets its address back', async () => {
    const made = await full('blocks')
    await made.add(IPAM, { pod: 'b' })
    let inner = ''
    made.before = async () => {
      if (!made.requests.at(-1)?.startsWith('patch IPBlock')) return
      made.before = () => {}
      inner = await made.add(IPAM, { pod: 'c' })
    }
    const outer = await made.add(IPAM)
    expect([inner, outer].filter((text) => text === '10.0.0.4')).toHaveLength(1)
    expect([inner, outer].filter((text) => text.startsWith('exhausted'))).toHaveLength(1)
    expect(await made.oldRows()).toEqual(await made.blockRows())
  })
})

describe('another container of a Pod while other writers are faster', () => {
  const TWO = { ipRanges: [{ range: '10.0.0.0/29' }, { range: '10.1.0.0/29' }] }
  const LATER = ['10.0.0.1 ns/a c2/net1', '10.1.0.1 ns/a c2/net1']

  /** Calls `act` before the first patch of an object. */
  function beforePatchOf(made: DualWorld, name: string, act: () => Promise<unknown>): void {
    let isDone = false
    made.before = async () => {
      if (isDone || made.requests.at(-1) !== `patch IPPool ${name}`) return
      isDone = true
      await act()
    }
  }

  test.each(['dual-write', 'blocks'] as const)(
    'keeps its first address after a conflict on the second, in the phase %s',
    async (phase) => {
      const made = await new DualWorld().prepare(TWO)
      for (const range of ['10.0.0.0/29', '10.1.0.0/29']) await made.pool(range, phase)
      const uid = await made.makePod('a')
      expect(await made.add(TWO, { uid })).toBe('10.0.0.1 10.1.0.1')
      beforePatchOf(made, '10.1.0.0-29', () => made.setRows('10.1.0.0-29', { '5': row('x') }))
      const who = { uid, container: 'c2' }
      expect(await made.add(TWO, who)).toBe('10.0.0.1 10.1.0.1')
      expect(await made.blockRows()).toEqual(LATER)
      const reservations = unwrap(await made.store.list(OverlappingRangeIPReservation.info)).items
      expect(reservations.map(({ spec }) => (spec as { containerid: string }).containerid)).toEqual(['c2', 'c2'])
      expect(await made.del(TWO, who)).toBe('released 10.0.0.1 10.1.0.1')
      expect(await made.reservations()).toEqual([])
    },
  )

  test('keeps the address of the blocks if a roll-back returns its row before the write', async () => {
    const made = await world('blocks')
    const uid = await made.makePod('a')
    expect(await made.blockAdd(IPAM, { uid })).toBe('10.0.0.1')
    beforePatchOf(made, POOL, async () => {
      await made.setRows(POOL, { '1': { id: 'c-a', podref: 'ns/a', ifname: 'net1' } })
      const { apiVersion, kind } = OverlappingRangeIPReservation.info
      const spec = { podref: 'ns/a', containerid: 'c-a', ifname: 'net1' }
      const metadata = { name: '10.0.0.1', namespace: NAMESPACE }
      unwrap(await made.store.create({ apiVersion, kind, metadata, spec } as never))
      await made.setPhase(POOL, 'dual-write')
    })
    expect(await made.add(IPAM, { uid, container: 'c2' })).toBe('10.0.0.1')
    const own = ['10.0.0.1 ns/a c2/net1']
    expect([await made.oldRows(), await made.blockRows()]).toEqual([own, own])
  })

  test.each(['dual-write', 'blocks'] as const)(
    'keeps a row whose reservation still names the earlier container, in the phase %s',
    async (phase) => {
      const made = await world(phase)
      const uid = await made.makePod('a')
      await made.add(IPAM, { uid })
      expect(await made.blockAdd(IPAM, { uid, container: 'c2' })).toBe('10.0.0.1')
      await made.setRows(POOL, { '1': { id: 'c2', podref: 'ns/a', ifname: 'net1' } })
      expect(await made.add(IPAM, { uid, container: 'c2' })).toBe('10.0.0.1')
      expect(await made.oldRows()).toEqual(['10.0.0.1 ns/a c2/net1'])
    },
  )
})
