import { createHash } from 'node:crypto'
import { isAbsolute } from 'node:path'
import type { CniConfig } from 'ipam-kit/cni'
import { Pod } from 'ipam-kit/crd/core'
import { IPPool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { fail, type Result } from 'ipam-kit/errors'
import { add, check, del, gc, status } from 'ipam-kit/provider/whereabouts'
import { readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import type { Backend, BackendOptions, ContainerRequest } from './backend.js'
import { readFlatFile } from './flat-file.js'
import { openSqlite } from './sqlite.js'

/** Pods are of no file: none is ever found. */
const KINDS = [IPPool, OverlappingRangeIPReservation, Pod].map(({ info }) => info)

/** What needs a cluster. */
const OF_CLUSTERS = ['pools', 'node_slice_size', 'kubernetes'] as const

/**
 * A network whose addresses are rows of a file on this node: `"sqlite": "/var/lib/cni/ipam.db"`
 * under the type `ipam-kit`. Pools are made as they are needed.
 */
export function sqliteBackend(
  { raw, ipam = {} }: CniConfig,
  { use, args, sticky }: BackendOptions,
): Result<Backend, 'INVALID_IPAM_CONFIG'> {
  const issues = OF_CLUSTERS.flatMap((member) =>
    ipam[member] === undefined ? [] : [{ path: `ipam.${member}`, message: 'has no meaning beside ipam.sqlite' }],
  )
  const { sqlite: file } = ipam
  if (typeof file !== 'string' || !isAbsolute(file)) {
    issues.push({ path: 'ipam.sqlite', message: 'is not the absolute path of a file' })
  }
  if (issues.length > 0) return fail('INVALID_IPAM_CONFIG', { issues })
  const read = readBlockNetwork(raw, { use, flatFile: readFlatFile(ipam.configuration_path), args })
  if (!read.ok) return read
  const { config } = read.value
  const value: Backend = {
    config,
    open: () => openSqlite(file as string, KINDS),
    isLocal: true,
    kinds: KINDS,
    add: (request, place) => add({ config, ...place, ...ofContainer(request) }, { sticky }),
    del: (request, place) => del({ config, ...place, ...ofContainer(request) }),
    check: (request, place) => check({ config, ...place, ...ofContainer(request), addresses: request.addresses }),
    gc: (attachments, place) => gc({ config, ...place, ...attachments }),
    status: (place) => status({ config, ...place }),
  }
  return { ok: true, value }
}

/** A runtime without a cluster names no Pod: a row has a name for the container then. */
function ofContainer({ podUid: _, ...request }: ContainerRequest): ContainerRequest {
  if (request.podName !== '') return request
  const podName = createHash('sha256').update(request.containerId).digest('hex').slice(0, 32)
  return { ...request, podNamespace: 'local', podName }
}
