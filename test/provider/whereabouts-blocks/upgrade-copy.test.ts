import { Address } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { refOf } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { UpgradeOutcome } from 'ipam-kit/provider/whereabouts-blocks'
import { copyRows, verifyUpgrade } from 'ipam-kit/provider/whereabouts-blocks'
import { runTask } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import { oldNetwork, oldPool, reservation, row } from './old-objects.js'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = '10.0.0.0-23'
const IPAM = { range: '10.0.0.0/23' }

/** `kind`, then `kind address` of each difference. */
function text(outcome: UpgradeOutcome): readonly string[] {
  if (outcome.kind === 'notReady' || outcome.kind === 'wrongPhase') return [outcome.kind, outcome.message]
  const differences = outcome.kind === 'same' ? [] : outcome.differences
  return [outcome.kind, ...differences.map(({ kind, address }) => `${kind} ${Address.format(address)}`)]
}

async function world(...ipams: readonly object[]): Promise<UpgradeWorld> {
  const made = new UpgradeWorld(ipams.length === 0 ? [IPAM] : ipams)
  made.phase = 'dual-write'
  return made.prepare()
}

/** A world with rows in two blocks. */
async function withRows(): Promise<UpgradeWorld> {
  const made = await world()
  await made.put(oldPool('10.0.0.0/23', { 7: row('p7'), 300: row('p300', { extra: 'kept' }), 301: row('p301') }))
  for (const [name, address] of [
    ['p7', '10.0.0.7'],
    ['p300', '10.0.1.44'],
    ['p301', '10.0.1.45'],
  ] as const) {
    await made.put(reservation(address, name))
    await made.report(name, [`net1=${address}`])
  }
  return made
}

