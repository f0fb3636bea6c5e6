import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import { type ErrorCode, IpamError } from 'ipam-kit/errors'
import type { Outcome, Planner, Task } from 'ipam-kit/plan'
import { type AllocationOutcome, allocate, KnownBlocks, type ReleaseOutcome, release } from 'ipam-kit/provider/blocks'
import { type RunTaskOptions, runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'

/** What a container runtime says of an interface. */
export interface Attachment {
  readonly uid: string
  /** `namespace/name` of the Pod. */
  readonly pod: string
  readonly interface: string
  readonly container: string
  readonly node: string
}

/** ADD: an address for an interface of a Pod. */
export async function add(
  store: Store,
  { uid, pod, interface: name, container, node }: Attachment,
  { known, pools, ...options }: RunTaskOptions & { readonly known: KnownBlocks; readonly pools: readonly string[] },
): Promise<AllocationOutcome> {
  const owner = { uid, name: pod }
  const request = { owner, interface: name, container, node: { name: node }, pools, families: [4] as const }
  return finish(allocate(request, known), store, options)
}

/** DEL: all that this interface has, also what an ADD that broke off has left. */
export async function del(
  store: Store,
  { uid, interface: name }: Pick<Attachment, 'uid' | 'interface'>,
  { known, pools, ...options }: RunTaskOptions & { readonly known: KnownBlocks; readonly pools: readonly string[] },
): Promise<ReleaseOutcome> {
  return finish(release({ owner: { uid }, interface: name, pools }, known), store, options)
}

/** Runs a task to its end. What has become of a write that was not answered is found out by the same task. */
export async function finish<O extends Outcome>(task: Task<O>, store: Store, options: RunTaskOptions): Promise<O> {
  let ended = await runTask(task, store, options)
  for (let more = 4; ended.kind === 'unsettled' && more > 0; more--) {
    ended = await runTask(task, store, options, ended.unsettled)
  }
  if (ended.kind === 'done') return ended.outcome
  throw new IpamError<ErrorCode>(ended.failure)
}

/** Knows all pools and blocks, and plans nothing: run it in a Controller of the agent, and hand `known` to its tasks. */
export class BlocksWatch implements Planner {
  readonly name = 'blocks-watch'
  readonly watches = [IPPool.info, IPBlock.info]
  known = new KnownBlocks({ isComplete: true })

  observe(change: Parameters<Planner['observe']>[0]): readonly string[] {
    this.known.observe(change, { nowMs: 0 })
    return []
  }

  plan(): undefined {
    return undefined
  }

  isSummary(): boolean {
    return true
  }

  reset(): void {
    this.known = new KnownBlocks({ isComplete: true })
  }
}

/** What the sweep looks for. Of objects it only needs their names and uids. */
export const POD = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true, statusSubresource: true } as const
