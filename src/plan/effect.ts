import { type Json, KUBE, type KubeObject, type ObjectRef, type Propagation, REF, refOf } from '../crd/meta/object.js'
import type { JsonPatch, MergePatch } from '../crd/meta/patch.js'
import { check, isObject, type Kind, type KindOf } from '../errors/check.js'
import type { WholeObject } from './selection.js'

export type { Propagation } from '../crd/meta/object.js'
export type { JsonPatch, MergePatch } from '../crd/meta/patch.js'

/** What must still be true of an object when a write is done. */
export interface EffectPrecondition {
  readonly uid?: string | undefined
  /** The version that the plan was made from. Writes of the same plan carry it forward. */
  readonly resourceVersion?: string | undefined
}

/** Creates an object. Precondition: no object has the name. */
export interface CreateEffect {
  readonly kind: 'create'
  /** The object with all of its fields, not the part that a selection with `keep` keeps. */
  readonly object: WholeObject
  /** Why the write is made, in words: `explain` repeats it. */
  readonly why: string
}

/** Changes fields of an object. */
export type PatchEffect = MergePatchEffect | JsonPatchEffect

export interface PatchOf<P> {
  readonly kind: 'patch'
  readonly ref: ObjectRef
  readonly patch: P
  /** `status`: the patch changes only the status. */
  readonly subresource?: 'status' | undefined
  readonly why: string
}

/**
 * Changes fields of an object by a JSON merge patch (RFC 7396). Its condition names no fields, as a
 * merge patch has no tests.
 */
export interface MergePatchEffect extends PatchOf<MergePatch> {
  readonly if: EffectPrecondition & { readonly fields?: undefined }
}

/**
 * Changes fields of an object by a JSON patch (RFC 6902). Tests at its beginning are guards, as the
 * fields of its condition are. A test after a change is part of the patch: if it does not hold, the
 * store refuses the patch.
 */
export interface JsonPatchEffect extends PatchOf<JsonPatch> {
  readonly if: FieldPrecondition
}

/**
 * What must still be true of an object, and of some of its fields. Use it for objects that other
 * components change every few seconds, such as Nodes. A patch for a resourceVersion would conflict
 * each time.
 */
export interface FieldPrecondition extends EffectPrecondition {
  /**
   * Values by the path of their field: `spec.podCIDRs`, or a JSON pointer for keys with dots
   * (`/metadata/annotations/a.b~1c`). `null`: the object does not have the field, and the parent of
   * the field exists. A guard that does not hold is a conflict, as a stale resourceVersion is.
   *
   * Name a field that the patch sets to another value or removes. Without a resourceVersion, only
   * such a patch can be sent again if it was not answered: `settle` can then tell that the first
   * patch is not done later.
   */
  readonly fields?: { readonly [path: string]: Json } | undefined
}

/** Deletes one particular object, never a later object of the same name. */
export interface DeleteEffect {
  readonly kind: 'delete'
  readonly ref: ObjectRef
  readonly if: EffectPrecondition & { readonly uid: string }
  /** Left out: as the finalizers of the object say, or else `Background`. */
  readonly propagation?: Propagation | undefined
  readonly why: string
}

/**
 * Changes nothing, and stops the plan if this object exists: the reverse of a {@link guard}. The
 * plan continues if the name is free, or if another object has the name. Put it before an effect
 * that would do harm if the object existed.
 *
 * The cache of a planner may be old. So the host reads the store when the plan is carried out, and
 * never a cache. The planner then observes the absence as `confirmed`.
 */
export interface AbsentEffect {
  readonly kind: 'absent'
  readonly ref: ObjectRef
  /**
   * The uid of the object. Left out: no object at all may have the name. Such an absence can end at
   * any time, so the planner does not observe it.
   */
  readonly uid?: string | undefined
  /**
   * An annotation that may have the uid in place of `metadata.uid`. The object exists if either one
   * has it. Only with `uid`.
   */
  readonly uidAnnotation?: string | undefined
  readonly why: string
}

/**
 * An event about an object, for people. It is never the only record of anything: it accompanies a
 * write, or a refusal of the store.
 */
export interface EventEffect {
  readonly kind: 'event'
  readonly about: ObjectRef
  /** The uid of the object. Programs that show the Events of an object select them by it. */
  readonly uid?: string | undefined
  readonly type: 'Normal' | 'Warning'
  /** CamelCase. */
  readonly reason: string
  readonly message: string
}

/**
 * A call to a system outside of the store, such as an IPAM product or a cloud. The provider and its
 * host agree on what it does and how the system is reached.
 *
 * `I` is the input of the call: JSON for an external system, a typed value for a part of the same
 * process.
 */
export interface ExternalCall<I = Json> {
  /** The name of the operation: `allocate`, `release`. */
  readonly operation: string
  /**
   * The marker under which the external system keeps the result of this call. A call is idempotent:
   * a second call with the same operation and key does nothing, and returns the result of the
   * first. An operation that only reads returns the present state.
   */
  readonly key: string
  /** The object for which the call is made. */
  readonly about: ObjectRef
  readonly input: I
}

/** A call as a host passes it on. The planner and the caller know its input. */
// biome-ignore lint/suspicious/noExplicitAny: inputs differ
export type AnyCall = ExternalCall<any>

/**
 * A call to an external system. It is the last effect of its plan, except for events. The planner
 * observes the result, and plans the next step from it.
 *
 * After a crash or a lost answer the same call is made again, with the same key. So a durable
 * intent is written before the call, and the intent stays until the call is answered.
 */
