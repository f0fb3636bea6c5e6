import assert from 'node:assert/strict'
import type { KindInfo, KubeObject, OwnerReference } from '../../../src/crd/meta/object.js'
import { memoryStore } from '../../../src/store/memory/index.js'
import type { ListQuery, ObjectList, Store, WatchEvent } from '../../../src/store/store.js'
import { conformanceKinds, Dice } from '../../../src/testing/index.js'
import { nextStep, type Seen, type Side, type Step } from './random-steps.js'

/**
 * Does the same, at random, on the store in memory and on the one that is the judge, and compares
 * every answer.
 *
 * @returns how many operations succeeded
 */
export async function compareStores(
  server: Store,
  namespaces: readonly [string, string],
  { seed, steps, owner }: { readonly seed: number; readonly steps: number; readonly owner: OwnerReference },
): Promise<string> {
  const memory = memoryStore({ now: Date.now, kinds: conformanceKinds })
  const from = [await versionsOf(memory), await versionsOf(server)] as const
  const dice = new Dice(seed)
  const seen: Seen[] = []
  let done = 0
  for (let index = 0; index < steps; index++) {
    const step = nextStep(dice, { namespaces, owner, seen })
    const ours = await step.run(memory, 'ours')
    const theirs = await step.run(server, 'theirs')
    const told = `step ${index} of seed ${seed}, ${step.shown}\n`
    assert.equal(outcomeOf(ours), outcomeOf(theirs), `${told}memory ${show(ours)}\nserver ${show(theirs)}`)
    if (!ours.ok || !theirs.ok) continue
    done++
    assert.deepEqual(comparable(ours.value), comparable(theirs.value), `${told}memory (+), server (-)`)
    if (step.isGone || 'items' in ours.value || 'items' in theirs.value) continue
    const isSame = (side: Side, answer: KubeObject) =>
      seen.map((pair) => pair[side].metadata.resourceVersion === answer.metadata.resourceVersion)
    assert.deepEqual(isSame('ours', ours.value), isSame('theirs', theirs.value), `${told}whether it is a new version`)
    seen.push({ ours: ours.value, theirs: theirs.value })
    if (seen.length > 60) seen.splice(0, 20)
  }
  let events = 0
  for (const query of queriesOf(namespaces[0])) events += await compareEvents(query, [memory, server], from)
  return `${done} of ${steps} operations succeeded, ${events} events`
}

/** Where a watch of each kind begins. */
async function versionsOf(store: Store): Promise<string> {
  const listed = await store.list({ ...conformanceKinds[0]! })
  if (!listed.ok) throw new Error(listed.failure.code)
  return listed.value.resourceVersion
}

function queriesOf(namespace: string): ListQuery[] {
  const [pool, region, plain] = conformanceKinds as [KindInfo, KindInfo, KindInfo]
  const pools = { apiVersion: pool.apiVersion, kind: pool.kind, namespace }
  return [
    pools,
    { ...pools, fields: { 'spec.color': 'red' } },
    { ...pools, labelExpressions: [{ key: 'a', operator: 'NotIn', values: ['2'] }] },
    { apiVersion: plain.apiVersion, kind: plain.kind, namespace, labels: { a: '1' } },
    { apiVersion: region.apiVersion, kind: region.kind, fields: { 'metadata.name': `a-${namespace}` } },
  ]
}

/** What watches of the whole run tell. */
async function compareEvents(
  query: ListQuery,
  stores: readonly [Store, Store],
  from: readonly [string, string],
): Promise<number> {
  const told: WatchEvent[][] = [[], []]
  for (const [side, store] of stores.entries()) {
    const events = store.watch(query, { resourceVersion: from[side] })[Symbol.asyncIterator]()
    while (side === 0 || told[1]!.length < told[0]!.length) {
      const { value } = await events.next()
      assert.notEqual(value.type, 'ERROR', JSON.stringify(value))
      // the one in memory says when there are no more
      if (value.type !== 'BOOKMARK') told[side]!.push(value)
      else if (side === 0) break
    }
    await events.return?.()
  }
  const shown = told.map((events) => events.map((event) => 'object' in event && [event.type, comparable(event.object)]))
  assert.deepEqual(shown[0], shown[1], `events of ${JSON.stringify(query)}\nmemory (+), server (-)`)
  return told[0]!.length
}

type Answer = Awaited<ReturnType<Step['run']>>

function outcomeOf(answer: Answer): string {
  return answer.ok ? 'ok' : answer.failure.code
}

function show(answer: Answer): string {
  return JSON.stringify(answer.ok ? comparable(answer.value) : answer.failure)
}

/**
 * An object without what is another one in each store, or all of a list. The version that it is in
 * is a matter of capabilities.
 */
function comparable(answer: KubeObject | ObjectList): unknown {
  if ('items' in answer) return (answer as ObjectList).items.map(comparable)
  const { metadata, apiVersion: _0, ...rest } = answer as KubeObject & { metadata: Record<string, unknown> }
  const { uid: _1, resourceVersion: _2, managedFields: _3, creationTimestamp, deletionTimestamp, ...others } = metadata
  const times = [typeof creationTimestamp, typeof deletionTimestamp]
  return JSON.parse(JSON.stringify({ ...rest, metadata: others, times }))
}
