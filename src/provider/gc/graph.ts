import {
  formatRef,
  groupOf,
  hasFinalizer,
  isDeleting,
  type KubeObject,
  type ObjectRef,
  type OwnerReference,
  refOf,
} from '../../crd/meta/object.js'

/** The finalizer of an object that goes after its dependents. Its name is part of the Kubernetes API. */
export const FOREGROUND = 'foregroundDeletion'
/** The finalizer of an object that goes without its dependents. Its name is part of the Kubernetes API. */
export const ORPHAN = 'orphan'

/**
 * What an object is to its dependents:
 *
 * - `living`: it keeps them. Also while it is being deleted and held by finalizers of others
 * - `waiting`: it is being deleted, and waits until they are gone
 * - `orphaning`: it is being deleted, and leaves them behind
 */
export type Role = 'living' | 'waiting' | 'orphaning'

/** An object, with what the collector reads of it. */
export interface GraphNode {
  readonly key: string
  readonly uid: string
  readonly object: KubeObject
  readonly owners: readonly OwnerReference[]
  readonly role: Role
}

/** `Kind.group namespace/name`: the key of an object, the same for all versions of its group. */
export function keyOf(ref: ObjectRef): string {
  const group = groupOf(ref.apiVersion)
  return formatRef(group === '' ? ref : { ...ref, kind: `${ref.kind}.${group}` })
}

/** What is read of an object; `undefined` for one without a uid, which nobody can refer to. */
export function nodeOf(object: KubeObject): GraphNode | undefined {
  const { uid, ownerReferences } = object.metadata
  if (!uid) return undefined
  return { key: keyOf(refOf(object)), uid, object, owners: ownerReferences ?? [], role: roleOf(object) }
}

/** In the order of Kubernetes, where both finalizers can not be set. Source: `processTransitions` in graph_builder.go of its collector. */
function roleOf(object: KubeObject): Role {
  if (!isDeleting(object)) return 'living'
  if (hasFinalizer(object, ORPHAN)) return 'orphaning'
  return hasFinalizer(object, FOREGROUND) ? 'waiting' : 'living'
}

/** All that is known of one uid, be there an object of it or not. */
interface Family {
  owner: GraphNode | undefined
  /** Keys of the objects that refer to it, under whatever name. */
  readonly dependents: Set<string>
  /** Of those, the ones that hold up its deletion. */
  readonly blockers: Set<string>
  /** Keys under which it was proven not to exist. */
  readonly missing: Set<string>
}

/** The objects that were seen, and who refers to whom by uid. A change costs O(references of the object). */
export class Graph {
  readonly #nodes = new Map<string, GraphNode>()
  readonly #nobody: ReadonlySet<string> = new Set()
  readonly #families = new Map<string, Family>()

  at(key: string): GraphNode | undefined {
    return this.#nodes.get(key)
  }

  withUid(uid: string): GraphNode | undefined {
    return this.#families.get(uid)?.owner
  }

  nodes(): IterableIterator<GraphNode> {
    return this.#nodes.values()
  }

  dependentsOf(uid: string): ReadonlySet<string> {
    return this.#families.get(uid)?.dependents ?? this.#nobody
  }

  blockersOf(uid: string): ReadonlySet<string> {
    return this.#families.get(uid)?.blockers ?? this.#nobody
  }

  /** Puts what is under a key now in the place of what was. */
  set(key: string, now: GraphNode | undefined): void {
    const before = this.#nodes.get(key)
    if (before !== undefined) this.#unlink(before)
    if (now === undefined) this.#nodes.delete(key)
    else {
      this.#nodes.set(key, now)
      this.#link(now)
    }
    if (before !== undefined) for (const uid of [before.uid, ...before.owners.map((it) => it.uid)]) this.#tidy(uid)
  }

  /** Notes that no object of a uid existed under a key, at a moment after somebody was seen to refer to it. Kept while somebody does. */
  setMissing(uid: string, key: string): void {
    this.#families.get(uid)?.missing.add(key)
  }

  /** Whether it is known for good that no object of this uid exists under a key. A uid is never used again. */
  isMissing(uid: string, key: string): boolean {
    return this.#families.get(uid)?.missing.has(key) ?? false
  }

  clear(): void {
    this.#nodes.clear()
    this.#families.clear()
  }

  #link(node: GraphNode): void {
    const own = this.#family(node.uid)
    own.owner = node
    // whatever was said before: it is there
    own.missing.delete(node.key)
    for (const owner of node.owners) {
      const family = this.#family(owner.uid)
      family.dependents.add(node.key)
      if (owner.blockOwnerDeletion === true) family.blockers.add(node.key)
    }
  }

  #unlink(node: GraphNode): void {
    this.#family(node.uid).owner = undefined
    for (const { uid } of node.owners) {
      const family = this.#family(uid)
      family.dependents.delete(node.key)
      family.blockers.delete(node.key)
    }
  }

  #family(uid: string): Family {
    const known = this.#families.get(uid)
    if (known !== undefined) return known
    const family: Family = { owner: undefined, dependents: new Set(), blockers: new Set(), missing: new Set() }
    this.#families.set(uid, family)
    return family
  }

  /** Forgets a uid that nobody has and nobody refers to. */
  #tidy(uid: string): void {
    const family = this.#families.get(uid)
    if (family !== undefined && family.owner === undefined && family.dependents.size === 0) this.#families.delete(uid)
  }
}
