import { groupOf, type KindInfo } from '../../crd/meta/object.js'
import { assertObject, assertText, mistake } from './arguments.js'
import { Chain } from './history.js'
import { Table } from './table.js'
import type { KindRules } from './writes.js'

/** All that is kept of one kind: one for all versions of a group. */
export interface Kind {
  readonly rules: KindRules
  readonly table: Table
  readonly chain: Chain
}

interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

/** The rules of a kind that was not listed. */
const UNLISTED: KindRules = { namespaced: undefined, statusSubresource: true }

export class Kinds {
  readonly #kinds = new Map<string, Kind>()

  /** @throws IpamError `INVALID_ARGUMENT` for a list that is none, or where two versions of a kind do not agree */
  constructor(listed: readonly KindInfo[]) {
    if (!Array.isArray(listed)) throw mistake('options.kinds', 'an array', listed)
    for (const info of listed as readonly KindInfo[]) {
      const rules = readRules(info)
      const known = this.#kinds.get(keyOf(info))?.rules ?? rules
      if (known.namespaced !== rules.namespaced || known.statusSubresource !== rules.statusSubresource) {
        throw mistake('options.kinds', 'one scope and one status subresource for all versions of a kind', info.kind)
      }
      this.#kinds.set(keyOf(info), newKind(rules))
    }
  }

  /** The kind as it is; an empty one, that is not kept, if nothing is known of it. */
  find(name: KindName): Kind {
    return this.#kinds.get(keyOf(name)) ?? newKind(UNLISTED)
  }

  /** The kind, kept from now on. */
  keep(name: KindName): Kind {
    const kind = this.find(name)
    this.#kinds.set(keyOf(name), kind)
    return kind
  }
}

function newKind(rules: KindRules): Kind {
  return { rules, table: new Table(), chain: new Chain() }
}

function readRules(info: KindInfo): KindRules {
  assertObject('options.kinds', info)
  assertText('options.kinds.apiVersion', info.apiVersion)
  assertText('options.kinds.kind', info.kind)
  const { namespaced, statusSubresource } = info
  if (typeof namespaced !== 'boolean') throw mistake('options.kinds.namespaced', 'true or false', namespaced)
  if (typeof statusSubresource !== 'boolean') {
    throw mistake('options.kinds.statusSubresource', 'true or false', statusSubresource)
  }
  return { namespaced, statusSubresource }
}

/** No stored kind has a slash in it, so that a name with one is not found. */
function keyOf({ apiVersion, kind }: KindName): string {
  return `${groupOf(apiVersion)}/${kind}`
}
