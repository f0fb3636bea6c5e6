import fc from 'fast-check'
import { formatFieldError } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'
import {
  matchesNodeSelector,
  type NodeSelector,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  nodeSelectorErrors,
  nodeSelectorScore,
} from '../../../src/crd/core/node-selector.js'

const node = { metadata: { name: 'n1', labels: { zone: 'a', empty: '', cpus: '8', big: '9223372036854775807' } } }
const terms = (...nodeSelectorTerms: NodeSelectorTerm[]): NodeSelector => ({ nodeSelectorTerms })
const label = (key: string, operator: string, ...values: string[]): NodeSelectorTerm => ({
  matchExpressions: [{ key, operator: operator as NodeSelectorRequirement['operator'], values }],
})
const field = (operator: string, ...values: string[]): NodeSelectorTerm => ({
  matchFields: [{ key: 'metadata.name', operator: operator as NodeSelectorRequirement['operator'], values }],
})

describe('matchesNodeSelector', () => {
  test.each<[boolean, string, NodeSelector]>([
    [false, 'no terms', terms()],
    [false, 'a list of terms that is missing', {} as NodeSelector],
    [false, 'an empty term', terms({})],
    [false, 'a term with empty lists', terms({ matchExpressions: [], matchFields: [] })],
    [true, 'an empty term beside one that holds', terms({}, label('zone', 'Exists'))],
    [true, 'one of the values', terms(label('zone', 'In', 'b', 'a'))],
    [false, 'other values', terms(label('zone', 'In', 'b'))],
    [false, 'values of a label that is missing', terms(label('other', 'In', ''))],
    [true, 'an empty value', terms(label('empty', 'In', ''))],
    [false, 'none of the values, with one of them', terms(label('zone', 'NotIn', 'a', 'b'))],
    [true, 'none of the values', terms(label('zone', 'NotIn', 'b'))],
    [true, 'none of the values, without the label', terms(label('other', 'NotIn', 'a'))],
    [true, 'a label', terms(label('empty', 'Exists'))],
    [false, 'what every object has', terms(label('toString', 'Exists'))],
    [false, 'no label', terms(label('zone', 'DoesNotExist'))],
    [true, 'no label, without it', terms(label('other', 'DoesNotExist'))],
    [true, 'more than 7', terms(label('cpus', 'Gt', '7'))],
    [false, 'more than 8', terms(label('cpus', 'Gt', '8'))],
    [true, 'less than 10, which is no order of texts', terms(label('cpus', 'Lt', '10'))],
    [false, 'less than 8', terms(label('cpus', 'Lt', '8'))],
    [false, 'more, of a label that is missing', terms(label('other', 'Gt', '0'))],
    [false, 'less, of a label that is missing', terms(label('other', 'Lt', '9'))],
    [false, 'more, of a label that is no number', terms(label('zone', 'Gt', '0'))],
    [true, 'more than the number below the largest', terms(label('big', 'Gt', '9223372036854775806'))],
    [false, 'less than a number that has no 64 bits', terms(label('cpus', 'Lt', '9223372036854775808'))],
    [true, 'zeros before a number', terms(label('cpus', 'Gt', '007'))],
    [true, 'the name', terms(field('In', 'n1'))],
    [false, 'another name', terms(field('In', 'n2'))],
    [false, 'not the name', terms(field('NotIn', 'n1'))],
    [true, 'not another name', terms(field('NotIn', 'n2'))],
    [true, 'name and label', terms({ ...field('In', 'n1'), ...label('zone', 'In', 'a') })],
    [false, 'name and another label', terms({ ...field('In', 'n1'), ...label('zone', 'In', 'b') })],
    [
      false,
      'two requirements of which one holds',
      terms({
        matchExpressions: [
          { key: 'zone', operator: 'Exists' },
          { key: 'zone', operator: 'In', values: ['b'] },
        ],
      }),
    ],
    [true, 'two terms of which the second holds', terms(label('zone', 'In', 'b'), field('In', 'n1'))],
  ])('it is %s for %s', (expected, _, selector) => {
    expect(matchesNodeSelector(selector, node)).toBe(expected)
  })

  // each of them would hold if the part that cannot be read were left out
  test.each<[string, NodeSelectorTerm]>([
    ['an unknown operator', label('zone', 'Is', 'a')],
    ['In without values', label('zone', 'In')],
    ['NotIn without values', label('other', 'NotIn')],
    ['Exists with a value', label('zone', 'Exists', 'a')],
    ['DoesNotExist with a value', label('other', 'DoesNotExist', 'a')],
    ['Gt with two values', label('cpus', 'Gt', '1', '2')],
    ['Gt with a word', label('cpus', 'Gt', 'one')],
    ['Gt with a sign, which no value of a label has', label('cpus', 'Gt', '-1')],
    ['a key that no label has', label('a b', 'DoesNotExist')],
    ['a value that no label has', label('zone', 'NotIn', 'a b')],
    ['two names', field('In', 'n1', 'n2')],
    ['a name that exists', field('Exists')],
    [
      'one requirement of two',
      {
        matchExpressions: [
          { key: 'zone', operator: 'Exists' },
          { key: 'zone', operator: 'In', values: [] },
        ],
      },
    ],
    ['an expression beside a field that holds', { ...field('In', 'n1'), ...label('zone', 'In') }],
  ])('a term with %s selects no Node, and the other terms count', (_, term) => {
    expect(matchesNodeSelector(terms(term), node)).toBe(false)
    expect(matchesNodeSelector(terms(term, label('zone', 'Exists')), node)).toBe(true)
    expect(nodeSelectorErrors('s', terms(term))).not.toEqual([])
  })

  test('a field that no Node has is empty, and fields of a Node without a name are not looked at, as upstream', () => {
    const other = (operator: 'In' | 'NotIn', value: string) =>
      terms({ matchFields: [{ key: 'spec.x', operator, values: [value] }] })
    expect(matchesNodeSelector(other('In', ''), node)).toBe(true)
    expect(matchesNodeSelector(other('In', 'x'), node)).toBe(false)
    expect(matchesNodeSelector(other('NotIn', 'x'), node)).toBe(true)
    expect(matchesNodeSelector(terms(field('In', 'n1')), { metadata: { name: '' } })).toBe(true)
  })

  test('a Node without labels has none', () => {
    const bare = { metadata: { name: 'n2' } }
    expect(matchesNodeSelector(terms(label('zone', 'DoesNotExist')), bare)).toBe(true)
    expect(matchesNodeSelector(terms(label('zone', 'Exists')), bare)).toBe(false)
  })

  test('says the same as a model that looks at every Node by itself', () => {
    const key = fc.constantFrom('a', 'b', 'c')
    const value = fc.constantFrom('', '0', '1', '2', '03', 'x', '-1', 'a b', '99999999999999999999')
    const operator = fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Is')
    const requirement = fc.record({ key, operator, values: fc.array(value, { maxLength: 3 }) })
    const name = fc.constantFrom('n1', 'n2')
    const ofName = fc.record({
      key: fc.constant('metadata.name'),
      operator: fc.constantFrom('In', 'NotIn', 'Exists'),
      values: fc.array(name, { maxLength: 2 }),
    })
    const requirements = fc.array(requirement, { maxLength: 2 })
    const term = fc.record({ matchExpressions: requirements, matchFields: fc.array(ofName, { maxLength: 1 }) })
    const nodes = fc.array(
      fc.record({ metadata: fc.record({ name, labels: fc.dictionary(key, value, { maxKeys: 3 }) }) }),
      { minLength: 1, maxLength: 5 },
    )
    fc.assert(
      fc.property(fc.array(term, { maxLength: 3 }), nodes, (given, all) => {
        const selector = { nodeSelectorTerms: given } as NodeSelector
        const score = nodeSelectorScore(selector)
        for (const each of all) {
          const met = given.filter((one) => modelOfTerm(one as ModelTerm, each.metadata))
          const sizes = met.map(({ matchExpressions, matchFields }) => matchExpressions.length + matchFields.length)
          expect(score(each)).toBe(Math.max(0, ...sizes))
          expect(matchesNodeSelector(selector, each)).toBe(met.length > 0)
        }
      }),
    )
  })
})

