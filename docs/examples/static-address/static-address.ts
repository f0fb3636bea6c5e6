import {
  type CniAddRequest,
  type CniOutcome,
  type CniRequest,
  checkCniFamilies,
  cniErrorOf,
  readCniResult,
} from 'ipam-kit/cni'
import { type Failure, fail } from 'ipam-kit/errors'

/**
 * An IPAM plugin that answers the addresses of its configuration:
 * `{ "ipam": { "type": "static-address", "addresses": [{ "address": "10.4.0.5/24" }] } }`.
 */
export async function staticAddress(request: CniRequest): Promise<CniOutcome> {
  // nothing is stored, so that there is nothing to check and nothing to free
  return request.command === 'ADD' ? add(request) : { kind: 'done' }
}

function add({ cniVersion, config }: CniAddRequest): CniOutcome {
  const { addresses, routes, dns } = config.ipam ?? {}
  const result = readCniResult('1.0.0', { ips: addresses, routes, dns })
  if (!result.ok) return failed(result.failure)
  const { ips = [] } = result.value
  if (ips.length === 0) {
    return failed(fail('INVALID_CNI_CONFIG', { path: 'ipam.addresses', problem: 'it is empty' }).failure)
  }
  // before a plugin allocates: what the version cannot express would stay allocated
  const fits = checkCniFamilies(
    cniVersion,
    ips.map(({ address }) => address.address.family),
  )
  return fits.ok ? { kind: 'added', result: result.value } : failed(fits.failure)
}

function failed(failure: Failure): CniOutcome {
  return { kind: 'failed', error: cniErrorOf(failure) }
}
