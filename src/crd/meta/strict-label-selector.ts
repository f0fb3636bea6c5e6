import type { LabelSelector } from './label-selector.js'
import { type Field, list, mapOf, object, text } from './strict.js'

/** The most labels, requirements and values of a selector. */
const MAX_ENTRIES = 64

/**
 * `metav1.LabelSelector`. Syntax of labels, and which operators take values: `labelSelectorErrors`.
 */
export function labelSelector(description: string): Field<LabelSelector> {
  const entries = { maxItems: MAX_ENTRIES }
  const value = text('A value.', { maxLength: 63 })
  const labels = 'Labels that an object has with exactly these values.'
  const requirement = object('What is asked of a label.', {
    key: text('The label.', { minLength: 1, maxLength: 317 }),
    operator: text('What is asked: one of the values, none of them, that the label is there, that it is not.', {
      enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
    }),
    values: list('Values of the label, for In and NotIn.', value, entries).optional(),
  })
  const shape = {
    matchLabels: mapOf(labels, value, { maxProperties: MAX_ENTRIES }).optional(),
    matchExpressions: list('Further requirements. All of them have to hold.', requirement, entries).optional(),
  }
  return object(description, shape, { isAtomic: true })
}
