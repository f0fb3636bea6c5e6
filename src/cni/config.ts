import { CNI_VERSION_MISMATCH, INVALID_CNI_CONFIG } from '../errors/definitions.js'
import { failWith } from '../errors/failure.js'
import type { Result } from '../errors/index.js'
import { quote } from '../errors/quote.js'
import { type CniCommand, type CniInterfaceRef, isIfname, isName } from './environment.js'
import { asMap, type CniJson, memberOf, wordFor } from './json.js'
import { type CniVersion, DEFAULT_VERSION, isSince } from './versions.js'

/**
 * The network configuration on stdin. A member with the value `null` counts as a member that does
 * not exist, as in plugins that are written in Go.
 */
export interface CniConfig {
  /** `0.1.0` if the configuration does not say it. */
  readonly cniVersion: CniVersion
  /** The name of the network. */
  readonly name: string
  /** The file name of the main plugin, such as `macvlan`. IPAM plugins get its configuration. */
  readonly type: string | undefined
  /** The part for the IPAM plugin, as it is. */
  readonly ipam: CniJson | undefined
  /** What the runtime adds for the capabilities of the plugin: `{ ips: ['10.0.0.5/24'] }`. */
  readonly runtimeConfig: CniJson
  /** The member `cni` of `args`. */
  readonly args: CniJson
  /** The result of the plugin before this one, or of ADD. `readCniResult` reads it. */
  readonly prevResult: CniJson | undefined
  /** The whole configuration, also with members that this module does not know. */
  readonly raw: CniJson
}

/** The commands that came after 0.1.0, and the version that they came with. */
const COMMAND_SINCE: { readonly [command in CniCommand]?: CniVersion } = {
  CHECK: '0.4.0',
  GC: '1.1.0',
  STATUS: '1.1.0',
}

type ConfigResult<T> = Result<T, 'INVALID_CNI_CONFIG' | 'CNI_VERSION_MISMATCH'>

/** Reads a configuration for a command, from its JSON. O(members). */
export function readConfig(
  json: unknown,
  command: CniCommand,
  supported: readonly CniVersion[],
): ConfigResult<CniConfig> {
  const raw = asMap(json)
  if (raw === undefined) return wrong('the configuration', `expected an object, got ${wordFor(json)}`)
  if (memberOf(raw, 'plugins') !== undefined && memberOf(raw, 'type') === undefined) {
    return wrong('plugins', 'this is a list of configurations, and a plugin gets one of them')
  }
  const name = memberOf(raw, 'name') ?? ''
  if (typeof name !== 'string') return wrong('name', `expected a text, got ${wordFor(name)}`)
  if (name === '') return wrong('name', 'it is missing')
  if (!isName(name)) return wrong('name', `${quote(name)} has a character that is not allowed`)
  const cniVersion = readVersion(raw, supported)
  if (!cniVersion.ok) return cniVersion
  const since = COMMAND_SINCE[command]
  if (since !== undefined && !isSince(cniVersion.value, since)) {
    return mismatch(cniVersion.value, `${command} needs ${since} or later`)
  }
  return readMembers(raw, { name, cniVersion: cniVersion.value })
}

/** The version that a configuration asks for. */
export function readVersion(raw: CniJson, supported: readonly CniVersion[]): ConfigResult<CniVersion> {
  const text = memberOf(raw, 'cniVersion') ?? ''
  if (typeof text !== 'string') return wrong('cniVersion', `expected a text, got ${wordFor(text)}`)
  const version = text === '' ? DEFAULT_VERSION : text
  return supported.includes(version as CniVersion)
    ? { ok: true, value: version as CniVersion }
    : mismatch(version, `this plugin supports ${supported.join(', ')}`)
}

function readMembers(raw: CniJson, base: Pick<CniConfig, 'name' | 'cniVersion'>): ConfigResult<CniConfig> {
  const type = memberOf(raw, 'type')
  if (type !== undefined && typeof type !== 'string') return wrong('type', `expected a text, got ${wordFor(type)}`)
  const maps: { [member: string]: CniJson | undefined } = {}
  for (const member of ['ipam', 'runtimeConfig', 'args', 'prevResult']) {
    const value = memberOf(raw, member)
    maps[member] = asMap(value)
    if (value !== undefined && maps[member] === undefined) {
      return wrong(member, `expected an object, got ${wordFor(value)}`)
    }
  }
  const { ipam, runtimeConfig = {}, args: allArgs = {}, prevResult } = maps
  const args = memberOf(allArgs, 'cni') ?? {}
  if (asMap(args) === undefined) return wrong('args.cni', `expected an object, got ${wordFor(args)}`)
  return { ok: true, value: { ...base, type, ipam, runtimeConfig, args: args as CniJson, prevResult, raw } }
}

/** The names of the list of GC: libcni sends both, the specification had the second at first. */
const VALID_ATTACHMENTS = ['cni.dev/valid-attachments', 'cni.dev/attachments']

/**
 * The attachments that still exist, for GC: the union of both lists, because GC deletes what is not
 * listed. A list that is missing is refused; an empty list, which Go can write as `null`, says that
 * no attachment exists.
 */
export function readAttachments(raw: CniJson): Result<readonly CniInterfaceRef[], 'INVALID_CNI_CONFIG'> {
  const members = VALID_ATTACHMENTS.filter((member) => Object.hasOwn(raw, member))
  if (members.length === 0) return wrong(VALID_ATTACHMENTS[0] as string, 'GC needs the list, and it is missing')
  const found = new Map<string, CniInterfaceRef>()
  for (const member of members) {
    const list = raw[member] ?? []
    if (!Array.isArray(list)) return wrong(member, `expected a list, got ${wordFor(list)}`)
    for (const [index, item] of list.entries()) {
      const { containerID: containerId, ifname } = asMap(item) ?? {}
      const at = `${member}[${index}]`
      if (typeof containerId !== 'string' || !isName(containerId)) {
        return wrong(`${at}.containerID`, 'it is not the id of a container')
      }
      if (typeof ifname !== 'string' || !isIfname(ifname)) {
        return wrong(`${at}.ifname`, 'it is not the name of an interface')
      }
      // no id of a container has a slash
      found.set(`${containerId}/${ifname}`, { containerId, ifname })
    }
  }
  return { ok: true, value: [...found.values()] }
}

function wrong(path: string, problem: string) {
  return failWith(INVALID_CNI_CONFIG, { path, problem })
}

function mismatch(version: string, problem: string) {
  return failWith(CNI_VERSION_MISMATCH, { version, problem })
}
