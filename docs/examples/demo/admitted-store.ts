import { Meta } from 'ipam-kit/crd'
import { fail } from 'ipam-kit/errors'
import { answerReview, reviewedKinds } from 'ipam-kit/provider/webhook'
import type { JsonPatch, MergePatch, Store, StoreFailure, StoreResult } from 'ipam-kit/store'

/** What an API server asks its webhooks about a write. */
type Question =
  | { readonly operation: 'CREATE'; readonly object: Meta.KubeObject }
  | { readonly operation: 'UPDATE'; readonly object: Meta.KubeObject; readonly oldObject: Meta.KubeObject }
  | { readonly operation: 'DELETE'; readonly oldObject: Meta.KubeObject }

type Written = StoreResult<Meta.KubeObject>
type PatchOptions = NonNullable<Parameters<Store['patch']>[2]>

/**
 * How often an object is read anew that another writer changes between the question and the patch.
 */
const MAX_ATTEMPTS = 5

/**
 * A store that asks the admission rules of the kind before each write, as an API server asks its
 * webhooks: users and components alike. The status is not asked about. A refusal is
 * `STORE_INVALID`, with the sentence of an API server as its problem.
 */
export class AdmittedStore implements Store {
  readonly capabilities: Store['capabilities']
  readonly #store: Store
  readonly #onWarning: (warning: string) => void

  /** @param onWarning what the client is told beside an answer. Default: nothing */
  constructor(store: Store, onWarning: (warning: string) => void = () => {}) {
    this.#store = store
    this.#onWarning = onWarning
    this.capabilities = store.capabilities
  }

  /** The same store for a client that shows warnings. */
  withWarnings(onWarning: (warning: string) => void): AdmittedStore {
    return new AdmittedStore(this.#store, onWarning)
  }

  get: Store['get'] = (ref) => this.#store.get(ref)

  list: Store['list'] = (query, options) => this.#store.list(query, options)

  watch: Store['watch'] = (query, options) => this.#store.watch(query, options)

  create: Store['create'] = (object) => {
    const write = () => this.#store.create(object)
    return isAsked(object) ? this.#ask({ operation: 'CREATE', object }, write) : write()
  }

  update: Store['update'] = async (object, options) => {
    const write = () => this.#store.update(object, options)
    if (!isAsked(object, options)) return write()
    const stored = await this.#store.get(Meta.refOf(object))
    // that it is not there is for the store to say
    if (!stored.ok) return stored.failure.code === 'STORE_NOT_FOUND' ? write() : stored
    return this.#ask({ operation: 'UPDATE', object, oldObject: stored.value }, write)
  }

  patch: Store['patch'] = async (ref, patch, options = {}) => {
    if (!isAsked(ref, options)) return this.#store.patch(ref, patch, options)
    // the object stays as it is
    if (isGuard(patch)) return this.#store.patch(ref, patch, options)
    if (!isMergePatch(patch)) return refuse(ref, 'the demo asks its rules about merge patches only')
    for (let attempt = 1; ; attempt++) {
      const written = await this.#patchOnce(ref, patch, options)
      const isOvertaken = !written.ok && written.failure.code === 'STORE_CONFLICT'
      if (!isOvertaken || hasVersion(patch, options) || attempt === MAX_ATTEMPTS) return written
    }
  }

  delete: Store['delete'] = async (ref, options) => {
    const write = () => this.#store.delete(ref, options)
    if (!isAsked(ref)) return write()
    const stored = await this.#store.get(ref)
    if (!stored.ok) return stored.failure.code === 'STORE_NOT_FOUND' ? write() : stored
    return this.#ask({ operation: 'DELETE', oldObject: stored.value }, write)
  }

  /**
   * Asks about what the patch makes of the object as it is now, and patches that version of it and
   * no other.
   */
  async #patchOnce(ref: Meta.ObjectRef, patch: MergePatch, options: PatchOptions): Written {
    const stored = await this.#store.get(ref)
    if (!stored.ok) return stored.failure.code === 'STORE_NOT_FOUND' ? this.#store.patch(ref, patch, options) : stored
    const oldObject = stored.value
    const { resourceVersion } = oldObject.metadata
    // one that is for another version comes to nothing: the store says how
    if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
      return this.#store.patch(ref, patch, options)
    }
    const object = mergePatch(oldObject, patch) as Meta.KubeObject
    return this.#ask({ operation: 'UPDATE', object, oldObject }, () =>
      this.#store.patch(ref, patch, { ...options, resourceVersion }),
    )
  }

  async #ask(question: Question, write: () => Written): Written {
    const object = question.operation === 'DELETE' ? question.oldObject : question.object
    const group = Meta.groupOf(object.apiVersion)
    const kind = { group, version: object.apiVersion.split('/').at(-1), kind: object.kind }
    const request = { uid: 'demo', kind, name: object.metadata.name, ...question }
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
    const answer = await answerReview(review, this.#store)
    if (answer.kind !== 'AdmissionReview') throw new TypeError(`a review was answered with a ${answer.kind}`)
    const { warnings = [], status } = answer.response
    for (const warning of warnings) this.#onWarning(warning)
    if (status === undefined) return write()
    if (status.code === 500) return fail('STORE_IO', { operation: 'admission', problem: status.message })
    const webhook = `validation.${object.kind.toLowerCase()}.${group}`
    const denial = `admission webhook ${JSON.stringify(webhook)} denied the request: ${status.message}`
    return refuse({ kind: object.kind, ...object.metadata }, denial)
  }
}

/** Whether there are rules for the kind. Webhooks are for the object, not for its status. */
function isAsked(
  { apiVersion, kind }: Pick<Meta.KindInfo, 'apiVersion' | 'kind'>,
  options: Pick<PatchOptions, 'subresource'> = {},
) {
  const group = Meta.groupOf(apiVersion)
  const isOf = (info: Meta.KindInfo) => info.kind === kind && Meta.groupOf(info.apiVersion) === group
  return options.subresource === undefined && reviewedKinds.some(isOf)
}

/** The path of a failure that is about an object as a whole. */
const WHOLE = 'object'

function refuse(
  ref: { readonly kind: string; readonly name: string; readonly namespace?: string | undefined },
  problem: string,
) {
  return fail('STORE_INVALID', { object: Meta.formatRef(ref), path: WHOLE, problem })
}

/** Why a store did not write an object, for a reader who knows which one it is. */
export function reasonIn(failure: Extract<StoreFailure, { readonly code: 'STORE_INVALID' }>): string {
  const { path, problem } = failure.context
  return path === WHOLE ? problem : `${path}: ${problem}`
}

/** Whether a patch only tests fields. */
function isGuard(patch: MergePatch | JsonPatch): boolean {
  return !isMergePatch(patch) && patch.every(({ op }) => op === 'test')
}

function isMergePatch(patch: MergePatch | JsonPatch): patch is MergePatch {
  return !Array.isArray(patch)
}

/** Whether a patch is for one version of the object: it is not sent again for the next version. */
function hasVersion({ metadata }: MergePatch, options: PatchOptions): boolean {
  return options.resourceVersion !== undefined || (isObject(metadata) && metadata.resourceVersion !== undefined)
}

/** RFC 7396. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

function isObject(value: unknown): value is { readonly [field: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
