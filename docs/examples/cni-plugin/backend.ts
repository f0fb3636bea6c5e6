import type { KindInfo } from 'ipam-kit/crd/meta'
import type { Task } from 'ipam-kit/plan'
import type { KnownBlocks } from 'ipam-kit/provider/blocks'
import type {
  AddOutcome,
  Attachment,
  AttachmentRecord,
  CheckOutcome,
  CheckRequest,
  DelOutcome,
  InterfaceRequest,
  StatusOutcome,
  WhereaboutsConfig,
  WhereaboutsGcOutcome,
} from 'ipam-kit/provider/whereabouts'
import type { ObjectLocks } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'

/** The interface of a container, as the runtime names it. */
export type ContainerRequest = Pick<InterfaceRequest, 'containerId' | 'ifname' | 'podNamespace' | 'podName' | 'podUid'>

/** What a GC compares. */
export interface Attachments {
  readonly valid: readonly Attachment[]
  readonly record: readonly AttachmentRecord[] | undefined
}

/** Where the tasks of a call run. */
export interface Place {
  /** Of objects in a namespace. Left out: the default of the tasks. */
  readonly namespace: string | undefined
  readonly nodeName: string
  /** What a daemon knows of blocks. Left out: nothing. */
  readonly known?: KnownBlocks | undefined
}

/** A store, and the namespace of its objects that are in one. */
export interface OpenStore {
  readonly store: Store
  readonly namespace: string | undefined
  /** What a daemon knows of blocks, once it has listed them. */
  readonly known?: KnownBlocks | undefined
  /** Tasks of one process wait for each other. */
  readonly locks?: ObjectLocks | undefined
  /** The call has ended. */
  close(): void
}

/** A network, and the tasks that carry out the commands of CNI on it. */
export interface Backend {
  readonly config: WhereaboutsConfig
  /** Opens the store of the network. Left out: it is an API server. */
  readonly open?: (() => Promise<OpenStore>) | undefined
  /** Whether containers need no Pod. */
  readonly isLocal?: boolean | undefined
  /** What the tasks ask the store for. */
  readonly kinds: readonly KindInfo[]
  /** Whether errors are those of upstream. */
  readonly rules?: 'upstream' | undefined
  add(request: ContainerRequest, place: Place): Task<AddOutcome>
  del(request: ContainerRequest, place: Place): Task<DelOutcome>
  check(request: ContainerRequest & Pick<CheckRequest, 'addresses'>, place: Place): Task<CheckOutcome>
  gc(attachments: Attachments, place: Place): Task<WhereaboutsGcOutcome>
  status(place: Place): Task<StatusOutcome>
}

/** How a configuration is read. */
export interface BackendOptions {
  /** `release`: faults that only an ADD minds are let pass. */
  readonly use: 'allocate' | 'release'
  readonly args: { readonly [name: string]: string }
  readonly rules?: 'upstream' | undefined
  readonly sticky?: 'pod' | undefined
  /** The kinds that can own a claim which an ADD makes. */
  readonly claimOwners?: readonly KindInfo[] | undefined
}