describe('copyRows', () => {
  test('writes the rows to blocks, and nothing to the objects of whereabouts', async () => {
    const made = await withRows()
    const before = await made.oldObjects()
    expect(text(await made.verify(POOL))).toEqual([
      'different',
      'missing 10.0.0.7',
      'missing 10.0.1.44',
      'missing 10.0.1.45',
    ])
    const outcome = await made.copy(POOL)
    expect(outcome).toMatchObject({ kind: 'same', rows: 3 })
    expect(await made.blockRows()).toEqual(await made.oldRows(POOL))
    expect(await made.oldObjects()).toBe(before)
    expect(await made.verify(POOL)).toEqual(outcome)
  })

  test('adds rows to blocks that exist, and a second time writes nothing', async () => {
    const made = await withRows()
    await made.copy(POOL)
    await made.add('late')
    await made.copy(POOL)
    const blocks = await made.store.list(IPBlock.info)
    expect(text(await made.copy(POOL))).toEqual(['same'])
    expect(await made.store.list(IPBlock.info)).toEqual(blocks)
    expect(await made.blockRows()).toEqual(await made.oldRows(POOL))
  })

  test('releases the row of an earlier container whose DEL was lost', async () => {
    const made = await withRows()
    await made.copy(POOL)
    // the sweep has freed the row of the earlier container
    const later = row('p7', { id: 'c-later' })
    const { apiVersion, kind, metadata } = oldPool('10.0.0.0/23')
    const ref = { apiVersion, kind, namespace: metadata.namespace, name: POOL }
    unwrap(await made.store.patch(ref, { spec: { allocations: { 7: null, 300: null, 8: later } } }))
    await made.put(reservation('10.0.0.8', 'p7'))
    await made.store.delete(refOf(reservation('10.0.0.7', 'p7')))
    await made.store.delete(refOf(reservation('10.0.1.44', 'p300')))
    await made.report('p7', ['net1=10.0.0.8'])
    expect(text(await made.copy(POOL))).toEqual(['different', 'surplus 10.0.1.44'])
    expect((await made.blockRows()).filter((each) => !each.includes('p300'))).toEqual(await made.oldRows(POOL))
  })

  test('releases the row of an earlier container whose address the pool has given to another Pod', async () => {
    const made = await withRows()
    await made.copy(POOL)
    const { apiVersion, kind, metadata } = oldPool('10.0.0.0/23')
    const ref = { apiVersion, kind, namespace: metadata.namespace, name: POOL }
    const allocations = { 7: row('p9'), 8: row('p7', { id: 'c-later' }) }
    unwrap(await made.store.patch(ref, { spec: { allocations } }))
    await made.store.delete(refOf(reservation('10.0.0.7', 'p7')))
    await made.put(reservation('10.0.0.7', 'p9'))
    await made.put(reservation('10.0.0.8', 'p7'))
    await made.report('p7', ['net1=10.0.0.8'])
    await made.report('p9', ['net1=10.0.0.7'])
    expect(text(await made.copy(POOL))).toEqual(['same'])
    expect(await made.blockRows()).toEqual(await made.oldRows(POOL))
  })

  test('ends the same after a crash before any of its requests', async () => {
    for (let request = 0; ; request++) {
      const made = await withRows()
      const isReached = await made.crash(POOL, request)
      expect(text(await made.copy(POOL))).toEqual(['same'])
      expect(await made.blockRows()).toEqual(await made.oldRows(POOL))
      if (isReached) continue
      expect(request).toBeGreaterThan(5)
      break
    }
  })

  test('a later ADD on blocks gives no address of a row', async () => {
    const made = await world()
    for (const name of ['a', 'b', 'c']) await made.add(name)
    await made.copy(POOL)
    expect(await made.blockAdd('d')).toBe('10.0.0.4')
    // the same Pod keeps its address
    expect(await made.blockAdd('b')).toBe('10.0.0.2')
  })

  test('writes the present container of an interface', async () => {
    const made = await world()
    await made.add('a')
    await made.copy(POOL)
    await made.del('a')
    await made.add('a', 'c-later')
    expect(text(await made.verify(POOL))).toEqual(['different', 'container 10.0.0.1'])
    expect(text(await made.copy(POOL))).toEqual(['same'])
    expect(await made.blockRows()).toEqual(['10.0.0.1 ns/a c-later/net1'])
  })

  test('releases no row whose address the pool gives to the same interface', async () => {
    for (let request = 0, isReached = true; isReached; request++) {
      const made = await world()
      await made.add('a')
      await made.copy(POOL)
      await made.del('a')
      await made.add('a', 'c-later')
      isReached = await made.crash(POOL, request)
      expect(await made.blockRows()).toEqual([expect.stringMatching(/^10\.0\.0\.1 ns\/a /u)])
    }
  })

  test('never takes the row of another holder, nor removes one', async () => {
    const made = await world()
    expect(await made.blockAdd('x')).toBe('10.0.0.1')
    await made.add('a')
    await made.add('b')
    const outcome = await made.copy(POOL)
    expect(outcome).toMatchObject({
      kind: 'different',
      differences: [{ kind: 'other', old: 'ns/a c-a/net1', block: 'ns/x c-x/net1' }],
    })
    expect(await made.blockRows()).toEqual(['10.0.0.1 ns/x c-x/net1', '10.0.0.2 ns/b c-b/net1'])
    await made.del('b')
    expect(text(await made.copy(POOL))).toEqual(['different', 'other 10.0.0.1', 'surplus 10.0.0.2'])
    expect(await made.blockRows()).toHaveLength(2)
  })

  test('keeps apart two pools of one domain', async () => {
    const made = await world(IPAM, { range: '10.0.2.0/24' })
    await made.add('a')
    await made.add('b', 'c-b', 1)
    expect(text(await made.copy(POOL))).toEqual(['same'])
    expect(text(await made.verify('10.0.2.0-24'))).toEqual(['different', 'missing 10.0.2.1'])
    expect(text(await made.copy('10.0.2.0-24'))).toEqual(['same'])
    expect(text(await made.verify(POOL))).toEqual(['same'])
  })

  test('writes over a released row that is kept for its former owner', async () => {
    const made = await world()
    await made.blockAdd('x')
    const { apiVersion, kind } = IPBlock.info
    const block = { apiVersion, kind, name: 'whereabouts-4-0a000000-24' }
    const released = { state: 'held', released: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z', container: null }
    await made.store.patch(block, { spec: { rows: { 1: released } } } as never)
    await made.add('a')
    expect(text(await made.copy(POOL))).toEqual(['same'])
    const stored = IPBlock.parse(unwrap(await made.store.get(block)))
    expect(Object.keys(stored.spec.rows[1]!).sort()).toEqual(['container', 'interface', 'owner', 'sequence', 'uid'])
    expect(await made.blockRows()).toEqual(['10.0.0.1 ns/a c-a/net1'])
  })
})

describe('what stops the copy', () => {
  test('an obstacle, a pool that does not exist, and a pool of blocks that is not there', async () => {
    const made = await withRows()
    expect(text(await made.copy('10.9.0.0-24'))).toEqual(['notReady', 'there is no IPPool 10.9.0.0-24 of whereabouts'])
    const unnamed = { pool: POOL, networks: [oldNetwork({ range: '10.0.4.0/24' })] }
    const stopped = await runTask(copyRows(unnamed), made.store, { now: () => made.nowMs })
    expect(stopped).toMatchObject({ outcome: { kind: 'notReady', oddities: [{ kind: 'pool-unnamed' }] } })
    expect(await made.blockRows()).toEqual([])
    const bare = new UpgradeWorld([IPAM])
    bare.phase = 'dual-write'
    await bare.put(oldPool('10.0.0.0/23'))
    expect(text(await bare.copy(POOL))).toEqual(['notReady', 'there is no IPPool whereabouts.10.0.0.0-23'])
  })

  test('a pool in another phase', async () => {
    for (const phase of [undefined, 'blocks', 'paused']) {
      const made = new UpgradeWorld([IPAM])
      made.phase = phase
      await made.prepare()
      await made.add('a')
      expect((await made.copy(POOL)).kind).toBe('wrongPhase')
      expect(await made.blockRows()).toEqual([])
      expect(text(await made.verify(POOL))).toEqual(['different', 'missing 10.0.0.1'])
    }
  })

  test('rows of Pods that do not report them stay missing, and the others are copied', async () => {
    const made = await withRows()
    await made.removePod('p7')
    await made.report('p300', ['net1=10.0.1.99'])
    expect(text(await made.copy(POOL))).toEqual(['different', 'missing 10.0.0.7', 'missing 10.0.1.44'])
    expect(await made.blockRows()).toEqual(['10.0.1.45 ns/p301 c-p301/net1'])
  })

  test('a row with an obstacle, but no other row', async () => {
    const made = await withRows()
    await made.put(reservation('10.0.0.8', 'p8'))
    await made.setReservation('10.0.0.7', { podref: 'ns/other' })
    expect(text(await made.copy(POOL))).toEqual(['different', 'missing 10.0.0.7'])
  })

  test('a row that cannot be read', async () => {
    const made = await world()
    await made.put(oldPool('10.0.0.0/23', { 7: { podref: 'ns/a' } }))
    for (const task of ['copy', 'verify'] as const) {
      expect(await made[task](POOL)).toMatchObject({ kind: 'notReady', oddities: [{ kind: 'row-unreadable' }] })
    }
  })

  test('a block that cannot be used', async () => {
    const made = await withRows()
    await made.copy(POOL)
    const block = { apiVersion: IPBlock.info.apiVersion, kind: IPBlock.info.kind, name: 'whereabouts-4-0a000000-24' }
    await made.store.patch(block, { spec: { rows: { 8: { owner: 7 } } } } as never)
    expect(text(await made.verify(POOL))[0]).toBe('notReady')
  })
})

describe('what happens meanwhile', () => {
  test('another writer of the block: the copy is done again for its version', async () => {
    for (let request = 3; request < 12; request++) {
      const made = await withRows()
      await made.blockAdd('x')
      made.before = async (number) => {
        if (number === request) await made.blockAdd('late')
      }
      expect(text(await made.copy(POOL)).slice(0, 2)).toEqual(['different', 'surplus 10.0.0.1'])
      const rows = await made.blockRows()
      for (const old of await made.oldRows(POOL)) expect(rows).toContain(old)
      expect(rows).toEqual(expect.arrayContaining(['10.0.0.1 ns/x c-x/net1', '10.0.0.2 ns/late c-late/net1']))
      expect(rows).toHaveLength(5)
    }
  })

  test('an ADD on blocks that gets the address of a row: it keeps it', async () => {
    const answers = new Set<string>()
    for (let request = 0; request < 11; request++) {
      const made = await world()
      await made.put(oldPool('10.0.0.0/23', { 1: row('p1') }))
      await made.put(reservation('10.0.0.1', 'p1'))
      await made.report('p1', ['net1=10.0.0.1'])
      // the block exists already
      await made.blockAdd('x')
      await made.blockAdd('y')
      await made.blockDel('x')
      let answer = ''
      made.before = async (number) => {
        if (number === request) answer = await made.blockAdd('late')
      }
      const { kind } = await made.copy(POOL)
      answers.add(`${answer} ${kind}`)
      const rows = await made.blockRows()
      if (answer !== '') expect(rows).toContain(`${answer} ns/late c-late/net1`)
      expect(rows.filter((each) => each.startsWith('10.0.0.1 '))).toHaveLength(1)
    }
    expect([...answers].sort()).toEqual(['10.0.0.1 different', '10.0.0.3 different'])
  })

  test('an ADD on the pool: the statement is about the version that includes it', async () => {
    for (let request = 0; request < 14; request++) {
      const made = await withRows()
      made.before = async (number) => {
        if (number === request) await made.add('late')
      }
      const outcome = await made.copy(POOL)
      made.before = () => {}
      if (outcome.kind !== 'same') {
        // the pool was listed before the row
        expect(text(outcome)).toEqual(['different', 'missing 10.0.0.1'])
        expect(text(await made.copy(POOL))).toEqual(['same'])
        continue
      }
      const [rows, old] = [await made.blockRows(), await made.oldRows(POOL)]
      expect([outcome.kind, outcome.rows]).toEqual(['same', rows.length])
      // an ADD after the last read is in no statement
      expect(rows).toEqual(request < 12 ? old : old.filter((each) => rows.includes(each)))
    }
  })

  test('a pool that changes all the time ends the task', async () => {
    const made = await withRows()
    let count = 0
    made.before = async () => {
      const name = `n${count++}`
      await made.report(name, ['net1=10.0.0.1'])
      await made.add(name)
      await made.del(name)
    }
    expect(text(await made.verify(POOL))[0]).toBe('notReady')
  })
})

test('an argument that is wrong is refused', () => {
  for (const task of [copyRows, verifyUpgrade]) expect(() => task({ pool: 7, networks: [] } as never)).toThrow(/pool/)
})
