import assert from 'node:assert/strict'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { addressNamed, type Bench, type Calls, NAMESPACES } from './calls.js'
import type { Side } from './measure.js'

/** One row for each engine. */
export interface StoreWork {
  readonly name: string
  /** One side of it. */
  side(calls: Calls): Side
  /** Whether both sides do the same. @throws if not */
  check(bench: Bench & { readonly raw: Calls }): Promise<void>
  /** What has to be there. */
  prepare?(bench: Bench): Promise<void>
}

const IN_FLIGHT = 16
const LISTED = 10_000

let named = 0
const nextName = () => `address-${named++}`

export const works: readonly StoreWork[] = [
  { name: 'create', side: (calls) => creating(calls, 1), check: checkCreate },
  { name: `create, ${IN_FLIGHT} in flight`, side: (calls) => creating(calls, IN_FLIGHT), check: checkCreate },
  { name: 'update', side: updating, check: checkUpdate },
  { name: 'from a write to its event', side: watching, check: checkWatch },
  { name: `list ${LISTED.toLocaleString('en')}`, side: listing, check: checkList, prepare: fill },
]

function creating({ namespace, create }: Calls, inFlight: number): Side {
  return {
    async run(count) {
      let left = count
      const one = async () => {
        while (left-- > 0) await create(addressNamed(namespace, nextName()))
      }
      await Promise.all(Array.from({ length: inFlight }, one))
    },
  }
}

/** One object, again and again: each time from what the write before has answered. */
function updating({ namespace, create, update }: Calls): Side {
  let object: KubeObject | undefined
  return {
    async run(count) {
      object ??= await create(addressNamed(namespace, nextName()))
      for (let i = 0; i < count; i++) object = await update(changed(object))
    },
  }
}

function listing({ list }: Calls): Side {
  return {
    async run(count) {
      for (let i = 0; i < count; i++) {
        const { items } = await list(NAMESPACES.many)
        if (items.length !== LISTED) throw new Error(`${items.length} objects are listed`)
      }
    },
  }
}

/**
 * Each write is sent when the event of the one before has come. What has come may be known before
 * the write is answered. The first event does not count: the connection of a watch may be made only
 * after it has said where it begins.
 */
function watching(calls: Calls): Side {
  let object: KubeObject | undefined
  let stop: (() => Promise<void>) | undefined
  const hearing = new Hearing()
  const writeAndHear = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const next = changed(object!)
      const [written] = await Promise.all([calls.update(next), hearing.of(writesOf(next))])
      object = written
    }
  }
  return {
    async begin() {
      object ??= await calls.create(addressNamed(calls.namespace, nextName()))
      stop = await calls.watch((told) => hearing.told(told))
      await writeAndHear(1)
    },
    run: writeAndHear,
    end: async () => stop?.(),
  }
}

/** Waits for the event of one write. */
class Hearing {
  #writes = 0
  #heard: KubeObject | undefined
  #resolve: (object: KubeObject) => void = () => {}

  told(object: KubeObject): void {
    this.#heard = object
    if (writesOf(object) === this.#writes) this.#resolve(object)
  }

  of(writes: number): Promise<KubeObject> {
    this.#writes = writes
    if (this.#heard !== undefined && writesOf(this.#heard) === writes) return Promise.resolve(this.#heard)
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }
}

function changed(object: KubeObject): KubeObject {
  return { ...object, spec: { ...(object.spec as object), writes: writesOf(object) + 1 } }
}

function writesOf({ spec }: KubeObject): number {
  return (spec as { readonly writes: number }).writes
}

async function fill({ ours }: Bench): Promise<void> {
  let left = LISTED
  const one = async () => {
    while (left-- > 0) await ours.create(addressNamed(NAMESPACES.many, nextName()))
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, one))
}

/**
 * What has been written is found, and but for what differs from object to object both sides have
 * written the same.
 */
async function checkCreate({ ours, raw }: Bench & { readonly raw: Calls }): Promise<void> {
  const name = nextName()
  const [left, right] = await both(ours, raw, ({ namespace, create }) => create(addressNamed(namespace, name)))
  assert.deepEqual(comparable(left), comparable(right))
  for (const written of [left, right]) await checkFound(ours, written)
}

async function checkUpdate({ ours, raw }: Bench & { readonly raw: Calls }): Promise<void> {
  const name = nextName()
  const [left, right] = await both(ours, raw, async ({ namespace, create, update }) => {
    const first = await create(addressNamed(namespace, name))
    const second = await update(changed(first))
    await assert.rejects(update(changed(first)))
    return second
  })
  assert.deepEqual(comparable(left), comparable(right))
  for (const written of [left, right]) await checkFound(ours, written)
}

async function checkWatch({ ours, raw }: Bench & { readonly raw: Calls }): Promise<void> {
  for (const calls of [ours, raw]) {
    const hearing = new Hearing()
    const stop = await calls.watch((told) => hearing.told(told))
    const first = await calls.create(addressNamed(calls.namespace, nextName()))
    const [written, heard] = await Promise.all([calls.update(changed(first)), hearing.of(1)])
    await stop()
    assert.deepEqual(plain(heard), plain(written))
  }
}

async function checkList({ ours, raw }: Bench & { readonly raw: Calls }): Promise<void> {
  const [left, right] = await both(ours, raw, ({ list }) => list(NAMESPACES.many))
  // of a cluster it goes on by itself
  assert(BigInt(right.resourceVersion) >= BigInt(left.resourceVersion) && left.resourceVersion !== '0')
  assert.deepEqual(plain(left.items), plain(right.items))
}

async function checkFound({ list }: Calls, written: KubeObject): Promise<void> {
  const { items } = await list(written.metadata.namespace!)
  const found = items.find(({ metadata }) => metadata.uid === written.metadata.uid)
  assert.deepEqual(plain(found), plain(written))
}

async function both<T>(ours: Calls, raw: Calls, one: (calls: Calls) => Promise<T>): Promise<[T, T]> {
  return [await one(ours), await one(raw)]
}

function comparable({ metadata, ...rest }: KubeObject): unknown {
  const { namespace: _1, uid: _2, resourceVersion: _3, creationTimestamp: _4, ...others } = metadata
  const { managedFields: _5, ...same } = others as { managedFields?: unknown }
  return plain({ ...rest, metadata: same })
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
