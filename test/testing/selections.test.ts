import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import {
  Absences,
  type Change,
  type Delta,
  definePlanner,
  deleteObject,
  type Effect,
  patchObject,
  proofOfAbsence,
  type TrimmedWatch,
  type Watch,
} from 'ipam-kit/plan'
import type { Store } from 'ipam-kit/store'
import { type Dice, type SimulatedSystem, simulate } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { share } from '../setup/depth.js'

// Boxes are watched by label and trimmed. A Note says what is in each Box with the label; a Stamp
// belongs to a Box for as long as that exists, with the label or without it.

const infoOf = (kind: string, plural: string): KindInfo => ({
  apiVersion: 'example.com/v1',
  kind,
  plural,
  namespaced: true,
  statusSubresource: false,
  selectableFields: ['spec.by'],
})
const [BOX, NOTE, STAMP] = [infoOf('Box', 'boxes'), infoOf('Note', 'notes'), infoOf('Stamp', 'stamps')]
const NAMESPACE = 'default'
const NAMES = ['a', 'b', 'c'] as const

const object = ({ apiVersion, kind }: KindInfo, name: string, spec: unknown, labels = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { namespace: NAMESPACE, name, labels },
  spec,
})
const refOf = ({ apiVersion, kind }: KindInfo, name: string) => ({ apiVersion, kind, namespace: NAMESPACE, name })
const specOf = ({ spec }: KubeObject) => spec as { readonly size?: number; readonly of?: string; readonly by?: string }

const whole = (info: KindInfo, fields?: { readonly [path: string]: string }): Watch<KubeObject> => ({
  ...info,
  fields,
  parse: (value) => ({ ok: true, value }),
})
const trimmed = (keep: (box: KubeObject) => KubeObject, labels?: { readonly [key: string]: string }) => {
  const watch: TrimmedWatch<KubeObject> = { ...BOX, labels, keep, parse: (value) => ({ ok: true, value }) }
  return watch
}
const bare = ({ apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } }: KubeObject): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace, uid, resourceVersion },
})
const watches = {
  boxes: trimmed((box) => ({ ...bare(box), spec: { size: specOf(box).size } }), { noted: 'yes' }),
  names: trimmed(bare),
  notes: whole(NOTE, { 'spec.by': 'us' }),
  stamps: whole(STAMP),
}

/** @param isProven whether a Stamp goes only when the store has said that its Box does not exist */
function planner(isProven: boolean) {
  const wake = ({ ref }: Delta<KubeObject>) => [ref.name]
  return definePlanner<{ kind: string; message: string }, typeof watches, Absences>({
    name: 'boxes',
    watches,
    state: () => new Absences(1),
    wakes: { boxes: wake as never, names: wake as never, notes: wake, stamps: wake },
    plan(name, { cache, state: absences }, { nowMs }) {
      const of = <T>(objects: { get(name: string): T | undefined }) => objects.get(`${NAMESPACE}/${name}`)
      const [box, known, note, stamp] = [of(cache.boxes), of(cache.names), of(cache.notes), of(cache.stamps)]
      const effects: Effect[] = []
      const size = box && specOf(box).size
      if (box === undefined && note !== undefined)
        effects.push(deleteObject(note, 'its Box has lost the label, or is gone'))
      if (box !== undefined && note === undefined) {
        effects.push({ kind: 'create', object: object(NOTE, name, { size, by: 'us' }), why: 'a Box has the label' })
      }
      if (box !== undefined && note !== undefined && specOf(note).size !== size) {
        effects.push(patchObject(note, { spec: { size } } as never, 'the Box has changed'))
      }
      if (known !== undefined && stamp === undefined) {
        const spec = { of: known.metadata.uid }
        effects.push({ kind: 'create', object: object(STAMP, name, spec), why: 'a Box exists' })
      }
      const owner = stamp && (specOf(stamp).of as string)
      const isMissing = owner !== undefined && owner !== known?.metadata.uid
      const { due, requeueAfterSeconds } = absences.look(name, isMissing ? [owner] : [], nowMs)
      if (isMissing && stamp !== undefined && (due.has(owner) || !isProven)) {
        const proof = proofOfAbsence({ ref: refOf(BOX, name), uid: owner }, 'a Stamp stays while its Box exists')
        effects.push(...(isProven ? proof : []), deleteObject(stamp, 'its Box is gone'))
      }
      return { outcome: { kind: 'done', message: name }, effects, requeueAfterSeconds }
    },
    isAggregate: () => false,
  })
}

