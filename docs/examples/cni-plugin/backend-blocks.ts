import type { CniConfig } from 'ipam-kit/cni'
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { Result } from 'ipam-kit/errors'
import {
  blockAdd,
  blockCheck,
  blockDel,
  blockGc,
  blockStatus,
  readBlockNetwork,
} from 'ipam-kit/provider/whereabouts-blocks'
import type { Backend, BackendOptions } from './backend.js'
import { readFlatFile } from './flat-file.js'

const KINDS = [IPPool, IPBlock, Pod].map(({ info }) => info)

/** A network whose addresses are rows of blocks. */
export function blocksBackend(
  { raw, ipam }: CniConfig,
  { use, args }: BackendOptions,
): Result<Backend, 'INVALID_IPAM_CONFIG'> {
  const read = readBlockNetwork(raw, { use, flatFile: readFlatFile(ipam?.configuration_path), args })
  if (!read.ok) return read
  const network = read.value
  const value: Backend = {
    config: network.config,
    kinds: KINDS,
    add: (request, { nodeName, known }) => blockAdd({ network, nodeName, ...request }, known),
    del: (request, { nodeName, known }) => blockDel({ network, nodeName, ...request }, known),
    check: (request, { nodeName, known }) => blockCheck({ network, nodeName, ...request }, known),
    gc: (attachments, { nodeName, known }) => blockGc({ network, nodeName, ...attachments }, known),
    status: ({ nodeName, known }) => blockStatus({ network, nodeName }, known),
  }
  return { ok: true, value }
}