interface ModelTerm {
  readonly matchExpressions: readonly { key: string; operator: string; values: readonly string[] }[]
  readonly matchFields: readonly { operator: string; values: readonly string[] }[]
}

/** The rules one by one, as their documentation tells them. */
function modelOfTerm(term: ModelTerm, { name, labels }: { name: string; labels: { [key: string]: string } }): boolean {
  const all: (boolean | 'unreadable')[] = []
  for (const { key, operator, values } of term.matchExpressions) {
    if (values.includes('a b') || values.includes('-1')) all.push('unreadable')
    else if (operator === 'In')
      all.push(values.length === 0 ? 'unreadable' : key in labels && values.includes(labels[key]!))
    else if (operator === 'NotIn')
      all.push(values.length === 0 ? 'unreadable' : !(key in labels && values.includes(labels[key]!)))
    else if (operator === 'Exists') all.push(values.length > 0 ? 'unreadable' : key in labels)
    else if (operator === 'DoesNotExist') all.push(values.length > 0 ? 'unreadable' : !(key in labels))
    else if (operator === 'Is') all.push('unreadable')
    else {
      const number: { [text: string]: number } = { '0': 0, '1': 1, '2': 2, '03': 3, '-1': -1 }
      const bound = number[values[0] ?? '']
      const has = number[labels[key] ?? '']
      if (values.length !== 1 || bound === undefined) all.push('unreadable')
      else all.push(has !== undefined && (operator === 'Gt' ? has > bound : has < bound))
    }
  }
  for (const { operator, values } of term.matchFields) {
    if (values.length !== 1 || operator === 'Exists') all.push('unreadable')
    else all.push((values[0] === name) === (operator === 'In'))
  }
  return all.length > 0 && all.every((holds) => holds === true)
}

