import {
  formatRef,
  groupOf,
  hasFinalizer,
  isDeleting,
  type KindInfo,
  type KubeObject,
  type ObjectRef,
  type OwnerReference,
  refOf,
} from '../../crd/meta/object.js'
import type { ParseResult } from '../../plan/cached-objects.js'
import type { CachedObjects, Watch } from '../../plan/index.js'

/**
 * The finalizer of an object that is deleted after its dependents. Its name is part of the
 * Kubernetes API.
 */
export const FOREGROUND = 'foregroundDeletion'
/**
 * The finalizer of an object that is deleted without its dependents. Its name is part of the
 * Kubernetes API.
 */
export const ORPHAN = 'orphan'

/**
 * The role of an object for its dependents:
 *
 * - `living`: it keeps them. Also while it is being deleted and held by other finalizers
 * - `waiting`: it is being deleted, and waits until its dependents are deleted
 * - `orphaning`: it is being deleted, and its dependents stay
 */
export type Role = 'living' | 'waiting' | 'orphaning'

/** An object, with the fields that the collector reads. */
export interface GraphNode {
  readonly key: string
  readonly uid: string
  readonly object: KubeObject
  readonly owners: readonly OwnerReference[]
  readonly role: Role
}

/** `Kind.group`, or `Kind` in the core group. */
export function kindName({ apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>): string {
  const group = groupOf(apiVersion)
  return group === '' ? kind : `${kind}.${group}`
}

/** `Kind.group namespace/name`: the key of an object, the same for all versions of its group. */
export function keyOf(ref: ObjectRef): string {
  return formatRef({ ...ref, kind: kindName(ref) })
}

/** Reads an object. An object without a uid cannot be referred to. */
function parseNode(object: KubeObject): ParseResult<GraphNode> {
  const { uid, ownerReferences } = object.metadata
  if (!uid) return { ok: false, problem: 'it has no uid' }
  if (!isOwnerList(ownerReferences))
    return { ok: false, problem: 'metadata.ownerReferences is not a list of references' }
  return {
    ok: true,
    value: { key: keyOf(refOf(object)), uid, object, owners: ownerReferences ?? [], role: roleOf(object) },
  }
}

/** An API server stores only valid lists; a store without schemas may not. */
function isOwnerList(references: unknown): boolean {
  const isReference = (each: Partial<OwnerReference> | null) =>
    [each?.apiVersion, each?.kind, each?.name, each?.uid].every((field) => typeof field === 'string')
  return references === undefined || references === null || (Array.isArray(references) && references.every(isReference))
}

/** How the collector watches a kind. */
export function nodeWatch(kind: KindInfo): Watch<GraphNode> {
  return {
    ...kind,
    parse: parseNode,
    indexes: {
      uid: ({ uid }) => [uid],
      owner: ({ owners }) => owners.map((owner) => owner.uid),
      blocked: ({ owners }) => owners.filter((owner) => owner.blockOwnerDeletion === true).map((owner) => owner.uid),
    },
  }
}

/**
 * In the order of Kubernetes, which never sets both finalizers. Source: `processTransitions` in
 * graph_builder.go of its collector.
 */
function roleOf(object: KubeObject): Role {
  if (!isDeleting(object)) return 'living'
  if (hasFinalizer(object, ORPHAN)) return 'orphaning'
  return hasFinalizer(object, FOREGROUND) ? 'waiting' : 'living'
}

/**
 * The references between objects by uid, over all watched kinds. Lookups cost O(kinds + answer).
 */
export class Graph {
  /** By `Kind.group`. */
  readonly #kinds: { readonly [kind: string]: CachedObjects<GraphNode> }

  constructor(kinds: { readonly [kind: string]: CachedObjects<GraphNode> }) {
    this.#kinds = kinds
  }

  /** The objects of a kind. */
  kindOf(ref: ObjectRef): CachedObjects<GraphNode> | undefined {
    return this.#kinds[kindName(ref)]
  }

  withUid(uid: string): GraphNode | undefined {
    for (const kind of Object.values(this.#kinds)) {
      const [node] = kind.by('uid', uid)
      if (node !== undefined) return node
    }
    return undefined
  }

  nodes(): GraphNode[] {
    return Object.values(this.#kinds).flatMap((kind) => [...kind])
  }

  /** The objects that refer to a uid, whatever name they give. */
  *dependentsOf(uid: string): IterableIterator<GraphNode> {
    for (const kind of Object.values(this.#kinds)) yield* kind.each('owner', uid)
  }

  /** How many objects refer to a uid. */
  countDependents(uid: string): number {
    return Object.values(this.#kinds).reduce((sum, kind) => sum + kind.countBy('owner', uid), 0)
  }

  /** The dependents that hold the deletion of an object. */
  *blockersOf(uid: string): IterableIterator<GraphNode> {
    for (const kind of Object.values(this.#kinds)) yield* kind.each('blocked', uid)
  }

  /** How many dependents hold the deletion of an object. */
  countBlockers(uid: string): number {
    return Object.values(this.#kinds).reduce((sum, kind) => sum + kind.countBy('blocked', uid), 0)
  }
}
