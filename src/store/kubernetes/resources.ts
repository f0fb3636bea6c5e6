import type { StoreKind } from '../../crd/meta/model.js'
import { apiVersionProblem, kindProblem, subdomainProblem } from '../../crd/meta/names.js'
import { infoOf, kindKey } from '../../crd/meta/object.js'
import { STORE_INVALID } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { assertText, mistake } from '../rules/arguments.js'
import { isArray, isObject, type JsonObject } from '../rules/json.js'
import { type KindName, type KindRules, KnownKinds } from '../rules/kind-rules.js'
import type { StoreErrorCode } from '../store.js'
import { discoveryPath } from './paths.js'
import { unasked } from './requests.js'

/** A kind, and where it is on the server. */
export interface Resource {
  readonly apiVersion: string
  readonly kind: string
  /** As in the path. */
  readonly plural: string
  readonly rules: KindRules
  /** Whether {@link KindRules.selectableFields} are all of them. */
  readonly isListed: boolean
}

/** Reads the answer to a `GET` of what the server says of itself. */
export type ReadDiscovery = (path: string, shown: string) => Promise<Result<JsonObject, StoreErrorCode>>

/**
 * The kinds that the caller has listed, and those that the server tells of when they are asked for.
 */
export class Resources {
  readonly #rules: KnownKinds
  readonly #plurals = new Map<string, string>()
  readonly #read: ReadDiscovery
  /** What is known of each apiVersion, by kind. */
  readonly #discovered = new Map<string, ReadonlyMap<string, Resource>>()

  /** @throws IpamError `INVALID_ARGUMENT` */
  constructor(kinds: readonly StoreKind[], read: ReadDiscovery) {
    this.#rules = new KnownKinds(kinds)
    this.#read = read
    for (const info of kinds.map(infoOf)) {
      assertText('options.kinds.plural', info.plural)
      if (subdomainProblem(info.plural) !== undefined) {
        throw mistake('options.kinds.plural', 'the name of a resource', info.plural)
      }
      this.#plurals.set(kindKey(info), info.plural)
    }
  }

  /**
   * A kind that the server does not know may be one that it will know soon: that is no reason to
   * refuse an object for good.
   */
  async find({ apiVersion, kind }: KindName, object: string): Promise<Result<Resource, StoreErrorCode>> {
    const badVersion = apiVersionProblem(apiVersion)
    if (badVersion !== undefined) return failWith(STORE_INVALID, { object, path: 'apiVersion', problem: badVersion })
    const badKind = kindProblem(kind)
    if (badKind !== undefined) return failWith(STORE_INVALID, { object, path: 'kind', problem: badKind })
    const plural = this.#plurals.get(kindKey({ apiVersion, kind }))
    if (plural !== undefined) {
      return ok({ apiVersion, kind, plural, rules: this.#rules.rulesOf({ apiVersion, kind }), isListed: true })
    }
    const known = this.#discovered.get(apiVersion)?.get(kind)
    return known === undefined ? this.#discover(apiVersion, kind) : ok(known)
  }

  async #discover(apiVersion: string, kind: string): Promise<Result<Resource, StoreErrorCode>> {
    const shown = `${apiVersion} ${kind}`
    const answer = await this.#read(discoveryPath(apiVersion), shown)
    if (!answer.ok) return answer
    const resources = readResources(apiVersion, answer.value)
    this.#discovered.set(apiVersion, resources)
    const found = resources.get(kind)
    if (found !== undefined) return ok(found)
    return unasked({ operation: 'list', shown }, `the API server does not know ${shown}`)
  }
}

function readResources(apiVersion: string, { resources }: JsonObject): ReadonlyMap<string, Resource> {
  const listed = isArray(resources) ? resources.filter((each) => isObject(each)) : []
  const names = new Set(listed.map(({ name }) => name))
  const found = new Map<string, Resource>()
  for (const { name: plural, kind, namespaced } of listed) {
    if (typeof plural !== 'string' || typeof kind !== 'string' || typeof namespaced !== 'boolean') continue
    // others are subresources
    if (subdomainProblem(plural) !== undefined) continue
    const rules = { namespaced, statusSubresource: names.has(`${plural}/status`), selectableFields: [] }
    found.set(kind, { apiVersion, kind, plural, rules, isListed: false })
  }
  return found
}
