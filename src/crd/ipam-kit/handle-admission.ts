import {
  type Admission,
  type AdmissionOf,
  allowed,
  assertOperation,
  type FieldValidationOptions,
  verdict,
  withUnknownFields,
} from '../meta/admission.js'
import { type FieldError, invalidField } from '../meta/field-error.js'
import { NEVER_CHANGES } from '../meta/strict.js'
import { isSame } from './admission.js'
import { handleName, IPHandle } from './ip-handle.js'

/** What an admission webhook is asked about a handle. */
export type IPHandleAdmissionRequest = AdmissionOf<IPHandle>

/**
 * Whether a handle is one: it has the name of the uid of its owner ({@link handleName}), and stays with that owner. It may go at any time: one that is lost costs
 * a search. An update that leaves the spec as it is is always allowed.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 * @example
 * const spec = { owner: 'web/front-0', uid: '4f1c', blocks: {} }
 * const object = IPHandle.parse({ apiVersion: API_VERSION, kind: 'IPHandle', metadata: { name: 'mine' }, spec })
 * admitIPHandle({ operation: 'CREATE', object }).message
 * // 'IPHandle.ipam-kit.dev "mine" is invalid: metadata.name: Invalid value: "mine": is not uid-4f1c'
 */
export function admitIPHandle(request: IPHandleAdmissionRequest, options: FieldValidationOptions = {}): Admission {
  return withUnknownFields(judgeIPHandle(request), IPHandle, request, options)
}

function judgeIPHandle(request: IPHandleAdmissionRequest): Admission {
  assertOperation(request.operation)
  if (request.operation === 'DELETE') return allowed()
  const { object } = request
  if (request.operation === 'UPDATE' && isSame(request.oldObject.spec, object.spec)) return allowed()
  const wrong = IPHandle.validate(object)
  if (wrong.length > 0) return verdict(object, wrong)
  const { metadata, spec } = object
  const errors: FieldError[] = []
  const name = handleName(spec.uid)
  if (metadata.name !== name) errors.push(invalidField('metadata.name', metadata.name, `is not ${name}`))
  if (request.operation === 'UPDATE') {
    for (const field of ['uid', 'owner', 'kind'] as const) {
      const value = spec[field]
      if (value !== request.oldObject.spec[field]) {
        errors.push(invalidField(`spec.${field}`, value ?? null, NEVER_CHANGES))
      }
    }
  }
  return verdict(object, errors)
}
