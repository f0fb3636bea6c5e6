import { memberOf, readJson, wordFor } from '../../../cni/json.js'
import { check, type KindOf } from '../../../errors/check.js'
import { INVALID_IPAM_CONFIG } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import type { Result } from '../../../errors/index.js'
import { quote } from '../../../errors/quote.js'
import { refuse } from '../../../errors/refuse.js'
import { readClaim } from './claim.js'
import { ConfigIssues } from './issues.js'
import { goKindOf, isRecord, type JsonRecord, jsonText, Members } from './members.js'
import { readNodeSliceSize } from './node-slice-size.js'
import { readRanges } from './ranges.js'
import { readDns, readRoutes } from './routes.js'
import { readAddresses } from './static-addresses.js'
import { AddressTexts } from './texts.js'
import type { WhereaboutsConfig } from './types.js'

export interface ReadConfigOptions {
  /**
   * `upstream`: accepts what whereabouts 0.9.4 accepts, refuses what it refuses, and the message of
   * the failure is its sentence. Left out: also refuses what has no effect or no clear meaning.
   */
  readonly rules?: 'upstream' | undefined
  /**
   * `release`: for DEL, GC and CHECK. A fault that upstream passes over does not keep addresses
   * from being released: the configuration of an ADD may be older than the rule. Default
   * `allocate`.
   */
  readonly use?: 'allocate' | 'release' | undefined
  /**
   * The flat file, `whereabouts.conf`: its text or its value. `absent`: the host has looked for it
   * in vain, which is an error under `rules: 'upstream'`. Left out: as if it were empty.
   */
  readonly flatFile?: string | object | undefined
  /** The pairs of `CNI_ARGS`: `K8S_POD_NAME`, `K8S_POD_NAMESPACE`, `IP`, `GATEWAY`. */
  readonly args?: { readonly [name: string]: string } | undefined
}

const READ_CONFIG_OPTIONS: KindOf<ReadConfigOptions> = {
  rules: ['one?', { upstream: 1 }],
  use: ['one?', { allocate: 1, release: 1 }],
  flatFile: 'any?',
  args: ['record?', 'text'],
}

/**
 * Reads the network configuration of a plugin whose IPAM is whereabouts: the standard input of CNI,
 * or `spec.config` of a NetworkAttachmentDefinition. Of a list of plugins, the first one whose IPAM
 * is whereabouts counts. O(n).
 *
 * - The flat file fills the fields that the configuration leaves out. `enable_overlapping_ranges`
 *   is not filled, as in upstream.
 * - `range` comes before `ipRanges`. Bounds in `first-last/length` count before `range_start` and
 *   `range_end`.
 * - Fields that are not known are ignored, also those of the etcd store, which upstream has
 *   removed.
 *
 * @param input the text or the value of the configuration
 * @returns a failure names each field that is at fault, and the sentence of upstream under its
 * rules
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * const ipam = { type: 'whereabouts', range: '10.0.0.0/24' }
 * readWhereaboutsConfig({ cniVersion: '1.0.0', name: 'blue', ipam }).ok // true
 */
export function readWhereaboutsConfig(
  input: string | object,
  options: ReadConfigOptions = {},
): Result<WhereaboutsConfig, 'INVALID_IPAM_CONFIG'> {
  if (typeof input !== 'string' && typeof input !== 'object') {
    refuse('readWhereaboutsConfig', 'input', 'a text or an object', typeof input)
  }
  check<ReadConfigOptions>('readWhereaboutsConfig', 'options', options, READ_CONFIG_OPTIONS)

  const read = readIpamConfig(input, options, WHEREABOUTS)
  return read.ok ? { ok: true, value: read.value.config } : read
}

/** An IPAM type whose configuration is that of whereabouts. */
export interface IpamDialect {
  readonly type: string
  /** Reads the members that only this type has; the names of pools replace the ranges. */
  readonly pools: (ipam: Members, issues: ConfigIssues) => readonly string[]
}

const WHEREABOUTS: IpamDialect = { type: 'whereabouts', pools: () => [] }

/** A configuration, and the pools that it names. */
export interface IpamReading {
  readonly config: WhereaboutsConfig
  readonly pools: readonly string[]
}

