import * as z from 'zod'
import { toBase64, toUtf8 } from '../../bytes/platform.js'
import { check } from '../../errors/check.js'
import { type Result, unwrap } from '../../errors/index.js'
import { cut } from '../../errors/quote.js'
import type { Admission } from '../meta/admission.js'
import { type FieldError, type FieldErrorType, formatFieldErrorBody } from '../meta/field-error.js'
import type { JsonObject } from '../meta/json.js'
import type { KubeObject } from '../meta/object.js'
import type { JsonPatch } from '../meta/patch.js'
import { type ReviewKind, requestOf } from './review.js'

/** The request of an API server to an admission webhook. */
export type AdmissionRequest = AdmissionSubject &
  (
    | { readonly operation: 'CREATE'; readonly object: KubeObject }
    | { readonly operation: 'UPDATE'; readonly object: KubeObject; readonly oldObject: KubeObject }
    | { readonly operation: 'DELETE'; readonly oldObject: KubeObject }
  )

export interface AdmissionSubject {
  readonly uid: string
  /** In which form the objects are sent. */
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string }
  /** Empty for an object whose name is yet to be made. */
  readonly name: string
  readonly namespace?: string | undefined
  /** Whether nothing will be stored, whatever the answer is. Left out: it will. */
  readonly dryRun?: boolean | undefined
  /** The user of the request. */
  readonly userInfo?: AdmissionUser | undefined
  /** The part of the object that the request is about, such as `status`. Left out: the object. */
  readonly subResource?: string | undefined
  /** The options of the request: CreateOptions, UpdateOptions or DeleteOptions of meta.k8s.io. */
  readonly options?: JsonObject | undefined
}

/** The user of a request, as the API server has authenticated it. */
export interface AdmissionUser {
  readonly username?: string | undefined
  readonly uid?: string | undefined
  readonly groups?: readonly string[] | undefined
  readonly extra?: { readonly [key: string]: readonly string[] } | undefined
}

/** Why a request was refused, as a `Status` of Kubernetes. */
export interface AdmissionStatus {
  readonly status: 'Failure'
  readonly code: number
  readonly message: string
  readonly reason: string
  readonly details: {
    readonly group: string
    readonly kind: string
    readonly name: string
    readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[]
  }
}

/** The response of an admission webhook. */
export interface AdmissionReview {
  readonly apiVersion: 'admission.k8s.io/v1'
  readonly kind: 'AdmissionReview'
  readonly response: {
    readonly uid: string
    readonly allowed: boolean
    readonly warnings?: readonly string[]
    readonly status?: AdmissionStatus
    readonly patchType?: 'JSONPatch'
    /** A JSON patch (RFC 6902) in Base64. */
    readonly patch?: string
  }
}

const object = z.custom<KubeObject>(
  (value) => objectShape.safeParse(value).success,
  'an object with apiVersion, kind and metadata',
)
const fields = z.looseObject({}).optional()
const objectShape = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    // an object that has `generateName` gets its name later
    name: z.string().optional(),
    namespace: z.string().optional(),
    uid: z.string().optional(),
    deletionTimestamp: z.string().optional(),
    labels: fields,
    annotations: fields,
    finalizers: z.array(z.string()).optional(),
    ownerReferences: z.array(z.looseObject({})).optional(),
  }),
})
const subject = {
  uid: z.string().min(1),
  kind: z.object({ group: z.string().default(''), version: z.string(), kind: z.string() }),
  name: z.string().default(''),
  namespace: z.string().optional(),
  dryRun: z.boolean().optional(),
  userInfo: z
    .looseObject({
      username: z.string().optional(),
      uid: z.string().optional(),
      groups: z.array(z.string()).optional(),
      extra: z.record(z.string(), z.array(z.string())).optional(),
    })
    .nullish()
    .transform(unlessNull),
  subResource: z.string().optional(),
  options: z.looseObject({}).nullish().transform(unlessNull),
}

/** Clients in Go write null for what they have not. */
function unlessNull<T>(value: T | null): T | undefined {
  return value ?? undefined
}

const reviewKind: ReviewKind<AdmissionRequest> = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: z.discriminatedUnion('operation', [
    z.object({ ...subject, operation: z.literal('CREATE'), object }),
    z.object({ ...subject, operation: z.literal('UPDATE'), object, oldObject: object }),
    z.object({ ...subject, operation: z.literal('DELETE'), oldObject: object }),
  ]),
}

/**
 * The request of the AdmissionReview that an API server sends. Some rules need other objects, such
 * as the claim of an address. The caller looks them up; `answerReview` of
 * `ipam-kit/provider/webhook` does so itself.
 *
 * @throws IpamError `OBJECT_KIND_MISMATCH` for what is not an AdmissionReview of
 *   admission.k8s.io/v1, `INVALID_OBJECT` for one whose request is not complete or has another
 *   operation than CREATE, UPDATE and DELETE
 */
export function parseAdmissionReview(review: unknown): AdmissionRequest {
  return unwrap(safeParseAdmissionReview(review))
}

/** As {@link parseAdmissionReview}, with the failure as a value. */
export function safeParseAdmissionReview(
  review: unknown,
): Result<AdmissionRequest, 'OBJECT_KIND_MISMATCH' | 'INVALID_OBJECT'> {
  return requestOf(review, reviewKind)
}

