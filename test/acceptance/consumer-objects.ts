import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, OwnerReference } from 'ipam-kit/crd/meta'
import type { DesiredClaim } from 'ipam-kit/provider/consumer'

/** Where all objects of a case are, if it does not say. */
export const NAMESPACE = 'default'

/** What a case writes of a claim. What it leaves out is as the consumer wants it. */
export interface ClaimText {
  readonly name: string
  readonly namespace?: string | undefined
  readonly finalizers?: readonly string[] | undefined
  readonly annotations?: { readonly [key: string]: string } | undefined
  readonly ownerReferences?: readonly OwnerReference[] | undefined
  readonly poolRef: { readonly apiGroup: string; readonly kind: string; readonly name: string }
  readonly addressRef?: string | null | undefined
  readonly isDeleting?: boolean | undefined
  readonly conditions?: readonly object[] | undefined
}

/** What a case writes of an address. */
export interface AddressText {
  readonly name: string
  readonly namespace?: string | undefined
  readonly claim: string
  readonly poolRef: { readonly apiGroup: string; readonly kind: string; readonly name: string }
  readonly annotations?: { readonly [key: string]: string } | undefined
  readonly address?: string | undefined
  readonly prefix?: number | undefined
  readonly gateway?: string | undefined
}

const MOMENT = '2026-01-01T00:00:00Z'

/** The owner of claims, as a store has it. */
export function ownerOf(
  name: string,
  metadata: Partial<KubeObject['metadata']> = {},
  type: { readonly apiVersion: string; readonly kind: string } = { apiVersion: 'example.com/v1', kind: 'Machine' },
): KubeObject {
  return { ...type, metadata: { name, namespace: NAMESPACE, uid: `uid of ${name}`, resourceVersion: '1', ...metadata } }
}

export function claimOf(text: ClaimText): IPAddressClaim {
  const { name, namespace = NAMESPACE, annotations, ownerReferences, poolRef, addressRef, isDeleting = false } = text
  // nothing is on its way out that nobody holds
  const finalizers = text.finalizers ?? (isDeleting ? ['example.com/held-by-others'] : undefined)
  return IPAddressClaim.parse({
    apiVersion: IPAddressClaim.info.apiVersion,
    kind: IPAddressClaim.info.kind,
    metadata: {
      name,
      namespace,
      uid: `uid of the claim ${name}`,
      resourceVersion: '1',
      ...(finalizers === undefined ? {} : { finalizers }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...(isDeleting ? { deletionTimestamp: MOMENT } : {}),
    },
    spec: { poolRef },
    status: {
      ...(addressRef ? { addressRef: { name: addressRef } } : {}),
      ...(text.conditions === undefined ? {} : { conditions: text.conditions }),
    },
  })
}

export function addressOf(text: AddressText): IPAddress {
  const { name, namespace = NAMESPACE, claim, poolRef, annotations, address = '', prefix, gateway } = text
  return IPAddress.parse({
    apiVersion: IPAddress.info.apiVersion,
    kind: IPAddress.info.kind,
    metadata: {
      name,
      namespace,
      uid: `uid of the address ${name}`,
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: { claimRef: { name: claim }, poolRef, address, prefix, gateway },
  })
}

/**
 * A claim of the name of a desired one, by its owner and for its pool where the case does not say
 * otherwise.
 */
export function claimFor(desired: DesiredClaim, text: Partial<ClaimText> = {}): IPAddressClaim {
  const { name, namespace, poolRef, ownerReference } = desired
  return claimOf({ name, namespace, poolRef, ownerReferences: [ownerReference], ...text })
}

/** The address of a desired claim. */
export function addressFor(desired: DesiredClaim, text: Partial<AddressText> & { readonly name: string }): IPAddress {
  return addressOf({ namespace: desired.namespace, claim: desired.name, poolRef: desired.poolRef, ...text })
}

/** The condition Ready of a claim. */
export function readyCondition(status: string, reason = 'Some', message = ''): object {
  return { type: 'Ready', status, reason, message, lastTransitionTime: MOMENT }
}
