import type { KubeObject, OwnerReference } from 'ipam-kit/crd/meta'
import { type Effect, explain } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { runPlan } from 'ipam-kit/run'
import { beforeEach, describe, expect, test } from 'vitest'
import type { GcOptions } from '../../../src/provider/gc/planner.js'
import { Box, blocking, gone, kinds, object, refTo, type Traits, World } from './world.js'

// One planner that lives on while the world changes, and is told of it late, twice or not at all.
let planner = gcPlanner({ kinds })
let version = 0

beforeEach(() => {
  planner = gcPlanner({ kinds })
  version = 0
})

interface Seen extends Traits {
  readonly uid?: string
  readonly version?: number
  readonly deleted?: boolean
  readonly born?: string
}

/**
 * An object as a store would show it. Its uid is that of {@link gone}, unless another one is given.
 */
function stored(name: string, { uid = `uid-of-${name}`, deleted, born, ...traits }: Seen = {}): KubeObject {
  const bare = object(name, traits)
  const metadata = {
    ...bare.metadata,
    uid,
    resourceVersion: String(traits.version ?? ++version),
    ...(born === undefined ? {} : { creationTimestamp: born }),
    ...(deleted === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  }
  return { ...bare, metadata }
}

const show = (name: string, seen?: Seen) => planner.observe({ kind: 'present', object: stored(name, seen) })
const end = (name: string, uid?: string) => planner.observe({ kind: 'absent', ref: refTo(name), uid })
/** The store says, when asked, that no object of that uid has this name. */
const confirm = (name: string, uid: string) =>
  planner.observe({ kind: 'absent', ref: refTo(name), uid, confirmed: true })
const keyOf = (name: string) => {
  const { kind, namespace } = refTo(name)
  return `${kind}.example.com ${namespace === undefined ? name : `${namespace}/${name}`}`
}
const plan = (name: string) => planner.plan(keyOf(name), { nowMs: 0 })
const steps = (name: string) => plan(name)?.effects.map(inShort)
const waiting = { deleted: true, finalizers: ['foregroundDeletion'] }

function inShort(effect: Effect): string {
  switch (effect.kind) {
    case 'create':
      return 'create'
    case 'event':
      return effect.reason
    case 'external':
      return effect.call.operation
    case 'absent':
      return `no ${effect.ref.name} with ${effect.uid}`
    case 'delete':
      return `delete ${effect.ref.name} if ${effect.if.uid} ${effect.if.resourceVersion ?? ''}`.trim()
    case 'patch': {
      const fields = Object.keys(effect.patch).length === 0 ? 'check' : 'patch'
      return `${fields} ${effect.ref.name} if ${effect.if.uid} ${effect.if.resourceVersion ?? ''}`.trim()
    }
  }
}

describe('nothing is taken for gone because it was not seen', () => {
  const item = (owners: readonly OwnerReference[]) => show('item', { owners, version: 7 })

  test('the store is asked for an owner that was never seen', () => {
    item([gone('box')])
    expect(steps('item')).toEqual(['no box with uid-of-box', 'delete item if uid-of-item 7'])
  })

  test('and for one that was seen to go', () => {
    show('box')
    item([gone('box')])
    expect(steps('item')).toEqual([])
    end('box', 'uid-of-box')
    expect(steps('item')).toEqual(['no box with uid-of-box', 'delete item if uid-of-item 7'])
  })

  test('also where another object is known to have its name', () => {
    show('box', { uid: 'another', version: 3 })
    item([gone('box')])
    expect(steps('item')).toEqual(['no box with uid-of-box', 'delete item if uid-of-item 7'])
  })

  test('an owner that waits for its dependents has to be in the version that was seen', () => {
    show('box', { ...waiting, version: 3 })
    item([gone('box')])
    expect(steps('item')).toEqual(['check box if uid-of-box 3', 'delete item if uid-of-item 7'])
  })

  test('so does one that leaves them behind', () => {
    show('box', { deleted: true, finalizers: ['orphan'], version: 3 })
    item([gone('box')])
    expect(steps('item')).toEqual(['check box if uid-of-box 3', 'patch item if uid-of-item 7'])
  })

  test('each owner is asked for once, however many references there are to it', () => {
    item([gone('box'), { ...gone('box'), controller: true }, { ...gone('box'), uid: 'an-older-one' }])
    expect(steps('item')).toEqual([
      'no box with uid-of-box',
      'no box with an-older-one',
      'delete item if uid-of-item 7',
    ])
  })

  test('once it is proven, it is for all that refer to it by that name', () => {
    item([gone('box')])
    show('item-b', { owners: [gone('box')], version: 8 })
    show('item-c', { owners: [{ ...gone('box'), name: 'box-by-mistake' }], version: 9 })
    show('item-d', { owners: [{ ...gone('box'), uid: 'an-older-one' }], version: 10 })
    expect(confirm('box', 'uid-of-box')).toEqual([])
    expect(steps('item')).toEqual(['delete item if uid-of-item 7'])
    expect(steps('item-b')).toEqual(['delete item-b if uid-of-item-b 8'])
    expect(steps('item-c')?.[0]).toBe('no box-by-mistake with uid-of-box')
    expect(steps('item-d')?.[0]).toBe('no box with an-older-one')
    item([gone('box')])
    expect(steps('item'), 'shown again').toEqual(['delete item if uid-of-item 7'])
    planner.reset()
    item([gone('box')])
    expect(steps('item')?.[0], 'after a reset').toBe('no box with uid-of-box')
  })

  test('a proof holds for dependents that come later: a uid is never used again', () => {
    confirm('box', 'uid-of-box')
    item([gone('box')])
    expect(steps('item')).toEqual(['delete item if uid-of-item 7'])
  })

  test('an end of something else under that name is no proof', () => {
    item([gone('box')])
    for (const uid of [undefined, 'another', 'uid-of-box']) end('box', uid)
    confirm('box', 'another')
    confirm('box-by-mistake', 'uid-of-box')
    expect(steps('item')?.[0]).toBe('no box with uid-of-box')
  })

  test('a late watch event does not bring back an owner that is proven absent', () => {
    item([gone('box')])
    confirm('box', 'uid-of-box')
    expect(show('box')).toEqual([])
    expect(plan('item')?.outcome.kind).toBe('collected')
    end('box', 'uid-of-box')
    expect(steps('item')).toEqual(['delete item if uid-of-item 7'])
  })

  test('an end without a uid is not trusted either', () => {
    show('box')
    item([gone('box')])
    expect(end('box')).toEqual([keyOf('item')])
    expect(steps('item')?.[0]).toBe('no box with uid-of-box')
    show('box')
    expect(steps('item')).toEqual([])
  })
})

describe('on a store, where watches lag behind', () => {
  /** Carries a plan out, and shows what the store says after a conflict, as a host does. */
  async function carryOut(world: World, name: string): Promise<string> {
    const ended = await runPlan(plan(name)!, world.store, { onChange: (change) => planner.observe(change) })
    if (ended.kind !== 'conflict') return ended.kind
    const ref = 'ref' in ended.effect ? ended.effect.ref : refTo(name)
    const found = await world.below.get(ref)
    planner.observe(found.ok ? { kind: 'present', object: found.value } : { kind: 'absent', ref })
    return `conflict at ${ref.name}`
  }
  const see = async (world: World, name: string) => planner.observe({ kind: 'present', object: await world.get(name) })

  test('a dependent that is seen before its owner is kept', async () => {
    const world = new World()
    await world.create('item', { owners: [await world.create('box')] })
    await see(world, 'item')
    expect(await carryOut(world, 'item')).toBe('conflict at box')
    expect(plan('item')?.outcome.kind).toBe('kept')
    expect(await world.state()).toEqual(['box', 'item <- box'])
  })

  test('so is one whose owner has the name of another one, the end of which was not seen', async () => {
    const world = new World()
    await world.create('box')
    await see(world, 'box')
    await world.delete('box')
    await world.create('item', { owners: [await world.create('box')] })
    await see(world, 'item')
    expect(await carryOut(world, 'item')).toBe('conflict at box')
    expect(plan('item')?.outcome.kind).toBe('kept')
    expect(await world.state()).toEqual(['box', 'item <- box'])
  })

  test('and one where that end comes while the plan is on its way', async () => {
    const world = new World()
    const old = await world.create('box')
    await see(world, 'box')
    await world.delete('box')
    await world.create('item', { owners: [await world.create('box')] })
    await see(world, 'item')
    end('box', old.uid)
    expect(await carryOut(world, 'item')).toBe('conflict at box')
    expect(plan('item')?.outcome.kind).toBe('kept')
  })

  test('what another object has taken the name of, unseen, is collected', async () => {
    const world = new World()
    const box = await world.create('box')
    await world.create('item', { owners: [box] })
    await see(world, 'item')
    await world.delete('box')
    await world.create('box')
    expect(await carryOut(world, 'item')).toBe('done')
    expect(await world.state()).toEqual(['box'])
  })

  test('what has got a new owner meanwhile is kept', async () => {
    const world = new World()
    await world.create('item', { owners: [gone('box')] })
    await see(world, 'item')
    await world.patch('item', { ownerReferences: [gone('box'), await world.create('zone')] })
    await see(world, 'zone')
    expect(await carryOut(world, 'item')).toBe('conflict at item')
    expect(await carryOut(world, 'item')).toBe('done')
    expect(await world.state()).toEqual(['item <- zone', 'zone'])
  })

  test('what is no longer to go with its owner is kept', async () => {
    const world = new World()
    const box = await world.create('box', { finalizers: ['example.com/held'] })
    await world.create('item', { owners: [blocking(box)] })
    await world.delete('box', 'Foreground')
    await see(world, 'box')
    await see(world, 'item')
    await world.delete('box', 'Orphan')
    expect(await carryOut(world, 'item')).toBe('conflict at box')
    expect(await carryOut(world, 'item')).toBe('done')
    expect((await world.state()).at(-1)).toBe('item')
  })
})

describe('the keys that are planned again', () => {
  test('an object with owners or on its way out, and nothing else', () => {
    expect(show('box')).toEqual([])
    expect(show('item', { owners: [gone('box')] })).toEqual([keyOf('item')])
    expect(show('item')).toEqual([keyOf('item')])
    expect(show('item')).toEqual([])
    expect(show('zone', waiting)).toEqual([keyOf('zone')])
    expect(end('zone', 'uid-of-zone')).toEqual([keyOf('zone')])
  })

  test('the dependents of an owner that comes, goes, or begins to wait, the oldest first', () => {
    show('item-young', { owners: [gone('box')], born: '2026-01-02T00:00:00Z' })
    show('item-old', { owners: [gone('box')], born: '2026-01-01T00:00:00Z' })
    show('item-older', { owners: [gone('box')] })
    const dependents = ['item-older', 'item-old', 'item-young'].map(keyOf)
    expect(show('box')).toEqual(dependents)
    expect(show('box'), 'another version').toEqual([])
    expect(show('box', { deleted: true, finalizers: ['a/b'] })).toEqual([])
    expect(show('box', waiting)).toEqual([keyOf('box'), ...dependents])
    expect(show('box', waiting)).toEqual([keyOf('box')])
    expect(show('box', { uid: 'another' })).toEqual([keyOf('box'), ...dependents])
    expect(end('box', 'another')).toEqual([])
  })

  test('an owner that waits, when a dependent changes, lets go of it or goes', () => {
    show('box', waiting)
    show('zone')
    const owners = [blocking(gone('box')), gone('zone')]
    expect(show('item', { owners })).toEqual([keyOf('item'), keyOf('box')])
    expect(show('item', { owners: [gone('box')] })).toEqual([keyOf('item'), keyOf('box')])
    expect(show('item')).toEqual([keyOf('item'), keyOf('box')])
    show('item', { owners })
    expect(end('item', 'uid-of-item')).toEqual([keyOf('item'), keyOf('box')])
  })

  test('echoes, other kinds and objects without a uid wake no key', () => {
    const owners = [gone('box')]
    show('item', { owners, version: 9 })
    expect(show('item', { version: 8 })).toEqual([])
    expect(end('item', 'another')).toEqual([])
    expect(plan('item')?.outcome.kind).toBe('collected')
    expect(show('other', { owners })).toEqual([])
    expect(planner.plan('Other.example.com default/other', { nowMs: 0 })).toBeUndefined()
    const { uid: _, ...metadata } = stored('item-b', { owners }).metadata
    expect(planner.observe({ kind: 'present', object: { ...object('item-b'), metadata } })).toEqual([])
    expect(plan('item-b')).toBeUndefined()
    end('item', 'uid-of-item')
    expect(show('item', { owners, version: 10 })).toEqual([])
    expect(plan('item')).toBeUndefined()
  })

  test('another object of a name takes the place of the one before', () => {
    show('box')
    show('item', { owners: [gone('box')] })
    show('item-b', { owners: [gone('item')] })
    expect(show('item', { uid: 'another' })).toEqual([keyOf('item'), keyOf('item-b')])
    expect(plan('item')?.outcome).toEqual({ kind: 'kept', message: 'it has no owner', unresolved: [] })
    show('box', waiting)
    expect(plan('box')?.outcome.kind).toBe('finished')
  })

  test('those that wait for others come when nothing else is left', () => {
    show('box', waiting)
    show('item', { owners: [gone('box')] })
    show('zone', { deleted: true, finalizers: ['orphan'] })
    expect(['box', 'item', 'zone', 'none'].map((name) => planner.isAggregate(keyOf(name)))).toEqual([
      true,
      false,
      true,
      false,
    ])
  })

  test('the finalizers of the collector mean nothing before the deletion', () => {
    show('box', { finalizers: ['foregroundDeletion'] })
    show('zone', { finalizers: ['orphan'] })
    show('item', { owners: [gone('box'), gone('zone')] })
    expect(plan('item')?.outcome.kind).toBe('kept')
    expect(planner.isAggregate(keyOf('box'))).toBe(false)
  })

  test('where an object has both, which no store allows, its dependents are kept', () => {
    show('box', { deleted: true, finalizers: ['foregroundDeletion', 'orphan'] })
    show('item', { owners: [gone('box')] })
    expect(plan('item')?.outcome.kind).toBe('pruned')
  })
})

describe('with waitForLists', () => {
  const start = (options: Omit<GcOptions, 'kinds'>) => {
    planner = gcPlanner({ kinds, ...options })
    show('box', { deleted: true, finalizers: ['orphan'] })
    show('zone', { owners: [gone('zone-b')] })
  }

  test('nothing is decided before each kind was listed', () => {
    start({ waitForLists: true })
    const unlisted = 'not listed yet: Zone, Box, Item'
    expect(plan('box')).toEqual({ outcome: { kind: 'unlisted', message: unlisted }, effects: [] })
    expect(planner.listed(kinds[0]!)).toEqual([])
    expect(planner.listed({ apiVersion: 'v1', kind: 'Item' })).toEqual([])
    expect(planner.listed(Box)).toEqual([])
    expect(planner.listed(Box)).toEqual([])
    expect(plan('box')?.outcome).toEqual({ kind: 'unlisted', message: 'not listed yet: Item' })
    show('item', { owners: [gone('box')] })
    show('item-of-nobody')
    expect(planner.listed({ ...kinds[2]!, apiVersion: 'example.com/v2' })).toEqual(['box', 'item', 'zone'].map(keyOf))
    expect(plan('box')?.outcome.kind).toBe('held')
    expect(planner.listed(Box)).toEqual([])
  })

  test('and again after a reset', () => {
    start({ waitForLists: true })
    for (const kind of kinds) planner.listed(kind)
    planner.reset()
    expect(plan('box')).toBeUndefined()
    show('box', waiting)
    expect(plan('box')?.outcome.kind).toBe('unlisted')
  })

  test('without it, what was shown is all there is', () => {
    start({})
    expect(plan('box')?.outcome.kind).toBe('finished')
    expect(planner.listed(Box)).toEqual([])
  })
})

test.each([
  ['no options', undefined],
  ['none', {}],
  ['an empty list', { kinds: [] }],
  ['a kind twice', { kinds: [Box, { ...Box, apiVersion: 'example.com/v2' }] }],
  ['something else', { kinds: ['Box'] }],
])('refuses kinds: %s', (_, options) => {
  expect(() => gcPlanner(options as unknown as GcOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  )
})

test('references that are not a list of references are told of, and decide nothing', () => {
  planner = gcPlanner({ kinds: [Box] })
  const owner = { apiVersion: Box.apiVersion, kind: Box.kind, name: 'x', uid: 'u' }
  for (const ownerReferences of [{}, 5, [null], ['x'], [{ ...owner, apiVersion: 1 }], [{ ...owner, name: null }]]) {
    const metadata = { ...stored('box').metadata, ownerReferences } as unknown as KubeObject['metadata']
    expect(() =>
      planner.observe({ kind: 'present', object: { apiVersion: Box.apiVersion, kind: Box.kind, metadata } }),
    ).not.toThrow()
    expect(planner.plan('Box.example.com default/box', { nowMs: 0 })).toBeUndefined()
  }
})

test('keys name the group, where there is one', () => {
  const core = { ...Box, apiVersion: 'v1', kind: 'ConfigMap' }
  planner = gcPlanner({ kinds: [Box, core] })
  expect(planner.name).toBe('gc')
  expect(planner.watches).toMatchObject([Box, core])
  const metadata = { ...stored('box').metadata, ownerReferences: [gone('box-b')] }
  const keys = [Box, core].map(({ apiVersion, kind }) =>
    planner.observe({ kind: 'present', object: { apiVersion, kind, metadata: { ...metadata, uid: kind } } }),
  )
  expect(keys).toEqual([['Box.example.com default/box'], ['ConfigMap default/box']])
})

test('its plans are readable', () => {
  show('box', { ...waiting, version: 4 })
  for (const name of ['item-a', 'item-b', 'item-c', 'item-d']) {
    show(name, { owners: [blocking(gone('box'))], finalizers: ['a/b'], deleted: true })
  }
  show('box-left', { deleted: true, finalizers: ['orphan'], version: 5 })
  show('zone', { uid: 'another', version: 6 })
  show('box-mid', { owners: [gone('box'), gone('box-b'), gone('zone')], version: 7 })
  show('item-mid', { owners: [gone('box-mid')] })
  show('item-both', { owners: [gone('box-mid'), gone('box')], version: 8 })
  show('item-left', { owners: [gone('box-left'), gone('zone')], version: 9 })
  const names = ['box', 'box-left', 'box-mid', 'item-both', 'item-left', 'item-a', 'item-mid']
  expect(names.map((name) => explain(plan(name)!)).join('\n')).toMatchInlineSnapshot(`
    "held: it is deleted after its dependents: Item default/item-a, Item default/item-b, Item default/item-c and 1 more
      nothing to do
    held: it is deleted when nothing refers to it any more: Item default/item-left
      nothing to do
    collected: no owner is left: Box default/box-b, Zone zone are gone, Box default/box is waiting for its dependents to be deleted
      1. continue only with Box default/box if it has uid uid-of-box and version 4: the plan requires that it is waiting for its dependents to be deleted
      2. continue only if there is no Box default/box-b with uid uid-of-box-b: the plan requires that it does not exist
      3. continue only if there is no Zone zone with uid uid-of-zone: the plan requires that it does not exist
      4. delete Box default/box-mid (Foreground) if it has uid uid-of-box-mid and version 7: Box default/box-b, Zone zone are gone, Box default/box is waiting for its dependents to be deleted
    pruned: removing references: Box default/box is waiting for its dependents to be deleted
      1. continue only with Box default/box if it has uid uid-of-box and version 4: the plan requires that it is waiting for its dependents to be deleted
      2. patch Item default/item-both (metadata.ownerReferences) if it has uid uid-of-item-both and version 8: Box default/box is waiting for its dependents to be deleted, and others still own it
    pruned: removing references: Zone zone is gone, Box default/box-left is leaving its dependents behind
      1. continue only with Box default/box-left if it has uid uid-of-box-left and version 5: the plan requires that it is leaving its dependents behind
      2. continue only if there is no Zone zone with uid uid-of-zone: the plan requires that it does not exist
      3. patch Item default/item-left (metadata.ownerReferences) if it has uid uid-of-item-left and version 9: Zone zone is gone, Box default/box-left is leaving its dependents behind
    leaving: it is being deleted
      nothing to do
    kept: it is owned by Box box-mid
      nothing to do"
  `)
})