describe('nodeSelectorErrors', () => {
  const T = 'spec.nodeSelector.nodeSelectorTerms'
  test.each<[NodeSelector, readonly string[]]>([
    [terms(label('zone', 'In', 'a'), field('NotIn', 'n1'), {}), []],
    [terms(), [`${T}: Required value: must have at least one node selector term`]],
    [
      terms(label('zone', 'In')),
      [`${T}[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`],
    ],
    [
      terms({}, label('zone', 'Exists', 'a')),
      [
        `${T}[1].matchExpressions[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      ],
    ],
    [
      terms(label('zone', 'Lt', '1', '2')),
      [
        `${T}[0].matchExpressions[0].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
      ],
    ],
    [
      terms(label('zone', 'Gt', 'x')),
      [
        `${T}[0].matchExpressions[0].values[0]: Invalid value: "x": must be an integer when \`operator\` is 'Lt' or 'Gt'`,
      ],
    ],
    [
      terms(label('a b', 'Is')),
      [
        `${T}[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator`,
        `${T}[0].matchExpressions[0].key: Invalid value: "a b": is not the name of a label`,
      ],
    ],
    [
      terms(field('In')),
      [
        `${T}[0].matchFields[0].values: Required value: must be only one value when \`operator\` is 'In' or 'NotIn' for node field selector`,
      ],
    ],
    [terms(field('Gt', 'n1')), [`${T}[0].matchFields[0].operator: Invalid value: "Gt": not a valid selector operator`]],
    [
      terms({ matchFields: [{ key: 'metadata.uid', operator: 'In', values: ['u'] }] }),
      [`${T}[0].matchFields[0].key: Invalid value: "metadata.uid": not a valid field selector key`],
    ],
    [terms(field('In', 'N_1')), [`${T}[0].matchFields[0].values[0]: Invalid value: "N_1": is not the name of a Node`]],
  ])('%#', (selector, messages) => {
    expect(nodeSelectorErrors('spec.nodeSelector', selector).map(formatFieldError)).toEqual(messages)
  })
})