/**
 * The answer to an admission request: the uid, whether it is allowed, warnings, and if it is not
 * allowed a `Status` with one cause for each field error. Of more than 100 causes or warnings the
 * last one says how many more there are; long texts are cut.
 *
 * @example
 * import { admitIPAddressClaim } from 'ipam-kit/crd/cluster-api'
 * const claim = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', metadata: { name: 'web' }, spec: {} }
 * const request = parseAdmissionReview({
 *   apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview',
 *   request: {
 *     uid: '705ab4f5', kind: { group: 'ipam.cluster.x-k8s.io', version: 'v1beta2', kind: 'IPAddressClaim' },
 *     name: 'web', operation: 'DELETE', oldObject: claim,
 *   },
 * })
 * answerAdmissionReview(request, admitIPAddressClaim(request)).response // { uid: '705ab4f5', allowed: true }
 */
export function answerAdmissionReview(request: AdmissionRequest, admission: Admission): AdmissionReview {
  check('answerAdmissionReview', 'request', request, ['open', { uid: 'text', kind: 'object' }])
  check<object>('answerAdmissionReview', 'admission', admission, ADMISSION)
  if (!admission.allowed) check<object>('answerAdmissionReview', 'admission', admission, REFUSAL)
  return admissionAnswer(request.uid, responseTo(request, admission))
}

const ADMISSION = ['open', { allowed: 'flag', warnings: ['list?', 'text'], patch: ['list?', 'object'] }] as const
const REFUSAL = [
  'open',
  { message: 'text', errors: ['list', ['open', { type: 'text', path: 'text', detail: 'text' }]] },
] as const

/** How many causes and warnings an answer has, and how long its texts are, in characters. */
const MOST_CAUSES = 100
const MOST_WARNINGS = 100
const MAX_MESSAGE = 32_000
const MAX_TEXT = 1_000
const MAX_NAME = 253

/** The answer to the admission review of a uid. What it repeats of the review is cut. */
export function admissionAnswer(uid: string, response: Omit<AdmissionReview['response'], 'uid'>): AdmissionReview {
  const { allowed, warnings, status, patchType, patch } = response
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(warnings && { warnings: someOf(warnings) }),
      ...(status && { status: boundedStatus(status) }),
      ...(patchType && patch !== undefined && { patchType, patch }),
    },
  }
}

function boundedStatus({ message, details, ...rest }: AdmissionStatus): AdmissionStatus {
  const { group, kind, name, causes } = details
  return {
    ...rest,
    message: shortened(message, MAX_MESSAGE),
    details: {
      group: shortened(group, MAX_NAME),
      kind: shortened(kind, MAX_NAME),
      name: shortened(name, MAX_NAME),
      causes: causes.map((each) => ({ ...each, message: shortened(each.message), field: shortened(each.field) })),
    },
  }
}

function someOf(warnings: readonly string[]): readonly string[] {
  const more = warnings.length - MOST_WARNINGS
  const told = warnings.slice(0, MOST_WARNINGS).map((warning) => shortened(warning))
  return more > 0 ? [...told, `${more} more`] : told
}

function shortened(text: string, max = MAX_TEXT): string {
  return text.length > max ? `${cut(text, max)}…` : text
}

const REASONS = { 400: 'BadRequest', 403: 'Forbidden', 422: 'Invalid', 500: 'InternalError' } as const

function responseTo({ kind, name }: AdmissionRequest, admission: Admission): Omit<AdmissionReview['response'], 'uid'> {
  const told = admission.warnings?.length ? { warnings: admission.warnings } : {}
  if (admission.allowed) return { allowed: true, ...told, ...patchOf(admission.patch) }
  const { code, message, errors } = admission
  const more = errors.length - MOST_CAUSES
  const causes = errors.slice(0, MOST_CAUSES).map(cause)
  if (more > 0) causes.push({ reason: CAUSES.Invalid, message: `${more} more`, field: '' })
  const details = { group: kind.group, kind: kind.kind, name, causes }
  return { allowed: false, ...told, status: { status: 'Failure', code, message, reason: REASONS[code], details } }
}

function patchOf(patch: JsonPatch = []): Pick<AdmissionReview['response'], 'patchType' | 'patch'> {
  if (patch.length === 0) return {}
  return { patchType: 'JSONPatch', patch: toBase64(toUtf8(JSON.stringify(patch))) }
}

/** What each type of error is called as the reason of a cause. */
const CAUSES: { readonly [Type in FieldErrorType]: string } = {
  Required: 'FieldValueRequired',
  Invalid: 'FieldValueInvalid',
  TypeInvalid: 'FieldValueTypeInvalid',
  NotSupported: 'FieldValueNotSupported',
  Duplicate: 'FieldValueDuplicate',
  TooLong: 'FieldValueTooLong',
  TooMany: 'FieldValueTooMany',
  Forbidden: 'FieldValueForbidden',
  Internal: 'InternalError',
}

function cause(error: FieldError) {
  return { reason: CAUSES[error.type], message: formatFieldErrorBody(error), field: error.path }
}
