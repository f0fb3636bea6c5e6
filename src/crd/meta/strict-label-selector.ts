import { list, mapOf, object, text } from './strict.js'

/** The most labels, requirements and values of a selector. */
const MAX_ENTRIES = 64

/** `metav1.LabelSelector`. Syntax of labels, and which operators take values: `labelSelectorErrors`. */
export function labelSelector(description: string) {
  const requirement = object('What is asked of a label.', {
    key: text('The label.', { minLength: 1, maxLength: 317 }),
    operator: text('What is asked: one of the values, none of them, that the label is there, that it is not.', {
      enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
    }),
    values: list('Values of the label, for In and NotIn.', text('A value.', { maxLength: 63 }), {
      maxItems: MAX_ENTRIES,
    }).optional(),
  })
  const shape = {
    matchLabels: mapOf('Labels that an object has with exactly these values.', text('A value.', { maxLength: 63 }), {
      maxProperties: MAX_ENTRIES,
    }).optional(),
    matchExpressions: list('Further requirements. All of them have to hold.', requirement, {
      maxItems: MAX_ENTRIES,
    }).optional(),
  }
  return object(description, shape, { isAtomic: true })
}
