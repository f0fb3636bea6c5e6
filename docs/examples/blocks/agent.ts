import { type ErrorCode, IpamError } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { allocate, type KnownBlocks, release } from 'ipam-kit/provider/blocks'
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

export interface AgentOptions extends RunTaskOptions {
  readonly known: KnownBlocks
  readonly pools: readonly string[]
  /** For an agent that knows nothing else. */
  readonly handle?: boolean
}

/** ADD: an address for an interface of a Pod. */
export async function add(
  store: Store,
  { uid, pod, interface: name, container, node }: Attachment,
  { known, pools, handle, ...options }: AgentOptions,
) {
  const owner = { uid, name: pod }
  const request = { owner, interface: name, container, node: { name: node }, pools, families: [4] as const, handle }
  return finish(allocate(request, known), store, options)
}

/**
 * DEL: all that this interface has, also what an ADD that broke off has left. One that is late, for
 * an older container, takes nothing.
 */
export async function del(
  store: Store,
  { uid, interface: name, container }: Pick<Attachment, 'uid' | 'interface'> & Partial<Pick<Attachment, 'container'>>,
  { known, pools, handle, ...options }: AgentOptions,
) {
  return finish(release({ owner: { uid }, interface: name, container, pools, handle }, known), store, options)
}

/** Runs a task to its end. */
export async function finish<O extends Outcome>(task: Task<O>, store: Store, options: RunTaskOptions): Promise<O> {
  const ended = await runTask(task, store, options)
  if (ended.kind === 'done') return ended.outcome
  throw new IpamError<ErrorCode>(ended.failure)
}

/** What the sweep looks for. Of objects it only needs their metadata. */
export const POD = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true, statusSubresource: true } as const
