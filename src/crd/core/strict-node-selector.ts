import { type Field, list, object, text } from '../meta/strict.js'
import type { NodeSelector } from './node-selector.js'

/**
 * `core/v1` NodeSelector. Which operators take values, and syntax of labels: `nodeSelectorErrors`.
 */
export function nodeSelector(description: string): Field<NodeSelector> {
  const requirement = object('One requirement: a key, an operator and values.', {
    key: text('The label, or the field.'),
    operator: text('In, NotIn, Exists, DoesNotExist, Gt or Lt.'),
    values: list(
      'One or more for In and NotIn, exactly one for Gt and Lt, none for Exists and DoesNotExist.',
      text('A value.'),
      { isAtomic: true },
    ).optional(),
  })
  const requirements = (sentence: string) => list(sentence, requirement, { isAtomic: true }).optional()
  const term = object(
    'Requirements, all of which a node meets. A term without requirements selects no node.',
    {
      matchExpressions: requirements('Requirements for labels of the node.'),
      matchFields: requirements('Requirements for fields of the node: metadata.name.'),
    },
    { isAtomic: true },
  )
  const terms = list('Terms, at least one of which a node meets.', term, { isAtomic: true })
  return object(description, { nodeSelectorTerms: terms }, { isAtomic: true })
}
