import { type Cover, frozenCover, frozenPrefix, frozenSet } from '../../cidr/internal.js'
import type { Prefix } from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { HAS_META, isDeleting, refOf } from '../../crd/meta/object.js'
import type { ClusterCIDR } from '../../crd/node-ipam/cluster-cidr.js'
import { check } from '../../errors/check.js'
import { LiveFamilyView, type RangeSpec } from './family.js'
import { type Reading, readNode, readPrefixes } from './read.js'
import {
  CONFIGURED,
  type NamedRanges,
  type NetworkNode,
  type NetworkView,
  type NetworkViewInput,
  type ViewProblem,
} from './view.js'

type RangeSet = RangeSet.RangeSet

/** The configured ranges beside ClusterCIDRs. */
export type ConfiguredRanges = Pick<NetworkViewInput, 'extraCIDRs' | 'serviceCIDRs' | 'pools'>

/**
 * A {@link NetworkView} that follows changes: after each one it equals `networkView` of all
 * objects. Mutable, synchronous, deterministic; one view belongs to one caller.
 *
 * A change of a Node costs O(ranges around its subnets), whatever the number of Nodes. Each `set`
 * and `delete` returns whether the view has changed: a heartbeat of a Node changes nothing.
 *
 * @example
 * import { Node } from 'ipam-kit/crd/core'
 *
 * const live = new LiveNetworkView()
 * live.setConfigured({ extraCIDRs: [{ name: '--cluster-cidr', cidrs: ['10.0.0.0/16'] }] })
 * const node = Node.parse({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, spec: { podCIDRs: ['10.0.3.0/24'] } })
 * live.setNode(node) // true
 * live.setNode(node) // false
 * live.ipv4.inUse[0].owners // ['--cluster-cidr']
 */
export class LiveNetworkView implements NetworkView {
  readonly ipv4 = new LiveFamilyView(4)
  readonly ipv6 = new LiveFamilyView(6)
  readonly #nodes = new Map<string, SeenNode>()
  /** By the id of the object that configures them. */
  readonly #ranges = new Map<string, SeenRange>()
  readonly #problems = new Map<string, readonly ViewProblem[]>()
  #nodesWithSubnets = 0
  #known: RangeSet = RangeSet.empty
  #summary: { readonly set: RangeSet; readonly max: number; readonly cover: Cover } | undefined

  get problems(): readonly ViewProblem[] {
    return [...this.#problems.keys()].sort().flatMap((id) => this.#problems.get(id)!.map((problem) => ({ ...problem })))
  }

  /** How many objects have problems. O(1). */
  get problemCount(): number {
    return this.#problems.size
  }

  /** How many Nodes there are, and how many of them have a subnet. O(1). */
  get nodeCounts(): { readonly all: number; readonly withSubnets: number } {
    return { all: this.#nodes.size, withSubnets: this.#nodesWithSubnets }
  }

  get known(): RangeSet {
    const { known: v4 } = this.ipv4
    const { known: v6 } = this.ipv6
    // the object stays the same while the ranges of a family are the same
    if (this.#known.v4 !== v4.v4 || this.#known.v6 !== v6.v6) this.#known = frozenSet({ v4: v4.v4, v6: v6.v6 })
    return this.#known
  }

  summary(max: number): Cover {
    const set = this.known
    if (this.#summary?.set !== set || this.#summary.max !== max) {
      this.#summary = { set, max, cover: frozenCover(RangeSet.cover(set, { maxPrefixes: max })) }
    }
    return this.#summary.cover
  }

  /** Adds or updates a Node, in any version. */
  setNode(node: NetworkNode): boolean {
    check('LiveNetworkView.setNode', 'node', node, HAS_META)
    const { name } = node.metadata
    const before = this.#nodes.get(name)
    const { podCIDR, podCIDRs } = node.spec ?? {}
    const signature = JSON.stringify([podCIDR, podCIDRs])
    // a heartbeat or a label has changed
    if (before?.signature === signature) return false
    const reading = readNode(node)
    this.#replaceNode(name, before, { signature, reading })
    return before === undefined || !isSameReading(before.reading, reading)
  }

  /** A Node does not exist: its subnets are not in use any more. */
  deleteNode(name: string): boolean {
    const before = this.#nodes.get(name)
    if (before === undefined) return false
    this.#replaceNode(name, before, undefined)
    return true
  }

  /** Adds or updates a ClusterCIDR, in any version. */
  setClusterCIDR(range: ClusterCIDR): boolean {
    check('LiveNetworkView.setClusterCIDR', 'range', range, ['open', { metadata: 'object', spec: 'object' }])
    const { name } = range.metadata
    const { ipv4 = '', ipv6 = '' } = range.spec
    const readings = ([4, 6] as const).flatMap((family) => {
      const text = family === 4 ? ipv4 : ipv6
      return text === '' ? [] : [readPrefixes(`ClusterCIDR ${name}`, `spec.ipv${family}`, [text], family)]
    })
    return this.#setRange(
      `ClusterCIDR ${name}`,
      { role: 'pods', name, source: Object.freeze(refOf(range)), isDeleted: isDeleting(range) },
      readings,
    )
  }

  deleteClusterCIDR(name: string): boolean {
    return this.#setRange(`ClusterCIDR ${name}`, undefined, [])
  }

  /** Sets the accepted ranges: {@link NetworkViewInput.accepted}. */
  setAccepted(cidrs: ReadonlySet<string> | undefined): void {
    this.ipv4.accepted = cidrs
    this.ipv6.accepted = cidrs
  }

  /** Replaces all configured ranges beside ClusterCIDRs. */
  setConfigured(ranges: ConfiguredRanges): boolean {
    check('LiveNetworkView.setConfigured', 'ranges', ranges, ['open', CONFIGURED])
    const { extraCIDRs = [], serviceCIDRs = [], pools = [] } = ranges
    const services = serviceCIDRs.map((given) => (typeof given === 'string' ? { name: given, cidrs: [given] } : given))
    const lists = [extraCIDRs, services, pools]
    const ids = new Set<string>()
    let isChanged = false
    for (const [index, role] of ROLES.entries()) {
      for (const [nth, given] of lists[index]!.entries()) {
        const id = `configured ${role} ${String(nth).padStart(6, '0')}`
        ids.add(id)
        isChanged = this.setRanges(id, role, given) || isChanged
      }
    }
    const gone = [...this.#ranges.keys()].filter((id) => id.startsWith('configured ') && !ids.has(id))
    for (const id of gone) isChanged = this.#setRange(id, undefined, []) || isChanged
    return isChanged
  }

  /**
   * Sets the ranges that an object of another kind configures.
   *
   * @param id names the object among all objects and kinds
   * @param ranges `undefined`: the object does not exist any more
   */
  setRanges(id: string, role: RangeRole, ranges: NamedRanges | undefined, isDeleted = false): boolean {
    if (ranges === undefined) return this.#setRange(id, undefined, [])
    check('LiveNetworkView.setRanges', 'ranges', ranges, ['open', { name: 'text', cidrs: 'list' }])
    const { name, cidrs, source } = ranges
    const about = role === 'services' ? `serviceCIDR ${name}` : name
    return this.#setRange(id, { role, name, source: source && Object.freeze({ ...source }), isDeleted }, [
      readPrefixes(about, 'cidr', cidrs),
    ])
  }

  /** Records that an object cannot be read, or that it can again. Its last readable state stays. */
  setUnreadable(about: string, problem: string | undefined): boolean {
    const id = `unreadable ${about}`
    const before = this.#problems.get(id)?.[0]?.message
    if (before === problem) return false
    this.#note(id, problem === undefined ? [] : [{ about, reason: 'UnreadableObject', message: problem }])
    return true
  }

  #replaceNode(name: string, before: SeenNode | undefined, now: SeenNode | undefined): void {
    const had = before?.reading.prefixes ?? []
    const has = now?.reading.prefixes ?? []
    for (const prefix of had) this.#familyOf(prefix).removeSubnet(name, prefix)
    for (const prefix of has) this.#familyOf(prefix).addSubnet(name, prefix)
    this.#nodesWithSubnets += Math.sign(has.length) - Math.sign(had.length)
    for (const view of [this.ipv4, this.ipv6]) {
      const isOf = ({ address }: Prefix) => address.family === view.family
      view.nodes += Number(has.some(isOf)) - Number(had.some(isOf))
    }
    if (now === undefined) this.#nodes.delete(name)
    else this.#nodes.set(name, now)
    this.#note(`Node ${name}`, now?.reading.problems ?? [])
  }

