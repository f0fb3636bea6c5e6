import { Address, Prefix } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { type KindInfo, type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import { heldByClaim, heldByPod } from 'ipam-kit/provider/persistent-ip'
import { type PersistentIPsOnBlocks, persistentIPsOnBlocks } from 'ipam-kit/provider/persistent-ip-blocks'
import { taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import type { Dice, SimulatedSystem, SimulationRules } from 'ipam-kit/testing'
import { claimOf, ovnNad, podIn } from '../persistent-ip/serving-world.js'

const CLAIMS = ['c0', 'c1', 'c2']
const PODS = ['p0', 'p1', 'p2', 'p3']
const SUBNETS = { v4: '10.0.0.0/29', both: '10.0.0.0/29,fd00::/126' }

/**
 * Copies of the network side at one network. People make and delete claims and Pods. Always: what
 * a claim or a Pod has never changes, and two holders never have one address. At rest: each address
 * has one row, and each row an owner that lives.
 */
export function copiesSystem(subnets: keyof typeof SUBNETS): SimulatedSystem {
  return {
    kinds: [IPAMClaim.info, NetworkAttachmentDefinition.info, Pod.info, IPBlock.info],
    planner: () => persistentIPsOnBlocks({ graceSeconds: 30 }),
    externalOf: (planner, store, options) =>
      taskCaller({ store, ...options, tasks: (planner as PersistentIPsOnBlocks).tasks }),
    prepare: async (store, dice) => {
      unwrap(await store.create(ovnNad('blue', { subnets: SUBNETS[subnets] })))
      if (dice.chance(0.5)) await prepareOld(store, subnets)
    },
    act: async (store, dice) => void (await dice.pick(ACTS)(store, dice)),
    rules: () => new CopiesRules(),
  }
}

/** A claim and a Pod of a program without blocks. */
async function prepareOld(store: Store, subnets: keyof typeof SUBNETS): Promise<void> {
  const ips = subnets === 'v4' ? ['10.0.0.2/29'] : ['10.0.0.2/29', 'fd00::1/126']
  unwrap(await store.create(claimOf('c0')))
  unwrap(await store.patch(refTo(IPAMClaim.info, 'c0'), { status: { ips } }, { subresource: 'status' }))
  const { metadata, ...pod } = podIn('p0', ['blue:c0'])
  const networks = JSON.stringify({ 'ns1/blue': { ip_addresses: ips } })
  const annotations = { ...metadata.annotations, 'k8s.ovn.org/pod-networks': networks }
  unwrap(await store.create({ ...pod, metadata: { ...metadata, annotations } }))
}

const refTo = ({ apiVersion, kind }: KindInfo, name: string) => ({ apiVersion, kind, namespace: 'ns1', name })
const addPod = (store: Store, dice: Dice) => {
  const claim = dice.chance(0.7) ? `:${dice.pick(CLAIMS)}` : ''
  return store.create(podIn(dice.pick(PODS), [`blue${claim}`]))
}
const ACTS: readonly ((store: Store, dice: Dice) => Promise<unknown>)[] = [
  addPod,
  addPod,
  (store, dice) => store.create(claimOf(dice.pick(CLAIMS))),
  (store, dice) => store.create(claimOf(dice.pick(CLAIMS))),
  (store, dice) => store.delete(refTo(IPAMClaim.info, dice.pick(CLAIMS)), {}),
  (store, dice) => store.delete(refTo(Pod.info, dice.pick(PODS)), {}),
  (store, dice) =>
    store.patch(refTo(Pod.info, dice.pick(PODS)), { status: { phase: 'Succeeded' } }, { subresource: 'status' }),
]

/** An object, and what it has. */
interface Seen {
  readonly object: KubeObject
  readonly has: readonly string[]
}

class CopiesRules implements SimulationRules {
  readonly #seen = new Map<string, Seen>()

  observe(change: Change): string | undefined {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const key = `${ref.kind} ${ref.name}`
    const before = this.#seen.get(key)
    this.#seen.delete(key)
    if (change.kind !== 'present') return undefined
    const has = addressesOf(change.object)
    if (has === undefined) return undefined
    this.#seen.set(key, { object: change.object, has })
    const isSame = before !== undefined && before.object.metadata.uid === change.object.metadata.uid
    if (isSame && has.length > 0 && before.has.length > 0 && before.has.join() !== has.join()) {
      return `${key} had ${before.has.join()}, and has ${has.join()}`
    }
    return has.flatMap((address) => this.#othersAt(key, address))[0]
  }

  /** Who has an address beside the holder: a claim and its Pods are one. */
  #othersAt(key: string, address: string): readonly string[] {
    const own = this.#nameOf(key)
    const others = [...this.#seen].filter(([other, { has }]) => has.includes(address) && this.#nameOf(other) !== own)
    return others.map(([other]) => `${key} and ${other} have ${address}`)
  }

  #nameOf(key: string): string {
    const object = this.#seen.get(key)?.object
    return (
      /claim-reference":"(\w+)"/.exec(JSON.stringify(object?.metadata.annotations ?? {}).replaceAll('\\', ''))?.[1] ??
      key.slice(key.indexOf(' ') + 1)
    )
  }

  async atRest(store: Store): Promise<string | undefined> {
    const blocks = unwrap(await store.list(IPBlock.info)).items.map((object) => IPBlock.parse(object))
    const rows = blocks.flatMap(({ spec: { cidr, rows } }) =>
      Object.entries(rows).map(([unit, { owner, uid }]) => {
        const address = Address.format(Address.add(Prefix.parse(cidr).address, Number(unit)))
        return { address, owner: owner.slice('ns1/'.length), uid }
      }),
    )
    const living = [...this.#seen.values()]
    const held = new Set(living.flatMap(({ has }) => has))
    for (const address of held) {
      const count = rows.filter((row) => row.address === address).length
      if (count !== 1) return `${address} is in use, and has ${count} rows`
    }
    const left = rows.find(({ address, owner, uid }) => {
      const isOwned = living.some(({ object }) => object.metadata.uid === uid)
      const isNamed =
        !this.#seen.has(`IPAMClaim ${owner}`) &&
        [...this.#seen.keys()].some((key) => key.startsWith('Pod') && this.#nameOf(key) === owner)
      return !held.has(address) && !isOwned && !isNamed
    })
    if (left !== undefined) return `${left.address} has a row of ${left.owner}, which has ended`
    const surplus = living.find(
      ({ object, has }) => has.length > 0 && rows.filter(({ uid }) => uid === object.metadata.uid).length > has.length,
    )
    if (surplus !== undefined) return `${surplus.object.metadata.name} has more rows than addresses`
    return undefined
  }
}

/** `undefined`: an object that has no addresses, or none any more. */
function addressesOf(object: KubeObject): readonly string[] | undefined {
  if (object.kind === 'IPAMClaim')
    return heldByClaim(IPAMClaim.parse(object)).map(({ address }) => Address.format(address))
  if (object.kind !== 'Pod' || (object.status as { phase?: string })?.phase === 'Succeeded') return undefined
  return heldByPod(Pod.parse(object)).map(({ prefix: { address } }) => Address.format(address))
}
