import { formatRef, type KubeObject, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import { fail, type Result } from 'ipam-kit/errors'
import { LEASE } from 'ipam-kit/run'
import type { ListQuery, Store, StoreErrorCode, WatchEvent } from 'ipam-kit/store'
import { type Dice, storeOver } from 'ipam-kit/testing'
import type { WatchOptions } from '../../../../src/store/store.js'
import { STORE_SECONDS, WATCH_LAG_SECONDS } from './bounds.js'
import type { ProcessClock, WorldClock } from './clock.js'
import type { Trouble, Wire } from './wire.js'

type Answer<T> = Result<T, StoreErrorCode>

/** How long one direction of a call to the store takes at most, in milliseconds. */
const MOST_MS = 40
/** How late a watch is without a fault, at most, in milliseconds. */
const LATE_MS = 200
const TROUBLE_PROBABILITY = 0.06
const WATCH_END_PROBABILITY = 0.02

export interface ProcessStoreOptions {
  readonly below: Store
  readonly wire: Wire
  readonly world: WorldClock
  readonly clock: ProcessClock
  readonly dice: Dice
  readonly lateDice: Dice
  /** Whether calls to the store go wrong at present. */
  readonly isFaulty: () => boolean
  /** Whether watches are late by seconds at present. */
  readonly isLate: () => boolean
  /** Told of each fault. */
  readonly happened: (text: string) => void
  /** Told of each write when the store answers it, with the object before. */
  readonly written: (text: string, before: KubeObject | undefined, answer: Answer<KubeObject>) => void
  /** Told of each object that the process learns of: by a list, a watch, or the answer to a call. */
  readonly learned: (object: KubeObject) => void
}

/** The store as one process sees it. */
export function processStore(options: ProcessStoreOptions): Store {
  const { below, wire, dice } = options
  const read = <T>(label: string, action: () => Promise<Answer<T>>, isLease = false): Promise<Answer<T>> => {
    const isDown = !isLease && options.isFaulty() && dice.chance(TROUBLE_PROBABILITY)
    return wire.send(label, MOST_MS, action, isDown ? down<T>(label, options) : undefined)
  }
  const write = async (
    verb: string,
    ref: ObjectRef,
    { action, detail = '' }: { readonly action: () => Promise<Answer<KubeObject>>; readonly detail?: string },
  ): Promise<Answer<KubeObject>> => {
    const label = `${verb} ${formatRef(ref)}`
    const isLease = ref.kind === LEASE.kind
    const arrive = async () => {
      const before = await below.get(ref)
      const answer = await action()
      if (isLease) return answer
      options.written(`${label}${detail}`, before.ok ? before.value : undefined, answer)
      return answer
    }
    const isWrong = !isLease && options.isFaulty() && dice.chance(TROUBLE_PROBABILITY)
    const answer = await wire.send(label, MOST_MS, arrive, isWrong ? troubleOfWrite(label, options) : undefined)
    if (answer.ok) options.learned(answer.value)
    return answer
  }
  const isLease = ({ kind }: { readonly kind: string }) => kind === LEASE.kind
  return storeOver(below, {
    get: async (ref) => {
      const answer = await read(`get ${formatRef(ref)}`, () => below.get(ref), isLease(ref))
      if (answer.ok) options.learned(answer.value)
      return answer
    },
    list: async (query, listOptions) => {
      const answer = await read(`list ${query.kind}`, () => below.list(query, listOptions))
      if (answer.ok) for (const object of answer.value.items) options.learned(object)
      return answer
    },
    create: (object) =>
      write('create', refOf(object), { action: () => below.create(object), detail: summaryOf(object) }),
    update: (object, how) => write('update', refOf(object), { action: () => below.update(object, how) }),
    patch: (ref, patch, how) =>
      write(how?.subresource === 'status' ? 'patch status of' : 'patch', ref, {
        action: () => below.patch(ref, patch, how),
        detail: ` ${JSON.stringify(patch)}`,
      }),
    delete: (ref, how) => write('delete', ref, { action: () => below.delete(ref, how) }),
    watch: (query, how) => lateWatch(query, how, options),
  })
}

function summaryOf(object: KubeObject): string {
  const { address } = (object.spec ?? {}) as { readonly address?: string }
  return address === undefined ? '' : ` with ${address}`
}

function down<T>(label: string, options: ProcessStoreOptions): Trouble<Answer<T>> {
  options.happened(`${label}: the store is down`)
  const value = fail('STORE_IO', { operation: label, problem: 'down' })
  return { name: 'down', answer: { afterMs: 200, value } }
}

function troubleOfWrite(label: string, options: ProcessStoreOptions): Trouble<Answer<KubeObject>> {
  const { dice } = options
  const unknown = fail('STORE_OUTCOME_UNKNOWN', { operation: label, object: label, problem: 'timed out' })
  const conflict = fail('STORE_CONFLICT', { object: label, expected: 'luck', actual: 'none' })
  const lateMs = dice.below((STORE_SECONDS - 2) * 1000)
  const troubles: readonly Trouble<Answer<KubeObject>>[] = [
    { name: 'done, and not answered', arrivesMs: 20, answer: { afterMs: 1500, value: unknown } },
    { name: 'not done, and not answered', answer: { afterMs: 1500, value: unknown } },
    { name: 'not answered, and done later', arrivesMs: lateMs, answer: { afterMs: 1500, value: unknown } },
    { name: 'answered with a conflict', answer: { afterMs: 40, value: conflict } },
    { name: 'slow', arrivesMs: 2500 },
  ]
  const trouble = dice.chance(0.2) ? down<KubeObject>(label, options) : dice.pick(troubles)
  if (trouble.name !== 'down') options.happened(`${label}: ${trouble.name}`)
  return trouble
}

/** The events of a watch in their order, each some time after its change. */
function lateWatch(
  query: ListQuery,
  how: WatchOptions | undefined,
  { below, world, clock, dice, lateDice, isFaulty, isLate, happened, learned }: ProcessStoreOptions,
): AsyncIterable<WatchEvent> {
  return {
    [Symbol.asyncIterator]: () => {
      const source = below.watch(query, how)[Symbol.asyncIterator]()
      let lastMs = 0
      let isOver = false
      const due: { readonly result: IteratorResult<WatchEvent>; readonly dueMs: number }[] = []
      let ring: () => void = () => {}
      const follow = async () => {
        for (;;) {
          const result = await source.next()
          const lateMs =
            isLate() && lateDice.chance(0.3) ? lateDice.below(WATCH_LAG_SECONDS * 1000) : dice.below(LATE_MS)
          if (lateMs > 2000) happened(`the watch of ${query.kind} is late by ${lateMs} ms`)
          lastMs = Math.max(lastMs, world.nowMs + lateMs)
          due.push({ result, dueMs: lastMs })
          ring()
          if (result.done === true) return
          if (clock.isDead) return void source.return?.()
        }
      }
      let isFollowing = false
      return {
        next: async () => {
          if (!isFollowing) void follow()
          isFollowing = true
          if (isOver) return { done: true, value: undefined }
          while (due.length === 0) {
            await new Promise<void>((resolve) => {
              ring = resolve
            })
          }
          const { result, dueMs } = due.shift() as (typeof due)[number]
          if (dueMs > world.nowMs) await world.wait(dueMs - world.nowMs)
          await clock.running()
          if (result.done !== true && 'object' in result.value) {
            if (isFaulty() && dice.chance(WATCH_END_PROBABILITY)) {
              isOver = true
              await source.return?.()
              happened(`the watch of ${query.kind} ends`)
              const failure = dice.chance(0.5)
                ? fail('STORE_IO', { operation: 'watch', problem: 'the connection was closed' }).failure
                : fail('STORE_VERSION_GONE', { resourceVersion: '1', oldest: '2' }).failure
              return { done: false, value: { type: 'ERROR', failure } as WatchEvent }
            }
            learned(result.value.object)
          }
          return result
        },
        return: async () => {
          isOver = true
          return (await source.return?.()) ?? { done: true, value: undefined }
        },
      }
    },
  }
}
