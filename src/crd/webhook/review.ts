import * as z from 'zod'
import { ipamError } from '../../errors/failure.js'
import { unwrap } from '../../errors/index.js'
import { pathText } from '../meta/json.js'
import { knownObject } from '../meta/model.js'

/** What an API server sends to a webhook: its kind and version, and how its request is read. */
export interface ReviewKind<T> {
  readonly apiVersion: string
  readonly kind: string
  readonly request: z.ZodType<T>
}

/**
 * The request of a review.
 *
 * @throws IpamError `OBJECT_KIND_MISMATCH` for anything but a review of this kind and version,
 * `INVALID_OBJECT` for one whose request is not whole
 */
export function requestOf<T>(review: unknown, { apiVersion, kind, request }: ReviewKind<T>): T {
  const known = unwrap(knownObject(review, kind, [apiVersion]))
  const parsed = z.looseObject({ request }).safeParse(known)
  if (parsed.success) return parsed.data.request
  const issues = parsed.error.issues.map((issue) => ({ path: pathText(issue.path), message: issue.message }))
  throw ipamError('INVALID_OBJECT', { kind, name: '', issues })
}
