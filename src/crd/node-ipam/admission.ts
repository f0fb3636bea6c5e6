import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import type { Kind, KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { nodeSelectorErrors } from '../core/node-selector.js'
import {
  type Admission,
  type AdmissionRequest,
  type AdmissionRules,
  admitBy,
  allowed,
  FIELD_VALIDATION,
  type FieldValidationOptions,
} from '../meta/admission.js'
import { differences } from '../meta/differences.js'
import { type FieldError, type FieldValue, formatFieldError, invalidField } from '../meta/field-error.js'
import { labelProblem } from '../meta/names.js'
import { ClusterCIDR, type ClusterCIDRSpec } from './cluster-cidr.js'
import { MIN_PER_NODE_HOST_BITS } from './names.js'

/** A request to admit a ClusterCIDR. */
export type ClusterCIDRAdmissionRequest = AdmissionRequest<ClusterCIDR>

export interface ClusterCIDRRules {
  /**
   * How many bits longer a subnet can be than its IPv6 range: 0 to 128. Upstream's allocator
   * refuses more than 16, which upstream's rules accept. Left out: no limit, as for IPv4.
   */
  readonly maxIPv6SubnetBits?: number | undefined
}

export interface ClusterCIDRAdmissionOptions extends FieldValidationOptions, ClusterCIDRRules {}

const OPTIONS: KindOf<ClusterCIDRAdmissionOptions> = {
  fieldValidation: FIELD_VALIDATION,
  maxIPv6SubnetBits: 'number?',
}

/**
 * Whether the rules of node-ipam-controller admit a ClusterCIDR
 * (pkg/apis/clustercidr/v1/validation, which upstream itself only tests): its name is a DNS label,
 * and its spec breaks none of them. The spec never changes. An update that leaves it as it is is
 * always allowed, with a warning of what was wrong before.
 *
 * Warnings report values that these rules accept, but that are probably mistakes: a range with host
 * bits or in an unusual form, and values of a node selector for which its term selects no Node.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation, another `fieldValidation`, or a
 * `maxIPv6SubnetBits` out of range
 * @example
 * const spec = { perNodeHostBits: 8, ipv4: '10.1.0.0/26' }
 * const object = ClusterCIDR.parse({ apiVersion: 'networking.x-k8s.io/v1', kind: 'ClusterCIDR', metadata: { name: 'rack-1' }, spec })
 * admitClusterCIDR({ operation: 'CREATE', object }).message
 * // 'ClusterCIDR.networking.x-k8s.io "rack-1" is invalid: spec.perNodeHostBits: Invalid value: 8: must be less than or equal to 6'
 */
export function admitClusterCIDR(
  request: ClusterCIDRAdmissionRequest,
  options: ClusterCIDRAdmissionOptions = {},
): Admission {
  return admitBy('admitClusterCIDR', ClusterCIDR, rules, request, options)
}

const rules: AdmissionRules<ClusterCIDR, ClusterCIDRAdmissionRequest, ClusterCIDRAdmissionOptions> = {
  options: OPTIONS as Kind,
  errors: ({ metadata, spec }, before, _, options) => [
    before === undefined ? [] : changeErrors(before.spec, spec),
    [...nameErrors(metadata.name), ...clusterCIDRErrors(spec, options)],
  ],
  answer: ({ spec }, before) => allowed(before === undefined ? warningsOf(spec) : []),
}

/**
 * What is wrong with the spec of a ClusterCIDR, with the rules, in the order and in the words of
 * node-ipam-controller (`ValidateClusterCIDRSpec`); fields are called as in JSON. An empty list if
 * nothing is. O(size of the selector).
 *
 * - node selector: {@link nodeSelectorErrors}, without what that says of values of labels: upstream
 *   accepts any;
 * - at least one range, each of them a CIDR of its family. IPv4 within IPv6 and zeros before a
 *   number are refused, as by the definition of the kind;
 * - `perNodeHostBits` is at least 4, and at most the host bits of each range;
 * - with `maxIPv6SubnetBits`, a subnet is at most as many bits longer than the IPv6 range.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a `maxIPv6SubnetBits` out of range
 */
export function clusterCIDRErrors(spec: ClusterCIDRSpec, rules: ClusterCIDRRules = {}): readonly FieldError[] {
  assertRules(rules)
  const errors = selectorErrors(spec).filter(({ path }) => !OF_A_VALUE.test(path))
  if (!spec.ipv4 && !spec.ipv6) {
    const detail = 'one or both of `ipv4` and `ipv6` must be specified'
    return [...errors, { type: 'Required', path: 'spec', value: null, detail }]
  }
  return [...errors, ...rangeErrors(4, spec, rules), ...rangeErrors(6, spec, rules)]
}

function assertRules({ maxIPv6SubnetBits: bits = 0 }: ClusterCIDRRules): void {
  if (Number.isInteger(bits) && bits >= 0 && bits <= 128) return
  refuse('admitClusterCIDR', 'options.maxIPv6SubnetBits', 'a whole number from 0 to 128', bits)
}

const SELECTOR = 'spec.nodeSelector'
/** The path of a value that labels are compared with. */
const OF_A_VALUE = /\.matchExpressions\[\d+\]\.values\[\d+\]$/

function selectorErrors({ nodeSelector }: ClusterCIDRSpec): readonly FieldError[] {
  return nodeSelector === undefined ? [] : nodeSelectorErrors(SELECTOR, nodeSelector)
}

function rangeErrors(family: 4 | 6, spec: ClusterCIDRSpec, { maxIPv6SubnetBits }: ClusterCIDRRules) {
  const field = `ipv${family}` as const
  const text = spec[field]
  if (!text) return []
  const parsed = Prefix.safeParse(text)
  if (!parsed.ok) return [invalidField(`spec.${field}`, text, `must be a valid CIDR: ${text}`)]
  const { address, length } = parsed.value
  const errors: FieldError[] = []
  if (address.family !== family || Address.unmap(address) !== address) {
    errors.push(invalidField(`spec.${field}`, text, `must be a valid IPv${family} CIDR`))
  }
  const bits = spec.perNodeHostBits
  const refuseBits = (detail: string) => errors.push(invalidField('spec.perNodeHostBits', bits, detail))
  const most = (family === 4 ? 32 : 128) - length
  // a value that is no number is neither
  if (!(bits >= MIN_PER_NODE_HOST_BITS)) refuseBits(`must be greater than or equal to ${MIN_PER_NODE_HOST_BITS}`)
  if (bits > most) refuseBits(`must be less than or equal to ${most}`)
  if (family === 6 && maxIPv6SubnetBits !== undefined && bits < most - maxIPv6SubnetBits) {
    const limit = `the IPv6 range has up to 2^${maxIPv6SubnetBits} subnets`
    refuseBits(`must be greater than or equal to ${most - maxIPv6SubnetBits}: ${limit}`)
  }
  return errors
}

/** Other names than an API server accepts: it also accepts dots. */
function nameErrors(name: string): readonly FieldError[] {
  const path = 'metadata.name'
  if (!name) return [{ type: 'Required', path, value: null, detail: 'name or generateName is required' }]
  const problem = labelProblem(name)
  return problem === undefined ? [] : [invalidField(path, name, problem)]
}

/** In the order of upstream. */
const FIELDS = ['nodeSelector', 'perNodeHostBits', 'ipv4', 'ipv6'] as const

/** An empty text is one that is left out, as for Go. */
function changeErrors(before: ClusterCIDRSpec, after: ClusterCIDRSpec): readonly FieldError[] {
  const changed = FIELDS.filter((field) => differences(field, before[field], after[field]).length > 0)
  return changed.map((field) =>
    invalidField(`spec.${field}`, (after[field] ?? null) as FieldValue, 'field is immutable'),
  )
}

/** Of a spec without errors. */
function warningsOf(spec: ClusterCIDRSpec): readonly string[] {
  const ranges = (['ipv4', 'ipv6'] as const).flatMap((field) => {
    const text = spec[field]
    return text ? Prefix.warningsFor(text).map(({ message }) => `spec.${field}: ${message}`) : []
  })
  const values = selectorErrors(spec).filter(({ path }) => OF_A_VALUE.test(path))
  return [...ranges, ...values.map((error) => `${formatFieldError(error)}: the term selects no Node`)]
}
