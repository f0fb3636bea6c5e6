import { Prefix } from 'ipam-kit/cidr'
import type { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { type Case, type Difference, type Objects, type Rule, type Script, statesOf } from '../differences.js'

/**
 * Where the example differs from what was recorded, by the headings of
 * docs/reference/deviations.md. Each rule holds for what its text there says.
 */
export function rulesFor({ flags = '' }: Script): readonly Rule[] {
  return [
    {
      heading: 'Events about subnets are warnings, from the program that sends them',
      holds: ({ path, theirs, ours }) =>
        isEvent(path, 'CIDRNotAvailable') &&
        ((path.endsWith('.type') && theirs === 'Normal' && ours === 'Warning') ||
          (path.endsWith('.component') && theirs !== undefined && ours === 'ipam-kit-node-ipam')),
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
      heading: 'The service range is given to no Node',
      holds: (difference) => isGiving(difference) && givesServices(difference.recorded, flags),
    },
    {
      heading: 'No subnet is given twice',
      holds: (difference) => isGiving(difference) && sharedIn(difference.recorded) > sharedIn(difference.own),
    },
    {
      heading: 'A range stays while Nodes have subnets of it',
      holds: ({ path, ours, own }) => {
        // the answer to the creation of another one of its name
        if (/^step \d+$/.test(path)) return /"status":409/.test(String(ours)) && rangesIn(own.final).some(isEnding)
        const range = own.final[/^\.(ClusterCIDR\/[^.]+)\./.exec(path)?.[1] ?? ''] as ClusterCIDR | undefined
        return range !== undefined && isEnding(range) && subnetsIn(own.final).some((subnet) => isOf(subnet, range))
      },
    },
    {
      heading: 'All subnets of a Node, or none',
      holds: (difference) =>
        isGiving(difference) && isDual(difference.recorded, flags) && hasWaited(difference.recorded),
    },
    {
      heading: 'No object ends the process',
      holds: (difference) =>
        difference.path.endsWith('controllerExited')
          ? difference.ours === undefined
          : exits(difference.recorded) && isLeftUndone(difference),
    },
    {
      heading: 'any-number-of-children',
      holds: (difference) =>
        (isGiving(difference) || isOfFinalizers(difference)) &&
        rangesIn(difference.own.final).some(({ spec }) => spec.ipv6 !== undefined && bitsOf(spec.ipv6, spec) > 16),
    },
    {
      heading: 'A ClusterCIDR is what its spec says',
      holds: (difference) => isGiving(difference) && changesRange(difference.recorded),
    },
    {
      heading: 'A term without requirements selects nothing',
      holds: (difference) => isGiving(difference) && hasTerm(difference, (term) => Object.keys(term).length === 0),
    },
    {
      heading: 'One term of a selector is enough',
      holds: (difference) => isGiving(difference) && hasSelector(difference, (terms) => terms.length > 1),
    },
    {
      heading: 'Fields of a term are fields of the Node',
      holds: (difference) =>
        isGiving(difference) && hasTerm(difference, ({ matchFields = [] }) => matchFields.length > 0),
    },
    {
      heading: 'A selector without terms is not valid',
      holds: (difference) => isGiving(difference) && hasSelector(difference, (terms) => terms.length === 0),
    },
    {
      heading: 'A ClusterCIDR that is being deleted gives no subnets',
      holds: (difference) => (isGiving(difference) || isOfEnded(difference)) && givesWhileEnding(difference.recorded),
    },
    {
      heading: 'The subnet of a deleted Node is free, whatever its labels',
      holds: (difference) => (isGiving(difference) || isOfEnded(difference)) && losesLabels(difference.recorded),
    },
    {
      heading: 'Ranges without a selector keep their order in a restart',
      holds: (difference) =>
        isGiving(difference) &&
        rangesIn(difference.own.final).filter(({ spec }) => spec.nodeSelector === undefined).length > 1 &&
        difference.recorded.steps.filter(({ step }) => 'kill' in (step as object)).length > 1,
    },
  ]
}

function isEvent(path: string, reasons: string): boolean {
  return new RegExp(`^\\.Event/[^.]+/(${reasons})\\.`).test(path)
}

/** Whether it is about the subnets of a Node, or that there are none for it. */
function isGiving({ path }: Pick<Difference, 'path'>): boolean {
  return /^\.Node\/[^.]+\.spec\.podCIDRs?(\.|$)/.test(path) || isEvent(path, 'CIDRNotAvailable')
}

function isOfFinalizers({ path }: Difference): boolean {
  return /^\.ClusterCIDR\/[^.]+\.metadata\.finalizers/.test(path)
}

/** Whether it is about a ClusterCIDR that is being deleted there, and does not exist here. */
function isOfEnded({ path, ours, recorded, own }: Difference): boolean {
  const key = /^\.(ClusterCIDR\/[^.]+)\./.exec(path)?.[1] ?? ''
  const range = recorded.final[key] as ClusterCIDR | undefined
  return ours === undefined && own.final[key] === undefined && range !== undefined && isEnding(range)
}

interface SeenNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec?: { readonly podCIDRs?: readonly string[] }
}

