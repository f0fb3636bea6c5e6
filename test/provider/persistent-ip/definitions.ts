import { type NetworkDefinition, type NetworkResult, readNetwork } from 'ipam-kit/provider/persistent-ip'

/** A NetworkAttachmentDefinition with a configuration as it stands. */
export function nadOf(config: unknown, name = 'ns1/nad1') {
  const [namespace = '', short = ''] = name.split('/')
  const text = typeof config === 'string' ? config : JSON.stringify(config)
  return { metadata: { namespace, name: short }, spec: { config: text } }
}

/** The configuration of a network of OVN-Kubernetes in `ns1/nad1`. */
export function ovn(rest: object = {}): object {
  return {
    name: 'lab',
    type: 'ovn-k8s-cni-overlay',
    netAttachDefName: 'ns1/nad1',
    topology: 'layer2',
    subnets: '10.0.0.0/24',
    ...rest,
  }
}

export function definitionOf(read: NetworkResult): NetworkDefinition {
  if (!read.ok) throw new Error(read.failure.context.problem)
  return read.value
}

/** The rule that a configuration breaks; `undefined`: none. */
export function ruleOf(config: unknown): string | undefined {
  const read = readNetwork(nadOf(config))
  return read.ok ? undefined : read.failure.context.rule
}
