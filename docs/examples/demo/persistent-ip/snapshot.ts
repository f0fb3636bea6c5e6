import type { Prefix } from 'ipam-kit/cidr'
import { Meta } from 'ipam-kit/crd'
import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome } from 'ipam-kit/plan'
import { heldByClaim, heldByPod, networkOfDefinitions, podAttachments } from 'ipam-kit/provider/persistent-ip'
import type { Store } from 'ipam-kit/store'
import type { Said } from '../steps.js'
import { network } from './objects.js'

/** The objects after a step. */
export interface Snapshot {
  readonly title: string
  readonly machines: readonly string[]
  readonly instances: readonly string[]
  readonly claims: readonly ClaimView[]
  readonly pods: readonly PodView[]
  readonly events: readonly string[]
}

export interface ClaimView {
  readonly name: string
  readonly uid: string
  /** `Kind name` of its owner. */
  readonly owner: string | null
  readonly addresses: readonly Prefix[]
  /** The Pod that its status names. */
  readonly pod: string | null
  readonly isDeleting: boolean
}

export interface PodView {
  readonly name: string
  readonly claim: string | null
  readonly addresses: readonly Prefix[]
}

export async function snapshot(
  store: Pick<Store, 'list'>,
  { title, events }: Pick<Said<Outcome>, 'title' | 'events'>,
): Promise<Snapshot> {
  const listed = async ({ info }: Pick<typeof Pod, 'info'>) => unwrap(await store.list(info)).items
  const names = (objects: readonly Meta.KubeObject[]) => objects.map(({ metadata }) => metadata.name)
  return {
    title,
    machines: names(await listed(VirtualMachine)),
    instances: names(await listed(VirtualMachineInstance)),
    claims: (await listed(IPAMClaim)).map((object) => claimView(IPAMClaim.parse(object))),
    pods: (await listed(Pod)).map((object) => podView(Pod.parse(object))),
    events: events.map(({ about, reason, message }) => `${about.kind} ${about.name} ${reason}: ${message}`),
  }
}

function claimView(claim: IPAMClaim): ClaimView {
  const { name, uid = '', ownerReferences: [owner] = [] } = claim.metadata
  return {
    ...{ name, uid, addresses: heldByClaim(claim), isDeleting: Meta.isDeleting(claim) },
    owner: owner === undefined ? null : `${owner.kind} ${owner.name}`,
    pod: claim.status?.ownerPod?.name ?? null,
  }
}

const NETWORK = networkOfDefinitions([{ definition: network }])

function podView(pod: Pod): PodView {
  const [attachment] = unwrap(podAttachments(pod, NETWORK)).attachments
  const addresses = heldByPod(pod).map(({ prefix }) => prefix)
  return { name: pod.metadata.name, claim: attachment?.claim ?? null, addresses }
}