function nodesIn(objects: Objects): readonly SeenNode[] {
  return Object.entries(objects).flatMap(([key, object]) => (key.startsWith('Node/') ? [object as SeenNode] : []))
}

function subnetsIn(objects: Objects): readonly Prefix[] {
  return nodesIn(objects).flatMap(subnetsOf)
}

function subnetsOf({ spec }: SeenNode): readonly Prefix[] {
  return (spec?.podCIDRs ?? []).map(prefixOf)
}

function rangesIn(objects: Objects): readonly ClusterCIDR[] {
  return Object.entries(objects).flatMap(([key, object]) =>
    key.startsWith('ClusterCIDR/') ? [object as ClusterCIDR] : [],
  )
}

/** As the API server reads stored fields. */
function prefixOf(text: string): Prefix {
  return Prefix.parse(text, { profile: 'k8s-legacy-read' })
}

function prefixesOf({ spec: { ipv4 = '', ipv6 = '' } }: ClusterCIDR): readonly Prefix[] {
  return [ipv4, ipv6].flatMap((text) => (text === '' ? [] : [prefixOf(text)]))
}

function isEnding({ metadata }: ClusterCIDR): boolean {
  return metadata.deletionTimestamp !== undefined
}

function isOf(subnet: Prefix, range: ClusterCIDR): boolean {
  return prefixesOf(range).some((prefix) => Prefix.overlaps(prefix, subnet))
}

/**
 * How many times a Node has a subnet that overlaps one of another Node, at most at one time, where
 * the program has given one of the two.
 */
function sharedIn(recorded: Case): number {
  const preset = presetIn(recorded)
  const pairsIn = (objects: Objects) => {
    const nodes = nodesIn(objects)
    return nodes.flatMap((one, at) =>
      nodes.slice(at + 1).filter((other) => {
        const isGiven = [one, other].some(({ metadata }) => !preset.has(metadata.name))
        return isGiven && subnetsOf(one).some((left) => subnetsOf(other).some((right) => Prefix.overlaps(left, right)))
      }),
    ).length
  }
  return Math.max(...statesOf(recorded).map(pairsIn))
}

/** Whether the program has given a part of the service range to a Node. */
function givesServices(recorded: Case, flags: string): boolean {
  const [, texts = ''] = /--service-cluster-ip-range=(\S+)/.exec(flags) ?? []
  const services = texts.split(',').flatMap((text) => (text === '' ? [] : [prefixOf(text)]))
  const preset = presetIn(recorded)
  return statesOf(recorded).some((objects) =>
    nodesIn(objects).some(
      (node) =>
        !preset.has(node.metadata.name) &&
        subnetsOf(node).some((subnet) => services.some((range) => Prefix.overlaps(range, subnet))),
    ),
  )
}

/** The names of the Nodes whose subnets are set by a step. */
function presetIn({ steps }: Case): ReadonlySet<string> {
  const writesIn = (step: unknown): readonly (readonly [name: string, spec: unknown])[] => {
    const {
      create,
      patch,
      batch = [],
    } = step as {
      create?: { kind: string; metadata: { name: string }; spec?: unknown }
      patch?: { ref: { kind: string; name: string }; body: { spec?: unknown } }
      batch?: readonly unknown[]
    }
    return [
      ...(create?.kind === 'Node' ? [[create.metadata.name, create.spec] as const] : []),
      ...(patch?.ref.kind === 'Node' ? [[patch.ref.name, patch.body.spec] as const] : []),
      ...batch.flatMap(writesIn),
    ]
  }
  const isSet = (spec: unknown) =>
    spec !== undefined && Object.keys(spec as object).some((field) => /^podCIDRs?$/.test(field))
  const written = steps.flatMap(({ step }) => writesIn(step))
  return new Set(written.flatMap(([name, spec]) => (isSet(spec) ? [name] : [])))
}

