import * as z from 'zod'
import { unwrap } from '../../errors/index.js'
import { cause } from '../../errors/quote.js'
import { describeObject } from '../meta/conversion.js'
import type { CrdModel } from '../meta/crd-model.js'
import { asObject } from '../meta/json.js'
import type { KubeObject } from '../meta/object.js'
import { type ReviewKind, requestOf } from './review.js'

/**
 * The response of a conversion webhook: every object in the desired version, in the same order, or
 * the reason of a failure.
 */
export interface ConversionReview {
  readonly apiVersion: 'apiextensions.k8s.io/v1'
  readonly kind: 'ConversionReview'
  readonly response: {
    readonly uid: string
    readonly result: { readonly status: 'Success' } | { readonly status: 'Failed'; readonly message: string }
    readonly convertedObjects: readonly KubeObject[]
  }
}

const reviewKind: ReviewKind<{ uid: string; desiredAPIVersion: string; objects: unknown[] }> = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  request: z.looseObject({
    uid: z.string().min(1),
    desiredAPIVersion: z.string().min(1),
    objects: z.array(z.unknown()),
  }),
}

/**
 * Answers the ConversionReview of an API server: what the webhook of a CRD with more than one
 * version is for. `models` are the kinds that it serves. An object that cannot be converted fails
 * the review as a whole, with a message that says which one and why. O(size of the objects).
 *
 * @throws IpamError `OBJECT_KIND_MISMATCH` for a value that is not a ConversionReview of
 *   apiextensions.k8s.io/v1, `INVALID_OBJECT` for one without a uid, a version or a list of
 *   objects: a bad request, to which there is no answer with a uid
 * @example
 * import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
 * const review = {
 *   apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview',
 *   request: { uid: '705ab4f5', desiredAPIVersion: 'ipam.cluster.x-k8s.io/v1beta2', objects: [{ apiVersion: 'v1', kind: 'Pod' }] },
 * }
 * answerConversionReview(review, [IPAddressClaim]).response.result
 * // { status: 'Failed', message: 'objects[0]: Pod cannot be converted: this webhook serves IPAddressClaim' }
 */
export function answerConversionReview(review: unknown, models: readonly CrdModel<KubeObject>[]): ConversionReview {
  const { uid, desiredAPIVersion, objects } = unwrap(requestOf(review, reviewKind))
  const converted: KubeObject[] = []
  for (const [index, object] of objects.entries()) {
    const result = convertOne(object, desiredAPIVersion, models)
    if (!result.ok)
      return conversionAnswer(uid, { status: 'Failed', message: `objects[${index}]: ${result.problem}` }, [])
    converted.push(result.value)
  }
  return conversionAnswer(uid, { status: 'Success' }, converted)
}

function convertOne(
  json: unknown,
  apiVersion: string,
  models: readonly CrdModel<KubeObject>[],
): { readonly ok: true; readonly value: KubeObject } | { readonly ok: false; readonly problem: string } {
  const object = asObject(json)
  if (typeof object?.apiVersion !== 'string' || typeof object.kind !== 'string') {
    return { ok: false, problem: 'not an object with apiVersion and kind' }
  }
  const { apiVersion: from, kind } = object
  const model = models.find((candidate) => candidate.is({ apiVersion: from, kind }))
  if (model === undefined) {
    const kinds = models.map(({ info }) => info.kind).join(', ')
    return { ok: false, problem: `${describeObject(object)} cannot be converted: this webhook serves ${kinds}` }
  }
  const result = model.safeConvert(object, apiVersion)
  if (result.ok) return result
  const { failure } = result
  const sentence = failure.message
  return {
    ok: false,
    problem: failure.code === 'INVALID_CONVERSION' ? sentence : `${describeObject(object)}: ${sentence}`,
  }
}

/** The answer to the conversion review of a uid. */
export function conversionAnswer(
  uid: string,
  result: ConversionReview['response']['result'],
  convertedObjects: readonly KubeObject[],
): ConversionReview {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    response: { uid, result: bounded(result), convertedObjects },
  }
}

/** Why it has failed may repeat what the review says, of any length. */
function bounded(result: ConversionReview['response']['result']): ConversionReview['response']['result'] {
  return result.status === 'Failed' ? { ...result, message: cause(result.message) } : result
}
