import type { DocumentKey, DocumentScope } from '../engine/engine.js'

type Kind = Pick<DocumentScope, 'group' | 'kind'>

/** The keys of a store: what is in which is said in scripts.ts. */
export class Keys {
  readonly #tag: string
  readonly #store: string

  constructor(prefix: string) {
    this.#tag = `{${prefix}}`
    this.#store = `${this.#tag}:store`
  }

  toRead(kind: Kind): string[] {
    return [this.#of('documents', kind)]
  }

  toScan(kind: Kind): string[] {
    return [this.#store, this.#of('documents', kind), this.#of('order', kind)]
  }

  toFollow(kind: Kind): string[] {
    return [this.#store, this.#of('changes', kind)]
  }

  toWrite(kind: Kind, requestId: string): string[] {
    const log = [this.#of('changes', kind), this.#of('sizes', kind)]
    return [...this.toScan(kind), ...log, ...this.toAsk(requestId)]
  }

  toAsk(requestId: string): string[] {
    return [`${this.#tag}:request:${requestId}`]
  }

  #of(what: string, kind: Kind): string {
    return `${this.#tag}:${what}:${kindOf(kind)}`
  }
}

export function kindOf({ group, kind }: Kind): string {
  return `${group}/${kind}`
}

/** What a document is called in its kind. */
export function fieldOf({ namespace, name }: Pick<DocumentKey, 'namespace' | 'name'>): string {
  return `${namespace},${name}`
}

/** How all fields of a namespace begin, and no others. */
export function fieldsOf({ namespace }: DocumentScope): string {
  return namespace === undefined ? '' : `${namespace},`
}

/** Where the fields of a scope begin and end, for ZRANGEBYLEX; only those behind one. */
export function rangeOf(scope: DocumentScope, behind: string | undefined): [from: string, to: string] {
  const fields = fieldsOf(scope)
  const first = fields === '' ? '-' : `[${fields}`
  // the character after the comma is the minus
  const end = fields === '' ? '+' : `(${scope.namespace}-`
  return [behind === undefined || behind < fields ? first : `(${behind}`, end]
}
