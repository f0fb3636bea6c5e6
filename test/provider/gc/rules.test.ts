import { gcPlanner } from 'ipam-kit/provider/gc'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { blocking, gone, kinds, World } from './world.js'

// The rules one by one, on a store. Where Kubernetes has an integration test of a rule
// (test/integration/garbagecollector), it is named.

const FOREIGN = 'example.com/held'

describe('an object whose owners are gone', () => {
  test('is deleted', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [box] })
    await world.delete('box')
    const result = await world.run()
    expect(await world.state()).toEqual([])
    expect(world.asked).toEqual(['look for box', 'delete item'])
    expect(result.failures).toEqual([])
  })

  test('is deleted where it never had them (TestCreateWithNonExistentOwner)', async () => {
    const world = new World()
    await world.create('item', { owners: [gone('box'), gone('zone')] })
    await world.run()
    expect(await world.state()).toEqual([])
    expect(world.asked).toEqual(['look for box', 'look for zone', 'delete item'])
  })

  test('is deleted where another object has the name of its owner', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [box] })
    await world.delete('box')
    await world.create('box')
    await world.run()
    expect(await world.state()).toEqual(['box'])
    expect(world.asked).toEqual(['look for box', 'delete item'])
  })

  test('takes its own dependents along, and theirs (TestCascadingDeletion)', async () => {
    const world = new World()
    const zone = await world.create('zone')
    const box = await world.create('box', { owners: [zone] })
    const item = await world.create('item', { owners: [box] })
    await world.create('item-of-item', { owners: [item] })
    await world.create('box-of-nobody')
    await world.delete('zone')
    await world.run()
    expect(await world.state()).toEqual(['box-of-nobody'])
  })

  test('stays while finalizers of others hold it, and so do its dependents', async () => {
    const world = new World()
    const box = await world.create('box', { owners: [gone('zone')], finalizers: [FOREIGN] })
    await world.create('item', { owners: [box] })
    const result = await world.run()
    expect(await world.state()).toEqual([`(box) <- ?, +${FOREIGN}`, 'item <- box'])
    expect(result.outcomes.get('Box.example.com default/box')?.kind).toBe('leaving')
    await world.patch('box', { finalizers: null })
    await world.run()
    expect(await world.state()).toEqual([])
  })

  test.each([
    ['orphan', 'Orphan', [`(box) <- ?, +${FOREIGN}`, 'item']],
    ['foregroundDeletion', 'Foreground', [`(box) <- ?, +${FOREIGN}`]],
    ['example.com/another', 'Background', [`(box) <- ?, +example.com/another, +${FOREIGN}`, 'item <- box!']],
  ])('does with its dependents what the finalizer %s asks for', async (finalizer, propagation, left) => {
    const world = new World()
    const box = await world.create('box', { owners: [gone('zone')], finalizers: [finalizer, FOREIGN] })
    await world.create('item', { owners: [blocking(box)] })
    const planner = gcPlanner({ kinds })
    for (const it of await world.objects()) planner.observe({ kind: 'present', object: it })
    expect(planner.plan('Box.example.com default/box', { nowMs: 0 })?.outcome).toEqual({
      kind: 'collected',
      message: 'no owner is left: Zone zone is gone',
      propagation,
    })
    await world.run()
    expect(await world.state()).toEqual(left)
  })

  test('an object of its own former name does not keep it', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.delete('box')
    await world.create('box', { owners: [box] })
    await world.run()
    expect(await world.state()).toEqual([])
    expect(world.asked).toEqual(['delete box'])
  })
})

