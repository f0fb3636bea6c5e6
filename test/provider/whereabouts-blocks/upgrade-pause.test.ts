import type { KubeObject } from 'ipam-kit/crd/meta'
import { copyRows, pausePool, resumePool } from 'ipam-kit/provider/whereabouts-blocks'
import { describe, expect, test } from 'vitest'
import { NAMESPACE, oldPool } from './old-objects.js'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = '10.0.0.0-28'
const IPAM = { range: '10.0.0.0/28' }

async function world(): Promise<UpgradeWorld> {
  const made = await new UpgradeWorld([IPAM]).prepare()
  await made.add('a')
  return made
}

describe('a pool that is paused', () => {
  test('gives no address, not even again, and STATUS says so', async () => {
    const made = await world()
    expect(await made.status()).toBe('ready')
    expect(await made.pause(POOL)).toBe('paused')
    expect(await made.pause(POOL)).toBe('paused')
    expect(await made.status()).toBe('notReady')
    expect([await made.add('b'), await made.add('a')]).toEqual(['poolNotReady', 'poolNotReady'])
    expect(await made.oldRows(POOL)).toEqual(['10.0.0.1 ns/a c-a/net1'])
  })

  test('still releases addresses', async () => {
    const made = await world()
    await made.pause(POOL)
    await made.del('a')
    expect(await made.oldRows(POOL)).toEqual([])
  })

  test('gives addresses again after it is resumed', async () => {
    const made = await world()
    await made.pause(POOL)
    expect(await made.copy(POOL)).toMatchObject({ kind: 'same', isPaused: true })
    expect(await made.resume(POOL)).toBe('resumed')
    expect(await made.resume(POOL)).toBe('resumed')
    expect(await made.copy(POOL)).toMatchObject({ kind: 'same', isPaused: false })
    expect(await made.add('b')).toBe('10.0.0.2')
  })

  test('stops an ADD that has begun, before each of its requests', async () => {
    const answers = new Set<string>()
    for (let request = 0; request < 6; request++) {
      const made = await world()
      const answer = await made.addWith('b', request, async () => {
        await made.pause(POOL)
        await made.copy(POOL)
      })
      answers.add(answer)
      // its row was there when the pool was paused, or there is none
      const old = await made.oldRows(POOL)
      expect(old.some((row) => row.includes(' ns/b '))).toBe(answer === '10.0.0.2')
      expect(await made.copy(POOL)).toMatchObject({ kind: 'same', isPaused: request < 3 })
      if (request < 3) {
        const next = await made.blockAdd('c')
        expect(['10.0.0.1', answer]).not.toContain(next)
      }
    }
    expect([...answers].sort()).toEqual(['10.0.0.2', 'poolNotReady'])
  })
})

describe('a pool is not resumed', () => {
  test('while a block has a row that the pool does not have', async () => {
    const made = await world()
    await made.pause(POOL)
    await made.copy(POOL)
    expect(await made.blockAdd('b')).toBe('10.0.0.2')
    expect(await made.resume(POOL)).toBe('different')
    expect(await made.add('c')).toBe('poolNotReady')
    await made.blockDel('b')
    expect(await made.resume(POOL)).toBe('resumed')
    expect(await made.add('c')).toBe('10.0.0.2')
  })

  test('while the blocks have another holder of an address without a row', async () => {
    const made = await world()
    await made.pause(POOL)
    await made.copy(POOL)
    await made.del('a')
    expect(await made.resume(POOL)).toBe('different')
  })

  test('if no network has its range', async () => {
    const made = await new UpgradeWorld([]).prepare()
    await made.put(oldPool(IPAM.range, {}, { annotations: { 'ipam-kit.dev/upgrade': 'paused' } }))
    expect(await made.resume(POOL)).toBe('notReady')
    const ref = { apiVersion: 'whereabouts.cni.cncf.io/v1alpha1', kind: 'IPPool', namespace: NAMESPACE, name: POOL }
    const found = await made.store.get(ref)
    expect((found as { value: KubeObject }).value.metadata.annotations).toEqual({ 'ipam-kit.dev/upgrade': 'paused' })
  })

  test('if it does not exist', async () => {
    const made = await new UpgradeWorld([IPAM]).prepare()
    expect([await made.pause(POOL), await made.resume(POOL)]).toEqual(['noPool', 'notReady'])
  })
})

test('an argument that is wrong is refused', () => {
  for (const task of [pausePool, resumePool, copyRows])
    expect(() => task({ pool: 7, networks: [] } as never)).toThrow(/pool/)
})
