import { IPPool } from '../../crd/ipam-kit/ip-pool.js'
import type { KubeObject } from '../../crd/meta/object.js'

/**
 * Every version that pools ever had, without those that differ from the one before in nothing that
 * a pool gives.
 */
export class PoolVersions {
  readonly #versions = new Map<string, { readonly stored: Stored; readonly pools: IPPool[] }>()

  /** Takes a pool in as it is stored. */
  add(object: KubeObject): void {
    const { name } = object.metadata
    const stored = object as Stored
    const known = this.#versions.get(name)
    if (known !== undefined && givesSame(known.stored, stored)) return
    this.#versions.set(name, { stored, pools: [...(known?.pools ?? []), IPPool.parse(object)] })
  }

  /** In their order. */
  of(name: string): readonly IPPool[] {
    return this.#versions.get(name)?.pools ?? []
  }
}

/**
 * Whether two versions of a pool differ in nothing but the counts and hints of the status, and the
 * metadata.
 */
function givesSame(left: Stored, right: Stored): boolean {
  return (
    isSame(left.spec, right.spec) &&
    left.status?.domainUID === right.status?.domainUID &&
    isSameGrid(left.status?.ipv4, right.status?.ipv4) &&
    isSameGrid(left.status?.ipv6, right.status?.ipv6)
  )
}

function isSame(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right)
}

function isSameGrid(left: Grid | undefined, right: Grid | undefined): boolean {
  return (
    left?.blockPrefixLength === right?.blockPrefixLength &&
    left?.allocationPrefixLength === right?.allocationPrefixLength
  )
}

/** What is stored of a pool, not yet checked. */
interface Stored extends KubeObject {
  readonly spec?: unknown
  readonly status?: { readonly domainUID?: unknown; readonly ipv4?: Grid; readonly ipv6?: Grid }
}

interface Grid {
  readonly blockPrefixLength?: unknown
  readonly allocationPrefixLength?: unknown
}
