import type { CniConfig } from 'ipam-kit/cni'
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock, IPPool as PoolOfBlocks } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { IPPool, NodeSlicePool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { fail, type Result } from 'ipam-kit/errors'
import { readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { dualAdd, dualCheck, dualDel, dualGc, dualStatus } from 'ipam-kit/provider/whereabouts-blocks'
import type { Backend, BackendOptions } from './backend.js'
import { readFlatFile } from './flat-file.js'

const OF_POOLS = [IPPool, OverlappingRangeIPReservation, NodeSlicePool, IPAMClaim, Pod]
const KINDS = [...OF_POOLS, PoolOfBlocks, IPBlock].map(({ info }) => info)

/**
 * A network whose addresses are rows of upstream's objects, and of blocks too while its pools are
 * upgraded to them.
 */
export function whereaboutsBackend(
  { raw, ipam }: CniConfig,
  { use, args, rules, sticky, claimOwners = [] }: BackendOptions,
): Result<Backend, 'INVALID_IPAM_CONFIG'> {
  // upstream ignores the member, and would give addresses of its own pools
  if (ipam?.sqlite !== undefined) {
    return fail('INVALID_IPAM_CONFIG', { issues: [{ path: 'ipam.sqlite', message: 'needs the type ipam-kit' }] })
  }
  const flatFile = readFlatFile(ipam?.configuration_path)
  const read = readWhereaboutsConfig(raw, { rules, use, flatFile, args })
  if (!read.ok) return read
  const config = read.value
  const value: Backend = {
    config,
    kinds: [...KINDS, ...claimOwners],
    rules,
    add: (request, place) => dualAdd({ config, ...place, ...request }, { sticky, claimOwners }),
    del: (request, place) => dualDel({ config, ...place, ...request }),
    check: (request, place) => dualCheck({ config, ...place, ...request }),
    gc: (attachments, place) => dualGc({ config, ...place, ...attachments }),
    status: (place) => dualStatus({ config, ...place }),
  }
  return { ok: true, value }
}