/** As {@link readWhereaboutsConfig}, for any IPAM type that has the same configuration. */
export function readIpamConfig(
  input: string | object,
  options: ReadConfigOptions,
  dialect: IpamDialect,
): Result<IpamReading, 'INVALID_IPAM_CONFIG'> {
  const isUpstream = options.rules === 'upstream'
  const issues = new ConfigIssues(!isUpstream && options.use !== 'release')
  const reading = new ConfigReader(issues, options, dialect).read(input)
  if (reading !== undefined && issues.all.length === 0) return { ok: true, value: reading }
  return failWith(INVALID_IPAM_CONFIG, { issues: issues.all, ...(isUpstream && { text: issues.text }) })
}

class ConfigReader {
  readonly #issues: ConfigIssues
  readonly #options: ReadConfigOptions
  readonly #dialect: IpamDialect

  constructor(issues: ConfigIssues, options: ReadConfigOptions, dialect: IpamDialect) {
    this.#issues = issues
    this.#options = options
    this.#dialect = dialect
  }

  read(input: string | object): IpamReading | undefined {
    const network = this.#network(input)
    if (network === undefined) return undefined
    const net = new Members(network, this.#issues, (field) => field, 'Net')
    const [name, cniVersion = ''] = [net.text('name'), net.text('cniVersion')]
    const inline = net.record('ipam', 'types.IPAMConfig')
    if (inline === undefined) {
      if (this.#issues.all.length === 0) this.#issues.add('ipam', 'is missing', "IPAM config missing 'ipam' key")
      return undefined
    }
    if (!this.#isOurs(inline)) return undefined
    const flat = this.#flatFile()
    if (flat === undefined) return undefined
    const merged = withFlatFile(inline, flat)
    const pathOf = (field: string) => (merged[field] === inline[field] ? `ipam.${field}` : `flatFile.${field}`)
    const ipam = new Members(merged, this.#issues, pathOf, 'Net.ipam')
    const pools = this.#dialect.pools(ipam, this.#issues)
    return { config: this.#config(ipam, network, { name, cniVersion, namesPools: pools.length > 0 }), pools }
  }

  #config(
    ipam: Members,
    network: JsonRecord,
    { name, cniVersion, namesPools }: Pick<WhereaboutsConfig, 'name' | 'cniVersion'> & { readonly namesPools: boolean },
  ): WhereaboutsConfig {
    const { rules, args = {} } = this.#options
    const ranges = readRanges(ipam, this.#issues)
    const { kubeconfig, k8sApiRoot } = this.#kubernetes(ipam)
    const gatewayText = ipam.text('gateway')
    const gateway =
      gatewayText === undefined
        ? undefined
        : new AddressTexts(this.#issues).address(
            ipam.path('gateway'),
            gatewayText,
            `couldn't parse gateway IP: ${gatewayText}`,
          )
    const { addresses, asked } = readAddresses(
      { ipam, network, args, ranges, namesPools, cniVersion, rules },
      this.#issues,
    )
    const networkName = this.#networkName(ipam)
    return {
      name,
      cniVersion,
      ranges,
      gateway,
      routes: readRoutes(ipam, this.#issues),
      dns: readDns(ipam, this.#issues),
      addresses,
      asked,
      overlappingRanges: ipam.flag('enable_overlapping_ranges') ?? true,
      networkName,
      nodeSliceSize: readNodeSliceSize(ipam, ranges, this.#issues),
      claim: readClaim(ipam, network, this.#issues),
      gc: ipam.flag('gc') ?? true,
      leader: {
        leaseDurationMs: ipam.count('leader_lease_duration') ?? 1500,
        renewDeadlineMs: ipam.count('leader_renew_deadline') ?? 1000,
        retryPeriodMs: ipam.count('leader_retry_period') ?? 500,
      },
      logFile: ipam.text('log_file'),
      logLevel: ipam.text('log_level'),
      reconcilerCronExpression: ipam.text('reconciler_cron_expression'),
      kubeconfig,
      k8sApiRoot,
      podName: args.K8S_POD_NAME || undefined,
      podNamespace: args.K8S_POD_NAMESPACE || undefined,
    }
  }

  #networkName(ipam: Members): string | undefined {
    const name = ipam.text('network_name')
    if (name === undefined) return undefined
    const path = ipam.path('network_name')
    if (name.length > MAX_NETWORK_NAME) {
      this.#issues.strict(path, `has ${name.length} characters: names of objects have room for ${MAX_NETWORK_NAME}`)
    } else if (!NETWORK_NAME.test(name)) {
      this.#issues.strict(path, `${quote(name)} cannot begin the name of an object: use a-z, 0-9, "-" and "."`)
    }
    return name
  }

  /** The configuration of one plugin, from that of a plugin or of a list. */
  #network(input: string | object): JsonRecord | undefined {
    const read = this.#json(input, '', jsonText)
    if (read === undefined) return undefined
    if (!Array.isArray(read.plugins) || typeof read.type === 'string') return read
    const plugins = read.plugins.filter(isRecord)
    const plugin = plugins.find(({ ipam }) => isRecord(ipam) && ipam.type === this.#dialect.type) ?? plugins[0]
    if (plugin === undefined) {
      this.#issues.add('plugins', 'is empty', "IPAM config missing 'ipam' key")
      return undefined
    }
    return { name: read.name, ...plugin, cniVersion: read.cniVersion }
  }

  /** The flat file as an object; `undefined` after an issue. */
  #flatFile(): JsonRecord | undefined {
    const { flatFile, rules } = this.#options
    if (flatFile === undefined) return {}
    if (flatFile !== 'absent') {
      return this.#json(flatFile, 'flatFile', (problem) => `LoadIPAMConfig Flatfile - JSON Parsing Error: ${problem}`)
    }
    if (rules !== 'upstream') return {}
    this.#issues.add('flatFile', 'is missing', 'config file not found')
    return undefined
  }

  #json(input: string | object, path: string, sentence: (problem: string) => string): JsonRecord | undefined {
    const field = path || 'input'
    const read = typeof input === 'string' ? readJson(input) : { value: input }
    if (read.problem !== undefined) {
      const { problem, position } = read.problem
      const text = `${sentence(problem)} / bytes: ${input}`
      this.#issues.add(field, `is not JSON: ${problem} (at position ${position})`, text)
      return undefined
    }
    if (read.oddity !== undefined) {
      this.#issues.strict(field, `${read.oddity.problem} (at position ${read.oddity.position})`)
    }
    if (isRecord(read.value)) return read.value
    const problem = `json: cannot unmarshal ${goKindOf(read.value)} into Go value of type types.Net`
    this.#issues.add(field, `expected an object, got ${wordFor(read.value)}`, sentence(problem))
    return undefined
  }

  #isOurs(ipam: JsonRecord): boolean {
    const type = memberOf(ipam, 'type') ?? ''
    const { type: own } = this.#dialect
    if (type === own) return true
    const text = `only interested in networks whose IPAM type is 'whereabouts'. This one was: ${String(type)}`
    this.#issues.add('ipam.type', `expected ${own}, got ${String(type) || 'none'}`, text)
    return false
  }

  #kubernetes(ipam: Members): Pick<WhereaboutsConfig, 'kubeconfig' | 'k8sApiRoot'> {
    const path = ipam.path('kubernetes')
    const given = ipam.record('kubernetes', 'types.KubernetesConfig') ?? {}
    const members = new Members(given, this.#issues, (field) => `${path}.${field}`, 'Net.ipam.kubernetes')
    const [kubeconfig, k8sApiRoot] = [members.text('kubeconfig'), members.text('k8s_api_root')]
    // the client of this library is injected
    if (kubeconfig === undefined && this.#options.rules === 'upstream') {
      this.#issues.add(members.path('kubeconfig'), 'is missing', NO_STORE)
    }
    return { kubeconfig, k8sApiRoot }
  }
}

const NO_STORE =
  "you have not configured the storage engine (looks like you're using an invalid `kubernetes.kubeconfig` parameter in your config)"

/** What may stand at the beginning of the name of an object. */
const NETWORK_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/
/** Of the 253 characters of a name, the range and the Node behind it need the others. */
const MAX_NETWORK_NAME = 202

/** Fields of the flat file fill those that the configuration leaves out or leaves empty. */
function withFlatFile(inline: JsonRecord, flat: JsonRecord): JsonRecord {
  const merged: { [field: string]: unknown } = { ...inline }
  for (const [field, value] of Object.entries(flat)) {
    // the inline value counts, or its default
    if (field === 'enable_overlapping_ranges') continue
    const own = memberOf(inline, field)
    if (isRecord(own) && isRecord(value)) merged[field] = withFlatFile(own, value)
    else if (isEmpty(own) && field !== '__proto__') merged[field] = value
  }
  return merged
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || value === 0 || (Array.isArray(value) && value.length === 0)
}
