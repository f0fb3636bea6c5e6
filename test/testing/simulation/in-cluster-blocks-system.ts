import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { isDeleting, type KindInfo, type KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Change, Planner } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { type InClusterBlocks, inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import type { ObservedWrite, SimulatedSystem, SimulationRules } from 'ipam-kit/testing'
import {
  InClusterRules,
  type InClusterSystemOptions,
  inClusterSystem,
  isHeld,
  isPaused,
} from '../../../src/testing/simulation/in-cluster-system.js'
import { rowsOfClaims } from './block-claims-system.js'
import { Combined } from './combined.js'

/**
 * A system of the in-cluster provider with blocks as its ledger. Every writer serves two small
 * pools at the same time. Users create, delete and pause claims, also by force, and change the
 * pools.
 *
 * Always: no two living claims have one address of a pool, and no living claim loses its address.
 * An IPAddress whose create was delayed (`stand-still`) may have the address of another one, as
 * long as its own claim is not Bound. At rest: no such IPAddress is left. Every claim that can have
 * an address has one, and blocks have a row for each of those and no other row.
 */
export function inClusterBlocksSystem({ consumers }: Pick<InClusterSystemOptions, 'consumers'> = {}): SimulatedSystem {
  const { kinds, prepare, act } = inClusterSystem({ sweepAfterSeconds: 1, consumers })
  const providers = new WeakMap<Planner, InClusterBlocks>()
  return {
    kinds: [...kinds, IPDomain.info, IPPool.info, IPBlock.info],
    planner: () => {
      const own = inClusterBlocks({ sweepAfterSeconds: 1 })
      const sweep = blocksSweep({ owners: [IPAddressClaim.info], graceSeconds: 1 })
      const planner = new Combined([own, blocksOperator({ emptySeconds: 1 }), sweep])
      providers.set(planner, own)
      return planner
    },
    externalOf: (planner, store, options) =>
      taskCaller({ store, ...options, tasks: (providers.get(planner) as InClusterBlocks).tasks }),
    prepare,
    act,
    rules: () => new InClusterBlocksRules(),
  }
}

class InClusterBlocksRules implements SimulationRules {
  readonly #rules = new InClusterRules({ isForced: true, hasRows: true })

  observe(change: Change, write: ObservedWrite): string | undefined {
    return this.#rules.observe(change, write)
  }

  async atRest(store: Store): Promise<string | undefined> {
    const list = async ({ apiVersion, kind }: KindInfo) => unwrap(await store.list({ apiVersion, kind })).items
    const claims = await list(IPAddressClaim.info)
    // nothing is done for a claim that is paused; a row of one that is held while it is deleted
    // stays until the claim is deleted
    const isAtRest = (claim: KubeObject) => isPaused(claim) || (isDeleting(claim) && isHeld(claim))
    const isLeftAlone = (name: string) => claims.some((claim) => claim.metadata.name === name && isAtRest(claim))
    const all = rowsOfClaims((await list(IPBlock.info)).map((object) => IPBlock.parse(object)))
    const left = all.filter(({ name }) => isLeftAlone(name)).map(held)
    const problem = await this.#rules.atRest(store, left)
    if (problem !== undefined) return problem
    const addresses = (await list(IPAddress.info)).map((object) => IPAddress.parse(object))
    const given = addresses.filter(({ metadata }) => !isLeftAlone(metadata.name)).map(textOf)
    const rows = all.filter(({ name }) => !isLeftAlone(name)).map((row) => textOf(held(row)))
    return rows.sort().join() === given.sort().join()
      ? undefined
      : `the rows are ${rows.join(', ')}, and ${given.join(', ')} are given`
  }
}

/** What a row holds, as an IPAddress would. */
function held({ name, pool, address }: ReturnType<typeof rowsOfClaims>[number]): IPAddress {
  const { apiVersion, kind } = IPAddress.info
  const poolRef = {
    apiGroup: 'ipam.cluster.x-k8s.io',
    kind: 'InClusterIPPool',
    name: pool.slice(pool.lastIndexOf('.') + 1),
  }
  const metadata = { namespace: 'rows', name }
  return { apiVersion, kind, metadata, spec: { claimRef: { name }, poolRef, address, prefix: 24 } }
}

function textOf({ metadata, spec }: IPAddress): string {
  return `${metadata.name} ${spec.address}`
}
