import type { Network } from './networks.js'

export type Flavor = 'ours' | 'upstream'

/** A Pod as its node and the people see it, also after its object is gone. */
export interface SimulatedPod {
  readonly name: string
  readonly uid: string
  readonly node: string
  readonly interfaces: readonly { readonly ifname: string; readonly network: Network; readonly claim?: string }[]
  /** When its network-status is written. */
  readonly tells: 'at once' | 'late' | 'never' | 'no JSON'
  /** What people want of it. `gone`: its containers are stopped, then the object is deleted. */
  wanted: 'running' | 'complete' | 'gone' | 'forced'
  sandbox: Sandbox | undefined
  /** How many sandboxes it had. */
  count: number
  /** How many in a row could not be set up, and the time of the next one. */
  failures: number
  notBeforeMs: number
  /** The time at which the network-status of the present sandbox is written. */
  statusDueMs: number | undefined
  /** Whether its status names the addresses of the sandbox that it has. */
  hasStatus: boolean
}

/** A container that holds the network of a Pod. */
export interface Sandbox {
  readonly pod: SimulatedPod
  readonly id: string
  readonly attachments: readonly Attachment[]
  /** Its processes are stopped. */
  isDead: boolean
}

/** One interface of a sandbox. */
export interface Attachment {
  readonly sandbox: Sandbox
  readonly ifname: string
  readonly network: Network
  readonly claim: string | undefined
  readonly flavor: Flavor
  state: 'new' | 'adding' | 'live' | 'failed'
  /** What an ADD has answered, also if the kubelet did not wait for it. */
  granted: readonly string[] | undefined
  /** The uid of the claim that it was granted by. */
  claimUid: string | undefined
  /** ADDs that are still under way, also those that the kubelet does not wait for. */
  adds: number
  /** Whether a write of an ADD may arrive when the ADD, or a DEL, has ended. */
  hasLateWrites: boolean
  /** Whether a CHECK is to be sent. */
  wantsCheck: boolean
  /** Whether a DEL was sent. */
  hasDel: boolean
  /** DELs that are to be sent, and the time of the next one. */
  dels: number
  delDueMs: number
  isDeleting: boolean
  /** Upstream has taken a row or a reservation of it away. */
  isTainted: boolean
}

export function newPod(made: Pick<SimulatedPod, 'name' | 'uid' | 'node' | 'interfaces' | 'tells'>): SimulatedPod {
  return {
    ...made,
    wanted: 'running',
    sandbox: undefined,
    count: 0,
    failures: 0,
    notBeforeMs: 0,
    statusDueMs: undefined,
    hasStatus: false,
  }
}

export function newSandbox(pod: SimulatedPod, flavor: Flavor, id: string): Sandbox {
  const attachments: Attachment[] = []
  const sandbox: Sandbox = { pod, id, attachments, isDead: false }
  for (const { ifname, network, claim } of pod.interfaces) {
    attachments.push({
      sandbox,
      ifname,
      network,
      claim,
      flavor,
      state: 'new',
      granted: undefined,
      claimUid: undefined,
      adds: 0,
      hasLateWrites: false,
      wantsCheck: false,
      hasDel: false,
      dels: 0,
      delDueMs: 0,
      isDeleting: false,
      isTainted: false,
    })
  }
  return sandbox
}

/** Whether the interface is in use: no plugin, and no controller, may free its addresses. */
export function isLive({ sandbox, state, hasDel }: Attachment): boolean {
  return state === 'live' && !hasDel && !sandbox.isDead
}

export function podrefOf({ sandbox }: Attachment): string {
  return `default/${sandbox.pod.name}`
}
