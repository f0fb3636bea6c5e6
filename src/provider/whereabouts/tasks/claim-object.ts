import * as Address from '../../../cidr/nouns/address.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import type { MergePatch } from '../../../crd/meta/patch.js'

/** IPAMClaim of the multi-network working group, v0.5.1-alpha. */
export const IPAM_CLAIM = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim' } as const

/** What is read of the status of a claim. */
export interface ClaimStatus {
  /** As they are written, with or without the length of their subnet. */
  readonly ips: readonly string[]
  readonly addresses: readonly Address.Address[]
  readonly ownerPod: string | undefined
}

/** The status of a claim; `undefined`: one of its texts is no address. Old writers left `null`. */
export function readClaimStatus({ status }: KubeObject): ClaimStatus | undefined {
  const { ips, ownerPod } = (status ?? {}) as {
    readonly ips?: unknown
    readonly ownerPod?: { readonly name?: unknown }
  }
  const texts: readonly unknown[] = Array.isArray(ips) ? ips : []
  const addresses = texts.map((text) => Address.safeParse(String(text).split('/')[0] as string))
  if (addresses.some(({ ok }) => !ok)) return undefined
  return {
    ips: texts.map(String),
    addresses: addresses.flatMap((read) => (read.ok ? [read.value] : [])),
    ownerPod: typeof ownerPod?.name === 'string' ? ownerPod.name : undefined,
  }
}

/** An API server refuses a status whose `ips` is null. */
export function claimStatus(ips: readonly string[], pod: string): MergePatch {
  return { status: { ips, ownerPod: { name: pod } } }
}
