import { refuse } from '../../errors/refuse.js'
import { type AdmissionRequest, type Admit, admissionOf, allowed, decision } from '../meta/admission.js'
import type { CrdModel } from '../meta/crd-model.js'
import { differences } from '../meta/differences.js'
import { type FieldError, goQuote } from '../meta/field-error.js'
import type { KubeObject } from '../meta/object.js'
import type { IPDomain } from './ip-domain.js'

type SpecObject = KubeObject & { readonly spec: object }

/** The errors of an object, and the warnings of an object without errors. */
export interface Judgement {
  readonly errors: readonly FieldError[]
  readonly warnings?: () => readonly string[]
}

/** The rules for objects of a kind that fit its schema. */
export interface Judge<T, R> {
  /** @param before the object before an update */
  readonly judge: (object: T, before: T | undefined, request: R) => Judgement
  /** Warnings of a deletion: what it waits for. */
  readonly waitsFor?: (object: T, request: R) => readonly string[]
}

/**
 * The admission of a kind of this library: a deletion, and an update that leaves the spec as it is,
 * are always allowed.
 */
export function admissionBy<T extends SpecObject, R extends AdmissionRequest<T>>(
  model: CrdModel<T>,
  { judge, waitsFor = () => [] }: Judge<T, R>,
): Admit<R> {
  return admissionOf<R>(`admit${model.info.kind}`, model, (request) => {
    if (request.operation === 'DELETE') return allowed(waitsFor(request.oldObject, request))
    const { object } = request
    const before = request.operation === 'UPDATE' ? request.oldObject : undefined
    if (before !== undefined && isSame(before.spec, object.spec)) return allowed()
    const wrong = model.validate(object)
    if (wrong.length > 0) return decision(object, wrong)
    const { errors, warnings } = judge(object, before, request)
    return decision(object, errors, warnings)
  })
}

/** Whether two specs have the same fields. */
export function isSame(before: object, after: object): boolean {
  return differences('spec', before, after).length === 0
}

/**
 * The domain that the webhook has looked up.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a domain with another name
 */
export function ofName(domain: IPDomain | undefined, name: string): IPDomain | undefined {
  if (domain === undefined || domain.metadata.name === name) return domain
  refuse('domain', `the IPDomain ${goQuote(name)}`, domain.metadata.name)
}
