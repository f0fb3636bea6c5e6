import { ipamError } from '../../errors/index.js'
import { type FieldError, formatFieldErrors, goQuote } from './field-error.js'

/** Whether an object is admitted, and if not, the sentence the API server would answer with. */
export type Admission =
  | { readonly allowed: true; readonly warnings: readonly string[] }
  | {
      readonly allowed: false
      /** HTTP status of the refusal: 422 for field errors, 400 for a rule about other objects, 403 where upstream says no more than no. */
      readonly code: 400 | 403 | 422
      readonly message: string
      readonly errors: readonly FieldError[]
    }

/** The refusal that lists field errors, with the message of `errors.NewInvalid`. */
export function invalid(groupKind: string, name: string, errors: readonly FieldError[]): Admission {
  const message = `${groupKind} ${goQuote(name)} is invalid: ${formatFieldErrors(errors)}`
  return { allowed: false, code: 422, message, errors }
}

/** The refusal that is no more than its field errors: that of a webhook that returns them as they are. */
export function denied(errors: readonly FieldError[]): Admission {
  return { allowed: false, code: 403, message: formatFieldErrors(errors), errors }
}

/** The refusal with a bare message, as `errors.NewBadRequest`. */
export function badRequest(message: string): Admission {
  return { allowed: false, code: 400, message, errors: [] }
}

/** The acceptance, with what deserves to be told. */
export function allowed(warnings: readonly string[] = []): Admission {
  return { allowed: true, warnings }
}

/**
 * Refuses any other operation: an admission that is asked the wrong question must not answer yes.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertOperation(operation: string): void {
  if (operation === 'CREATE' || operation === 'UPDATE' || operation === 'DELETE') return
  const expected = 'CREATE, UPDATE or DELETE'
  throw ipamError('INVALID_ARGUMENT', { argument: 'operation', expected, got: String(operation) })
}
