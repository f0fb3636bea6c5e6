import type { Json, KubeObject } from '../crd/meta/object.js'
import { formatPointer, type JsonPatch, readPointer, sameJson, valueAtKeys } from '../crd/meta/patch.js'
import { refuse } from '../errors/refuse.js'
import type { JsonPatchEffect, MergePatchEffect, PatchEffect } from './effect.js'

/**
 * A value that a field must have for a patch to be done; null: the object does not have the field.
 */
export interface FieldGuard {
  readonly keys: readonly string[]
  readonly value: Json
}

/** Characters of a value in a message. */
const MAX_SHOWN = 100

/** Whether a patch is a JSON patch (RFC 6902), and not a merge patch. */
export function isJsonPatch(effect: PatchEffect): effect is JsonPatchEffect {
  return Array.isArray(effect.patch)
}

/**
 * The guards of a patch: the fields that its condition names, and the tests that its operations
 * begin with.
 */
export function fieldGuardsOf(effect: PatchEffect): readonly FieldGuard[] {
  if (!isJsonPatch(effect)) return []
  const guards = Object.entries(effect.if.fields ?? {}).map(([path, value]) => ({ keys: keysOf(path) ?? [], value }))
  for (const operation of effect.patch) {
    const keys = operation.op === 'test' ? readPointer(operation.path) : undefined
    if (operation.op !== 'test' || keys === undefined) break
    guards.push({ keys, value: operation.value as Json })
  }
  return guards
}

/**
 * The patch as a store accepts it: the fields of the condition become tests before its operations.
 * Programs that carry out plans without `runPlan` send this patch.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function compilePatch(effect: PatchEffect): MergePatchEffect['patch'] | JsonPatch {
  assertFieldGuards(effect)
  if (!isJsonPatch(effect)) return effect.patch
  const tests = Object.entries(effect.if.fields ?? {}).map(
    ([path, value]) => ({ op: 'test', path: formatPointer(keysOf(path)!), value }) as const,
  )
  return [...tests, ...effect.patch]
}

/**
 * The first guard of a patch that does not hold for an object, and the value that the field has.
 * `undefined`: all guards hold.
 */
export function failedGuard(
  effect: PatchEffect,
  object: KubeObject,
): { readonly expected: string; readonly actual: string } | undefined {
  for (const guard of fieldGuardsOf(effect)) {
    const value = valueAtKeys(object as unknown as Json, guard.keys)
    if (sameJson(value ?? null, guard.value)) continue
    return { expected: formatGuard(guard), actual: value === undefined ? 'none' : formatValue(value) }
  }
  return undefined
}

/** `no spec.podCIDRs`, or `spec.providerID "aws"`. */
export function formatGuard({ keys, value }: FieldGuard): string {
  return value === null ? `no ${formatKeys(keys)}` : `${formatKeys(keys)} ${formatValue(value)}`
}

/** `spec.podCIDRs`, or a JSON pointer where a key has a dot. */
export function formatKeys(keys: readonly string[]): string {
  return keys.some((key) => key.includes('.')) ? formatPointer(keys) : keys.join('.')
}

/** @throws IpamError `INVALID_ARGUMENT` for guards that a store cannot test */
export function assertFieldGuards(effect: PatchEffect): void {
  const fields: unknown = effect.if?.fields
  if (fields === undefined) return
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
    refuse('runPlan', 'if.fields', 'an object of field paths and their values', fields)
  }
  if (!isJsonPatch(effect)) {
    refuse(
      'runPlan',
      'patch',
      'a JSON patch, as the condition names fields: a merge patch has no tests',
      'a merge patch',
    )
  }
  for (const [path, value] of Object.entries(fields)) {
    if (keysOf(path) === undefined) {
      refuse(
        'runPlan',
        'if.fields',
        'paths such as spec.podCIDRs, or JSON pointers such as /metadata/annotations/a.b~1c',
        path,
      )
    }
    if (value === undefined) refuse('runPlan', 'if.fields', `a value of ${path}, or null for none`, value)
  }
}

/** The keys of a path. `undefined`: it is not a path. */
function keysOf(path: string): readonly string[] | undefined {
  const keys = path.startsWith('/') ? readPointer(path) : path.split('.')
  return keys?.every((key) => key !== '') === true ? keys : undefined
}

function formatValue(value: Json): string {
  const text = JSON.stringify(value)
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`
}
