import { FIELD_VALIDATION } from '../../crd/meta/admission.js'
import type { CrdModel, KubeObject, Model } from '../../crd/meta/index.js'
import { asObject } from '../../crd/meta/json.js'
import { groupOf } from '../../crd/meta/object.js'
import { type AdmissionReview, admissionAnswer, safeParseAdmissionReview } from '../../crd/webhook/admission-review.js'
import { type ConversionReview, conversionAnswer } from '../../crd/webhook/conversion-review.js'
import {
  type AdmissionRequest,
  answerAdmissionReview,
  answerConversionReview,
  mergeAdmissions,
} from '../../crd/webhook/index.js'
import { errorText } from '../../errors/cause.js'
import { check, type KindOf } from '../../errors/check.js'
import { plain } from '../../errors/quote.js'
import { lookupsOf, type ReviewLookups, type ReviewReader } from './lookups.js'
import { objectsOf, type ReviewOptions, type ReviewRule, type Rule, ruleOptions, rules } from './rules.js'

const OPTIONS: KindOf<ReviewOptions> = {
  fieldValidation: FIELD_VALIDATION,
  ipv4Prefixes: 'flag?',
  maxIPv6SubnetBits: ['is?', (bits) => (isBits(bits) ? undefined : 'bits, 0 to 128')],
  rules: ['list?', ['open', { model: 'object', admit: 'function' }]],
}

function isBits(bits: unknown): boolean {
  return Number.isInteger(bits) && Number(bits) >= 0 && Number(bits) <= 128
}

/**
 * Answers a review that an API server sends to a webhook: an AdmissionReview by the rules of the
 * kind, a ConversionReview by its model. It looks up what the rules need beside the object: the
 * claim of an address, the addresses in use of a pool, the domain and blocks of a pool.
 *
 * The answer is always a review, to be sent as JSON with status 200. A request that cannot be
 * judged is refused, and `response.status.code` says why:
 *
 * - 400: the body is not a review, the kind has no rules, or an object cannot be read
 * - 500: a look-up has failed, or two rules patch one path
 * - 403: the look-up of the claim of an address has failed, with the message of Cluster API
 *
 * No content of a review makes it reject.
 *
 * A look-up costs one request of the reader: a list of the namespace of the pool for namespaced
 * pools, of all namespaces for others. In the objects of a controller it costs O(answer).
 *
 * @param review the body of the request, parsed from JSON
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not a reader, or an option out of range
 *
 * @example
 * import { memoryStore } from 'ipam-kit/store/memory'
 * const claim = (name) => ({
 *   apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', metadata: { name: 'web' },
 *   spec: { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name } },
 * })
 * const review = {
 *   apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview',
 *   request: {
 *     uid: '705ab4f5', kind: { group: 'ipam.cluster.x-k8s.io', version: 'v1beta2', kind: 'IPAddressClaim' },
 *     operation: 'UPDATE', object: claim('blue'), oldObject: claim('red'),
 *   },
 * }
 * const { response } = await answerReview(review, memoryStore({ now: () => 0 }))
 * response.status.message
 * // 'spec: Forbidden: IPAddressClaim spec is immutable. Diff: spec.poolRef.name: "red" -> "blue"'
 */
export async function answerReview(
  review: unknown,
  reader: ReviewReader,
  options: ReviewOptions = {},
): Promise<AdmissionReview | ConversionReview> {
  const lookups = lookupsOf(reader)
  check('answerReview', 'options', options, OPTIONS)
  const subject = safeSubjectOf(review)
  if ('problem' in subject) return refused(NO_SUBJECT, 400, `the review cannot be read: ${subject.problem}`)
  return subject.isConversion ? answerConversion(review, subject) : answerAdmission(review, subject, lookups, options)
}

/** The fields of a review that its answer repeats. A review that is not complete may lack them. */
interface Subject {
  readonly isConversion: boolean
  /** Empty if the review has none. So are the texts below. */
  readonly uid: string
  readonly group: string
  readonly kind: string
  readonly name: string
}

const NO_SUBJECT: Subject = { isConversion: false, uid: '', group: '', kind: '', name: '' }

/** A review is not always what a parser has made: one that throws when it is read is refused. */
function safeSubjectOf(review: unknown): Subject | { readonly problem: string } {
  try {
    return subjectOf(review)
  } catch (error) {
    return { problem: errorText(error) }
  }
}

function subjectOf(review: unknown): Subject {
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  const { kind, request } = asObject(review) ?? {}
  const { uid, name, kind: of } = asObject(request) ?? {}
  const names = asObject(of) ?? {}
  return {
    isConversion: kind === 'ConversionReview',
    uid: text(uid),
    group: text(names.group),
    kind: text(names.kind),
    name: text(name),
  }
}

async function answerAdmission(
  review: unknown,
  subject: Subject,
  lookups: ReviewLookups,
  options: ReviewOptions,
): Promise<AdmissionReview> {
  try {
    const read = safeParseAdmissionReview(review)
    if (!read.ok) return refused(subject, 400, read.failure.message)
    const request = read.value
    const found = rulesFor(request, options.rules ?? [])
    if ('problem' in found) return refused(subject, 400, found.problem)
    const asked = ruleOptions(options, request.dryRun)
    const admissions = await Promise.all(found.map((rule) => rule.admit(request, lookups, asked)))
    return answerAdmissionReview(request, mergeAdmissions(admissions))
  } catch (error) {
    return refused(subject, 500, `the rules cannot be applied: ${errorText(error)}`)
  }
}

/** The rules of the kind that a request is about: all of its objects have to be of that kind. */
function rulesFor(
  request: AdmissionRequest,
  more: readonly ReviewRule[],
): readonly (Rule | ReviewRule)[] | { readonly problem: string } {
  const { group, kind } = request.kind
  const about = `${plain(kind, MAX_NAME)} of ${plain(group || 'the core group', MAX_NAME)}`
  const other = objectsOf(request).find((object) => object.kind !== kind || groupOf(object.apiVersion) !== group)
  if (other !== undefined) {
    const its = `${plain(other.apiVersion, MAX_NAME)} ${plain(other.kind, MAX_NAME)}`
    return { problem: `the request is about ${about}, and its object is ${its}` }
  }
  const found = [...rules, ...more].filter(
    ({ model }) => model.info.kind === kind && groupOf(model.info.apiVersion) === group,
  )
  return found.length > 0 ? found : { problem: `this webhook has no admission rules for ${about}` }
}

/** How much of a name is told: Kubernetes has no longer ones. */
const MAX_NAME = 253

const REASONS = { 400: 'BadRequest', 500: 'InternalError' } as const

function refused({ uid, group, kind, name }: Subject, code: keyof typeof REASONS, message: string): AdmissionReview {
  const details = { group, kind, name, causes: [] }
  const status = { status: 'Failure', code, message, reason: REASONS[code], details } as const
  return admissionAnswer(uid, { allowed: false, status })
}

function answerConversion(review: unknown, { uid }: Subject): ConversionReview {
  try {
    return answerConversionReview(review, rules.map(({ model }) => model).filter(isCrdModel))
  } catch (error) {
    return conversionAnswer(uid, { status: 'Failed', message: errorText(error) }, [])
  }
}

/** Whether the kind has a CustomResourceDefinition: kinds of Kubernetes itself have none. */
function isCrdModel(model: Model<KubeObject>): model is CrdModel<KubeObject> {
  return 'safeConvert' in model
}
