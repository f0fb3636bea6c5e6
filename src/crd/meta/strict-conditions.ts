import { READ_AS } from './reader.js'
import { type Condition, conditionSchema, legacyConditionSchema } from './schema.js'
import { type Field, integer, list, object, text } from './strict.js'

/** The generation of an object. */
export const GENERATION = { format: 'int64', minimum: 0 } as const

/** Conditions as `metav1.Condition` has them, one of each type. */
export function conditions(description: string) {
  return list(description, condition(), { maxItems: 32, mapKeys: ['type'] })
}

/** A `metav1.Condition`. */
export function condition(): Field<Condition> {
  const condition = object('One thing that can be said of the object, and whether it is so.', {
    type: text('What is said, in CamelCase. May begin with a domain and a slash.', {
      maxLength: 316,
      pattern:
        '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
    }),
    status: text('Whether it is so.', { enum: ['True', 'False', 'Unknown'] }),
    observedGeneration: integer('The generation of the object that this was said of.', GENERATION).optional(),
    lastTransitionTime: text('When the status became what it is.', { format: 'date-time' }),
    reason: text('Why, as one word for programs.', {
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }),
    message: text('Why, in a sentence for people. May be empty.', { maxLength: 32768 }),
  })
  return condition.register(READ_AS, { reader: conditionSchema })
}

/** Conditions as v1beta1 of Cluster API has them. */
export function legacyConditions(description: string) {
  const condition = object('One thing that can be said of the object, in the older form.', {
    type: text('What is said, in CamelCase.', { minLength: 1, maxLength: 256 }),
    status: text('Whether it is so: True, False or Unknown.'),
    severity: text('How bad it is that the status is False: Error, Warning or Info.', { maxLength: 32 }).optional(),
    lastTransitionTime: text('When the status became what it is.', { format: 'date-time' }),
    reason: text('Why, as one word for programs.', { minLength: 1, maxLength: 256 }).optional(),
    message: text('Why, in a sentence for people.', { minLength: 1, maxLength: 10240 }).optional(),
  })
  return list(description, condition.register(READ_AS, { reader: legacyConditionSchema }))
}
