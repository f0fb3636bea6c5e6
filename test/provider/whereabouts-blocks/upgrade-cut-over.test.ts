import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { refOf } from 'ipam-kit/crd/meta'
import { IPPool as OldPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { cutOver } from 'ipam-kit/provider/whereabouts-blocks'
import { describe, expect, test } from 'vitest'
import { NAMESPACE, oldPool, row } from './old-objects.js'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = '10.0.0.0-28'
const IPAM = { range: '10.0.0.0/28' }

/** A pool in the phase dual-write with two rows, also in blocks. */
async function world(): Promise<UpgradeWorld> {
  const made = await new UpgradeWorld([IPAM]).prepare()
  await made.add('a')
  await made.add('b')
  await made.start(POOL)
  expect(await made.copy(POOL)).toMatchObject({ kind: 'same', phase: 'dual-write' })
  return made
}

describe('cutOver', () => {
  test('makes the blocks the truth', async () => {
    const made = await world()
    expect(await made.cut(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks', rows: 2 })
    expect(await made.cut(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks', rows: 2 })
    expect(await made.verify(POOL)).toMatchObject({ kind: 'same', phase: 'blocks' })
    expect(await made.start(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks' })
  })

  test('a late request of a roll-back that was given up is refused after it', async () => {
    const made = await world()
    await made.cut(POOL)
    const before = unwrap(await made.store.get({ ...OldPool.info, namespace: NAMESPACE, name: POOL }))
    expect(await made.cut(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks' })
    const { resourceVersion } = before.metadata
    const annotations = { 'ipam-kit.dev/upgrade': 'dual-write' }
    const late = await made.store.patch(refOf(before), { metadata: { annotations } }, { resourceVersion })
    expect(late).toMatchObject({ ok: false, failure: { code: 'STORE_CONFLICT' } })
    expect(await made.verify(POOL)).toMatchObject({ kind: 'same', phase: 'blocks' })
    // again and again, also in one instant
    for (let run = 0; run < 2; run++) expect(await made.cut(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks' })
  })

  test('does nothing while a row differs, whatever the difference is', async () => {
    const changes: ((made: UpgradeWorld) => Promise<unknown>)[] = [
      (made) => made.add('c'),
      (made) => made.blockDel('a'),
      async (made) => {
        await made.del('a')
        await made.add('a', 'later')
      },
      async (made) => {
        await made.del('a')
        await made.add('c')
      },
    ]
    const kinds: string[] = []
    for (const change of changes) {
      const made = await world()
      await change(made)
      const outcome = await made.cut(POOL)
      if (outcome.kind !== 'different') throw new Error(outcome.kind)
      kinds.push(...outcome.differences.map(({ kind }) => kind))
      expect(await made.verify(POOL)).toMatchObject({ phase: 'dual-write' })
    }
    expect(kinds).toEqual(['missing', 'missing', 'container', 'other'])
  })

  test('does not wait for rows that only the blocks have: stale ones, and those of definitions on blocks', async () => {
    const changes: ((made: UpgradeWorld) => Promise<unknown>)[] = [
      (made) => made.del('a'),
      (made) => made.blockAdd('c'),
    ]
    for (const change of changes) {
      const made = await world()
      await change(made)
      expect(await made.verify(POOL)).toMatchObject({ kind: 'different', phase: 'dual-write' })
      expect(await made.cut(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks' })
    }
  })

  test('and the others say which row of a block has no unit', async () => {
    const made = await world()
    await made.del('a')
    await made.del('b')
    const [block] = unwrap(await made.store.list(IPBlock.info)).items
    const spec = { rows: { x: { owner: 'ns/z', uid: 'z', container: 'z', interface: 'net1', sequence: 1 } } }
    unwrap(await made.store.patch(refOf(block!), { spec } as never))
    for (const outcome of [await made.cut(POOL), await made.verify(POOL), await made.copy(POOL)]) {
      expect(outcome).toMatchObject({ kind: 'notReady', message: /row x is not in the block/u })
    }
  })

  test('waits for a writer that is between the two sides', async () => {
    const made = await world()
    await made.add('c')
    let lists = 0
    made.before = async (request) => {
      if (request > 6 && lists++ === 0) await made.blockAdd('c')
    }
    expect(await made.cut(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks', rows: 3 })
  })

  test('ends for a pool that changes all the time', async () => {
    const made = await world()
    made.before = async () => {
      await made.add('c')
      await made.del('c')
    }
    expect(await made.cut(POOL)).toMatchObject({ kind: 'notReady', message: /changes too fast/u })
  })

  test('finds that the upgrade has lost the Lease, and continues when it has it again', async () => {
    const renewTime = '2026-01-01T00:00:00.000000Z'
    for (const holderIdentity of ['', 'n1/x']) {
      const made = await world()
      await made.lease({ holderIdentity, leaseDurationSeconds: 1, renewTime, leaseTransitions: 1 })
      expect(await made.cut(POOL)).toMatchObject({ kind: 'otherWriter', holder: holderIdentity })
      made.nowMs += 2000
      // another process of the upgrade takes it back for its pool: this one has not read it
      await made.lease({ holderIdentity: 'ipam-kit-upgrade', leaseDurationSeconds: 2_147_483_647, leaseTransitions: 2 })
      expect(await made.cut(POOL)).toMatchObject({ kind: 'otherWriter', holder: 'ipam-kit-upgrade' })
      await made.start(POOL)
      expect((await made.cut(POOL)).kind).toBe('phase')
    }
    const without = await world()
    await without.lease(null)
    expect((await without.cut(POOL)).kind).toBe('otherWriter')
    const duration = await world()
    await duration.lease({ leaseDurationSeconds: 15 })
    expect((await duration.cut(POOL)).kind).toBe('otherWriter')
  })

  test('startUpgrade takes the Lease again after it, if the blocks have each row of the pool', async () => {
    const made = await world()
    await made.cut(POOL)
    await made.lease({ holderIdentity: '' })
    await made.add('c')
    expect(await made.start(POOL)).toMatchObject({ kind: 'different', differences: [{ kind: 'missing' }] })
    expect((await made.back(POOL)).kind).toBe('otherWriter')
    await made.del('c')
    await made.blockAdd('d')
    expect(await made.start(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks' })
    expect(await made.leaseSpec()).toMatchObject({ holderIdentity: 'ipam-kit-upgrade' })
  })

  test('needs the phase dual-write, and a pool without obstacles', async () => {
    const made = await new UpgradeWorld([IPAM]).prepare()
    expect(await made.cut(POOL)).toMatchObject({ kind: 'notReady', message: /there is no IPPool/u })
    await made.add('a')
    expect((await made.cut(POOL)).kind).toBe('wrongPhase')
    const claimed = new UpgradeWorld([IPAM])
    claimed.phase = 'dual-write'
    await claimed.prepare()
    const mark = { 'claim.name': 'one', 'claim.uid': 'u1', 'claim.kind': 'IPAMClaim' }
    await claimed.put(oldPool(IPAM.range, { 1: row('a', mark), 20: row('b') }))
    expect(await claimed.cut(POOL)).toMatchObject({ kind: 'notReady', oddities: [{ kind: 'key-outside' }] })
  })

  test('loses no row if the pool or the Lease changes before one of its requests', async () => {
    const ends = new Set<string>()
    for (const change of ['add', 'del', 'late'] as const) {
      for (let request = 0; request < 6; request++) {
        const made = await world()
        made.before = async (number) => {
          if (number !== request) return
          if (change === 'add') await made.add('c')
          else if (change === 'del') await made.del('a')
          else await made.lease({ holderIdentity: '' })
        }
        const { kind } = await made.cut(POOL)
        made.before = () => {}
        ends.add(`${change} ${kind}`)
        const verified = await made.verify(POOL)
        expect(verified).toMatchObject({ phase: kind === 'phase' ? 'blocks' : 'dual-write' })
        const differences = verified.kind === 'different' ? verified.differences : []
        if (kind === 'phase') expect(differences.filter((one) => one.kind !== 'surplus')).toEqual([])
      }
    }
    expect([...ends].sort()).toEqual(['add different', 'del phase', 'late otherWriter', 'late phase'])
  })

  test('may end before each of its requests, and be repeated', async () => {
    let request = 0
    for (let isReached = true; isReached; request++) {
      const made = await world()
      isReached = await made.crash(POOL, request, 'cut')
      expect(await made.cut(POOL)).toMatchObject({ kind: 'phase', phase: 'blocks' })
    }
    // the pool twice, the Lease, the pool of blocks, the blocks, the write
    expect(request).toBe(7)
  })

  test('refuses a request that is none', () => {
    expect(() => cutOver({ networks: [] } as never)).toThrow(/pool/u)
  })
})
