import { Prefix } from 'ipam-kit/cidr'
import {
  defaultClusterCIDR,
  type FlagRanges,
  type FlagResult,
  flagRange,
  type NodeIPAMFlags,
  type NodeIPAMOptions,
  readFlags,
} from 'ipam-kit/provider/node-ipam'
import { FlagError, type FlagOptions, type FlagValues, isWhole, numberOf } from '../program/flags.js'

/** Those with a name of kube-controller-manager mean what they mean there. */
export const FLAGS = {
  ranges: {
    type: 'string',
    default: 'objects',
    about: '`objects`: ClusterCIDRs give the ranges. `flags`: these flags do, as in kube-controller-manager',
  },
  order: { type: 'string', about: 'with `objects`: which ClusterCIDR is tried first, `numeric` or `upstream`' },
  'allocate-node-cidrs': { type: 'boolean', about: 'may be left out; `=false` is refused' },
  'cluster-cidr': {
    type: 'string',
    about:
      'one CIDR, or one of each family with a comma between. With `objects`: the range of the ClusterCIDR ' +
      '`default-cluster-cidr`, which is created if it does not exist',
  },
  'node-cidr-mask-size': {
    type: 'string',
    default: '0',
    about: 'the length of a subnet of `--cluster-cidr`, for one family only. 0: 24, or 64 for IPv6',
  },
  'node-cidr-mask-size-ipv4': { type: 'string', default: '0', about: 'the length of an IPv4 subnet. 0: 24' },
  'node-cidr-mask-size-ipv6': { type: 'string', default: '0', about: 'the length of an IPv6 subnet. 0: 64' },
  'service-cluster-ip-range': {
    type: 'string',
    about: 'the ranges of Services, with a comma between: no Node gets a part of them',
  },
  'watch-service-cidrs': {
    type: 'boolean',
    default: false,
    about: 'no Node gets a part of the range of a ServiceCIDR object: Kubernetes 1.33 and later',
  },
  network: {
    type: 'string',
    about: 'the ClusterNetwork that says which ranges are in use. Left out: all are in use',
  },
} as const satisfies FlagOptions

/** The component whose order of subnets, and whose names of metrics, are kept. */
export type Parity = 'kube-controller-manager' | 'node-ipam-controller'

/** What the flags ask for. */
export interface NodeIPAMPlan {
  readonly options: NodeIPAMOptions
  /** What is ignored, one sentence each. */
  readonly warnings: readonly string[]
  readonly parity: Parity | undefined
}

/** @throws FlagError */
export function planOf(values: FlagValues<typeof FLAGS>): NodeIPAMPlan {
  const common = { watchServiceCIDRs: values['watch-service-cidrs'] === true, network: values.network }
  switch (values.ranges) {
    case 'flags': {
      if (values.order !== undefined) throw new FlagError('--order is for --ranges objects')
      const { serviceCIDRs, warnings, ...ranges } = valueIn(readFlags(flagsOf(values)))
      const range = valueIn(flagRange(ranges.clusterCIDRs, ranges.nodeMaskSizes))
      const options = { ...common, range, serviceCIDRs }
      return { options, warnings, parity: 'kube-controller-manager' }
    }
    case 'objects': {
      const order = orderOf(values.order)
      const { serviceCIDRs, warnings, ...ranges } = rangesOf(values)
      const spec = ranges.clusterCIDRs.length === 0 ? undefined : valueIn(defaultClusterCIDR(ranges))
      const options = { ...common, order, serviceCIDRs, defaultClusterCIDR: spec }
      return { options, warnings, parity: order === 'upstream' ? 'node-ipam-controller' : undefined }
    }
    default:
      throw new FlagError(`--ranges (${values.ranges}) is objects or flags`)
  }
}

function orderOf(text = 'numeric'): 'numeric' | 'upstream' {
  if (text === 'numeric' || text === 'upstream') return text
  throw new FlagError(`--order (${text}) is numeric or upstream`)
}

/** The ranges of a default ClusterCIDR, if one is asked for, and those of services. */
function rangesOf(values: FlagValues<typeof FLAGS>): FlagRanges {
  const flags = flagsOf(values)
  if (flags.clusterCIDR !== undefined) return valueIn(readFlags(flags))
  if (flags.nodeCIDRMaskSize || flags.nodeCIDRMaskSizeIPv4 || flags.nodeCIDRMaskSizeIPv6) {
    throw new FlagError('--node-cidr-mask-size is for --cluster-cidr: ClusterCIDRs have sizes of their own')
  }
  const serviceCIDRs = (flags.serviceCIDR ?? '')
    .split(',')
    .filter((text) => text.trim() !== '')
    .map((text) => {
      const read = Prefix.safeParse(text.trim())
      if (read.ok) return read.value
      throw new FlagError(`--service-cluster-ip-range: ${JSON.stringify(text)} is not a CIDR`)
    })
  return { clusterCIDRs: [], nodeMaskSizes: [], serviceCIDRs, warnings: [] }
}

function flagsOf(values: FlagValues<typeof FLAGS>): NodeIPAMFlags {
  const size = (name: 'node-cidr-mask-size' | 'node-cidr-mask-size-ipv4' | 'node-cidr-mask-size-ipv6') =>
    numberOf(values, name, 'a whole number up to 128', (n) => isWhole(n, 0, 128))
  return {
    allocateNodeCIDRs: values['allocate-node-cidrs'],
    clusterCIDR: values['cluster-cidr'],
    nodeCIDRMaskSize: size('node-cidr-mask-size'),
    nodeCIDRMaskSizeIPv4: size('node-cidr-mask-size-ipv4'),
    nodeCIDRMaskSizeIPv6: size('node-cidr-mask-size-ipv6'),
    serviceCIDR: values['service-cluster-ip-range'],
  }
}

function valueIn<T>(result: FlagResult<T>): T {
  if (!result.ok) throw new FlagError(result.problems.join('; '))
  return result.value
}
