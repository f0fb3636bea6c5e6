import type { Address } from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import type { CniDns, CniRoute } from '../../../cni/index.js'

/** A fault of a configuration. */
export interface ConfigIssue {
  /** The field: `ipam.ipRanges[1].range_start`, `flatFile.gateway`, `args.IP`. */
  readonly path: string
  readonly message: string
}

/** The IPAM part of a network configuration of whereabouts, with its flat file merged. */
export interface WhereaboutsConfig {
  /** The name of the network configuration. Node slices without `networkName` go by it. */
  readonly name?: string | undefined
  /** `cniVersion`; an empty text if the configuration has none. */
  readonly cniVersion: string
  /**
   * The ranges, `range` before `ipRanges`: one address of each. None: the answer has the static
   * addresses alone.
   */
  readonly ranges: readonly WhereaboutsRange[]
  readonly gateway?: Address | undefined
  /** Passed on with the answer, as `dns` is. */
  readonly routes: readonly CniRoute[]
  readonly dns?: CniDns | undefined
  /** Addresses that each interface gets, without a row. */
  readonly addresses: readonly StaticAddress[]
  /** Addresses of the ranges that the runtime or the user asks for. */
  readonly asked: readonly AskedAddress[]
  /**
   * Whether an address is reserved over all ranges that overlap: `enable_overlapping_ranges`.
   * Default true. As upstream does, the flat file has no say.
   */
  readonly overlappingRanges: boolean
  /** `network_name`: ranges of two names do not overlap. */
  readonly networkName?: string | undefined
  /** `node_slice_size` as written, `/26` or `26`: the Node gives addresses of its slice only. */
  readonly nodeSliceSize?: string | undefined
  /** The IPAMClaim that holds the addresses. */
  readonly claim?: ConfiguredClaim | undefined
  /** Whether GC may free rows: `gc`. Default true. */
  readonly gc: boolean
  /** Read and not used: the product takes no Lease. Milliseconds. */
  readonly leader: {
    readonly leaseDurationMs: number
    readonly renewDeadlineMs: number
    readonly retryPeriodMs: number
  }
  readonly logFile?: string | undefined
  readonly logLevel?: string | undefined
  readonly reconcilerCronExpression?: string | undefined
  readonly kubeconfig?: string | undefined
  readonly k8sApiRoot?: string | undefined
  readonly podName?: string | undefined
  readonly podNamespace?: string | undefined
}

/** One range of a configuration. */
export interface WhereaboutsRange {
  /** With its host bits cleared. */
  readonly prefix: Prefix
  /**
   * The first address to give. Left out, or outside of the usable addresses: the first usable one.
   */
  readonly start?: Address | undefined
  /** The last address to give, inclusive. Left out, or outside: the last usable one. */
  readonly end?: Address | undefined
  /** Addresses that are not given, as written: a CIDR, an address, or `first-last`. */
  readonly exclude: readonly string[]
}

/** A static address, with the length of its subnet. */
export interface StaticAddress {
  readonly prefix: Prefix
  readonly gateway?: Address | undefined
}

/** An address that is asked for. */
export interface AskedAddress {
  readonly address: Address
  readonly gateway?: Address | undefined
  /** The field that asks for it: `runtimeConfig.ips[0]`, `args.cni.ips[0]`, `args.IP`. */
  readonly path: string
}

/** What holds addresses beyond the life of a Pod. */
export interface ConfiguredClaim {
  readonly name: string
  /** Left out: the namespace of the Pod. Another namespace is refused by `add`. */
  readonly namespace?: string | undefined
  /**
   * The owner of the addresses, if it is no IPAMClaim: it is not read, and has no status. Its rows
   * stay until an operator removes them.
   */
  readonly owner?: { readonly apiVersion: string; readonly kind: string; readonly uid: string } | undefined
}
