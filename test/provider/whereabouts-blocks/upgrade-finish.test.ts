import { add } from 'ipam-kit/provider/whereabouts'
import { dualAdd, dualCheck, dualStatus, finishUpgrade } from 'ipam-kit/provider/whereabouts-blocks'
import { expect, test } from 'vitest'
import { reservation } from './old-objects.js'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = 'blue-10.0.0.0-28'
const IPAM = { range: '10.0.0.0/28', network_name: 'blue' }

async function world(...more: readonly object[]): Promise<UpgradeWorld> {
  const made = await new UpgradeWorld([IPAM, ...more]).prepare()
  await made.add('a')
  await made.add('b')
  await made.start(POOL)
  expect(await made.copy(POOL)).toMatchObject({ kind: 'same' })
  expect(await made.cut(POOL)).toMatchObject({ kind: 'phase' })
  return made
}

test('finishUpgrade empties the pool, deletes its reservations, and keeps the Lease', async () => {
  const made = await world()
  await made.put(reservation('10.0.0.9', 'z', 'blue'))
  await made.put(reservation('10.0.0.1', 'a'))
  const blocks = await made.blockRows()
  const outcome = await made.finish(POOL)
  expect(outcome).toEqual({
    kind: 'phase',
    message: 'IPPool blue-10.0.0.0-28 is in the phase finished',
    phase: 'finished',
    rows: 0,
    version: expect.any(String),
  })
  expect(await made.finish(POOL)).toEqual(outcome)
  expect((await made.reservations()).map((text) => text.split(' ')[0])).toEqual(['10.0.0.1', 'blue-10.0.0.9'])
  expect(await made.oldRows(POOL)).toEqual([])
  expect(await made.blockRows()).toEqual(blocks)
  expect(await made.leaseSpec()).toMatchObject({ holderIdentity: 'ipam-kit-upgrade' })
})

test('after finishUpgrade a definition of the type whereabouts gets no address', async () => {
  const made = await world()
  made.knowsPhases = true
  await made.finish(POOL)
  const request = made.request('z', 'c-z')
  for (const task of [add(request), dualAdd({ ...request, podUid: 'uid-z' })]) {
    const message = 'the range of IPPool blue-10.0.0.0-28 is on blocks: the definition needs the type ipam-kit'
    expect(await made.run(task)).toEqual({ kind: 'poolNotReady', message })
  }
  expect((await made.run(dualStatus({ config: request.config }))).kind).toBe('notReady')
  expect((await made.run(dualCheck(made.request('a', 'c-a')))).kind).toBe('present')
  await made.dualDel('a')
  expect(await made.blockRows()).toEqual([expect.stringMatching(/ ns\/b c-b\/net1$/u)])
})

test('no other step leaves the phase finished', async () => {
  const made = await world()
  await made.finish(POOL)
  for (const step of ['start', 'copy', 'verify', 'cut', 'back', 'leave'] as const) {
    expect(await made[step](POOL)).toMatchObject({ kind: 'wrongPhase', phase: 'finished' })
  }
})

test('finishUpgrade of a pool that does not exist writes nothing', async () => {
  const made = await world()
  await made.back(POOL)
  const message = 'there is no IPPool bleu-10.0.0.0-28 of whereabouts in kube-system'
  expect(await made.finish('bleu-10.0.0.0-28')).toEqual({ kind: 'noPool', message })
  expect(await made.leaseSpec()).toMatchObject({ holderIdentity: 'ipam-kit-upgrade' })
})

test('finishUpgrade needs the phase blocks and the Lease', async () => {
  const made = await world()
  await made.lease({ holderIdentity: 'n1/x' })
  expect((await made.finish(POOL)).kind).toBe('otherWriter')
  await made.lease({ holderIdentity: 'ipam-kit-upgrade' })
  await made.back(POOL)
  expect((await made.finish(POOL)).kind).toBe('wrongPhase')
  expect(await made.oldRows(POOL)).toHaveLength(2)
  expect(() => finishUpgrade({ networks: [] } as never)).toThrow(/pool/u)
})

test('finishUpgrade removes no row of a writer that takes the Lease meanwhile', async () => {
  for (let at = 0; at < 6; at++) {
    const made = await world()
    made.before = async (number) => {
      if (number !== at) return
      await made.lease({ holderIdentity: 'n1/x', leaseDurationSeconds: 1, leaseTransitions: 1 })
      await made.add('c')
    }
    expect((await made.finish(POOL)).kind).toBe('otherWriter')
    expect(await made.oldRows(POOL)).toHaveLength(3)
  }
})

test('finishUpgrade may end before each of its requests, and meet an ADD or a roll-back there', async () => {
  let request = 0
  for (let isReached = true; isReached; request++) {
    const made = await world()
    isReached = await made.crash(POOL, request, 'finish')
    expect((await made.finish(POOL)).kind).toBe('phase')
    expect(await made.reservations()).toEqual([])
    expect(await made.oldRows(POOL)).toEqual([])
  }
  expect(request).toBe(7)
  const ends = new Set<string>()
  for (let at = 0; at < 6; at++) {
    const made = await world()
    made.before = async (number) => {
      if (number === at) await made.add('c')
    }
    await made.finish(POOL)
    expect(await made.reservations()).toEqual([])
    const other = await world()
    other.before = async (number) => {
      if (number !== at) return
      other.before = () => {}
      await other.back(POOL)
    }
    const { kind } = await other.finish(POOL)
    ends.add(kind)
    if (kind === 'wrongPhase') expect(await other.oldRows(POOL)).toHaveLength(2)
  }
  expect([...ends]).toEqual(['wrongPhase'])
})
