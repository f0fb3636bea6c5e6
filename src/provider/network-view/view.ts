import type { Family } from '../../cidr/index.js'
import type { Cover } from '../../cidr/internal.js'
import type { Prefix } from '../../cidr/nouns/prefix.js'
import type { RangeSet } from '../../cidr/nouns/range-set.js'
import type { Node } from '../../crd/core/node.js'
import type { NodeSubnetReason } from '../../crd/core/node-subnets.js'
import type { KubeObject, ObjectRef } from '../../crd/meta/object.js'
import type { ClusterCIDR } from '../../crd/node-ipam/cluster-cidr.js'
import { check, isObject, type KindOf } from '../../errors/check.js'

/** A Node with the fields that a view reads: whole, or trimmed by `keep` of a watch. */
export type NetworkNode = KubeObject & Pick<Node, 'spec'>

/**
 * Ranges that another component configures: a flag, a field of an object, a pool of another system.
 */
export interface NamedRanges {
  /** Names the component or the object: `--cluster-cidr`, `IPPool blue`. */
  readonly name: string
  /** Prefixes of either family, as CIDR. */
  readonly cidrs: readonly string[]
  /** The object that configures them, if there is one. */
  readonly source?: ObjectRef | undefined
}

/**
 * The input of a view. Nothing in it has to be valid: each unreadable part becomes a
 * {@link ViewProblem}.
 */
export interface NetworkViewInput {
  /** All Nodes, including those that are being deleted. */
  readonly nodes: Iterable<NetworkNode>
  readonly clusterCIDRs: Iterable<ClusterCIDR>
  /**
   * The ranges that their consumers have accepted, as canonical CIDR. The others are proposed:
   * known, and not to be used yet. Left out: all are accepted.
   */
  readonly accepted?: ReadonlySet<string> | undefined
  /** Ranges of Pods that no ClusterCIDR configures. They count as active. */
  readonly extraCIDRs?: readonly NamedRanges[] | undefined
  /** The ranges of Services: a text is the CIDR and the name of a range. */
  readonly serviceCIDRs?: readonly (string | NamedRanges)[] | undefined
  /** Ranges of other systems, which no Pod may have. */
  readonly pools?: readonly NamedRanges[] | undefined
}

/**
 * The phase of a range of Pods.
 *
 * | phase | when | known |
 * |---|---|---|
 * | `proposed` | configured, not accepted yet | yes |
 * | `active` | Nodes get subnets from it | yes |
 * | `terminating` | deleted, and contains the subnet of a Node | yes |
 * | `drained` | deleted, and contains no subnet | no |
 */
export type RangePhase = 'proposed' | 'active' | 'terminating' | 'drained'

/** A range of Pods. */
export interface NetworkRange {
  /** The name of the ClusterCIDR, or of another source. */
  readonly name: string
  /** The object that configures it, if there is one. */
  readonly source: ObjectRef | undefined
  readonly prefix: Prefix
  readonly phase: RangePhase
  /** How many subnets of Nodes it contains. */
  readonly users: number
}

/** A prefix of `podCIDRs` of a Node: in use by the Node until the Node does not exist. */
export interface NodeSubnet {
  readonly node: string
  readonly prefix: Prefix
  /** The names of all ranges that contain it, the widest range first. None: it is an orphan. */
  readonly owners: readonly string[]
}

/**
 * A party of a conflict: the subnet of a Node, a range of Pods, a range of Services, or a pool of
 * another system.
 */
export interface ConflictParty {
  readonly kind: 'node' | 'range' | 'service' | 'pool'
  readonly name: string
  readonly prefix: Prefix
}

/** Two parties that have addresses in common and must not. */
export interface NetworkConflict {
  readonly kind: 'node-node' | 'node-service' | 'node-pool' | 'range-service' | 'range-pool'
  /** The subnet or the range of Pods first; of two Nodes the one with the lower name. */
  readonly between: readonly [ConflictParty, ConflictParty]
}

/**
 * Why a field is invalid. `MalformedCIDR`, also for another family than the field, is not read; all
 * other prefixes count as in use.
 */
export type ViewProblemReason =
  | NodeSubnetReason
  /** An object configures more than 64 ranges. The first ones are read. */
  | 'TooManyCIDRs'
  /** The object could not be read at all. */
  | 'UnreadableObject'

/** A problem of one object, or of one configured range. */
export interface ViewProblem {
  /** `Node n1`, `ClusterCIDR a`, `serviceCIDR 10.96.0.0/12`. */
  readonly about: string
  readonly reason: ViewProblemReason
  /** One sentence, without a final full stop. */
  readonly message: string
}

/** The Pod network of one family. Lists are in the order of prefixes, then of names. */
export interface FamilyView {
  readonly family: Family
  readonly active: readonly NetworkRange[]
  readonly proposed: readonly NetworkRange[]
  readonly terminating: readonly NetworkRange[]
  readonly drained: readonly NetworkRange[]
  readonly inUse: readonly NodeSubnet[]
  /** How many Nodes have a subnet. */
  readonly nodes: number
  /** Subnets of Nodes that no range contains. */
  readonly orphans: readonly NodeSubnet[]
  /** Up to 1,000. */
  readonly conflicts: readonly NetworkConflict[]
  /** Whether there are more conflicts than those listed. */
  readonly hasMoreConflicts: boolean
  /**
   * All addresses that Pods have or may get: of active, proposed and terminating ranges, and of
   * orphans. `RangeSet.prefixes` gives the fewest prefixes of it.
   */
  readonly known: RangeSet
  /**
   * At most `max` prefixes that cover `known`, and how many addresses of other networks they add.
   */
  summary(max: number): Cover
}

/** The addresses that Pods have or may get, and why. */
export interface NetworkView {
  readonly ipv4: FamilyView
  readonly ipv6: FamilyView
  readonly problems: readonly ViewProblem[]
  /** `known` of both families. */
  readonly known: RangeSet
  /** At most `max` prefixes of both families together: for consumers with one list. */
  summary(max: number): Cover
}

export const NAMED_RANGES: KindOf<NamedRanges> = ['open', { name: 'text', cidrs: 'list' }]

/** What checks hold of the configured ranges of an input. */
export const CONFIGURED = {
  extraCIDRs: ['list?', NAMED_RANGES],
  serviceCIDRs: [
    'list?',
    (given: unknown) => (typeof given === 'string' || isObject(given) ? undefined : 'a CIDR or ranges'),
  ],
  pools: ['list?', NAMED_RANGES],
} as const

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertView(of: string, view: unknown): void {
  check(of, 'view', view, ['open', { ipv4: 'object', ipv6: 'object', known: 'object', summary: 'function' }])
}
