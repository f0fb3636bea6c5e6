import fc from 'fast-check'
import { Prefix } from 'ipam-kit/cidr'
import type { Effect, JsonPatch, MergePatch, Moved } from 'ipam-kit/plan'
import { expect } from 'vitest'
import { property } from '../cidr/property.js'
import {
  addressesOf,
  asModelEntry,
  heldBy,
  inUse,
  listed,
  type ModelEntry,
  ModelHoldings,
  overlaps,
  type Thing,
  type ThingKind,
  type ThingPlanner,
  type ThingSpec,
  thing,
  thingPlanner,
} from './model-holdings.js'

const extent = fc
  .tuple(fc.nat(15), fc.constantFrom(32, 32, 32, 31, 30, 29))
  .map(([at, length]) => `10.0.0.${at}/${length}`)
const extents = fc.uniqueArray(extent, { maxLength: 3 })
const spec: fc.Arbitrary<ThingSpec> = fc.record({
  extents,
  rescue: extents,
  holder: fc.constantFrom('k', 'l', 'm', 'n'),
  pool: fc.constantFrom(undefined, undefined, '', 'q'),
  domain: fc.constantFrom(undefined, 'd', 'e'),
  isBroken: fc.constantFrom(undefined, undefined, undefined, true),
  noise: fc.constantFrom(undefined, { deep: 1 }),
})
const kind = fc.constantFrom<ThingKind>('Seat', 'Link')
const name = fc.constantFrom('a', 'b', 'c')

/** How a patch changes the spec, and what comes of it by plain assignment. */
const change = fc.oneof(
  fc.record({ form: fc.constantFrom('merge' as const, 'replace' as const), extents }),
  fc.record({ form: fc.constantFrom('append' as const, 'append twice' as const, 'beside' as const), extents }),
  fc.record({ form: fc.constantFrom('remove' as const, 'copy' as const, 'move' as const, 'other' as const) }),
)
type ChangeInput = { readonly form: string; readonly extents?: readonly string[] }

const effect = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('create' as const), kind, name, spec }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('patch' as const), kind, name, change }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), kind, name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('external' as const), kind, name, spec }) },
)
type EffectInput = typeof effect extends fc.Arbitrary<infer T> ? T : never

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), kind, name, spec, isShown: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('break' as const), kind, name, rescue: extents }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('finalize' as const), kind, name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), kind, name, isShown: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('late' as const), nth: fc.nat(50) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('begin' as const),
      effects: fc.array(effect, { minLength: 1, maxLength: 3, size: 'max' }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), nth: fc.nat(9), isDone: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('set aside' as const), extent }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reset' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

type Change = Parameters<ThingPlanner['observe']>[0]

/** A planner, one without ledgers, the model, and the store that all of them hear of. */
class Trial {
  readonly moves: Moved[] = []
  readonly planner = thingPlanner(this.moves)
  readonly reader = thingPlanner([], false)
  readonly model = new ModelHoldings()
  readonly #stored = new Map<string, Thing>()
  readonly #events: Change[] = []
  /** Also those that have ended: a plan may be ended twice. */
  readonly #plans: { readonly id: number; readonly end: (isDone?: boolean) => readonly string[] }[] = []
  #version = 0

  do(step: Step): void {
    switch (step.do) {
      case 'write': {
        const before = this.#stored.get(`${step.kind} ${step.name}`)
        this.#store(thing(step.kind, step.name, step.spec, before?.metadata), step.isShown)
        break
      }
      case 'break':
      case 'finalize': {
        const before = this.#stored.get(`${step.kind} ${step.name}`)
        if (before === undefined) return
        const broken = step.do === 'break' ? { isBroken: true, rescue: step.rescue } : {}
        const deleted = step.do === 'finalize' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
        const metadata = { ...before.metadata, ...deleted }
        this.#store(thing(step.kind, step.name, { ...before.spec, ...broken }, metadata), true)
        break
      }
      case 'delete': {
        const { kind, name } = step
        const before = this.#stored.get(`${kind} ${name}`)
        if (before === undefined) return
        this.#stored.delete(`${kind} ${name}`)
        const ref = { apiVersion: before.apiVersion, kind, name }
        this.#tell({ kind: 'absent', ref, uid: before.metadata.uid }, step.isShown)
        break
      }
      case 'late': {
        const event = this.#events[step.nth % Math.max(1, this.#events.length)]
        if (event !== undefined) this.#show(event)
        break
      }
      case 'begin':
        this.#begin(step.effects)
        break
      case 'end': {
        const plan = this.#plans[step.nth % Math.max(1, this.#plans.length)]
        if (plan === undefined) return
        const before = this.#used()
        const isRunning = this.model.plans.delete(plan.id)
        this.moves.length = 0
        const keys = plan.end(step.isDone)
        if (!isRunning) expect([keys, this.moves]).toEqual([[], []])
        this.#checkFreed(before, keys)
        break
      }
      case 'set aside':
        // what the state of a planner records: no holder that can be planned, and not in use
        this.planner.context.holdings.ledger().set(`former ${step.extent}`, {
          prefix: Prefix.parse(step.extent),
          reason: 'former',
          holder: { key: 'gone', object: { apiVersion: 'v1', kind: 'Gone', name: 'gone' }, field: '' },
        })
        break
      case 'reset':
        for (const planner of [this.planner, this.reader]) planner.reset()
        this.model.reset()
        break
    }
  }