/** Whether Nodes get subnets of both families. */
function isDual(recorded: Case, flags: string): boolean {
  const [, cidrs = ''] = /--cluster-cidr=(\S+)/.exec(flags) ?? []
  return (
    cidrs.includes(',') ||
    statesOf(recorded).some((objects) => rangesIn(objects).some((range) => prefixesOf(range).length > 1))
  )
}

/** Whether a Node has waited for subnets. */
function hasWaited({ final }: Case): boolean {
  return Object.keys(final).some((key) => /^Event\/Node\/[^/]+\/CIDRNotAvailable$/.test(key))
}

/** The base-2 logarithm of the subnets of an IPv6 range. */
function bitsOf(ipv6: string, { perNodeHostBits }: ClusterCIDR['spec']): number {
  return 128 - perNodeHostBits - Number(ipv6.split('/')[1])
}

function exits({ steps }: Case): boolean {
  return steps.some(({ controllerExited }) => controllerExited !== undefined)
}

/** What a process that has ended does not do: subnets and finalizers of ours alone, and deletions. */
function isLeftUndone(difference: Difference): boolean {
  if (isOfEnded(difference)) return true
  return difference.theirs === undefined && (isGiving(difference) || isOfFinalizers(difference))
}

type Terms = NonNullable<ClusterCIDR['spec']['nodeSelector']>['nodeSelectorTerms']

/** Whether a ClusterCIDR of the case has such a selector. */
function hasSelector({ own, recorded }: Difference, isMeant: (terms: Terms) => boolean): boolean {
  const ranges = [...statesOf(own), ...statesOf(recorded)].flatMap(rangesIn)
  return ranges.some(({ spec }) => spec.nodeSelector !== undefined && isMeant(spec.nodeSelector.nodeSelectorTerms))
}

function hasTerm(difference: Difference, isMeant: (term: Terms[number]) => boolean): boolean {
  return hasSelector(difference, (terms) => terms.some(isMeant))
}

/** Whether a Node got a subnet of a ClusterCIDR that was being deleted before. */
function givesWhileEnding(recorded: Case): boolean {
  const states = statesOf(recorded)
  return states.some((objects, at) => {
    const before = states[at - 1] ?? {}
    const ending = rangesIn(before).filter(isEnding)
    const had = new Set(nodesIn(before).flatMap(({ metadata, spec }) => (spec?.podCIDRs ? [metadata.name] : [])))
    const served = nodesIn(objects).filter(({ metadata, spec }) => spec?.podCIDRs && !had.has(metadata.name))
    return served.some(({ spec }) =>
      spec?.podCIDRs?.some((text) => ending.some((range) => isOf(prefixOf(text), range))),
    )
  })
}

/** Whether a Node with subnets lost a label before it was deleted. */
function losesLabels(recorded: Case): boolean {
  const states = statesOf(recorded)
  const last = new Map<string, SeenNode>()
  const lost = new Set<string>()
  for (const objects of states) {
    const nodes = new Map(nodesIn(objects).map((node) => [node.metadata.name, node]))
    for (const [name, before] of last) {
      if (!nodes.has(name) && lost.has(name)) return true
      const labels = nodes.get(name)?.metadata.labels ?? {}
      const isLess = Object.entries(before.metadata.labels ?? {}).some(([label, value]) => labels[label] !== value)
      if (nodes.has(name) && isLess && before.spec?.podCIDRs !== undefined) lost.add(name)
    }
    last.clear()
    for (const [name, node] of nodes) last.set(name, node)
  }
  return false
}

/** Whether the spec of a ClusterCIDR was changed, and the server took it. */
function changesRange({ steps }: Case): boolean {
  return steps.some(({ step, response }) => {
    const { patch } = step as { patch?: { ref: { kind: string }; body: object } }
    const { status } = (response ?? {}) as { status?: number }
    return patch?.ref.kind === 'ClusterCIDR' && 'spec' in patch.body && status === 200
  })
}
