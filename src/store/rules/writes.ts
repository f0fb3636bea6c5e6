import type { Json, KubeObject } from '../../crd/meta/object.js'
import { sameJson } from '../../crd/meta/patch.js'
import { STORE_CONFLICT, STORE_INVALID } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { quote } from '../../errors/quote.js'
import type { Preconditions, Propagation, StoreErrorCode, Subresource } from '../store.js'
import { asJson, type Draft, type StoredMeta, type StoredObject } from './draft.js'
import type { JsonObject, Problem } from './json.js'
import type { KindRules } from './kind-rules.js'
import { finalizersOf, metadataProblem } from './metadata.js'

/**
 * The rules of a Kubernetes API server for writing one object, as functions from the object before
 * to the object after: no state, no clock. They follow kube-apiserver 1.36 on custom resources.
 */

/** What a write comes to. Nothing has changed if `after` is the object before. */
export interface Write {
  /** `undefined`: the object is gone. */
  readonly after: StoredObject | undefined
  /** What the caller is told. */
  readonly answer: StoredObject
}

/** What the server gives to a new object. */
export interface Birth {
  readonly uid: string
  readonly resourceVersion: string
  readonly creationTimestamp: string
}

export interface UpdateContext {
  readonly rules: KindRules
  readonly subresource: Subresource | undefined
  /** The resourceVersion that the write gets if it changes something. */
  readonly resourceVersion: string
  /** The object in words, for failures. */
  readonly shown: string
}

/** Why a new object is refused, if it is. */
export function creationProblem(draft: Draft): Problem | undefined {
  if (givenVersion(draft) !== undefined) {
    return { path: 'metadata.resourceVersion', problem: 'must not be set on an object to be created' }
  }
  return metadataProblem(draft.metadata)
}

/** Why an update is refused whatever is there, if it is. */
export function updateProblem(draft: Draft): Problem | undefined {
  if (givenVersion(draft) !== undefined) return undefined
  return { path: 'metadata.resourceVersion', problem: 'must be specified for an update' }
}

/** The object that a checked draft becomes. */
export function created(draft: Draft, rules: KindRules, birth: Birth): StoredObject {
  const { deletionTimestamp: _1, deletionGracePeriodSeconds: _2, ...metadata } = draft.metadata
  const object = rules.statusSubresource ? withStatus(draft.json, undefined) : draft.json
  return stored(object, { ...metadata, ...birth, generation: 1 })
}

/** The object after a write of the whole of it, or of its status. */
export function updated(before: StoredObject, draft: Draft, context: UpdateContext): Result<Write, StoreErrorCode> {
  const stale = staleness(before, draft, context.shown)
  if (stale !== undefined) return stale
  if (context.subresource === 'status') {
    return ok(rewritten(before, withStatus(asJson(before), draft.json.status), context))
  }
  const problem = metadataProblem(draft.metadata) ?? deletionProblem(before, draft)
  if (problem !== undefined) return failWith(STORE_INVALID, { object: context.shown, ...problem })
  const object = context.rules.statusSubresource ? withStatus(draft.json, asJson(before).status) : draft.json
  return ok(rewritten(before, { ...object, metadata: { ...draft.metadata, ...serverFields(before) } }, context))
}

/** Whom a deletion waits for, and since when. */
export interface DeletionContext {
  readonly propagation: Propagation | undefined
  readonly resourceVersion: string
  readonly deletionTimestamp: string
}

/** The object after a deletion: gone, or held by its finalizers. */
export function deleted(before: StoredObject, context: DeletionContext): Write {
  const { metadata } = before
  const held = finalizersOf(asJson(before).metadata)
  const finalizers = heldFor(held, context.propagation)
  if (finalizers.length === 0) return { after: undefined, answer: withVersion(before, context.resourceVersion) }
  const isDeleting = metadata.deletionTimestamp !== undefined
  if (isDeleting && finalizers === held) return { after: before, answer: before }
  const deletion = {
    generation: metadata.generation + 1,
    deletionTimestamp: context.deletionTimestamp,
    deletionGracePeriodSeconds: 0,
  }
  const after = stored(asJson(before), {
    ...withoutFinalizers(asJson(before).metadata),
    ...(finalizers.length > 0 ? { finalizers: Object.freeze(finalizers) } : {}),
    resourceVersion: context.resourceVersion,
    ...(isDeleting ? {} : deletion),
  })
  return { after, answer: after }
}

/**
 * The finalizers that a deletion leaves: those of the object, and of the collector the one that was
 * asked for.
 */
function heldFor(finalizers: readonly string[], propagation: Propagation | undefined): readonly string[] {
  if (propagation === undefined) return finalizers
  const wanted = COLLECTOR_FINALIZERS[propagation]
  const isAsWanted = COLLECTOR.every((finalizer) => finalizers.includes(finalizer) === (finalizer === wanted))
  if (isAsWanted) return finalizers
  const others = finalizers.filter((finalizer) => !COLLECTOR.includes(finalizer))
  return wanted === undefined ? others : [...others, wanted]
}

/** The finalizer by which an object waits for the garbage collector. */
const COLLECTOR_FINALIZERS: { readonly [P in Propagation]: string | undefined } = {
  Background: undefined,
  Foreground: 'foregroundDeletion',
  Orphan: 'orphan',
}
const COLLECTOR: readonly string[] = ['foregroundDeletion', 'orphan']

