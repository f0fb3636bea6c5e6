import { check, type Kind } from '../../errors/check.js'
import { SUBDOMAIN_PATTERN } from '../meta/dns-names.js'
import { type FieldError, forbiddenField, invalidField } from '../meta/field-error.js'
import { labelNameErrors, labelValueErrors } from '../meta/label-selector.js'
import { HAS_META, type LabelSelectorRequirement, labelOf, meetsRequirement, type ObjectMeta } from '../meta/object.js'

/**
 * `core/v1` NodeSelector: a Node has to meet one of the terms. Without terms it selects no Node.
 */
export interface NodeSelector {
  readonly nodeSelectorTerms: readonly NodeSelectorTerm[]
}

/** A Node has to meet all requirements. A term without requirements selects no Node. */
export interface NodeSelectorTerm {
  /** About labels. */
  readonly matchExpressions?: readonly NodeSelectorRequirement[] | undefined
  /** About fields, of which there is `metadata.name`. With `In` and `NotIn`, and one value each. */
  readonly matchFields?: readonly NodeSelectorRequirement[] | undefined
}

export interface NodeSelectorRequirement {
  readonly key: string
  /**
   * `NotIn` also holds for a Node without the label. `Gt` and `Lt` compare whole numbers of 64
   * bits, and hold only for labels that are such numbers. API servers store any other text too
   * where a CRD has the field: its term selects no Node.
   */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | (string & {})
  /** At least one for `In` and `NotIn`, exactly one for `Gt` and `Lt`, none for the others. */
  readonly values?: readonly string[] | undefined
}

/** What a selector reads of a Node. */
export interface SelectableNode {
  readonly metadata: Pick<ObjectMeta, 'name' | 'labels'>
}

const REQUIREMENTS = ['list?', ['open', { key: 'text', operator: 'text', values: ['list?', 'text'] }]] as const

/** A stored selector may lack its terms: it selects no Node. */
const SELECTOR: Kind = [
  'open',
  { nodeSelectorTerms: ['list?', ['open', { matchExpressions: REQUIREMENTS, matchFields: REQUIREMENTS }]] },
]

const NAME_FIELD = 'metadata.name'

/**
 * Whether a Node is one of those that a selector selects, as `nodeaffinity.NodeSelector` of
 * k8s.io/component-helpers says: terms are ORed, the requirements of a term are ANDed. A term that
 * an API server would refuse selects no Node; the other terms count.
 * What no selector at all means is up to the kind that has it.
 *
 * O(size of the selector).
 *
 * @example
 * const node = { metadata: { name: 'n1', labels: { cpus: '16' } } }
 * matchesNodeSelector({ nodeSelectorTerms: [{ matchExpressions: [{ key: 'cpus', operator: 'Gt', values: ['8'] }] }] }, node) // true
 */
export function matchesNodeSelector(selector: NodeSelector, node: SelectableNode): boolean {
  check<unknown>('matchesNodeSelector', 'selector', selector, SELECTOR)
  check('matchesNodeSelector', 'node', node, HAS_META)

  return nodeSelectorScore(selector)(node) > 0
}

/**
 * How closely a selector selects Nodes: the number of requirements of the largest term that a Node
 * meets; 0 for a Node that is not selected. The selector is checked once.
 */
export function nodeSelectorScore(selector: NodeSelector): (node: SelectableNode) => number {
  const terms = (selector.nodeSelectorTerms ?? []).filter(selectsSome).sort((a, b) => sizeOf(b) - sizeOf(a))
  return (node) => {
    for (const term of terms) if (meetsTerm(term, node)) return sizeOf(term)
    return 0
  }
}

