import type { Kind } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { type AdmissionRequest, type Admit, admissionOf, allowed, isSpecSame } from '../meta/admission.js'
import type { CrdModel } from '../meta/crd-model.js'
import { differences } from '../meta/differences.js'
import { type FieldError, goQuote } from '../meta/field-error.js'
import type { KubeObject } from '../meta/object.js'
import type { IPDomain } from './ip-domain.js'

type SpecObject = KubeObject & { readonly spec: object }

/** The rules for objects of a kind, beside its schema. */
export interface Judge<T, R> {
  /**
   * The errors of an object, also of one that does not fit its schema.
   *
   * @param before the object before an update
   */
  readonly errors: (object: T, before: T | undefined, request: R) => readonly FieldError[]
  /** Warnings of an object without new errors, if its spec is new. */
  readonly warnings?: (object: T, request: R) => readonly string[]
  /** Warnings of a deletion: what it waits for. */
  readonly waitsFor?: (object: T, request: R) => readonly string[]
  /** The kinds of the objects beside it in a request. */
  readonly beside?: Kind
}

/**
 * The admission of a kind of this library: a deletion, and an update that leaves the spec as it is,
 * are always allowed. A refusal has what the rules say if the object fits its schema.
 */
export function admissionBy<T extends SpecObject, R extends AdmissionRequest<T>>(
  model: CrdModel<T>,
  { errors, warnings = () => [], waitsFor = () => [], beside = 'object' }: Judge<T, R>,
): Admit<R> {
  return admissionOf<T, R>(`admit${model.info.kind}`, model, {
    beside,
    errors: ({ status: _, ...object }: T, before, request) => [
      model.validate(object),
      errors(object as T, before, request),
    ],
    answer: (object, before, request) =>
      allowed(before !== undefined && isSpecSame(object, before) ? [] : warnings(object, request)),
    deletion: (object, request) => allowed(waitsFor(object, request)),
  })
}

/** What rules read of blocks. */
export const BLOCKS = [
  'list?',
  [
    'open',
    {
      metadata: ['open', { name: 'text' }],
      spec: ['open', { cidr: 'text', domain: 'text', rows: ['record', 'object'] }],
    },
  ],
] as const

/** What rules read of a domain. */
export const DOMAIN = [
  'open?',
  { metadata: ['open', { name: 'text' }], spec: ['open', { ipv4: 'object?', ipv6: 'object?' }] },
] as const

/** Whether two specs have the same fields. */
export function isSame(before: object, after: object): boolean {
  return differences('spec', before, after).length === 0
}

/**
 * The domain that the webhook has looked up, if it is the one of an object.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another domain than the one of the object of the request
 */
export function domainOf(
  { spec }: InDomain,
  { domain, ...request }: AdmissionRequest<InDomain> & { readonly domain?: IPDomain | undefined },
): IPDomain | undefined {
  if (domain === undefined || request.operation === 'DELETE') return undefined
  const name = request.object.spec.domain
  if (domain.metadata.name !== name)
    refuse(`admit${request.object.kind}`, 'request.domain', `the IPDomain ${goQuote(name)}`, domain.metadata.name)
  return name === spec.domain ? domain : undefined
}

type InDomain = KubeObject & { readonly spec: { readonly domain: string } }
