import type { DocumentKey, DocumentScope } from '../engine/engine.js'

/** Keys from one to another; that one is no longer in it. */
export interface KeyRange {
  readonly key: string
  readonly rangeEnd: string
}

// PREFIX/GROUP/KIND/NAMESPACE,NAME. A comma sorts below whatever names are made of, and a slash
// above some of it: so the order of these keys is that by namespace, then name.

export class Keys {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  of({ group, kind, namespace, name }: DocumentKey): string {
    return `${this.#kind({ group, kind })}${namespace},${name}`
  }

  in(scope: DocumentScope): KeyRange {
    const key = this.#kind(scope)
    // the characters after the slash and the comma
    if (scope.namespace === undefined) return { key, rangeEnd: `${key.slice(0, -1)}0` }
    return { key: `${key}${scope.namespace},`, rangeEnd: `${key}${scope.namespace}-` }
  }

  #kind({ group, kind }: Pick<DocumentScope, 'group' | 'kind'>): string {
    return `${this.#prefix}/${group}/${kind}/`
  }
}

/** The first key behind another. */
export function keyAfter(key: string): string {
  return `${key}\0`
}
