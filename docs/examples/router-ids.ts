// A planner without claims: every Node gets a router ID of its own for BGP, in an annotation.
// docs/guides/write-a-planner.md explains this file.
import { Ledger } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import {
  definePlanner,
  type Holding,
  type KubeObject,
  modelWatch,
  type Outcome,
  type Parsed,
  type ParseResult,
  patchIfFields,
} from 'ipam-kit/plan'

export const ROUTER_ID = 'bgp.example.com/router-id'
/** The annotation as a JSON pointer. */
const PATH = `/metadata/annotations/${ROUTER_ID.replace('/', '~1')}`

/** The names of the Nodes that have found no free address. */
interface State {
  readonly waiting: Set<string>
}

/**
 * Gives each Node an address of `range`. One process at a time may run it.
 *
 * @param range addresses, as a CIDR or `10.0.0.1-10.0.0.9`
 */
export function routerIds(range: string) {
  const watches = { nodes: { ...modelWatch(Node), parse: readNode } }
  return definePlanner<Outcome, typeof watches, State>({
    name: 'router-ids',
    watches,
    state: () => ({ waiting: new Set() }),

    ledger: () => new Ledger({ space: RangeSet.parse([range]) }),
    holds: { nodes: heldBy },

    wakes: { nodes: ({ ref: { name } }) => [name] },
    moved({ freed, others }, { state: { waiting } }) {
      if (freed.length === 0) return others
      // an address that is free again is for the Nodes that have found none
      const keys = [...others, ...waiting]
      waiting.clear()
      return keys
    },

    plan(name, { cache, holdings, state }) {
      const entry = cache.nodes.entry(name)
      if (entry === undefined) return undefined
      if (!entry.ok) return { outcome: { kind: 'unreadable', message: entry.problem }, effects: [] }
      const node = entry.value
      const own = routerIdOf(node)
      if (own !== undefined) {
        const other = holdings
          .ledger()
          .holders(own)
          .find(({ reason, holder }) => reason === 'held' && holder.key !== name)
        const message = other === undefined ? text(own) : `${text(own)} is also that of ${other.holder.key}`
        return { outcome: { kind: other === undefined ? 'ready' : 'duplicate', message }, effects: [] }
      }
      const next = holdings.ledger().next()
      if (next === undefined) {
        state.waiting.add(name)
        return { outcome: { kind: 'exhausted', message: `no free address in ${range}` }, effects: [] }
      }
      const patch = [{ op: 'add', path: PATH, value: text(next) }] as const
      // a Node changes every few seconds: the patch depends on this one field, and not on the
      // version
      const effect = patchIfFields(node, { [PATH]: null }, patch, 'the Node has no router ID')
      return { outcome: { kind: 'assigned', message: text(next) }, effects: [effect] }
    },
  })
}

/** A Node whose annotation is not an address cannot be read: it holds the address that it had. */
function readNode(object: KubeObject): ParseResult<Node> {
  const annotation = object.metadata.annotations?.[ROUTER_ID]
  if (annotation === undefined || routerIdOf(object) !== undefined) return modelWatch(Node).parse(object, undefined)
  return { ok: false, problem: `${ROUTER_ID} is not an address: ${annotation}` }
}

function heldBy({ object }: Parsed<KubeObject>): readonly Holding[] {
  const prefix = routerIdOf(object)
  return prefix === undefined
    ? []
    : [{ prefix, key: object.metadata.name, field: `metadata.annotations[${ROUTER_ID}]` }]
}

function routerIdOf({ metadata }: KubeObject): Prefix.Prefix | undefined {
  const address = Address.safeParse(metadata.annotations?.[ROUTER_ID] ?? '')
  return address.ok ? Prefix.of(address.value, Address.bitsOf(address.value.family)) : undefined
}

function text({ address }: Prefix.Prefix): string {
  return Address.format(address)
}
