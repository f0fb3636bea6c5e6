import type { KubeObject } from 'ipam-kit/crd/meta'
import { GROUP, pathsOf } from '../../test/real/controller/claims.js'
import type { Client } from '../../test/real/controller/client.js'

/** A kind of pool that no controller serves. */
export const BARE_POOL = 'BarePool'

export interface AddressParts {
  readonly namespace: string
  readonly pool: number
  /** Of the pool. */
  readonly uid: string
  readonly number: number
  /** Left out: of a claim that is not there. */
  readonly claim?: { readonly name: string; readonly uid: string }
}

/**
 * What has to be written of a claim at least: its finalizer, the address with its two owners, its
 * status.
 */
export async function bindBare(client: Client, claim: KubeObject, parts: Omit<AddressParts, 'claim'>): Promise<void> {
  const { namespace, name, uid } = claim.metadata
  const { claims, addresses } = pathsOf(namespace!)
  const finalizers = [`${GROUP}/ReleaseAddress`]
  await client.send('PATCH', `${claims}/${name}`, { body: { metadata: { finalizers } }, patch: 'merge' })
  const address = addressOf({ ...parts, claim: { name, uid: uid! } })
  await client.send('POST', addresses, { body: address })
  const status = { addressRef: { name } }
  await client.send('PATCH', `${claims}/${name}/status`, { body: { status }, patch: 'merge' })
}

/**
 * An address as the provider writes it. The first of the pool is its network, the second its
 * gateway.
 */
export function addressOf({ namespace, pool, uid, number, claim }: AddressParts): KubeObject {
  const name = claim?.name ?? `seed-${pool}-${number}`
  const owner = { apiVersion: `${GROUP}/v1alpha2`, kind: 'InClusterIPPool', name: `p${pool}`, uid }
  const holder = claim && { apiVersion: `${GROUP}/v1beta2`, kind: 'IPAddressClaim', ...claim }
  const offset = number + 2
  return {
    apiVersion: `${GROUP}/v1beta2`,
    kind: 'IPAddress',
    metadata: {
      name,
      namespace,
      finalizers: [`${GROUP}/ProtectAddress`],
      ownerReferences: [
        ...(holder === undefined ? [] : [{ ...holder, controller: true, blockOwnerDeletion: true }]),
        { ...owner, controller: false, blockOwnerDeletion: true },
      ],
    },
    spec: {
      address: `10.${pool}.${offset >> 8}.${offset & 255}`,
      claimRef: { name },
      poolRef: { apiGroup: GROUP, kind: holder === undefined ? 'InClusterIPPool' : BARE_POOL, name: `p${pool}` },
      prefix: 19,
      gateway: `10.${pool}.0.1`,
    },
  }
}