  #store(object: Thing, isShown: boolean): void {
    const { uid = `uid-${this.#version}` } = object.metadata
    const metadata = { ...object.metadata, uid, resourceVersion: String(++this.#version) }
    const stored = { ...object, metadata }
    this.#stored.set(`${object.kind} ${object.metadata.name}`, stored)
    this.#tell({ kind: 'present', object: stored }, isShown)
  }

  #tell(event: Change, isShown: boolean): void {
    this.#events.push(event)
    if (isShown) this.#show(event)
  }

  #show(event: Change): void {
    const before = this.model.entriesOf(this.planner)
    this.moves.length = 0
    const keys = this.planner.observe(event)
    this.reader.observe(event)
    const after = this.model.entriesOf(this.planner)
    this.#checkFreed(inUse(before), keys)
    this.#checkWoken(before, after, keys)
  }

  #begin(inputs: readonly EffectInput[]): void {
    const written = new Map<string, Thing>()
    const all: Thing[] = []
    const effects = inputs.map((input) => this.#effect(input, written, all))
    const id = this.#plans.length
    const before = this.#used()
    const end = this.planner.begin!({ outcome: { kind: 'trial', message: '' }, effects })
    this.#plans.push({ id, end })
    this.model.plans.set(id, all)
    for (const address of before) expect(this.#used()).toContain(address)
  }

  /** An effect. What its object is then is noted in `written` and `all`. */
  #effect(input: EffectInput, written: Map<string, Thing>, all: Thing[]): Effect {
    const { kind, name } = input
    const ref = { apiVersion: 'test.dev/v1', kind, name }
    const id = `${kind} ${name}`
    const note = (object: Thing) => {
      written.set(id, object)
      all.push(object)
    }
    if (input.do === 'delete') return { kind: 'delete', ref, if: { uid: 'any' }, why: 'a trial' }
    if (input.do !== 'patch') {
      const object = thing(kind, name, input.spec)
      note(object)
      if (input.do === 'create') return { kind: 'create', object, why: 'a trial' }
      const call = { operation: 'allocate', key: id, about: ref, input: null }
      return { kind: 'external', call, pending: object, why: 'a trial' }
    }
    const objects = kind === 'Seat' ? this.planner.context.cache.seats : this.planner.context.cache.links
    const before = written.get(id) ?? (objects.entry(name)?.object as Thing | undefined)
    const { patch, after } = changeOf(input.change, before?.spec ?? { holder: '' })
    if (before !== undefined) note({ ...before, spec: after })
    return { kind: 'patch', ref, patch, if: {}, why: 'a trial' } as Effect
  }

  #used(): ReadonlySet<string> {
    return inUse(this.model.entriesOf(this.planner))
  }

  #checkFreed(before: ReadonlySet<string>, keys: readonly string[]): void {
    const after = this.#used()
    const isFree = (address: string) => before.has(address) && !after.has(address)
    const freed = this.moves.flatMap(({ freed }) => freed)
    const inFreed = freed.map(({ pool, prefix }) => addressesOf(prefix).map((text) => `${pool} ${text}`))
    for (const addresses of inFreed) expect(addresses.some(isFree)).toBe(true)
    expect(inFreed.flat()).toEqual(expect.arrayContaining([...before].filter(isFree)))
    expect(keys.includes('waiting')).toBe(freed.length > 0)
  }

  /** Two other holders of each extent that an object got or lost are woken, and no key besides. */
  #checkWoken(before: readonly ModelEntry[], after: readonly ModelEntry[], keys: readonly string[]): void {
    const touched = this.moves.flatMap((moved) => moved.touched)
    const woken = keys.filter((key) => key !== 'waiting')
    const textOf = ({ object, pool, prefix, key }: ModelEntry) => `${object} ${pool} ${Prefix.format(prefix)} ${key}`
    const held = (entries: readonly ModelEntry[]) => entries.filter(({ reason }) => reason === 'held')
    const [had, has] = [new Set(held(before).map(textOf)), new Set(held(after).map(textOf))]
    const changed = held([...before, ...after]).filter((one) => had.has(textOf(one)) !== has.has(textOf(one)))
    // what these keys need is for `wakes` of the planner to say
    const own = new Set(changed.map(({ key }) => key))
    expect(woken.length).toBeLessThanOrEqual(touched.length * 2)
    for (const key of woken) {
      const isHolder = touched.some(({ pool, prefix }) =>
        after.some((one) => one.key === key && one.pool === pool && overlaps(one.prefix, prefix)),
      )
      expect(isHolder).toBe(true)
    }
    for (const { pool, prefix } of touched) {
      const at = after.filter((one) => one.pool === pool && overlaps(one.prefix, prefix)).map(({ key }) => key)
      const others = [...new Set(at)].filter((key) => !own.has(key))
      expect(others.filter((key) => woken.includes(key)).length).toBeGreaterThanOrEqual(Math.min(2, others.length))
    }
  }

  check(): void {
    const model = this.model.entriesOf(this.planner)
    const entries = this.planner.entries().filter(({ reason }) => reason !== 'former')
    expect(listed(entries.map(asModelEntry))).toEqual(listed(model))

    // without ledgers: what the objects say by themselves, in the same order
    const reader = this.reader.entries().map(asModelEntry)
    const unkept = this.model.entriesOf(this.planner, 'memory').filter(({ reason }) => reason === 'held')
    expect(listed(reader)).toEqual(listed(unkept))
    const placeOf = ({ pool, prefix, key }: ModelEntry) => `${pool} ${Prefix.format(prefix)} ${key}`
    const held = entries.filter(({ reason }) => reason === 'held').map(asModelEntry)
    if (held.length === reader.length) expect(reader.map(placeOf)).toEqual(held.map(placeOf))

    const ledgers = ['', 'q'].map((pool) => this.planner.context.holdings.ledger(pool))
    const isConflict = (one: ModelEntry) =>
      held.some((other) => other.pool === one.pool && other.key !== one.key && overlaps(other.prefix, one.prefix))
    const conflicts = ledgers.flatMap((ledger) => ledger.conflicts().map(asModelEntry))
    expect(listed(conflicts)).toEqual(listed(held.filter(isConflict)))
  }
}