function withoutFinalizers(metadata: JsonObject): JsonObject {
  const { finalizers: _, ...rest } = metadata
  return rest
}

/** The failure of a write that was made for another object or another version of it. */
export function conflict(
  { metadata }: KubeObject,
  conditions: Preconditions,
  object: string,
): Result<never, StoreErrorCode> | undefined {
  for (const field of ['uid', 'resourceVersion'] as const) {
    const wanted = conditions[field]
    if (wanted === undefined || wanted === metadata[field]) continue
    const actual = quote(metadata[field] ?? '')
    return failWith(STORE_CONFLICT, { object, expected: `${field} ${quote(wanted)}`, actual })
  }
  return undefined
}

/** The same object under another resourceVersion: how a watch shows one that is gone. */
export function withVersion(object: StoredObject, resourceVersion: string): StoredObject {
  return stored(asJson(object), { ...asJson(object).metadata, resourceVersion })
}

export function scopeProblem(rules: KindRules, namespace: string | undefined): Problem | undefined {
  if (rules.namespaced === true && namespace === undefined) {
    return { path: 'metadata.namespace', problem: 'is required, the kind is namespaced' }
  }
  if (rules.namespaced === false && namespace !== undefined) {
    return { path: 'metadata.namespace', problem: 'is not allowed, the kind is cluster-scoped' }
  }
  return undefined
}

export function subresourceProblem(rules: KindRules, subresource: Subresource | undefined): Problem | undefined {
  return subresource === 'status' && !rules.statusSubresource
    ? { path: 'status', problem: 'is not a subresource of this kind' }
    : undefined
}

/** In the order of the API server: another object, no version, another version. */
function staleness(before: StoredObject, draft: Draft, shown: string): Result<never, StoreErrorCode> | undefined {
  const { uid } = draft.metadata as { readonly uid?: string }
  const resourceVersion = givenVersion(draft)
  const otherObject = conflict(before, { uid }, shown)
  if (otherObject !== undefined) return otherObject
  const problem = updateProblem(draft)
  return problem === undefined
    ? conflict(before, { resourceVersion }, shown)
    : failWith(STORE_INVALID, { object: shown, ...problem })
}

/**
 * What an update may not do to a deletion: begin it, change its grace period, hold it up with new
 * finalizers.
 */
function deletionProblem(before: StoredObject, { metadata }: Draft): Problem | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds } = before.metadata
  if (deletionTimestamp === undefined && metadata.deletionTimestamp !== undefined) {
    return { path: 'metadata.deletionTimestamp', problem: 'is immutable' }
  }
  if (!sameJson(metadata.deletionGracePeriodSeconds ?? deletionGracePeriodSeconds, deletionGracePeriodSeconds)) {
    return { path: 'metadata.deletionGracePeriodSeconds', problem: 'is immutable' }
  }
  if (deletionTimestamp === undefined) return undefined
  const held = new Set(finalizersOf(asJson(before).metadata))
  const added = finalizersOf(metadata).find((finalizer) => !held.has(finalizer))
  if (added === undefined) return undefined
  const problem = `no finalizer can be added to an object that is being deleted, found ${quote(added)}`
  return { path: 'metadata.finalizers', problem }
}

/** @param object has the resourceVersion and generation of the object before */
function rewritten(before: StoredObject, object: JsonObject, context: UpdateContext): Write {
  // another version of the API is the same object in other words
  if (sameJson({ ...object, apiVersion: before.apiVersion }, asJson(before))) return { after: before, answer: before }
  const metadata = object.metadata as JsonObject
  const rises = context.subresource !== 'status' && !sameJson(content(object), content(asJson(before)))
  const generation = before.metadata.generation + (rises ? 1 : 0)

  if (before.metadata.deletionTimestamp !== undefined && finalizersOf(metadata).length === 0) {
    // the write itself is never stored: the caller sees it under the version that it was made from
    return { after: undefined, answer: stored(object, { ...metadata, generation }) }
  }
  const after = stored(object, { ...metadata, generation, resourceVersion: context.resourceVersion })
  return { after, answer: after }
}

/** What a change of raises the generation. */
function content(object: JsonObject): JsonObject {
  const { apiVersion: _1, metadata: _2, ...rest } = object
  return rest
}

/** The metadata that no update changes. */
function serverFields({ metadata }: StoredObject): JsonObject {
  const { uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } =
    metadata
  const fields = { uid, resourceVersion, generation, creationTimestamp }
  return deletionTimestamp === undefined ? fields : { ...fields, deletionTimestamp, deletionGracePeriodSeconds }
}

/** As in Go, where 0 is no version. */
function givenVersion({ metadata }: Draft): string | undefined {
  const { resourceVersion } = metadata as { readonly resourceVersion?: string }
  return resourceVersion === '0' ? undefined : resourceVersion
}

function withStatus(object: JsonObject, status: Json | undefined): JsonObject {
  const { status: _, ...rest } = object
  return status === undefined ? rest : { ...rest, status }
}

/** @param object its fields are frozen already, only the object and its metadata are new */
function stored(object: JsonObject, metadata: JsonObject): StoredObject {
  const frozen: unknown = Object.freeze({ ...object, metadata: Object.freeze(metadata) as unknown as StoredMeta })
  return frozen as StoredObject
}
