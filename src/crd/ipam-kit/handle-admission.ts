import type { AdmissionRequest, Admit } from '../meta/admission.js'
import { invalidField } from '../meta/field-error.js'
import { NEVER_CHANGES } from '../meta/strict.js'
import { handleName, IPHandle } from './ip-handle.js'
import { admissionBy } from './judge.js'

/** What an admission webhook is asked about a handle. */
export type IPHandleAdmissionRequest = AdmissionRequest<IPHandle>

/**
 * Whether a handle is one: its name is made of the uid of its owner, and it stays
 * with that owner. It may go at any time: one that is lost costs a search. An update that leaves
 * the spec as it is is always allowed.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 * @example
 * const spec = { owner: 'web/front-0', uid: '4f1c', blocks: {} }
 * const object = IPHandle.parse({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPHandle', metadata: { name: 'mine' }, spec })
 * admitIPHandle({ operation: 'CREATE', object }).message
 * // 'IPHandle.ipam-kit.dev "mine" is invalid: metadata.name: Invalid value: "mine": is not uid-4f1c'
 */
export const admitIPHandle: Admit<IPHandleAdmissionRequest> = /* @__PURE__ */ admissionBy(IPHandle, {
  judge: ({ metadata, spec }, before) => {
    const name = handleName(spec.uid)
    const fixed = (['uid', 'owner', 'kind'] as const).filter((field) => before && spec[field] !== before.spec[field])
    return {
      errors: [
        ...(metadata.name === name ? [] : [invalidField('metadata.name', metadata.name, `is not ${name}`)]),
        ...fixed.map((field) => invalidField(`spec.${field}`, spec[field] ?? null, NEVER_CHANGES)),
      ],
    }
  },
})