function system(isProven = true): SimulatedSystem {
  return {
    kinds: [BOX, NOTE, STAMP],
    planner: () => planner(isProven),
    prepare: async (store) => {
      // one of another owner of Notes, which is not selected
      unwrap(await store.create(object(NOTE, 'other', { size: 1, by: 'others' })))
    },
    act,
    rules: () => {
      const boxes = new Set<string>()
      return {
        observe(change: Change) {
          const { kind } = change.kind === 'present' ? change.object : change.ref
          if (kind === 'Box' && change.kind === 'present') boxes.add(change.object.metadata.uid as string)
          if (kind === 'Box' && change.kind === 'absent') boxes.delete(change.uid as string)
          if (kind === 'Stamp' && change.kind === 'present')
            stamps.set(change.object.metadata.uid as string, specOf(change.object).of as string)
          const owner = kind === 'Stamp' && change.kind === 'absent' ? stamps.get(change.uid as string) : undefined
          return owner !== undefined && boxes.has(owner)
            ? `the Stamp of a Box that exists was deleted: ${change.kind}`
            : undefined
        },
        atRest,
      }
    },
  }
}
const stamps = new Map<string, string>()

async function act(store: Store, dice: Dice): Promise<void> {
  const name = dice.pick([...NAMES])
  const ref = refOf(BOX, name)
  const draw = dice.next()
  const noted = dice.chance(0.5) ? 'yes' : 'no'
  if (draw < 0.3) await store.create(object(BOX, name, { size: dice.below(3), pad: 'x'.repeat(50) }, { noted }))
  else if (draw < 0.7) await store.patch(ref, { metadata: { labels: { noted } } })
  else if (draw < 0.85) await store.patch(ref, { spec: { size: dice.below(3) } })
  else await store.delete(ref)
}

async function atRest(store: Store): Promise<string | undefined> {
  const list = async ({ apiVersion, kind }: KindInfo) => unwrap(await store.list({ apiVersion, kind })).items
  const text = (objects: readonly KubeObject[], value: (each: KubeObject) => unknown) =>
    objects
      .map((each) => `${each.metadata.name} ${value(each)}`)
      .sort()
      .join(', ')
  const boxes = await list(BOX)
  const wanted = text(
    boxes.filter(({ metadata }) => metadata.labels?.noted === 'yes'),
    (box) => specOf(box).size,
  )
  const notes = (await list(NOTE)).filter((note) => specOf(note).by === 'us')
  const noted = text(notes, (note) => specOf(note).size)
  if (noted !== wanted) return `the notes are ${noted}, and not ${wanted}`
  const stamped = text(await list(STAMP), (stamp) => specOf(stamp).of)
  const owners = text(boxes, ({ metadata }) => metadata.uid)
  return stamped === owners ? undefined : `the stamps are ${stamped}, and not ${owners}`
}

async function failing(seeds: number, isProven?: boolean): Promise<readonly string[]> {
  const problems: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const all = seed % 2 === 0
    const result = await simulate({
      system: system(isProven),
      seed,
      writers: 2 + (seed % 3),
      mayWrite: all ? 'all' : 'one',
      actions: 20,
    })
    problems.push(...result.problems.map((problem) => `${seed}: ${problem}`))
  }
  return problems
}

describe('a planner with selections', () => {
  test('sees what comes, what leaves and what changes, in every schedule', async () => {
    expect(await failing(share(300))).toEqual([])
  })

  test('takes a Box for gone that exists if it does not ask the store', async () => {
    expect((await failing(share(100), false)).join()).toMatch(/the Stamp of a Box that exists was deleted/)
  })
})

describe('a writer that begins while objects are deleted', () => {
  const [OTHERS, MORE] = [infoOf('Other', 'others'), infoOf('More', 'mores')]
  const late = { others: whole(OTHERS), more: whole(MORE), boxes: whole(BOX) }
  let cached = new Map<string, string>()

  const listing: SimulatedSystem = {
    kinds: [BOX, OTHERS, MORE],
    planner: () =>
      definePlanner<{ kind: string; message: string }, typeof late, Map<string, string>>({
        name: 'lists',
        watches: late,
        state: () => {
          cached = new Map()
          return cached
        },
        wakes: {
          others: () => [],
          more: () => [],
          boxes: ({ ref, now }, { state }) => {
            if (now?.ok === true) state.set(ref.name, now.value.metadata.uid as string)
            else state.delete(ref.name)
            return []
          },
        },
        plan: () => undefined,
        isAggregate: () => false,
      }),
    prepare: async () => {},
    async act(store, dice) {
      const name = `box-${dice.below(1000)}`
      await store.create(object(BOX, name, {}))
      await store.delete(refOf(BOX, name))
    },
    rules: () => ({
      observe: () => undefined,
      async atRest(store) {
        const stored = unwrap(await store.list({ apiVersion: BOX.apiVersion, kind: BOX.kind })).items
        const uids = stored.map(({ metadata }) => metadata.uid)
        const left = [...cached].filter(([, uid]) => !uids.includes(uid))
        return left.length === 0 ? undefined : `the writer has ${left.join()}, which is deleted`
      },
    }),
  }

  test('is told nothing from before its lists', async () => {
    const problems: string[] = []
    for (let seed = 1; seed <= share(300, 6); seed++) {
      const crashes = { faults: ['crash-before', 'crash-after'], faultProbability: 0.3 } as const
      const result = await simulate({ system: listing, seed, writers: 1, actions: 60, ...crashes })
      problems.push(...result.problems.map((problem) => `${seed}: ${problem}`))
    }
    expect(problems).toEqual([])
  })
})
