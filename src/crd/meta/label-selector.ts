import { check, type KindOf } from '../../errors/check.js'
import { type FieldError, forbiddenField, invalidField } from './field-error.js'
import { labelValueProblem, qualifiedNameProblem } from './names.js'
import { type LabelSelectorRequirement, labelOf, meetsRequirement } from './object.js'

/**
 * `metav1.LabelSelector`: all requirements must hold. An empty selector matches every object.
 */
export interface LabelSelector {
  /** Labels that an object has with exactly these values. */
  readonly matchLabels?: { readonly [key: string]: string } | undefined
  readonly matchExpressions?: readonly LabelSelectorRequirement[] | undefined
}

const SELECTOR: KindOf<LabelSelector> = [
  'open',
  {
    matchLabels: 'object?',
    matchExpressions: [
      'list?',
      [
        'open',
        { key: 'text', operator: ['one', { In: 1, NotIn: 1, Exists: 1, DoesNotExist: 1 }], values: ['list?', 'text'] },
      ],
    ],
  },
]

/**
 * Whether labels match a selector. O(size of the selector).
 *
 * @example
 * matchesLabels({ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }, {}) // true
 */
export function matchesLabels(selector: LabelSelector, labels: { readonly [key: string]: string } = {}): boolean {
  check('matchesLabels', 'selector', selector, SELECTOR)
  const { matchLabels = {}, matchExpressions = [] } = selector
  check('matchesLabels', 'labels', labels, 'object')

  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every((requirement) => meetsRequirement(requirement, labelOf(labels, requirement.key)))
  )
}

/**
 * The errors of a selector that an API server does not report: labels that no object can have, and
 * operators with too many or too few values. O(size of the selector).
 */
export function labelSelectorErrors(path: string, selector: LabelSelector): readonly FieldError[] {
  const { matchLabels = {}, matchExpressions = [] } = selector
  const labels = Object.entries(matchLabels).flatMap(([key, value]) => [
    ...labelNameErrors(`${path}.matchLabels`, key),
    ...labelValueErrors(`${path}.matchLabels`, value),
  ])
  const requirements = matchExpressions.flatMap((requirement, index) =>
    requirementErrors(`${path}.matchExpressions[${index}]`, requirement),
  )
  return [...labels, ...requirements]
}

function requirementErrors(path: string, requirement: LabelSelectorRequirement): readonly FieldError[] {
  const { key, operator, values = [] } = requirement
  const errors = [...labelNameErrors(`${path}.key`, key)]
  const takesValues = operator === 'In' || operator === 'NotIn'
  if (takesValues && values.length === 0) {
    const detail = "must be specified when `operator` is 'In' or 'NotIn'"
    errors.push({ type: 'Required', path: `${path}.values`, value: null, detail })
  }
  if (!takesValues && values.length > 0) {
    errors.push(forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
  }
  return [...errors, ...values.flatMap((value, index) => labelValueErrors(`${path}.values[${index}]`, value))]
}

/** What is wrong with the name of a label: `example.com/name`, with or without a prefix. */
export function labelNameErrors(path: string, key: string): readonly FieldError[] {
  return qualifiedNameProblem(key) === undefined ? [] : [invalidField(path, key, 'is not the name of a label')]
}

/** What is wrong with the value of a label. */
export function labelValueErrors(path: string, value: string): readonly FieldError[] {
  return labelValueProblem(value) === undefined ? [] : [invalidField(path, value, 'is not a value of a label')]
}
