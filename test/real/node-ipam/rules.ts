import type { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import type { Case, Difference, Rule, Script } from '../traces.js'

/**
 * Where the example differs from what was recorded, by the headings of
 * docs/reference/deviations.md.
 */
export function rulesFor({ flags = '' }: Script): readonly Rule[] {
  return [
    {
      heading: 'Events about subnets are warnings, from the program that sends them',
      holds: ({ path, theirs, ours }) =>
        isEvent(path, 'CIDRNotAvailable') &&
        ((path.endsWith('.type') && theirs === 'Normal' && ours === 'Warning') ||
          (path.endsWith('.component') && ours === 'ipam-kit-node-ipam')),
    },
    {
      heading: 'Subnets in no range and subnets of two Nodes are reported',
      holds: ({ path, theirs }) => isEvent(path, 'CIDRNotOwned|CIDRConflict') && theirs === undefined,
    },
    {
      heading: 'A ClusterCIDR that gives no subnets says why',
      holds: ({ path, theirs, ours, own }) => {
        if (isEvent(path, 'InvalidClusterCIDR')) return theirs === undefined
        const [, name] = /^\.ClusterCIDR\/([^.]+)\.metadata\.finalizers/.exec(path) ?? []
        return ours === undefined && own.final[`Event/ClusterCIDR/${name}/InvalidClusterCIDR`] !== undefined
      },
    },
    {
      heading: 'No subnet is given twice',
      holds: (difference) => isGiving(difference) && hasDuplicate(difference.recorded) && !hasDuplicate(difference.own),
    },
    {
      heading: 'A range stays while Nodes have subnets of it',
      holds: ({ path, theirs, own }) => {
        const [, key = ''] = /^\.(ClusterCIDR\/[^.]+)\./.exec(path) ?? []
        const { metadata } = (own.final[key] ?? {}) as Partial<ClusterCIDR>
        return theirs === undefined && metadata?.deletionTimestamp !== undefined
      },
    },
    {
      heading: 'All subnets of a Node, or none',
      holds: (difference) => isGiving(difference) && capacitiesOf(flags).size > 1,
    },
    {
      heading: 'No object ends the process',
      holds: (difference) =>
        difference.path.endsWith('controllerExited')
          ? difference.ours === undefined
          : difference.theirs === undefined && isGiving(difference) && exits(difference.recorded),
    },
    {
      heading: 'any-number-of-children',
      holds: ({ own }) => rangesOf(own).some(({ spec }) => spec.ipv6 !== undefined && bitsOf(spec.ipv6, spec) > 16),
    },
    {
      heading: 'A ClusterCIDR is what its spec says',
      holds: (difference) => isGiving(difference) && changesRange(difference.recorded),
    },
    {
      heading: 'A term without requirements selects nothing',
      holds: (difference) =>
        isGiving(difference) &&
        rangesOf(difference.own).some(({ spec }) =>
          spec.nodeSelector?.nodeSelectorTerms.some((term) => Object.keys(term).length === 0),
        ),
    },
    {
      heading: 'Ranges without a selector keep their order in a restart',
      holds: (difference) =>
        isGiving(difference) &&
        rangesOf(difference.own).filter(({ spec }) => spec.nodeSelector === undefined).length > 1 &&
        difference.recorded.steps.filter(({ step }) => 'kill' in (step as object)).length > 1,
    },
  ]
}

function isEvent(path: string, reasons: string): boolean {
  return new RegExp(`^\\.Event/[^.]+/(${reasons})\\.`).test(path)
}

/** Whether it is about the subnets of a Node, or that there are none for it. */
function isGiving({ path }: Difference): boolean {
  return /^\.Node\/[^.]+\.spec\.podCIDRs?(\.|$)/.test(path) || isEvent(path, 'CIDRNotAvailable')
}

function subnetsOf({ final }: Case): readonly string[] {
  return Object.entries(final).flatMap(([key, object]) =>
    key.startsWith('Node/') ? ((object as { spec: { podCIDRs?: string[] } }).spec.podCIDRs ?? []) : [],
  )
}

function hasDuplicate(recorded: Case): boolean {
  const subnets = subnetsOf(recorded)
  return new Set(subnets).size < subnets.length
}

function rangesOf({ final }: Case): readonly ClusterCIDR[] {
  return Object.entries(final).flatMap(([key, object]) =>
    key.startsWith('ClusterCIDR/') ? [object as ClusterCIDR] : [],
  )
}

/** The base-2 logarithm of the subnets of an IPv6 range. */
function bitsOf(ipv6: string, { perNodeHostBits }: ClusterCIDR['spec']): number {
  return 128 - perNodeHostBits - Number(ipv6.split('/')[1])
}

function exits({ steps }: Case): boolean {
  return steps.some(({ controllerExited }) => controllerExited !== undefined)
}

/** Whether the spec of a ClusterCIDR was changed, and the server took it. */
function changesRange({ steps }: Case): boolean {
  return steps.some(({ step, response }) => {
    const { patch } = step as { patch?: { ref: { kind: string }; body: object } }
    const { status } = (response ?? {}) as { status?: number }
    return patch?.ref.kind === 'ClusterCIDR' && 'spec' in patch.body && status === 200
  })
}

/**
 * How many subnets each range of the flags of kube-controller-manager has, as base-2 logarithms.
 */
function capacitiesOf(flags: string): ReadonlySet<number> {
  const sizeOf = (name: string) => Number(new RegExp(`--${name}=(\\d+)`).exec(flags)?.[1])
  const [, cidrs = ''] = /--cluster-cidr=(\S+)/.exec(flags) ?? []
  return new Set(
    cidrs.split(',').map((cidr) => {
      const own = sizeOf(cidr.includes(':') ? 'node-cidr-mask-size-ipv6' : 'node-cidr-mask-size-ipv4')
      return (own || sizeOf('node-cidr-mask-size')) - Number(cidr.split('/')[1])
    }),
  )
}
