import type { CniConfig } from 'ipam-kit/cni'
import { Node, Pod } from 'ipam-kit/crd/core'
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

const KINDS = [IPPool, IPBlock, Pod, Node].map(({ info }) => info)

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
    // an ADD proves what it knows by its write. These would believe a watch that is late
    del: (request, { nodeName }) => blockDel({ network, nodeName, ...request }),
    check: (request, { nodeName }) => blockCheck({ network, nodeName, ...request }),
    gc: (attachments, { nodeName }) => blockGc({ network, nodeName, ...attachments }),
    status: ({ nodeName }) => blockStatus({ network, nodeName }),
  }
  return { ok: true, value }
}
