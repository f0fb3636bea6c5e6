import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { runUntilQuiet, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import type { InClusterBlocks, InClusterBlocksOptions } from '../../../src/provider/in-cluster-blocks/provider.js'
import { kinds, World } from '../in-cluster/world.js'

const blockKinds = [...kinds, IPDomain.info, IPPool.info, IPBlock.info]

/** A world in which the in-cluster provider has blocks as its ledger. */
export class BlocksWorld extends World {
  override readonly store: Store = memoryStore({ now: () => this.nowMs, kinds: blockKinds })

  #process: readonly [InClusterBlocks, ...Planner[]] | undefined

  /** The next run is that of another process. */
  restart(options: InClusterBlocksOptions = {}): void {
    const sweep = blocksSweep({ owners: [IPAddressClaim.info], graceSeconds: 0 })
    this.#process = [inClusterBlocks(options), blocksOperator({ emptySeconds: 0 }), sweep]
  }

  /** Runs a provider, and what belongs to it, until nothing is left to do. */
  async runOnBlocks(): Promise<void> {
    if (this.#process === undefined) this.restart()
    const planners = this.#process as readonly [InClusterBlocks, ...Planner[]]
    const [provider] = planners
    const external = taskCaller({ store: this.store, now: () => this.nowMs, tasks: provider.tasks })
    const { failures } = await runUntilQuiet(this.store, planners, { now: () => this.nowMs, external })
    if (failures.length > 0) throw new Error(JSON.stringify(failures))
  }

  async blocks(): Promise<readonly IPBlock[]> {
    const { apiVersion, kind } = IPBlock.info
    return unwrap(await this.store.list({ apiVersion, kind })).items.map((object) => IPBlock.parse(object))
  }

  /** Whose the rows are, as `block unit owner`. */
  async rows(): Promise<readonly string[]> {
    return (await this.blocks()).flatMap(({ metadata, spec }) =>
      Object.entries(spec.rows).map(([unit, { owner }]) => `${metadata.name} ${unit} ${owner}`),
    )
  }
}

/** What claims have, or why they have nothing, and what pools say. */
export async function outcomeOf(world: World): Promise<{ readonly [object: string]: unknown }> {
  const all: { [object: string]: unknown } = {}
  for (const claim of await world.claims()) {
    const { namespace, name } = claim.metadata
    const { apiVersion, kind } = IPAddress.info
    const found = await world.store.get({ apiVersion, kind, namespace, name })
    const ready = claim.status?.conditions?.find(({ type }) => type === 'Ready')
    const spec = found.ok ? IPAddress.parse(found.value).spec : undefined
    all[`claim ${namespace}/${name}`] = {
      has: spec && `${spec.address}/${spec.prefix} ${spec.gateway}`,
      isNamed: claim.status?.addressRef !== undefined,
      reason: ready?.reason,
      isGoing: claim.metadata.deletionTimestamp !== undefined,
    }
  }
  for (const { apiVersion, kind } of kinds.filter((each) => each.kind.endsWith('Pool'))) {
    for (const { metadata, status } of unwrap(await world.store.list({ apiVersion, kind })).items) {
      all[`${kind} ${metadata.name}`] = status
    }
  }
  return all
}
