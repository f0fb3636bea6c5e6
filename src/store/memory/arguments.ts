import type { ObjectRef } from '../../crd/meta/object.js'
import { ipamError } from '../../errors/index.js'
import type { ListQuery, Preconditions, Subresource, WatchOptions } from '../store.js'

/** Guards against callers without types: what is checked here is a mistake in the calling code, not an object to be refused. */

export function assertRef(ref: ObjectRef): void {
  assertObject('ref', ref)
  assertText('ref.apiVersion', ref.apiVersion)
  assertText('ref.kind', ref.kind)
  assertText('ref.name', ref.name)
  if (ref.namespace !== undefined) assertText('ref.namespace', ref.namespace)
}

export function assertQuery(query: ListQuery): void {
  assertObject('query', query)
  assertText('query.apiVersion', query.apiVersion)
  assertText('query.kind', query.kind)
  if (query.namespace !== undefined) assertText('query.namespace', query.namespace)
  if (query.labels === undefined) return
  assertObject('query.labels', query.labels)
  for (const [key, value] of Object.entries(query.labels)) assertText(`query.labels.${key}`, value)
}

export function assertPreconditions(conditions: Preconditions): void {
  assertObject('options', conditions)
  if (conditions.uid !== undefined) assertText('options.uid', conditions.uid)
  if (conditions.resourceVersion !== undefined) assertText('options.resourceVersion', conditions.resourceVersion)
}

export function assertWatchOptions(options: WatchOptions): void {
  assertObject('options', options)
  if (options.resourceVersion !== undefined) assertText('options.resourceVersion', options.resourceVersion)
}

export function assertSubresource(options: { readonly subresource?: Subresource | undefined }): void {
  assertObject('options', options)
  const { subresource } = options
  if (subresource !== undefined && subresource !== 'status')
    throw mistake('options.subresource', "'status'", subresource)
}

export function assertObject(argument: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw mistake(argument, 'an object', value)
}

export function assertFunction(argument: string, value: unknown): void {
  if (typeof value !== 'function') throw mistake(argument, 'a function', value)
}

export function assertText(argument: string, value: unknown): void {
  if (typeof value !== 'string') throw mistake(argument, 'a string', value)
}

export function assertInteger(
  argument: string,
  value: unknown,
  range: { readonly min: number; readonly max: number },
): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= range.min && value <= range.max) return
  throw mistake(argument, `a whole number from ${range.min} to ${range.max}`, value)
}

export function mistake(argument: string, expected: string, value: unknown): Error {
  return ipamError('INVALID_ARGUMENT', { argument, expected, got: show(value) })
}

function show(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' || typeof value === 'string' ? String(value) : typeof value
}