describe('an object with an owner that lives', () => {
  test('is left alone', async () => {
    const world = new World()
    const [zone, box] = [await world.create('zone'), await world.create('box')]
    await world.create('item', { owners: [zone, blocking(box)] })
    const result = await world.run()
    expect(await world.state()).toEqual(['box', 'item <- zone, box!', 'zone'])
    expect(result.written).toBe(0)
    expect(result.outcomes.get('Item.example.com default/item')).toEqual({
      kind: 'kept',
      message: 'it is owned by Zone zone, Box box',
      unresolved: [],
    })
  })

  test('loses the references to those that are gone, and nothing else', async () => {
    const world = new World()
    const zone = { ...(await world.create('zone')), controller: true, blockOwnerDeletion: true }
    await world.create('item', { owners: [gone('box-a'), zone, gone('box-b')] })
    const result = await world.run()
    expect((await world.get('item')).metadata.ownerReferences).toEqual([zone])
    expect(world.asked).toEqual(['look for box-a', 'look for box-b', 'patch item'])
    expect(result.failures).toEqual([])
  })

  test('keeps a good reference where another one to the same uid is wrong', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [box, { ...box, name: 'box-by-mistake' }] })
    await world.run()
    expect((await world.get('item')).metadata.ownerReferences).toEqual([box])
    expect(world.events).toEqual([])
  })

  test('does not hold up an owner that waits for its dependents (TestSolidOwnerDoesNotBlockWaitingOwner)', async () => {
    const world = new World()
    const [going, staying] = [await world.create('box-going'), await world.create('box-staying')]
    await world.create('item', { owners: [blocking(going), staying] })
    await world.delete('box-going', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual(['box-staying', 'item <- box-staying'])
    expect(world.asked).toEqual(['check box-going', 'patch item', 'patch box-going'])
  })

  test('is kept by an owner that is being deleted, while others hold that one', async () => {
    const world = new World()
    const box = await world.create('box', { finalizers: [FOREIGN] })
    await world.create('item', { owners: [box] })
    await world.delete('box')
    const result = await world.run()
    expect(result.written).toBe(0)
  })

  test('is kept by one that is stored in another version of its group', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [{ ...box, apiVersion: 'example.com/v1alpha7' }] })
    expect((await world.run()).written).toBe(0)
  })

  test('of another group it is not: names and uids are no help', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [{ ...box, kind: 'Zone' }] })
    await world.run()
    expect(await world.state()).toEqual(['box'])
  })
})

describe('an owner that cannot be looked for', () => {
  test('counts as one that lives, where its kind is not watched', async () => {
    const world = new World()
    const other = await world.create('other')
    await world.create('item', { owners: [other, gone('zone')] })
    await world.create('item-of-none', { owners: [gone('other-gone'), { ...gone('zone'), apiVersion: 'v1' }] })
    await world.delete('other')
    const result = await world.run()
    expect(await world.state()).toEqual(['item <- ?', 'item-of-none <- ?, ?'])
    expect((await world.get('item')).metadata.ownerReferences).toEqual([other])
    expect(result.outcomes.get('Item.example.com default/item')).toEqual({
      kind: 'kept',
      message: 'its owner Other.example.com other is of a kind that is not watched: taken as there',
      unresolved: [other],
    })
    expect(result.outcomes.get('Item.example.com default/item-of-none')?.message).toBe(
      'its owner Other.example.com other-gone is of a kind that is not watched, its owner Zone zone is of a kind that is not watched: taken as there',
    )
  })

  test('counts as one that lives, where it is in a namespace and its dependent is not', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('zone', { owners: [box, gone('item')] })
    await world.delete('box')
    const result = await world.run()
    expect(result.written).toBe(0)
    expect(result.outcomes.get('Zone.example.com zone')?.message).toBe(
      'its owner Box.example.com box is in a namespace, and nothing says in which, its owner Item.example.com item is in a namespace, and nothing says in which: taken as there',
    )
  })

  test('does not hide that others are gone', async () => {
    const world = new World()
    await world.create('item', { owners: [gone('other'), gone('box')] })
    const result = await world.run()
    expect((await world.get('item')).metadata.ownerReferences).toEqual([gone('other')])
    expect(result.failures).toEqual([])
  })
})

