import { Address, Prefix } from 'ipam-kit/cidr'
import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { isDeleting, type KindInfo, type KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Change, Planner } from 'ipam-kit/plan'
import { type BlockClaims, blockClaims, blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { type AnyCaller, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import type { Dice, SimulatedSystem, SimulationRules } from 'ipam-kit/testing'
import { Combined } from './combined.js'

const NAMESPACE = 'default'
const CLAIMS = 5
/**
 * What the pools have, and what they may be changed to. They overlap, and have less than all claims
 * may want.
 */
const POOLS: { readonly [name: string]: readonly string[] } = {
  'pool-a': ['10.0.0.2-10.0.0.4', '10.0.0.2-10.0.0.3', '10.0.0.3-10.0.0.9'],
  'pool-b': ['10.0.0.4-10.0.0.6', '10.0.0.4-10.0.0.5', '10.0.0.12-10.0.0.14'],
}

/**
 * A system of claims of Cluster API on two small pools that overlap. Every writer serves them from
 * blocks at the same time. Users create and delete claims and change the pools.
 *
 * Always: no two claims are Bound to one address, and no living claim loses its address. At rest:
 * every claim that can have an address has one, and blocks have a row for each of those and no
 * other row.
 */
export function blockClaimsSystem(): SimulatedSystem {
  const claims = new WeakMap<Planner, BlockClaims>()
  return {
    kinds: [IPAddressClaim, IPAddress, Cluster, IPDomain, IPPool, IPBlock].map((model) => model.info),
    planner: () => {
      const own = blockClaims({ sweepAfterSeconds: 1 })
      const sweep = blocksSweep({ owners: [IPAddressClaim.info], graceSeconds: 1 })
      const planner = new Combined([own, blocksOperator({ emptySeconds: 1 }), sweep])
      claims.set(planner, own)
      return planner
    },
    externalOf: (planner, store, options): AnyCaller => {
      return taskCaller({ store, ...options, tasks: (claims.get(planner) as BlockClaims).tasks })
    },
    prepare: async (store) => {
      for (const [name, [ranges = '']] of Object.entries(POOLS)) {
        const subnets = [{ cidr: '10.0.0.0/24', ranges: [ranges], gateway: '10.0.0.1' }]
        const spec = { subnets, ipv4: { blockPrefixLength: 29 } }
        unwrap(await store.create({ ...kindOf(IPPool.info), metadata: { name }, spec }))
      }
    },
    act,
    rules: () => new BlockClaimsRules(),
  }
}

function kindOf({ apiVersion, kind }: KindInfo): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion, kind }
}

async function act(store: Store, dice: Dice): Promise<void> {
  const name = `claim-${dice.below(CLAIMS)}`
  const ref = { ...kindOf(IPAddressClaim.info), namespace: NAMESPACE, name }
  const poolName = dice.pick(Object.keys(POOLS))
  const draw = dice.next()
  if (draw < 0.45) {
    const spec = { poolRef: { apiGroup: 'ipam-kit.dev', kind: 'IPPool', name: poolName } }
    await store.create({ ...kindOf(IPAddressClaim.info), metadata: { namespace: NAMESPACE, name }, spec })
  } else if (draw < 0.6) await store.delete(ref)
  else if (draw < 0.7) {
    const subnets = [{ cidr: '10.0.0.0/24', ranges: [dice.pick(POOLS[poolName] as readonly string[])] }]
    await store.patch({ ...kindOf(IPPool.info), name: poolName }, { spec: { subnets } })
  } else {
    // by force
    await store.patch(ref, { metadata: { finalizers: [] } })
    await store.delete(ref)
  }
}

class BlockClaimsRules implements SimulationRules {
  /** The IPAddress objects, by uid, and the claims, by theirs. */
  readonly #addresses = new Map<string, IPAddress>()
  readonly #claims = new Map<string, IPAddressClaim>()

