import { Address } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { isDeleting, type KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Change, Planner } from 'ipam-kit/plan'
import type { Store } from 'ipam-kit/store'
import type { Dice, SimulatedSystem } from 'ipam-kit/testing'
import { callerOf } from '../../../docs/examples/external-provider/caller.js'
import { FakeIpam } from '../../../docs/examples/external-provider/fake-ipam.js'
import { infoblox } from '../../../docs/examples/external-provider/provider.js'
import type { SimulationRules } from '../../../src/testing/simulation/simulate.js'
import { claim, claimRef, kinds, pool } from './world.js'

const NETWORKS = { lab: '10.20.0.0/29', small: '10.30.0.0/30' }
const POOLS = Object.keys(NETWORKS)
const PAUSED = 'cluster.x-k8s.io/paused'

export interface SystemOptions {
  readonly planner?: (() => Planner) | undefined
  /** A external system that behaves otherwise. */
  readonly ipam?: FakeIpam | undefined
}

/**
 * The provider of docs/examples/external-provider, with a external system that goes wrong as the
 * store does. Always: no two IPAddress objects have one address, and what a claim that lives is
 * Bound to is kept in the external system. At rest: the external system has what the cluster has,
 * and who waits waits for room.
 */
export function externalSystem({ planner = infoblox, ipam = new FakeIpam() }: SystemOptions = {}): SimulatedSystem {
  for (const network of Object.values(NETWORKS)) ipam.addNetwork(network)
  return {
    kinds,
    planner,
    external: callerOf(ipam),
    prepare: async (store) => {
      for (const [name, network] of Object.entries(NETWORKS)) unwrap(await store.create(pool(network, name)))
    },
    act,
    rules: () => new ExternalRules(ipam),
  }
}

async function act(store: Store, dice: Dice): Promise<void> {
  const name = `claim-${dice.below(6)}`
  const draw = dice.next()
  if (draw < 0.5) await store.create(claim(name, {}, dice.pick(POOLS)))
  else if (draw < 0.85) await store.delete(claimRef(name))
  else await store.patch(claimRef(name), { metadata: { annotations: { [PAUSED]: dice.chance(0.5) ? '' : null } } })
}

class ExternalRules implements SimulationRules {
  readonly #ipam: FakeIpam
  /** The address of each IPAddress, and which have each. */
  readonly #addresses = new Map<string, string>()
  readonly #living = new Map<string, string>()

  constructor(ipam: FakeIpam) {
    this.#ipam = ipam
  }

  observe(change: Change): string | undefined {
    const { kind } = change.kind === 'present' ? change.object : change.ref
    if (kind === IPAddress.info.kind) return this.#observeAddress(change)
    return kind === IPAddressClaim.info.kind ? this.#observeClaim(change) : undefined
  }

  async atRest(store: Store): Promise<string | undefined> {
    const list = async ({ info }: { readonly info: (typeof kinds)[number] }) => unwrap(await store.list(info)).items
    const addresses = (await list(IPAddress)).map((object) => IPAddress.parse(object))
    const claims = (await list(IPAddressClaim)).map((object) => IPAddressClaim.parse(object))
    const inside = addresses.map(({ metadata, spec }) => `default.${metadata.name} ${spec.address}`).sort()
    const external = this.#ipam.records.map(({ name, address }) => `${name} ${address}`).sort()
    const resting = claims.filter(({ metadata }) => metadata.annotations?.[PAUSED] === undefined)
    // what is paused may be on its way: what was allocated for it is in the external system and not
    // in the cluster yet
    const paused = new Set(claims.filter((it) => !resting.includes(it)).map(({ metadata }) => metadata.name))
    // and one that was paused while it was given back is free in the external system and not
    // inside: whoever has it by now waits
    const halfWay = new Set(addresses.filter((it) => paused.has(it.metadata.name)).map(({ spec }) => spec.address))
    const known = (entry: string) => {
      const [name = '', address = ''] = entry.slice('default.'.length).split(' ')
      return !paused.has(name) && !halfWay.has(address)
    }
    const [left, right] = [inside.filter(known), external.filter(known)]
    if (left.join() !== right.join())
      return `the cluster has ${left.join(', ')}; the external system has ${right.join(', ')}`
    for (const it of resting) {
      const { name } = it.metadata
      if (isDeleting(it)) return `${name} is still being deleted`
      const has = addresses.some(({ metadata }) => metadata.name === name)
      if (has !== (it.status?.addressRef !== undefined)) return `${name} does not say what it has`
      const network = NETWORKS[it.spec.poolRef.name as keyof typeof NETWORKS]
      const taken = this.#ipam.records.filter((record) => record.network === network).length
      const isServed = external.some((entry) => entry.startsWith(`default.${name} `))
      if (!has && !isServed && taken < (network.endsWith('/30') ? 2 : 6))
        return `${name} waits, and ${network} has room`
    }
    return undefined
  }

  #observeClaim(change: Change): string | undefined {
    const uid = (change.kind === 'present' ? change.object.metadata.uid : change.uid) as string
    if (change.kind === 'absent' || isDeleting(change.object)) this.#living.delete(uid)
    else this.#living.set(uid, change.object.metadata.name)
    return undefined
  }

  #observeAddress(change: Change): string | undefined {
    const uid = (change.kind === 'present' ? change.object.metadata.uid : change.uid) as string
    if (change.kind === 'absent') {
      this.#addresses.delete(uid)
      return undefined
    }
    const text = Address.format(Address.parse(IPAddress.parse(change.object).spec.address))
    this.#addresses.set(uid, text)
    const holders = [...this.#addresses].filter(([, held]) => held === text).length
    if (holders > 1) return `${text} was given to ${holders} claims`
    return this.#isKept(change.object, text)
      ? undefined
      : `${text} of a claim that lives is not kept in the external system`
  }

  #isKept({ metadata }: KubeObject, address: string): boolean {
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === IPAddressClaim.info.kind)?.uid
    if (owner === undefined || !this.#living.has(owner) || metadata.deletionTimestamp !== undefined) return true
    return this.#ipam.records.some((record) => record.address === address)
  }
}
