import { kindKey } from '../../crd/meta/object.js'
import type { KindName } from '../rules/kind-rules.js'
import { Chain } from './history.js'
import { Table } from './table.js'

/** All that is kept of one kind: one for all versions of a group. */
export interface Kind {
  readonly table: Table
  readonly chain: Chain
}

export class Kinds {
  readonly #kinds = new Map<string, Kind>()

  /** The kind as it is; an empty one, that is not kept, if nothing is known of it. */
  find(name: KindName): Kind {
    return this.#kinds.get(kindKey(name)) ?? { table: new Table(), chain: new Chain() }
  }

  /** The kind, kept from now on. */
  keep(name: KindName): Kind {
    const kind = this.find(name)
    this.#kinds.set(kindKey(name), kind)
    return kind
  }
}
