import { Meta } from 'ipam-kit/crd'
import { fail, type IpamError, isIpamError } from 'ipam-kit/errors'
import type { JsonPatch, MergePatch, Store, StoreErrorCode, StoreFailure, StoreResult } from 'ipam-kit/store'
import { type AdmissionRequest, denialOf, type Rule, ruleFor } from './admission.js'

type Written = StoreResult<Meta.KubeObject>
type PatchOptions = NonNullable<Parameters<Store['patch']>[2]>

/**
 * How often an object is read anew that another writer changes between the question and the patch.
 */
const MAX_ATTEMPTS = 5

/**
 * A store that asks the admission rule of the kind before each write, as an API server asks its
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
    const rule = ruleFor(object)
    return rule === undefined ? write() : this.#ask(rule, { operation: 'CREATE', object }, write)
  }

  update: Store['update'] = async (object, options) => {
    const write = () => this.#store.update(object, options)
    const rule = ruleToAsk(object, options)
    if (rule === undefined) return write()
    const stored = await this.#store.get(Meta.refOf(object))
    // that it is not there is for the store to say
    if (!stored.ok) return stored.failure.code === 'STORE_NOT_FOUND' ? write() : stored
    return this.#ask(rule, { operation: 'UPDATE', object, oldObject: stored.value }, write)
  }

  patch: Store['patch'] = async (ref, patch, options = {}) => {
    const rule = ruleToAsk(ref, options)
    if (rule === undefined) return this.#store.patch(ref, patch, options)
    if (!isMergePatch(patch)) return refuse(ref, 'the demo asks its rules about merge patches only')
    for (let attempt = 1; ; attempt++) {
      const written = await this.#patchOnce(rule, ref, patch, options)
      const isOvertaken = !written.ok && written.failure.code === 'STORE_CONFLICT'
      if (!isOvertaken || hasVersion(patch, options) || attempt === MAX_ATTEMPTS) return written
    }
  }

  delete: Store['delete'] = async (ref, options) => {
    const write = () => this.#store.delete(ref, options)
    const rule = ruleFor(ref)
    if (rule === undefined) return write()
    const stored = await this.#store.get(ref)
    if (!stored.ok) return stored.failure.code === 'STORE_NOT_FOUND' ? write() : stored
    return this.#ask(rule, { operation: 'DELETE', oldObject: stored.value }, write)
  }

  /**
   * Asks about what the patch makes of the object as it is now, and patches that version of it and
   * no other.
   */
  async #patchOnce(rule: Rule, ref: Meta.ObjectRef, patch: MergePatch, options: PatchOptions): Written {
    const stored = await this.#store.get(ref)
    if (!stored.ok) return stored.failure.code === 'STORE_NOT_FOUND' ? this.#store.patch(ref, patch, options) : stored
    const oldObject = stored.value
    const { resourceVersion } = oldObject.metadata
    // one that is for another version comes to nothing: the store says how
    if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
      return this.#store.patch(ref, patch, options)
    }
    const object = mergePatch(oldObject, patch) as Meta.KubeObject
    return this.#ask(rule, { operation: 'UPDATE', object, oldObject }, () =>
      this.#store.patch(ref, patch, { ...options, resourceVersion }),
    )
  }

  async #ask(rule: Rule, request: AdmissionRequest, write: () => Written): Written {
    try {
      const admission = await rule.admit(request, this.#store)
      for (const warning of admission.warnings ?? []) this.#onWarning(warning)
      if (!admission.allowed) {
        const { metadata, kind } = request.operation === 'DELETE' ? request.oldObject : request.object
        return refuse({ kind, ...metadata }, denialOf(rule, admission.message))
      }
    } catch (error) {
      if (isStoreError(error)) return fail(error.code, error.context, error.cause)
      throw error
    }
    return write()
  }
}

/** Webhooks are for the object, not for its status. */
function ruleToAsk(
  object: { readonly apiVersion: string; readonly kind: string },
  options: Pick<PatchOptions, 'subresource'> = {},
) {
  return options.subresource === undefined ? ruleFor(object) : undefined
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

/** What a rule could not look up. */
function isStoreError(error: unknown): error is IpamError<StoreErrorCode> {
  return isIpamError(error) && error.code.startsWith('STORE_')
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