export interface ExternalEffect {
  readonly kind: 'external'
  readonly call: AnyCall
  readonly why: string
  /**
   * How long after it was sent the call can have an effect, in seconds, whether it was answered or
   * not. Left out: not known.
   */
  readonly effectSeconds?: number | undefined
  /**
   * The object that will have what the call asks for. It is pending, as if it were about to be
   * created, until the plan has ended.
   */
  readonly pending?: KubeObject | undefined
}

/**
 * One step of a plan. Every write carries its precondition, so a plan from an outdated cache
 * changes nothing.
 */
export type Effect = CreateEffect | PatchEffect | DeleteEffect | AbsentEffect | EventEffect | ExternalEffect

const patchFault = (given: unknown) =>
  isObject(given) || (Array.isArray(given) && given.every(isObject)) ? undefined : 'a merge patch or a JSON patch'

/** What is read of an effect. */
export const EFFECT: Kind = [
  'by',
  'kind',
  {
    create: ['open', { object: ['open', { apiVersion: 'text', kind: 'text', metadata: 'object' }] }],
    patch: ['open', { ref: REF as Kind, if: 'object', patch: patchFault }],
    delete: ['open', { ref: REF as Kind, if: 'object' }],
    absent: ['open', { ref: REF as Kind }],
    event: ['open', { about: REF as Kind }],
    external: ['open', { call: ['open', { operation: 'text', about: REF as Kind }] }],
  },
]

/** What is read of a plan. */
export const PLAN: Kind = ['open', { outcome: 'object', effects: ['list', EFFECT], wakes: ['list?', 'text'] }]

/** An effect that the store has refused. Nothing of it was done. */
export interface Refusal {
  readonly effect: Effect
  /** The code of the failure: `STORE_INVALID`, `STORE_IO`. */
  readonly code: string
  /** What could not be done, and the reason of the store. Up to 1,000 characters. */
  readonly message: string
}

const EVENT: KindOf<Pick<EventEffect, 'type' | 'reason' | 'message'>> = [
  'open',
  { type: ['one', { Normal: 1, Warning: 1 }], reason: 'text', message: 'text' },
]

/** An event about an object that was read. */
export function eventAbout(object: KubeObject, event: Pick<EventEffect, 'type' | 'reason' | 'message'>): EventEffect {
  check('eventAbout', 'object', object, KUBE)
  check('eventAbout', 'event', event, EVENT)

  return { kind: 'event', about: refOf(object), uid: object.metadata.uid, ...event }
}

/**
 * A patch of an object that was read. It is done only if the object still has the same uid and
 * version.
 */
export function patchObject(object: KubeObject, patch: MergePatch, why: string): MergePatchEffect {
  assertEffect('patchObject', object, why)
  check('patchObject', 'patch', patch, 'object')
  return patchOf(object, patch, why)
}

function assertEffect(of: string, object: KubeObject, why: string): void {
  check(of, 'object', object, KUBE)
  check(of, 'why', why, 'text')
}

function patchOf(object: KubeObject, patch: MergePatch, why: string): MergePatchEffect {
  const { uid, resourceVersion } = object.metadata
  return { kind: 'patch', ref: refOf(object), patch, if: { uid, resourceVersion }, why }
}

/**
 * The deletion of an object that was read. It is done only if the object still has the same uid and
 * version.
 */
export function deleteObject(
  object: KubeObject,
  why: string,
  options: Pick<DeleteEffect, 'propagation'> = {},
): DeleteEffect {
  assertEffect('deleteObject', object, why)
  check('deleteObject', 'options', options, 'object')

  const { uid = '', resourceVersion } = object.metadata
  return { kind: 'delete', ref: refOf(object), if: { uid, resourceVersion }, ...options, why }
}

/**
 * A patch of an object that was read. It is done only if the object still has the same uid, and
 * these fields have these values, in any version.
 */
export function patchIfFields(
  object: KubeObject,
  fields: NonNullable<FieldPrecondition['fields']>,
  patch: JsonPatch,
  why: string,
): JsonPatchEffect {
  assertEffect('patchIfFields', object, why)
  check('patchIfFields', 'fields', fields, 'object')
  check('patchIfFields', 'patch', patch, ['list', 'object'])

  return { kind: 'patch', ref: refOf(object), patch, if: { uid: object.metadata.uid, fields }, why }
}

/**
 * Changes nothing, and stops the plan if the object no longer has the uid and version that were
 * read. Put it before an effect on another object that would do harm if this object was outdated,
 * such as a deletion that depends on a claim.
 */
export function guard(object: KubeObject, why: string): MergePatchEffect {
  assertEffect('guard', object, why)
  return patchOf(object, {}, why)
}

/** As {@link patchObject}, for the status only. */
export function patchStatus(object: KubeObject, patch: MergePatch, why: string): MergePatchEffect {
  assertEffect('patchStatus', object, why)
  check('patchStatus', 'patch', patch, 'object')
  return { ...patchOf(object, patch, why), subresource: 'status' }
}

/** Adds a finalizer after the existing ones. */
export function addFinalizer(object: WholeObject, finalizer: string, why: string): MergePatchEffect {
  assertEffect('addFinalizer', object, why)
  check('addFinalizer', 'finalizer', finalizer, 'text')
  return patchOf(object, { metadata: { finalizers: [...(object.metadata.finalizers ?? []), finalizer] } }, why)
}

/** Removes a finalizer, and leaves all others. */
export function removeFinalizer(object: WholeObject, finalizer: string, why: string): MergePatchEffect {
  assertEffect('removeFinalizer', object, why)
  check('removeFinalizer', 'finalizer', finalizer, 'text')
  const finalizers = (object.metadata.finalizers ?? []).filter((held) => held !== finalizer)
  return patchOf(object, { metadata: { finalizers } }, why)
}
