import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import {
  type DatedDefinition,
  type Network,
  type NetworkDefinition,
  networkOfDefinitions,
  readNetwork,
} from 'ipam-kit/provider/persistent-ip'
import type { ChosenOptions } from './objects.js'
import type { Held, Stored } from './stored.js'

/** The networks as their definitions are now. */
export interface Networks {
  /** The definition of a name, if it can be read. */
  of(nad: string): NetworkDefinition | undefined
  named(network: string): Network | undefined
}

/** What the rules at rest read. */
export interface View {
  readonly stored: Stored
  readonly networks: Networks
  readonly held: readonly Held[]
  readonly options: ChosenOptions
}

export function networksOf(stored: Stored): Networks {
  const definitions = new Map<string, DatedDefinition>()
  for (const object of stored.all('NetworkAttachmentDefinition')) {
    const read = readNetwork(NetworkAttachmentDefinition.parse(object))
    if (!read.ok) continue
    const { creationTimestamp: createdAt } = object.metadata
    definitions.set(read.value.nad, { definition: read.value, createdAt })
  }
  return {
    of: (nad) => definitions.get(nad)?.definition,
    named(network) {
      const all = [...definitions.values()].filter(({ definition }) => definition.name === network)
      return all.length === 0 ? undefined : networkOfDefinitions(all)
    },
  }
}
