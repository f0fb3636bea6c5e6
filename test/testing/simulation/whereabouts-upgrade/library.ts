import { Pod } from 'ipam-kit/crd/core'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import type { InterfaceRequest } from 'ipam-kit/provider/whereabouts'
import {
  blockAdd,
  blockCheck,
  blockDel,
  blockGc,
  dualAdd,
  dualCheck,
  dualDel,
  dualGc,
} from 'ipam-kit/provider/whereabouts-blocks'
import { type Commands, type Library, library, taskOf } from '../whereabouts/library.js'
import type { Upgrade } from './upgrade.js'

/** The commands by the type of the definition. */
export interface UpgradeCommands {
  readonly whereabouts: Commands
  readonly 'ipam-kit': Commands
}

export const upgradeCommands: UpgradeCommands = {
  whereabouts: { add: dualAdd, del: dualDel, check: dualCheck, gc: dualGc },
  'ipam-kit': {
    add: (request) => blockAdd(onBlocks(request)),
    del: (request) => blockDel(onBlocks(request)),
    check: (request) => blockCheck(onBlocks(request)),
    gc: (request) => blockGc(onBlocks(request)),
  },
}

/** The same configuration under the type `ipam-kit`. */
function onBlocks<Request extends Pick<InterfaceRequest, 'config'>>({ config, ...others }: Request) {
  return { ...others, network: { config, pools: [] } }
}

/** The plugin and the controllers of a cluster in an upgrade. */
export function upgradeLibrary(upgrade: Upgrade, commands: UpgradeCommands): Library {
  return {
    ...library,
    task: (call) => {
      const carrier = upgrade.carrierFor(call)
      return taskOf(call, commands[carrier === 'upstream' ? 'whereabouts' : carrier])
    },
    planners: (options) => [
      ...library.planners(options),
      () => blocksOperator({ emptySeconds: 1 }),
      () => blocksSweep({ owners: [Pod.info], graceSeconds: options.graceSeconds }),
    ],
  }
}
