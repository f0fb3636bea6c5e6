import type { CloudAddress } from './cloud.js'
import { canonical } from './ledger.js'

/** What was created, or why the answer of the cloud cannot be used. */
export type Created =
  | { readonly ok: true; readonly address: string; readonly object: CloudAddress }
  | { readonly ok: false; readonly problem: string }

/** Reads the answer to a call that creates an address of a network. */
export function readCreated(value: unknown, network: string): Created {
  const object = (typeof value === 'object' && value !== null ? value : {}) as Partial<CloudAddress>
  const address = typeof object.address === 'string' ? canonical(object.address) : undefined
  const said = JSON.stringify(object.address ?? null).slice(0, 80)
  if (address === undefined || typeof object.id !== 'string') {
    return { ok: false, problem: `the cloud says that it has created ${said}, which is not an address` }
  }
  if (object.network !== network) {
    const problem = `the cloud has created ${said} in the network ${`${object.network}`.slice(0, 80)}, and not in ${network}`
    return { ok: false, problem }
  }
  return { ok: true, address, object: object as CloudAddress }
}