describe('an owner in another namespace (TestCrossNamespaceReferences)', () => {
  test('is none: the dependent is deleted, people are told, and the right dependents stay', async () => {
    const world = new World()
    const box = await world.create('box', { namespace: 'b' })
    await world.create('item-right', { namespace: 'b', owners: [box] })
    await world.create('item-wrong', { namespace: 'a', owners: [box] })
    await world.create('item-kept', { namespace: 'a', owners: [box, await world.create('zone')] })
    await world.run()
    expect(await world.state()).toEqual(['box', 'item-kept <- zone', 'item-right <- box', 'zone'])
    const message = 'owner Box a/box is not in the namespace of this object: Box b/box has its uid'
    expect(world.events.map((it) => [it.about.name, it.reason, it.type, it.message])).toEqual([
      ['item-wrong', 'OwnerRefInvalidNamespace', 'Warning', message],
      ['item-kept', 'OwnerRefInvalidNamespace', 'Warning', message],
    ])
  })
})

describe('an object that is deleted in foreground', () => {
  test('goes after its dependents, and they after theirs', async () => {
    const world = new World()
    const zone = await world.create('zone')
    const box = await world.create('box', { owners: [blocking(zone)] })
    await world.create('item', { owners: [blocking(box)] })
    await world.delete('zone', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual([])
    const gone = world.asked.filter((line) => /^(delete|patch)/.test(line))
    expect(gone).toEqual(['delete box (Foreground)', 'delete item', 'patch box', 'patch zone'])
  })

  test('waits for a dependent that others hold (TestBlockingOwnerRefDoesBlock)', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [blocking(box)], finalizers: [FOREIGN] })
    await world.delete('box', 'Foreground')
    const result = await world.run()
    expect(await world.state()).toEqual(['(box) <- +foregroundDeletion', `(item) <- box!, +${FOREIGN}`])
    expect(result.outcomes.get('Box.example.com default/box')).toEqual({
      kind: 'held',
      by: 'foregroundDeletion',
      dependents: 1,
      message: 'it is deleted after its dependents: Item default/item',
    })
    expect((await world.run()).written).toBe(0)
    await world.patch('item', { finalizers: null })
    await world.run()
    expect(await world.state()).toEqual([])
  })

  test('does not wait for a dependent that does not block it (TestNonBlockingOwnerRefDoesNotBlock)', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item-a', { owners: [box], finalizers: [FOREIGN] })
    await world.create('item-b', { owners: [{ ...box, blockOwnerDeletion: false }], finalizers: [FOREIGN] })
    await world.delete('box', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual([`(item-a) <- ?, +${FOREIGN}`, `(item-b) <- ?, +${FOREIGN}`])
  })

  test('waits for its dependents while others hold it, and once only (TestDoubleDeletionWithFinalizer)', async () => {
    const world = new World()
    await world.create('box', { finalizers: [FOREIGN] })
    for (let time = 0; time < 2; time++) {
      await world.delete('box', 'Foreground')
      await world.run()
      expect(await world.state()).toEqual([`(box) <- +${FOREIGN}`])
    }
  })

  test('makes a dependent that was to be orphaned wait for its own', async () => {
    const world = new World()
    const zone = await world.create('zone')
    const box = await world.create('box', { owners: [blocking(zone)], finalizers: ['orphan', FOREIGN] })
    await world.create('item', { owners: [blocking(box)], finalizers: [FOREIGN] })
    await world.delete('zone', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual([
      `(box) <- zone!, +${FOREIGN}, +foregroundDeletion`,
      `(item) <- box!, +${FOREIGN}`,
      '(zone) <- +foregroundDeletion',
    ])
  })

  test('takes a dependent as it is, that would wait for its own anyway', async () => {
    const world = new World()
    const zone = await world.create('zone')
    const box = await world.create('box', { owners: [blocking(zone)], finalizers: ['foregroundDeletion', FOREIGN] })
    await world.create('item', { owners: [blocking(box)], finalizers: [FOREIGN] })
    await world.delete('zone', 'Foreground')
    await world.run()
    expect(world.asked).toEqual(['check zone', 'delete box (Foreground)', 'check box', 'delete item'])
  })

  test('does not wait where a dependent lets go of it', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [blocking(box)], finalizers: [FOREIGN] })
    await world.delete('box', 'Foreground')
    await world.run()
    await world.patch('item', { ownerReferences: [box] })
    await world.run()
    expect(await world.state()).toEqual([`(item) <- ?, +${FOREIGN}`])
  })

  test('waits for ever for a dependent whose reference cannot be followed, as in Kubernetes', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('zone', { owners: [blocking(box)] })
    await world.delete('box', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual(['(box) <- +foregroundDeletion', 'zone <- box!'])
  })

  test('an address that blocks its claim and has a finalizer, as it was seen on a control plane', async () => {
    const world = new World()
    const claim = await world.create('box-claim')
    await world.create('item-address', { owners: [{ ...blocking(claim), controller: true }], finalizers: [FOREIGN] })
    await world.delete('box-claim', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual([
      '(box-claim) <- +foregroundDeletion',
      `(item-address) <- box-claim!, +${FOREIGN}`,
    ])
    await world.patch('item-address', { finalizers: [] })
    await world.run()
    expect(await world.state()).toEqual([])
  })
})

