import { IPHandle } from '../../../crd/ipam-kit/ip-handle.js'
import { type KubeObject, refOf } from '../../../crd/meta/object.js'
import { describe } from '../../../errors/index.js'
import type { Change, Plan, PlanTime } from '../../../plan/index.js'
import type { KnownBlocks } from '../known-blocks.js'
import type { OperatorOutcome } from '../operator/outcome.js'
import { type Owners, ownerAbsent } from './owners.js'

/** No block has such a name. */
const KEY = 'handle '
/** When it looks again for rows that have to go first. */
const ROWS_SECONDS = 60

/** Removes the handles of owners that are gone and have no rows any more. */
export class HandleSweep {
  readonly #graceMs: number
  readonly #handles = new Map<string, KubeObject>()
  /** The handles of an owner, by its uid. */
  readonly #byUid = new Map<string, string>()
  /** Since when owners are missing, by the uid of the owner. */
  readonly #missing = new Map<string, number>()

  constructor(graceSeconds: number) {
    this.#graceMs = graceSeconds * 1000
  }

  /** Whether a key is that of a handle. */
  has(key: string): boolean {
    return key.startsWith(KEY)
  }

  /** Takes a change of a handle in. @returns its key */
  observe(change: Change): string {
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    if (change.kind === 'present') {
      this.#handles.set(name, change.object)
      const read = IPHandle.safeParse(change.object)
      if (read.ok) this.#byUid.set(read.value.spec.uid, name)
    } else this.#forget(name)
    return KEY + name
  }

  /** The keys of the handles of owners, by their uids. */
  keysOf(uids: readonly string[]): readonly string[] {
    return uids.flatMap((uid) => {
      const name = this.#byUid.get(uid)
      return name === undefined ? [] : [KEY + name]
    })
  }

  plan(key: string, { nowMs }: PlanTime, owners: Owners, known: KnownBlocks): Plan<OperatorOutcome> | undefined {
    const object = this.#handles.get(key.slice(KEY.length))
    if (object === undefined) return undefined
    const read = IPHandle.safeParse(object)
    if (!read.ok) return { outcome: { kind: 'broken', message: describe(read.failure) }, effects: [] }
    const { spec, metadata } = read.value
    const owner = owners.refOf(spec)
    const message = `its owner ${spec.owner}`
    if (owner === undefined || metadata.uid === undefined || owners.isThere(owner, spec.uid)) {
      this.#missing.delete(spec.uid)
      const stays = owner === undefined ? 'is none that is looked for' : 'is there'
      return { outcome: { kind: 'ready', message: `${message} ${stays}` }, effects: [] }
    }
    const sinceMs = this.#missing.get(spec.uid)
    if (sinceMs === undefined) this.#missing.set(spec.uid, nowMs)
    const hasRows = known.rowsOf(spec.uid).length > 0
    const leftMs = Math.max((sinceMs ?? nowMs) + this.#graceMs - nowMs, hasRows ? ROWS_SECONDS * 1000 : 0)
    if (sinceMs === undefined || leftMs > 0) {
      const outcome = { kind: 'waiting', message: `${message} is missing${hasRows ? ', and has rows' : ''}` } as const
      return { outcome, effects: [], requeueAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)) }
    }
    const { uid, resourceVersion } = metadata
    const why = `${message} is gone`
    return {
      outcome: { kind: 'going', message: why },
      effects: [
        ownerAbsent(owner, spec.uid, 'a handle goes only if its owner is gone'),
        { kind: 'delete', ref: refOf(object), if: { uid, resourceVersion }, why },
      ],
    }
  }

  clear(): void {
    this.#handles.clear()
    this.#byUid.clear()
    this.#missing.clear()
  }

  #forget(name: string): void {
    const object = this.#handles.get(name)
    const read = object && IPHandle.safeParse(object)
    if (read?.ok === true) {
      this.#byUid.delete(read.value.spec.uid)
      this.#missing.delete(read.value.spec.uid)
    }
    this.#handles.delete(name)
  }
}
