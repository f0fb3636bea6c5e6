import type { Json } from '../../crd/meta/object.js'
import { STORE_INVALID, STORE_OBJECT_TOO_LARGE } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import type { Preconditions, StoreErrorCode } from '../store.js'
import { mistake } from './arguments.js'
import { isObject, type JsonObject, type Problem, toJson } from './json.js'

/** What a caller hands over, and how failures name it. */
export interface Input {
  readonly argument: 'object' | 'patch'
  readonly value: object
  readonly shown: () => string
}

/**
 * An object or an array of the caller as JSON.
 *
 * @throws IpamError `INVALID_ARGUMENT` for what is neither
 */
export function readJson({ argument, value, shown }: Input, maxBytes: number): Result<Json & object, StoreErrorCode> {
  const read = toJson(value, maxBytes)
  if (read.kind === 'too-large') {
    return failWith(STORE_OBJECT_TOO_LARGE, { object: shown(), sizeBytes: read.bytes, maxBytes })
  }
  if (read.kind === 'refused') return invalid(shown(), read.at, read.cause)
  if (typeof read.value !== 'object' || read.value === null) throw mistake(argument, 'an object', read.value)
  return ok(read.value)
}

export function assertPatch(patch: unknown): void {
  if (typeof patch !== 'object' || patch === null) throw mistake('patch', 'an object or an array', patch)
}

/**
 * For which object a merge patch is made, if it says so. In Go an empty text is none, nor is the
 * version 0.
 */
export function conditionsIn({ metadata }: JsonObject): Preconditions {
  if (!isObject(metadata)) return {}
  const { uid, resourceVersion } = metadata
  return {
    uid: typeof uid === 'string' && uid !== '' ? uid : undefined,
    resourceVersion: typeof resourceVersion === 'string' && !/^0?$/.test(resourceVersion) ? resourceVersion : undefined,
  }
}

export function invalid(object: string, { path, problem }: Problem, cause?: unknown): Result<never, StoreErrorCode> {
  return failWith(STORE_INVALID, { object, path, problem }, cause)
}
