import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { Admission } from '../meta/admission.js'
import type { Json } from '../meta/object.js'
import { type JsonPatch, type JsonPatchOperation, sameJson } from '../meta/patch.js'

/**
 * The one answer of several rules to a request. If a rule refuses, the request is refused: with the
 * first refusal, and the messages of further ones as warnings. Else it is allowed, with the patches
 * one behind the other. Each rule makes its patch for the object as it was sent. An operation that
 * two rules have in common, such as adding empty annotations, stands once. O(operations^2).
 *
 * @throws IpamError `INVALID_ARGUMENT` for two rules that patch one path, or a path and one below
 * it. It is an error of the program: the result would depend on the order of its rules
 * @example
 * const sets = (name) => [
 *   { op: 'add', path: '/metadata/labels', value: {} },
 *   { op: 'add', path: `/metadata/labels/${name}`, value: 'x' },
 * ]
 * const merged = mergeAdmissions(['a', 'b'].map((name) => ({ allowed: true, warnings: [], patch: sets(name) })))
 * merged.patch.map(({ path }) => path) // ['/metadata/labels', '/metadata/labels/a', '/metadata/labels/b']
 */
export function mergeAdmissions(admissions: readonly Admission[]): Admission {
  check<unknown>('mergeAdmissions', 'admissions', admissions, ['list', ['open', { allowed: 'flag', patch: 'list?' }]])
  const refusals = admissions.filter((each) => !each.allowed)
  const [refusal, ...others] = refusals
  const warnings = [...admissions.flatMap((each) => each.warnings ?? []), ...others.map(({ message }) => message)]
  if (refusal !== undefined) return warnings.length === 0 ? refusal : { ...refusal, warnings }
  const patch = mergedPatch(admissions.flatMap((each) => (each.allowed && each.patch ? [each.patch] : [])))
  return { allowed: true, warnings, ...(patch.length > 0 && { patch }) }
}

function mergedPatch(patches: readonly JsonPatch[]): JsonPatch {
  const merged: JsonPatchOperation[] = []
  for (const patch of patches) {
    const fresh = patch.filter((operation) => !merged.some((other) => isSame(operation, other)))
    const others = merged.filter((other) => !patch.some((operation) => isSame(operation, other)))
    const clash = fresh.find((operation) => others.some((other) => meet(operation, other)))
    if (clash !== undefined) refuse('mergeAdmissions', 'admissions', 'patches of different paths', clash.path)
    merged.push(...fresh)
  }
  return merged
}

function isSame(one: JsonPatchOperation, other: JsonPatchOperation): boolean {
  return sameJson(one as unknown as Json, other as unknown as Json)
}

/** Whether two operations change one path, or one of them a path below that of the other. */
function meet(one: JsonPatchOperation, other: JsonPatchOperation): boolean {
  return changed(one).some((path) => changed(other).some((its) => isWithin(path, its) || isWithin(its, path)))
}

function changed(operation: JsonPatchOperation): readonly string[] {
  if (operation.op === 'test') return []
  return operation.op === 'move' ? [operation.path, operation.from] : [operation.path]
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`)
}
