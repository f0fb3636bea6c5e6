import { type Json, type KubeObject, type ObjectRef, type Propagation, refOf } from '../crd/meta/object.js'
import type { JsonPatch, MergePatch } from '../crd/meta/patch.js'
import { assertKube, assertObject, assertObjects, assertParts, assertString } from '../errors/checks.js'
import type { WholeObject } from './selection.js'

export type { Propagation } from '../crd/meta/object.js'
export type { JsonPatch, MergePatch } from '../crd/meta/patch.js'

/** What must still be true of an object for a write to be done. */
export interface EffectPrecondition {
  readonly uid?: string | undefined
  /** The version that the plan was made from. Writes of the same plan carry it forward. */
  readonly resourceVersion?: string | undefined
}

/** Creates an object. Precondition: there is none of that name. */
export interface CreateEffect {
  readonly kind: 'create'
  /** With all of its fields: not what a selection with `keep` remembers of one. */
  readonly object: WholeObject
  /** Why, in words: `explain` repeats it. */
  readonly why: string
}

/** Changes fields of an object. */
export type PatchEffect = MergePatchEffect | JsonPatchEffect

interface PatchOf<P> {
  readonly kind: 'patch'
  readonly ref: ObjectRef
  readonly patch: P
  /** `status`: the patch is for the status alone. */
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
 * Changes fields of an object by a JSON patch (RFC 6902). The tests that it begins with are guards,
 * as the fields of its condition are. A test after a change is part of the patch: if it does not
 * hold, the store refuses the patch.
 */
export interface JsonPatchEffect extends PatchOf<JsonPatch> {
  readonly if: FieldPrecondition
}

/**
 * What must still be true of an object, and of some of its fields. It is for objects that other
 * components change every few seconds, such as Nodes: a patch for a resourceVersion would meet a
 * conflict each time.
 */
export interface FieldPrecondition extends EffectPrecondition {
  /**
   * Values by the path of their field: `spec.podCIDRs`, or a JSON pointer for keys with dots
   * (`/metadata/annotations/a.b~1c`). `null`: the object does not have the field, but the object
   * that the field is in exists. A guard that does not hold is a conflict, as a stale
   * resourceVersion is.
   *
   * Name a field that the patch sets to another value or removes. Without a resourceVersion, only
   * such a patch can be sent again when it was not answered: `settle` knows then that the first one
   * is not done later.
   */
  readonly fields?: { readonly [path: string]: Json } | undefined
}

/** Deletes one particular object: never another one that has got its name since. */
export interface DeleteEffect {
  readonly kind: 'delete'
  readonly ref: ObjectRef
  readonly if: EffectPrecondition & { readonly uid: string }
  /** Left out: as the finalizers of the object say, else `Background`. */
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
   * An annotation that may have the uid in place of the object's own: the object is there under
   * either. Only with `uid`.
   */
  readonly uidAnnotation?: string | undefined
  readonly why: string
}

/**
 * Tells people. Never the only record of anything, and never without a write that it goes with, or
 * that the store has refused.
 */
export interface EventEffect {
  readonly kind: 'event'
  readonly about: ObjectRef
  /** Of that object: what shows the Events of an object looks for those with its uid. */
  readonly uid?: string | undefined
  readonly type: 'Normal' | 'Warning'
  /** CamelCase. */
  readonly reason: string
  readonly message: string
}

/**
 * A call to a system outside of the store: an IPAM product, a cloud. What it is and how it is
 * reached is between the provider and its host.
 *
 * `I` is what is asked: JSON for an external system, a typed value for a part of the same process.
 */
export interface ExternalCall<I = Json> {
  /** What is asked for: `allocate`, `release`. */
  readonly operation: string
  /**
   * The marker under which the external system keeps what it does for this call. The same operation
   * under the same key is the same thing: asked twice it is done once, and the second answer is
   * that of the first. An operation that only reads is answered with what is so now.
   */
  readonly key: string
  /** The object that it is for. */
  readonly about: ObjectRef
  readonly input: I
}

/** A call as a host hands it on: what it asks is known to the planner and to the caller. */
// biome-ignore lint/suspicious/noExplicitAny: it differs
export type AnyCall = ExternalCall<any>

/**
 * Asks an external system. It is the last effect of its plan, but for events: the answer is shown
 * to the planner, and what comes next is planned from it.
 *
 * A crash, or an answer that was lost, leads to the same call under the same key again. So a
 * durable intent is written before it, and nothing of the intent is taken back before it is
 * answered.
 */
export interface ExternalEffect {
  readonly kind: 'external'
  readonly call: AnyCall
  readonly why: string
  /**
   * What the call asks for, as the object that has it when the call succeeds. A planner reserves it
   * as if it were about to be created, until the call has ended.
   */
  readonly pending?: KubeObject | undefined
}

/**
 * One step of a plan. Every write carries its precondition, so a plan made from old facts does
 * nothing.
 */
export type Effect = CreateEffect | PatchEffect | DeleteEffect | AbsentEffect | EventEffect | ExternalEffect

/** An effect that the store has refused: nothing of it was done. */
export interface Refusal {
  readonly effect: Effect
  /** The code of the failure: `STORE_INVALID`, `STORE_IO`. */
  readonly code: string
  /** What could not be done, and what the store says about it. Up to 1,000 characters. */
  readonly message: string
}

/** Tells people about an object that was read. */
export function eventAbout(object: KubeObject, event: Pick<EventEffect, 'type' | 'reason' | 'message'>): EventEffect {
  assertKube('eventAbout', 'object', object)
  assertParts('eventAbout', 'event', event, { type: 'text', reason: 'text', message: 'text' })

  return { kind: 'event', about: refOf(object), uid: object.metadata.uid, ...event }
}

/**
 * A patch of an object that was read, on the condition that it is still that object in that
 * version.
 */
export function patchObject(object: KubeObject, patch: MergePatch, why: string): MergePatchEffect {
  assertEffect('patchObject', object, why)
  assertObject('patchObject', 'patch', patch)
  return patchOf(object, patch, why)
}

function assertEffect(of: string, object: KubeObject, why: string): void {
  assertKube(of, 'object', object)
  assertString(of, 'why', why)
}

function patchOf(object: KubeObject, patch: MergePatch, why: string): MergePatchEffect {
  const { uid, resourceVersion } = object.metadata
  return { kind: 'patch', ref: refOf(object), patch, if: { uid, resourceVersion }, why }
}

/**
 * The deletion of an object that was read, on the condition that it is still that object in that
 * version.
 */
export function deleteObject(
  object: KubeObject,
  why: string,
  options: Pick<DeleteEffect, 'propagation'> = {},
): DeleteEffect {
  assertEffect('deleteObject', object, why)
  assertObject('deleteObject', 'options', options)

  const { uid = '', resourceVersion } = object.metadata
  return { kind: 'delete', ref: refOf(object), if: { uid, resourceVersion }, ...options, why }
}

/**
 * A patch of an object that was read, on the condition that it is still that object, and that these
 * fields have these values, in whichever version.
 */
export function patchIfFields(
  object: KubeObject,
  fields: NonNullable<FieldPrecondition['fields']>,
  patch: JsonPatch,
  why: string,
): JsonPatchEffect {
  assertEffect('patchIfFields', object, why)
  assertObject('patchIfFields', 'fields', fields)
  assertObjects('patchIfFields', 'patch', patch)

  return { kind: 'patch', ref: refOf(object), patch, if: { uid: object.metadata.uid, fields }, why }
}

/**
 * Changes nothing, and stops the plan if the object is no longer the one, in the version, that was
 * read. Goes before an effect on another object that would do harm if this one were out of date:
 * nothing is destroyed for a claim that is another one by now.
 */
export function guard(object: KubeObject, why: string): MergePatchEffect {
  assertEffect('guard', object, why)
  return patchOf(object, {}, why)
}

/** As {@link patchObject}, for the status alone. */
export function patchStatus(object: KubeObject, patch: MergePatch, why: string): MergePatchEffect {
  assertEffect('patchStatus', object, why)
  assertObject('patchStatus', 'patch', patch)
  return { ...patchOf(object, patch, why), subresource: 'status' }
}

/** Adds a finalizer behind those that the object has. */
export function addFinalizer(object: WholeObject, finalizer: string, why: string): MergePatchEffect {
  assertEffect('addFinalizer', object, why)
  assertString('addFinalizer', 'finalizer', finalizer)
  return patchOf(object, { metadata: { finalizers: [...(object.metadata.finalizers ?? []), finalizer] } }, why)
}

/** Removes a finalizer and leaves those of others. */
export function removeFinalizer(object: WholeObject, finalizer: string, why: string): MergePatchEffect {
  assertEffect('removeFinalizer', object, why)
  assertString('removeFinalizer', 'finalizer', finalizer)
  const finalizers = (object.metadata.finalizers ?? []).filter((held) => held !== finalizer)
  return patchOf(object, { metadata: { finalizers } }, why)
}
