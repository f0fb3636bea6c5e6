// A planner without claims: every Node gets a router ID of its own for BGP, in an annotation.
// docs/guides/write-a-planner.md explains this file.
import { Ledger } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { type CachedObjects, definePlanner, type Effect, modelWatch, type Outcome, patchIfFields } from 'ipam-kit/plan'

export const ROUTER_ID = 'bgp.example.com/router-id'
/** The annotation as a JSON pointer. */
const PATH = `/metadata/annotations/${ROUTER_ID.replace('/', '~1')}`

/**
 * Gives each Node an address of `range`. One process at a time may run it.
 *
 * @param range addresses, as a CIDR or `10.0.0.1-10.0.0.9`
 */
export function routerIds(range: string) {
  const watches = { nodes: modelWatch(Node) }
  return definePlanner<Outcome, typeof watches, Ledger>({
    name: 'router-ids',
    watches,
    // what the annotations of all Nodes say; it follows the cache
    state: () => new Ledger({ space: RangeSet.parse([range]) }),

    wakes: {
      nodes({ ref: { name }, before, now }, { cache, state: ledger }) {
        const [had, has] = [before, now].map((entry) => (entry?.ok ? routerIdOf(entry.value) : undefined))
        if (has === undefined) ledger.delete(name)
        else ledger.set(name, { prefix: has, reason: 'held', holder: { key: name } })
        // an address that is free again is for the Nodes that wait
        const isFreed = had !== undefined && (has === undefined || Prefix.compare(had, has) !== 0)
        return isFreed ? [name, ...waiting(cache.nodes)] : [name]
      },
    },

    plan(name, { cache, state: ledger }) {
      const node = cache.nodes.get(name)
      if (node === undefined) return undefined
      const own = routerIdOf(node)
      if (own !== undefined) {
        const others = ledger.holders(own).filter(({ reason, holder }) => reason === 'held' && holder.key !== name)
        const message = others.length === 0 ? text(own) : `${text(own)} is also that of ${others[0]!.holder.key}`
        return { outcome: { kind: others.length === 0 ? 'ready' : 'duplicate', message }, effects: [] }
      }
      const next = ledger.next()
      if (next === undefined)
        return { outcome: { kind: 'exhausted', message: `no free address in ${range}` }, effects: [] }
      const patch = [{ op: 'add', path: PATH, value: text(next) }] as const
      // a Node changes every few seconds: the patch depends on this one field, and not on the
      // version
      const effect = patchIfFields(node, { [PATH]: null }, patch, 'the Node has no router ID')
      return { outcome: { kind: 'assigned', message: text(next) }, effects: [effect] }
    },

    // while a plan is carried out, no plan for another Node gives the same address
    reserve(plan, { cache, state: ledger }) {
      const ids = plan.effects.flatMap((effect) => reserveFor(effect, ledger))
      return () => {
        for (const id of ids) ledger.delete(id)
        return ids.length === 0 ? [] : waiting(cache.nodes)
      }
    },
  })
}

function reserveFor(effect: Effect, ledger: Ledger): string[] {
  if (effect.kind !== 'patch' || !Array.isArray(effect.patch)) return []
  const address = Address.safeParse(effect.patch[0]?.value)
  if (!address.ok) return []
  const { name } = effect.ref
  ledger.set(`pending ${name}`, { prefix: hostOf(address.value), reason: 'pending', holder: { key: name } })
  return [`pending ${name}`]
}

/** The Nodes without a router ID, the oldest first. */
function waiting(nodes: CachedObjects<Node>): string[] {
  return [...nodes].filter((node) => routerIdOf(node) === undefined).map(({ metadata }) => metadata.name)
}

function routerIdOf({ metadata }: Node): Prefix.Prefix | undefined {
  const address = Address.safeParse(metadata.annotations?.[ROUTER_ID] ?? '')
  return address.ok ? hostOf(address.value) : undefined
}

function hostOf(address: Address.Address): Prefix.Prefix {
  return Prefix.of(address, Address.bitsOf(address.family))
}

function text({ address }: Prefix.Prefix): string {
  return Address.format(address)
}
