import * as z from 'zod'
import { check } from '../../errors/check.js'
import type { JsonObject } from '../meta/json.js'
import { readJson, type TextResult } from './read-json.js'

/** A CNI configuration: a chain of plugins. A configuration of one plugin is a chain of one. */
export interface NetworkConfig {
  /** Left out: the first version of CNI. */
  readonly cniVersion?: string | undefined
  /** The name of the network. Left out: Multus uses the name of the NetworkAttachmentDefinition. */
  readonly name?: string | undefined
  /** Whether the text is a list of plugins. */
  readonly isList: boolean
  readonly plugins: readonly NetworkPlugin[]
}

/** A plugin of a {@link NetworkConfig}. */
export interface NetworkPlugin {
  /** The name of its program: `macvlan`. Empty: the configuration has none. */
  readonly type: string
  /** The name of the IPAM plugin that it calls: `whereabouts`. Left out: it calls none. */
  readonly ipamType?: string | undefined
  /** The configuration of its IPAM plugin, with all members. */
  readonly ipam?: JsonObject | undefined
  /** The configuration of the plugin, with all members. */
  readonly stored: JsonObject
}

const ipam = z.looseObject({ type: z.string().optional() })
const plugin = z.looseObject({ type: z.string().optional(), ipam: ipam.optional() })
const config = z.looseObject({
  cniVersion: z.string().optional(),
  name: z.string().optional(),
  type: z.string().optional(),
  ipam: ipam.optional(),
  plugins: z.array(plugin).optional(),
})

/**
 * Reads the CNI configuration of a NetworkAttachmentDefinition. Plugins and IPAM plugins of any
 * type are read: {@link ipamOfType} selects those of one type. O(length).
 *
 * @returns the failure `MALFORMED_EMBEDDED_JSON` for a text that is not JSON, as an empty one;
 * `INVALID_OBJECT` with the path of each member that has another type
 * @example
 * const read = readNetworkConfig('{"name":"lab","type":"macvlan","ipam":{"type":"dhcp"}}')
 * read.ok && read.value.plugins.map(({ type, ipamType }) => [type, ipamType]) // [['macvlan', 'dhcp']]
 */
export function readNetworkConfig(text: string): TextResult<NetworkConfig> {
  check('readNetworkConfig', 'text', text, 'text')
  const read = readJson(config, text, 'CNI configuration', 'spec.config')
  if (!read.ok) return read
  const { cniVersion, name, plugins } = read.value
  const chain = (plugins ?? [read.value]).map(pluginOf)
  return {
    ok: true,
    value: {
      ...(cniVersion !== undefined && { cniVersion }),
      ...(name !== undefined && { name }),
      isList: plugins !== undefined,
      plugins: chain,
    },
  }
}

function pluginOf(stored: z.output<typeof plugin>): NetworkPlugin {
  const { type = '', ipam } = stored
  return {
    type,
    ...(ipam?.type !== undefined && { ipamType: ipam.type }),
    ...(ipam !== undefined && { ipam }),
    stored,
  }
}

/**
 * The configurations of the IPAM plugins of one type in a chain. Empty for a network whose
 * addresses come from elsewhere, such as `dhcp`. O(plugins).
 *
 * @example
 * const read = readNetworkConfig('{"plugins":[{"type":"macvlan","ipam":{"type":"whereabouts","range":"10.0.0.0/24"}}]}')
 * read.ok && ipamOfType(read.value, 'whereabouts') // [{ type: 'whereabouts', range: '10.0.0.0/24' }]
 */
export function ipamOfType(config: NetworkConfig, type: string): readonly JsonObject[] {
  check('ipamOfType', 'config', config, ['open', { plugins: ['list', 'object'] }])
  check('ipamOfType', 'type', type, 'text')
  return config.plugins.flatMap(({ ipam, ipamType }) => (ipam !== undefined && ipamType === type ? [ipam] : []))
}