  observe(change: Change): string | undefined {
    const ref = change.kind === 'present' ? change.object : change.ref
    const uid = (change.kind === 'present' ? change.object.metadata.uid : change.uid) ?? ''
    if (IPAddressClaim.is(ref)) {
      if (change.kind === 'present') this.#claims.set(uid, IPAddressClaim.parse(change.object))
      else this.#claims.delete(uid)
      return this.#duplicate()
    }
    if (!IPAddress.is(ref)) return undefined
    if (change.kind === 'present') {
      this.#addresses.set(uid, IPAddress.parse(change.object))
      return this.#duplicate()
    }
    const was = this.#addresses.get(uid)
    this.#addresses.delete(uid)
    const claim = was && this.#claims.get(ownerOf(was) ?? '')
    const isTaken = claim !== undefined && !isDeleting(claim)
    return isTaken ? `${was?.spec.address} was taken from ${claim.metadata.name}, which lives` : undefined
  }

  /**
   * An address that two claims are Bound to. An address to which no claim is Bound has no owner.
   */
  #duplicate(): string | undefined {
    const holders = new Map<string, string>()
    for (const address of this.#addresses.values()) {
      const claim = this.#claims.get(ownerOf(address) ?? '')
      if (claim?.status?.addressRef?.name === undefined || isDeleting(claim)) continue
      const other = holders.get(address.spec.address)
      if (other !== undefined) return `${address.spec.address} is that of ${other} and of ${claim.metadata.name}`
      holders.set(address.spec.address, claim.metadata.name)
    }
    return undefined
  }

  async atRest(store: Store): Promise<string | undefined> {
    const list = async (info: KindInfo) => unwrap(await store.list(kindOf(info))).items
    const claims = (await list(IPAddressClaim.info)).map((object) => IPAddressClaim.parse(object))
    const addresses = (await list(IPAddress.info)).map((object) => IPAddress.parse(object))
    const blocks = (await list(IPBlock.info)).map((object) => IPBlock.parse(object))
    const rows = rowsOfClaims(blocks).map(({ uid, address }) => `${uid} ${address}`)
    const bound = addresses.map((address) => `${ownerOf(address)} ${address.spec.address}`)
    if (rows.sort().join() !== bound.sort().join())
      return `the rows are ${rows.join(', ')}, and ${bound.join(', ')} are given`
    for (const claim of claims) {
      if (isDeleting(claim)) return `${claim.metadata.name} is still being deleted`
      const own = addresses.find((address) => ownerOf(address) === claim.metadata.uid)
      if ((claim.status?.addressRef?.name !== undefined) !== (own !== undefined)) {
        return `the status of ${claim.metadata.name} is not what there is`
      }
    }
    for (const object of await list(IPPool.info)) {
      const pool = IPPool.parse(object)
      const waiting = claims.filter(
        ({ spec, status }) => spec.poolRef.name === pool.metadata.name && !status?.addressRef,
      )
      const free = pool.status?.ipv4?.free
      if (waiting.length > 0 && free !== '0') return `${pool.metadata.name} has ${free} free, and a claim waits`
    }
    return undefined
  }
}

/** The rows of blocks of addresses, as whose they are. */
export function rowsOfClaims(
  blocks: readonly IPBlock[],
): readonly { readonly uid: string; readonly name: string; readonly pool: string; readonly address: string }[] {
  return blocks.flatMap(({ spec }) =>
    Object.entries(spec.rows).map(([unit, { uid, owner, pool = spec.pool }]) => {
      const address = Address.add(Prefix.first(Prefix.parse(spec.cidr)), Number(unit))
      return { uid, pool, name: owner.slice(owner.indexOf('/') + 1), address: Address.format(address) }
    }),
  )
}

function ownerOf(address: KubeObject): string | undefined {
  return address.metadata.ownerReferences?.find(({ kind }) => kind === IPAddressClaim.info.kind)?.uid
}
