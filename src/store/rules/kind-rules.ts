import type { StoreKind } from '../../crd/meta/model.js'
import { infoOf, type KindInfo, kindKey } from '../../crd/meta/object.js'
import { assertFunction, assertObject, assertText, mistake } from './arguments.js'
import { type SchemaCheck, schemaCheckOf } from './schema-rules.js'

/** What a store knows of a kind. */
export interface KindRules {
  /** `undefined`: both scopes, each object as it says itself. */
  readonly namespaced: boolean | undefined
  readonly statusSubresource: boolean
  /** The fields that a list can be asked for, besides those of metadata. */
  readonly selectableFields: readonly string[]
  /** `undefined`: the objects of the kind are not checked. */
  readonly schemaCheck?: SchemaCheck | undefined
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
   * do not agree, or if schemas are to be checked and no kind has one
   */
  constructor(listed: readonly StoreKind[], checksSchemas = false) {
    if (!Array.isArray(listed)) throw mistake('options.kinds', 'an array', listed)
    for (const kind of listed as readonly StoreKind[]) {
      assertObject('options.kinds', kind)
      const info = infoOf(kind)
      const rules = readRules(info)
      const known = this.#rules.get(kindKey(info)) ?? rules
      if (known.namespaced !== rules.namespaced || known.statusSubresource !== rules.statusSubresource) {
        throw mistake('options.kinds', 'one scope and one status subresource for all versions of a kind', info.kind)
      }
      const selectableFields = [...new Set([...known.selectableFields, ...rules.selectableFields])]
      const schemaCheck = checksSchemas ? (readCheck(kind) ?? known.schemaCheck) : undefined
      this.#rules.set(kindKey(info), { ...rules, selectableFields, schemaCheck })
    }
    const isChecked = [...this.#rules.values()].some(({ schemaCheck }) => schemaCheck !== undefined)
    if (checksSchemas && !isChecked) throw mistake('options.kinds', 'at least one model, to check schemas', listed)
  }

  rulesOf(name: KindName): KindRules {
    return this.#rules.get(kindKey(name)) ?? UNLISTED
  }
}

function readCheck(kind: StoreKind): SchemaCheck | undefined {
  if ('info' in kind) {
    if (!Array.isArray(kind.reads)) throw mistake('options.kinds.reads', 'an array', kind.reads)
    assertFunction('options.kinds.safeParse', kind.safeParse)
  }
  return schemaCheckOf(kind)
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