function changeOf({ form, extents = [] }: ChangeInput, before: ThingSpec) {
  const patched = (patch: MergePatch | JsonPatch, after: ThingSpec) => ({ patch, after })
  const path = '/spec/extents'
  const { rescue, extents: had } = before
  switch (form) {
    case 'merge':
      return patched({ spec: { extents, noise: undefined } }, { ...before, extents })
    case 'replace':
      return patched([{ op: 'replace', path, value: extents }], { ...before, extents })
    case 'remove':
      return patched({ spec: { extents: null } }, { ...before, extents: undefined })
    case 'copy':
      return patched([{ op: 'copy', from: '/spec/rescue', path }], { ...before, extents: rescue })
    case 'move': {
      const after = { ...before, extents: rescue ?? had, rescue: undefined }
      return patched([{ op: 'move', from: '/spec/rescue', path }], after)
    }
    case 'append':
    case 'append twice': {
      const added = form === 'append' ? extents.slice(0, 1) : extents.slice(0, 2)
      const patch = added.map((value) => ({ op: 'add', path: `${path}/-`, value }) as const)
      return patched(patch, { ...before, extents: had && [...had, ...added] })
    }
    case 'beside': {
      // what the watch does not keep of an object
      const other = [{ op: 'replace', path: '/status/deep/er', value: 2 }] as const
      return patched([...other, { op: 'add', path, value: extents }], { ...before, extents })
    }
    default:
      return patched([{ op: 'test', path: '/spec/holder', value: 'z' }], before)
  }
}

property([fc.array(step, { maxLength: 60, size: 'max' })], 2)(
  'the ledgers are what the objects and the plans in progress hold, after any history',
  (steps) => {
    const trial = new Trial()
    for (const step of steps) {
      trial.do(step)
      trial.check()
    }
  },
)

property([fc.array(spec, { maxLength: 6 }), fc.nat(20)])(
  'plans of one turn give no address twice, and after their end each address is free that was not created',
  (specs, count) => {
    const moves: Moved[] = []
    const planner = thingPlanner(moves)
    for (const [index, each] of specs.entries()) {
      const metadata = { uid: `u${index}`, resourceVersion: String(index + 1) }
      planner.observe({ kind: 'present', object: thing('Seat', `s${index}`, each, metadata) })
    }
    const free = () => planner.context.holdings.ledger().counts().free
    const before = free()
    const ends: (() => readonly string[])[] = []
    const given = new Set<string>()
    for (let index = 0; index < count; index++) {
      const plan = planner.plan(`p${index}`, { nowMs: 0 })!
      ends.push(planner.begin!(plan))
      for (const each of plan.effects) {
        const [one] = each.kind === 'create' ? heldBy(each.object as Thing) : []
        expect(given.has(Prefix.format(one!.prefix))).toBe(false)
        given.add(Prefix.format(one!.prefix))
      }
    }
    expect(given.size).toBe(Math.min(count, Number(before)))
    for (const end of ends) end()
    expect(free()).toBe(before)
    expect(moves.filter(({ freed }) => freed.length > 0)).toHaveLength(given.size)
  },
)