function sizeOf({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): number {
  return matchExpressions.length + matchFields.length
}

/** Whether a term has requirements, and all of them can be read. */
function selectsSome({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean {
  return (
    sizeOf({ matchExpressions, matchFields }) > 0 &&
    matchExpressions.every((requirement) => labelErrors('', requirement).length === 0) &&
    // as upstream, any field is taken here: no Node has another one than its name
    matchFields.every(({ operator, values = [] }) => takesValues(operator) && values.length === 1)
  )
}

/** Makes no objects: node IPAM calls it for each range and Node. */
function meetsTerm({ matchExpressions = NONE, matchFields = NONE }: NodeSelectorTerm, node: SelectableNode): boolean {
  const { name, labels } = node.metadata
  for (const requirement of matchExpressions) {
    if (!meetsLabel(requirement, labelOf(labels, requirement.key))) return false
  }
  // a Node without a name has no fields, and then they are not looked at
  if (name === '') return true
  for (const { key, operator, values } of matchFields) {
    const isEqual = (key === NAME_FIELD ? name : '') === values![0]
    if (isEqual !== (operator === 'In')) return false
  }
  return true
}

const NONE: readonly NodeSelectorRequirement[] = []

function meetsLabel(requirement: NodeSelectorRequirement, label: string | undefined): boolean {
  const { operator, values } = requirement
  // terms with an unknown operator are left out before
  if (!isComparison(operator)) return meetsRequirement(requirement as LabelSelectorRequirement, label)
  const [number, bound] = [wholeNumber(label), wholeNumber(values?.[0])]
  if (number === undefined || bound === undefined) return false
  return operator === 'Gt' ? number > bound : number < bound
}

/**
 * A text as Go's `strconv.ParseInt` with base 10 and 64 bits reads it. Labels of more digits than
 * that are no numbers, unless they begin with zeros.
 */
function wholeNumber(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined
  const number = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return BigInt.asIntN(64, number) === number ? number : undefined
}

/**
 * What is wrong with a selector, with the rules and in the words of Kubernetes
 * (`ValidateNodeSelector`). One rule is added: values of `Gt` and `Lt` are whole numbers, as such a
 * term selects no Node otherwise. O(size of the selector).
 *
 * @param path of the selector in its object: `spec.nodeSelector`
 */
export function nodeSelectorErrors(path: string, { nodeSelectorTerms }: NodeSelector): readonly FieldError[] {
  const terms = `${path}.nodeSelectorTerms`
  if ((nodeSelectorTerms ?? []).length === 0) {
    return [required(terms, 'must have at least one node selector term')]
  }
  return nodeSelectorTerms.flatMap(({ matchExpressions = [], matchFields = [] }, index) => [
    ...matchExpressions.flatMap((each, at) => labelErrors(`${terms}[${index}].matchExpressions[${at}]`, each)),
    ...matchFields.flatMap((each, at) => fieldErrors(`${terms}[${index}].matchFields[${at}]`, each)),
  ])
}

function labelErrors(path: string, requirement: NodeSelectorRequirement): readonly FieldError[] {
  const { key, operator, values = [] } = requirement
  return [
    ...valuesErrors(path, requirement),
    ...labelNameErrors(`${path}.key`, key),
    ...values.flatMap((value, index) => [
      ...labelValueErrors(`${path}.values[${index}]`, value),
      ...(isComparison(operator) && wholeNumber(value) === undefined
        ? [invalidField(`${path}.values[${index}]`, value, "must be an integer when `operator` is 'Lt' or 'Gt'")]
        : []),
    ]),
  ]
}

function valuesErrors(path: string, { operator, values = [] }: NodeSelectorRequirement): readonly FieldError[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0
        ? []
        : [required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")]
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0
        ? []
        : [forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    case 'Gt':
    case 'Lt':
      return values.length === 1
        ? []
        : [required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'")]
    default:
      return [invalidField(`${path}.operator`, operator, 'not a valid selector operator')]
  }
}

const NODE_NAME = /* @__PURE__ */ new RegExp(SUBDOMAIN_PATTERN, 'u')

function fieldErrors(path: string, { key, operator, values = [] }: NodeSelectorRequirement): readonly FieldError[] {
  const errors: FieldError[] = []
  if (!takesValues(operator)) errors.push(invalidField(`${path}.operator`, operator, 'not a valid selector operator'))
  else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
    errors.push(required(`${path}.values`, detail))
  }
  if (key !== NAME_FIELD) return [...errors, invalidField(`${path}.key`, key, 'not a valid field selector key')]
  values.forEach((value, index) => {
    if (value.length <= 253 && NODE_NAME.test(value)) return
    errors.push(invalidField(`${path}.values[${index}]`, value, 'is not the name of a Node'))
  })
  return errors
}

function takesValues(operator: NodeSelectorRequirement['operator']): boolean {
  return operator === 'In' || operator === 'NotIn'
}

function isComparison(operator: NodeSelectorRequirement['operator']): boolean {
  return operator === 'Gt' || operator === 'Lt'
}

function required(path: string, detail: string): FieldError {
  return { type: 'Required', path, value: null, detail }
}
