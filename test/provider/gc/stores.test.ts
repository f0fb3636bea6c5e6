import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from 'ipam-kit/store/memory'
import { crashingStore, SimulatedCrash } from 'ipam-kit/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { fileStore } from '../../../docs/examples/file-store.js'
import { blocking, gone, World } from './world.js'

// The collector through the run loop on whole stores: what each way to delete leaves, whoever keeps
// the objects.

const FOREIGN = 'example.com/held'
const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-'))
const files: { close(): void }[] = []
afterAll(() => {
  for (const file of files) file.close()
  rmSync(folder, { recursive: true })
})

type Open = NonNullable<ConstructorParameters<typeof World>[0]>

const openFile: Open = (options) => {
  const file = fileStore(join(folder, `${files.length}.jsonl`), { ...options, uid: randomUUID })
  files.push(file)
  return file.store
}

describe.each<[string, Open]>([
  ['memory', memoryStore],
  ['a file (docs/examples/file-store.ts)', openFile],
])('on %s', (_, open) => {
  /**
   * A zone with a box in it, which has two items of which one holds the box up, one item of two
   * owners, and a bystander.
   */
  async function family() {
    const world = new World(open)
    const zone = await world.create('zone')
    const box = await world.create('box', { owners: [blocking(zone)] })
    await world.create('item-blocking', { owners: [blocking(box)] })
    await world.create('item', { owners: [box] })
    await world.create('item-shared', { owners: [box, await world.create('box-other')] })
    await world.create('item-of-nobody')
    return world
  }
  const rest = ['box-other', 'item-of-nobody', 'item-shared <- box-other']

  test.each(['zone', 'box'])(
    'background: %s is gone at once, its dependents follow, each after its owner',
    async (name) => {
      const world = await family()
      await world.delete(name, 'Background')
      await world.run()
      expect(await world.state()).toEqual(name === 'zone' ? rest : [...rest, 'zone'])
      const deletions = world.asked.filter((line) => line.startsWith('delete'))
      expect(deletions).toEqual([...(name === 'zone' ? ['delete box'] : []), 'delete item-blocking', 'delete item'])
    },
  )

  test('foreground: the owner is gone last', async () => {
    const world = await family()
    await world.delete('zone', 'Foreground')
    expect(await world.state()).toContain('(zone) <- +foregroundDeletion')
    await world.run()
    expect(await world.state()).toEqual(rest)
    expect(world.asked.at(-1)).toBe('patch zone')
  })

  test('foreground: a dependent holds its owner up only if it says so', async () => {
    const world = new World(open)
    const box = await world.create('box')
    await world.create('item-a', { owners: [box], finalizers: [FOREIGN] })
    const item = await world.create('item-b', { owners: [blocking(box)], finalizers: [FOREIGN] })
    await world.delete('box', 'Foreground')
    await world.run()
    expect((await world.state())[0]).toBe('(box) <- +foregroundDeletion')
    await world.patch(item.name, { finalizers: null })
    await world.run()
    expect(await world.state()).toEqual([`(item-a) <- ?, +${FOREIGN}`])
  })

  test('orphan: the dependents stay, without the reference', async () => {
    const world = await family()
    await world.delete('box', 'Orphan')
    await world.run()
    expect(await world.state()).toEqual([
      'box-other',
      'item',
      'item-blocking',
      'item-of-nobody',
      'item-shared <- box-other',
      'zone',
    ])
  })

  test('an owner is one by uid: not by name, and not in another namespace', async () => {
    const world = new World(open)
    const old = await world.create('box')
    await world.delete('box')
    const box = await world.create('box')
    await world.create('item-old', { owners: [old] })
    await world.create('item-new', { owners: [box] })
    await world.create('item-elsewhere', { namespace: 'b', owners: [box] })
    await world.create('item-never', { owners: [gone('box')] })
    await world.run()
    expect(await world.state()).toEqual(['box', 'item-new <- box'])
    expect(world.events.map(({ reason, about }) => `${reason} ${about.name}`)).toEqual([
      'OwnerRefInvalidNamespace item-elsewhere',
    ])
  })

  test('a cluster-scoped owner has dependents anywhere; a namespaced one of a cluster-scoped object cannot be followed', async () => {
    const world = new World(open)
    const zone = await world.create('zone')
    for (const namespace of ['a', 'b']) await world.create(`item-${namespace}`, { namespace, owners: [zone] })
    await world.create('zone-below', { owners: [zone] })
    await world.create('zone-odd', { owners: [await world.create('box')] })
    await world.delete('zone')
    await world.delete('box')
    await world.run()
    expect(await world.state()).toEqual(['zone-odd <- ?'])
  })

  test('of several owners the last one counts', async () => {
    const world = new World(open)
    const owners = [await world.create('box-a'), await world.create('box-b'), await world.create('zone')]
    await world.create('item', { owners })
    await world.delete('box-b')
    await world.run()
    expect((await world.state()).at(1)).toBe('item <- box-a, zone')
    await world.delete('zone', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual(['box-a', 'item <- box-a'])
    await world.delete('box-a')
    await world.run()
    expect(await world.state()).toEqual([])
  })

  test.each(['before', 'after'] as const)(
    'a collector that dies %s any of its writes leaves the next one nothing that is wrong',
    async (point) => {
      for (let at = 1; ; at++) {
        const world = await family()
        await world.delete('zone', 'Foreground')
        const cut = crashingStore(world.below, at, point)
        const ended = await world.run(cut).catch((error) => {
          if (!(error instanceof SimulatedCrash)) throw error
        })
        await world.run()
        expect(await world.state()).toEqual(rest)
        if (ended !== undefined) {
          expect(at).toBeGreaterThan(5)
          return
        }
      }
    },
  )
})