describe('objects that wait for each other', () => {
  test('a ring that is deleted at one point', async () => {
    const world = new World()
    const [a, b] = [await world.create('box-a'), await world.create('box-b')]
    const c = await world.create('box-c', { owners: [blocking(b)] })
    await world.patch('box-b', { ownerReferences: [blocking(a)] })
    await world.patch('box-a', { ownerReferences: [blocking(c)] })
    await world.delete('box-a', 'Foreground')
    const result = await world.run()
    expect(await world.state()).toEqual([])
    expect(result.failures).toEqual([])
  })

  test('a ring in which a client deleted each one', async () => {
    const world = new World()
    const a = await world.create('box-a')
    const b = await world.create('box-b', { owners: [blocking(a)] })
    await world.patch('box-a', { ownerReferences: [blocking(b)] })
    await world.delete('box-a', 'Foreground')
    await world.delete('box-b', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual([])
  })

  test('an object that owns itself', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.patch('box', { ownerReferences: [blocking(box)] })
    expect((await world.run()).written).toBe(0)
    await world.delete('box', 'Foreground')
    await world.run()
    expect(await world.state()).toEqual([])
  })

  test('an object that owns itself waits for the others', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.patch('box', { ownerReferences: [blocking(box)] })
    await world.create('item', { owners: [blocking(box)], finalizers: [FOREIGN] })
    await world.delete('box', 'Foreground')
    const result = await world.run()
    expect(await world.state()).toEqual(['(box) <- box!, +foregroundDeletion', `(item) <- box!, +${FOREIGN}`])
    expect(result.outcomes.get('Box.example.com default/box')).toMatchObject({ kind: 'held', dependents: 1 })
  })

  test.each([
    ['one does not hold up the other', { blockOwnerDeletion: false }, 'Foreground'],
    ['one does not wait', { blockOwnerDeletion: true }, 'Background'],
  ] as const)('it is no ring where %s', async (_, blocks, propagation) => {
    const world = new World()
    const a = await world.create('box-a')
    const b = await world.create('box-b', { owners: [blocking(a)], finalizers: [FOREIGN] })
    await world.patch('box-a', { ownerReferences: [{ ...b, ...blocks }] })
    await world.create('item', { owners: [blocking(b)], finalizers: [FOREIGN] })
    await world.delete('box-a', 'Foreground')
    await world.delete('box-b', propagation)
    const before = await world.get('box-a')
    await world.run()
    expect(await world.get('box-a')).toEqual(before)
  })

  test('a chain is no ring, even if its lower end was deleted first', async () => {
    const world = new World()
    const a = await world.create('box-a')
    const b = await world.create('box-b', { owners: [blocking(a)] })
    const c = await world.create('box-c', { owners: [blocking(b)] })
    await world.create('item', { owners: [blocking(c)], finalizers: [FOREIGN] })
    for (const name of ['box-c', 'box-b', 'box-a']) await world.delete(name, 'Foreground')
    await world.run()
    expect(await world.state()).toEqual([
      '(box-a) <- +foregroundDeletion',
      '(box-b) <- box-a!, +foregroundDeletion',
      '(box-c) <- box-b!, +foregroundDeletion',
      `(item) <- box-c!, +${FOREIGN}`,
    ])
  })

  test('only the references of the ring are let go', async () => {
    const world = new World()
    const a = await world.create('box-a', { finalizers: [FOREIGN] })
    const z = await world.create('zone', { finalizers: [FOREIGN] })
    const b = await world.create('box-b', { owners: [blocking(a), blocking(z)], finalizers: [FOREIGN] })
    await world.patch('box-a', { ownerReferences: [blocking(b)] })
    for (const name of ['box-a', 'box-b', 'zone']) await world.delete(name, 'Foreground')
    const planner = gcPlanner({ kinds })
    for (const it of await world.objects()) planner.observe({ kind: 'present', object: it })
    expect(planner.plan('Box.example.com default/box-a', { nowMs: 0 })?.outcome).toEqual({
      kind: 'unblocked',
      message: 'it and Box box-b wait for each other',
    })
    await world.run()
    const [first, second, third] = await world.state()
    expect([first, second].filter((line) => line?.includes('!'))).toHaveLength(1)
    expect(second).toContain('zone!')
    expect(third).toContain('+foregroundDeletion')
  })

  test('a ring that no client deletes stays, as in Kubernetes', async () => {
    const world = new World()
    const a = await world.create('box-a', { owners: [gone('zone')] })
    const b = await world.create('box-b', { owners: [a] })
    await world.patch('box-a', { ownerReferences: [gone('zone'), b] })
    await world.run()
    expect(await world.state()).toEqual(['box-a <- box-b', 'box-b <- box-a'])
  })
})