  #setRange(id: string, config: RangeConfig | undefined, readings: readonly Reading[]): boolean {
    const prefixes = readings.flatMap((reading) => reading.prefixes.map(frozenPrefix))
    const problems = readings.flatMap((reading) => reading.problems)
    const before = this.#ranges.get(id)
    const now = config && { config, prefixes }
    if (isSameRange(before, now) && isSameList(this.#problems.get(id) ?? [], problems)) return false
    if (before !== undefined) for (const prefix of before.prefixes) this.#removeRange(id, before.config, prefix)
    for (const prefix of prefixes) if (config !== undefined) this.#addRange(id, config, prefix)
    if (now === undefined) this.#ranges.delete(id)
    else this.#ranges.set(id, now)
    this.#note(id, problems)
    return true
  }

  #addRange(id: string, { role, name, source, isDeleted }: RangeConfig, prefix: Prefix): void {
    const family = this.#familyOf(prefix)
    if (role === 'pods') family.addRange(id, { name, source, prefix, isDeleted })
    else family.addReserved(id, { kind: role === 'services' ? 'service' : 'pool', name, prefix })
  }

  #removeRange(id: string, { role }: RangeConfig, prefix: Prefix): void {
    if (role === 'pods') this.#familyOf(prefix).removeRange(id, prefix)
    else this.#familyOf(prefix).removeReserved(id, prefix)
  }

  #note(id: string, problems: readonly ViewProblem[]): void {
    if (problems.length === 0) this.#problems.delete(id)
    else this.#problems.set(id, problems)
  }

  #familyOf({ address }: Prefix): LiveFamilyView {
    return address.family === 4 ? this.ipv4 : this.ipv6
  }
}

/** What ranges are for. */
export type RangeRole = 'pods' | 'services' | 'pools'

const ROLES = ['pods', 'services', 'pools'] as const

/** The source of prefixes, and their purpose. */
type RangeConfig = Omit<RangeSpec, 'prefix'> & { readonly role: RangeRole }

interface SeenRange {
  readonly config: RangeConfig
  readonly prefixes: readonly Prefix[]
}

interface SeenNode {
  /** The fields about its subnets, as one text. */
  readonly signature: string
  readonly reading: Reading
}

function isSameReading(left: Reading, right: Reading): boolean {
  return isSameList(left.prefixes, right.prefixes) && isSameList(left.problems, right.problems)
}

function isSameRange(left: SeenRange | undefined, right: SeenRange | undefined): boolean {
  if (left === undefined || right === undefined) return left === right
  return isSameList([left.config], [right.config]) && isSameList(left.prefixes, right.prefixes)
}

/** Compares short lists of plain data that the same code has made. */
function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}
