import { type KindInfo, kindKey } from '../../crd/meta/object.js'
import { assertObject, assertText, mistake } from './arguments.js'

/** What a store knows of a kind. */
export interface KindRules {
  /** `undefined`: both scopes, each object as it says itself. */
  readonly namespaced: boolean | undefined
  readonly statusSubresource: boolean
  /** The fields that a list can be asked for, besides those of metadata. */
  readonly selectableFields: readonly string[]
}

export interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

/** The rules of a kind that was not listed. */
const UNLISTED: KindRules = { namespaced: undefined, statusSubresource: true, selectableFields: [] }

/** The rules of all kinds: one for all versions of a group. */
export class KnownKinds {
  readonly #rules = new Map<string, KindRules>()

  /**
   * @throws IpamError `INVALID_ARGUMENT` for a list that is none, or where two versions of a kind
   * do not agree
   */
  constructor(listed: readonly KindInfo[]) {
    if (!Array.isArray(listed)) throw mistake('options.kinds', 'an array', listed)
    for (const info of listed as readonly KindInfo[]) {
      const rules = readRules(info)
      const known = this.#rules.get(kindKey(info)) ?? rules
      if (known.namespaced !== rules.namespaced || known.statusSubresource !== rules.statusSubresource) {
        throw mistake('options.kinds', 'one scope and one status subresource for all versions of a kind', info.kind)
      }
      const selectableFields = [...new Set([...known.selectableFields, ...rules.selectableFields])]
      this.#rules.set(kindKey(info), { ...rules, selectableFields })
    }
  }

  rulesOf(name: KindName): KindRules {
    return this.#rules.get(kindKey(name)) ?? UNLISTED
  }
}

function readRules(info: KindInfo): KindRules {
  assertObject('options.kinds', info)
  assertText('options.kinds.apiVersion', info.apiVersion)
  assertText('options.kinds.kind', info.kind)
  const { namespaced, statusSubresource, selectableFields = [] } = info
  if (typeof namespaced !== 'boolean') throw mistake('options.kinds.namespaced', 'true or false', namespaced)
  if (typeof statusSubresource !== 'boolean') {
    throw mistake('options.kinds.statusSubresource', 'true or false', statusSubresource)
  }
  if (!Array.isArray(selectableFields)) throw mistake('options.kinds.selectableFields', 'an array', selectableFields)
  for (const path of selectableFields) assertText('options.kinds.selectableFields', path)
  return { namespaced, statusSubresource, selectableFields }
}
