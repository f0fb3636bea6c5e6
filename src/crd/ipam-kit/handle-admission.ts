import type { AdmissionRequest, Admit } from '../meta/admission.js'
import { invalidField } from '../meta/field-error.js'
import { NEVER_CHANGES } from '../meta/strict.js'
import { handleName, IPHandle, isUid } from './ip-handle.js'
import { admissionBy } from './judge.js'

/** A request to admit a handle. */
export type IPHandleAdmissionRequest = AdmissionRequest<IPHandle>

/**
 * Decides whether a handle is valid: its name follows from the uid of its owner, and the owner is
 * immutable. A handle may be deleted at any time: without it, a release searches all blocks. An
 * update without a change of the spec is always allowed.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 * @example
 * const spec = { owner: 'web/front-0', uid: '4f1c', blocks: {} }
 * const object = IPHandle.parse({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPHandle', metadata: { name: 'mine' }, spec })
 * admitIPHandle({ operation: 'CREATE', object }).message
 * // 'IPHandle.ipam-kit.dev "mine" is invalid: metadata.name: Invalid value: "mine": is not uid-4f1c'
 */
export const admitIPHandle: Admit<IPHandleAdmissionRequest> = /* @__PURE__ */ admissionBy(IPHandle, {
  errors: ({ metadata, spec }, before) => {
    // the schema has errors for other uids
    const name = isUid(spec.uid) ? handleName(spec.uid) : metadata.name
    const fixed = (['uid', 'owner', 'kind'] as const).filter((field) => before && spec[field] !== before.spec[field])
    return [
      ...(metadata.name === name ? [] : [invalidField('metadata.name', metadata.name, `is not ${name}`)]),
      ...fixed.map((field) => invalidField(`spec.${field}`, spec[field] ?? null, NEVER_CHANGES)),
    ]
  },
})
