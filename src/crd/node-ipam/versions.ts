import { nodeSelector } from '../core/strict-node-selector.js'
import { age, column, type VersionSpec } from '../meta/crd-model.js'
import { type CelRule, integer, kubeObject, object, text, withRules } from '../meta/strict.js'
import { API_VERSION, MIN_PER_NODE_HOST_BITS } from './names.js'

export function clusterCIDRVersions(): readonly VersionSpec[] {
  const columns = [
    column('IPv4', 'IPv4 range', '.spec.ipv4'),
    column('IPv6', 'IPv6 range', '.spec.ipv6'),
    column('Host bits', 'Host bits of the subnet of each node', '.spec.perNodeHostBits', 'integer'),
    age('ClusterCIDR'),
  ]
  return [{ apiVersion: API_VERSION, columns, schema: clusterCIDR }]
}

export function clusterCIDR() {
  const range = (family: 4 | 6) => {
    const sentence = `The IPv${family} range, as CIDR. At least one of ipv4 and ipv6 is given. Never changes.`
    return withRules(text(sentence), [stays(`IPv${family}`), validRange(family)]).optional()
  }
  const selector = nodeSelector('The nodes that the range is for. Left out: all nodes. Never changes.')
  const bits = integer(
    'The host bits of the subnet of each node, in both families: with 8 a node gets a /24 of IPv4 and a /120 of IPv6. Never changes.',
    { format: 'int32', minimum: MIN_PER_NODE_HOST_BITS },
  )
  const spec = object('Which nodes get subnets, from which ranges, and how large a subnet is. Never changes.', {
    nodeSelector: withRules(selector, [stays('NodeSelector')]).optional(),
    perNodeHostBits: withRules(bits, [stays('PerNodeHostBits')]),
    ipv4: range(4),
    ipv6: range(6),
  })
  const rules = [
    { rule: `${isGiven('ipv4')} || ${isGiven('ipv6')}`, message: 'A CIDR must be specified for ipv4 or ipv6.' },
    fitsIn(4),
    fitsIn(6),
    { ...keeps('NodeSelector', 'nodeSelector'), rule: 'has(self.nodeSelector) == has(oldSelf.nodeSelector)' },
    keeps('IPv4', 'ipv4'),
    keeps('IPv6', 'ipv6'),
  ]
  return kubeObject('A range, or one of each family, from which nodes get subnets for their pods.', {
    spec: withRules(spec, rules),
  })
}

function stays(name: string): CelRule {
  return { rule: 'oldSelf == self', message: `${name} cannot be changed.` }
}

/**
 * An API server does not evaluate the rule of a field that is added or removed: this is a rule of
 * the spec.
 */
function keeps(name: string, field: string): CelRule {
  return { ...stays(name), rule: `${isGiven(field)} == ${isGiven(field, 'oldSelf')}`, fieldPath: `.${field}` }
}

/** An empty text is a range that is left out: clients in Go write the one as the other. */
function isGiven(field: string, self: 'self' | 'oldSelf' = 'self'): string {
  return `(has(${self}.${field}) && ${self}.${field} != '')`
}

function validRange(family: 4 | 6): CelRule {
  return {
    rule: `self == '' || (isCIDR(self) && cidr(self).ip().family() == ${family})`,
    message: `IPv${family} must be a valid IPv${family} CIDR.`,
  }
}

/** A subnet is not larger than its range. A text that is no CIDR has an error of its own. */
function fitsIn(family: 4 | 6): CelRule {
  const field = `self.ipv${family}`
  const bits = `self.perNodeHostBits <= ${family === 4 ? 32 : 128} - cidr(${field}).prefixLength()`
  return {
    rule: `!has(${field}) || !isCIDR(${field}) || ${bits}`,
    message: `PerNodeHostBits must be less than or equal to the host bits of ipv${family}.`,
    fieldPath: '.perNodeHostBits',
  }
}
