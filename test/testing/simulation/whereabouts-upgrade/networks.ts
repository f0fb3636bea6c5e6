import { unwrap } from 'ipam-kit/errors'
import { readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { poolsOf, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import type { Dice } from 'ipam-kit/testing'
import { configOf, type Network, poolNameOf } from '../whereabouts/networks.js'

const SMALL: Network = { name: 'small', ranges: [{ range: '10.0.0.0/29' }], gateway: '10.0.0.2', overlap: true }
const BLUE: Network = { name: 'blue', networkName: 'blue', ranges: [{ range: '10.0.0.0/29' }], overlap: true }
const PLAIN: Network = { name: 'plain', ranges: [{ range: '10.3.0.0/29' }], overlap: false }
const PAIR: Network = { name: 'pair', ranges: [{ range: '10.1.0.0/30' }], overlap: true }
const DUAL: Network = {
  name: 'dual',
  ranges: [{ range: '10.2.0.0/29', exclude: ['10.2.0.4'] }, { range: 'fd00:1::/126' }],
  overlap: true,
}
const LOW: Network = { name: 'low', ranges: [{ range: '10.4.0.0/28', range_end: '10.4.0.3' }], overlap: true }
const HIGH: Network = { name: 'high', ranges: [{ range: '10.4.0.0/28', range_start: '10.4.0.4' }], overlap: true }
const WIDE: Network = { name: 'wide', ranges: [{ range: '10.0.0.0/28' }], overlap: true }

/** Networks that are there together. The ranges of the last setting overlap, so that no upgrade begins. */
const SETTINGS: readonly (readonly Network[])[] = [
  [SMALL],
  [SMALL, BLUE],
  [PLAIN, PAIR],
  [DUAL],
  [DUAL, PAIR],
  [LOW, HIGH],
  [LOW, HIGH, PLAIN],
  [SMALL, WIDE],
]

export function pickUpgradeNetworks(dice: Dice): readonly Network[] {
  return dice.pick(SETTINGS)
}

/** The configurations of networks, as an operator gives them to the steps. */
export function configsOf(networks: readonly Network[]) {
  return networks.map((network) => unwrap(readWhereaboutsConfig(configOf(network))))
}

/** The pools of blocks of a network, one for each range. */
export function blockPoolsOf(network: Network) {
  const { ipam, ...others } = configOf(network) as { readonly ipam: object }
  const config = unwrap(readBlockNetwork({ ...others, ipam: { ...ipam, type: 'ipam-kit' } }))
  return unwrap(poolsOf(config))
}

/** The pools of whereabouts of these networks. */
export function oldPoolsOf(networks: readonly Network[]): readonly string[] {
  return [...new Set(networks.flatMap((network) => network.ranges.map((range) => poolNameOf(network, range))))]
}
