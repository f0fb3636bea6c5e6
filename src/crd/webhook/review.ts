import * as z from 'zod'
import { INVALID_OBJECT } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import { pathText } from '../meta/json.js'
import { knownObject } from '../meta/model.js'

/** What an API server sends to a webhook: its kind and version, and how its request is read. */
export interface ReviewKind<T> {
  readonly apiVersion: string
  readonly kind: string
  readonly request: z.ZodType<T>
}

/** The request of a review, or why it is not one of this kind and version, or not complete. */
export function requestOf<T>(
  review: unknown,
  { apiVersion, kind, request }: ReviewKind<T>,
): Result<T, 'OBJECT_KIND_MISMATCH' | 'INVALID_OBJECT'> {
  const known = knownObject(review, kind, [apiVersion])
  if (!known.ok) return known
  const parsed = z.looseObject({ request }).safeParse(known.value)
  if (parsed.success) return { ok: true, value: parsed.data.request }
  const issues = parsed.error.issues.map((issue) => ({ path: pathText(issue.path), message: issue.message }))
  return failWith(INVALID_OBJECT, { kind, name: '', issues })
}