describe('an object that is deleted as an orphan maker', () => {
  test('goes when its dependents no longer refer to it (TestOrphaning)', async () => {
    const world = new World()
    const [zone, box] = [await world.create('zone'), await world.create('box')]
    await world.create('item-a', { owners: [blocking(box)] })
    await world.create('item-b', { owners: [zone, box, { ...box, name: 'box-by-mistake' }] })
    await world.create('item-held', { owners: [box], finalizers: [FOREIGN] })
    await world.delete('item-held')
    await world.delete('box', 'Orphan')
    await world.run()
    expect(await world.state()).toEqual([`(item-held) <- +${FOREIGN}`, 'item-a', 'item-b <- zone', 'zone'])
    expect(world.asked.at(-1)).toBe('patch box')
  })

  test('leaves behind what another owner that is gone would take along', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [box, gone('zone')] })
    await world.delete('box', 'Orphan')
    await world.run()
    expect(await world.state()).toEqual(['item'])
  })

  test('frees what refers to it in ways that cannot be followed', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('zone', { owners: [box] })
    await world.delete('box', 'Orphan')
    await world.run()
    expect(await world.state()).toEqual(['zone'])
  })

  test('frees itself', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.patch('box', { ownerReferences: [box] })
    await world.delete('box', 'Orphan')
    await world.run()
    expect(await world.state()).toEqual([])
    expect(world.asked).toEqual(['patch box', 'patch box'])
  })
})

test('a collector that never saw the kinds that exist has nothing to do', async () => {
  const store = memoryStore({ now: () => 0 })
  const world = new World()
  expect((await world.run(store)).planned).toBe(0)
})
