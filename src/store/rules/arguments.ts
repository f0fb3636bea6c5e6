import type { ObjectRef } from '../../crd/meta/object.js'
import { INVALID_ARGUMENT } from '../../errors/definitions.js'
import { ipamError, isIpamError } from '../../errors/failure.js'
import { wrongArgument } from '../../errors/refuse.js'
import type { DeleteOptions, ListOptions, ListQuery, Preconditions, WatchOptions, WriteOptions } from '../store.js'

/**
 * Guards against callers without types: what is checked here is a mistake in the calling code, not
 * an object to be refused.
 */

export function assertRef(ref: ObjectRef): void {
  assertObject('ref', ref)
  assertText('ref.apiVersion', ref.apiVersion)
  assertText('ref.kind', ref.kind)
  assertText('ref.name', ref.name)
  if (ref.namespace !== undefined) assertText('ref.namespace', ref.namespace)
}

export function assertQuery(query: ListQuery): void {
  assertObject('query', query)
  assertText('query.apiVersion', query.apiVersion)
  assertText('query.kind', query.kind)
  if (query.namespace !== undefined) assertText('query.namespace', query.namespace)
  for (const field of ['labels', 'fields'] as const) {
    const texts = query[field]
    if (texts === undefined) continue
    assertObject(`query.${field}`, texts)
    for (const [key, value] of Object.entries(texts)) assertText(`query.${field}.${key}`, value)
  }
  if (query.labelExpressions !== undefined) assertLabelExpressions(query.labelExpressions)
}

function assertLabelExpressions(expressions: unknown): void {
  if (!Array.isArray(expressions)) throw mistake('query.labelExpressions', 'an array', expressions)
  for (const [index, requirement] of expressions.entries()) {
    const argument = `query.labelExpressions[${index}]`
    assertObject(argument, requirement)
    assertText(`${argument}.key`, requirement.key)
    const { operator, values } = requirement as { readonly operator: unknown; readonly values?: unknown }
    if (!OPERATORS.has(operator)) throw mistake(`${argument}.operator`, [...OPERATORS.keys()].join(', '), operator)
    const takesValues = OPERATORS.get(operator)!
    const isFine = takesValues
      ? Array.isArray(values) && values.length > 0
      : values === undefined || (Array.isArray(values) && values.length === 0)
    const expected = takesValues ? 'an array of at least one text' : 'left out or empty'
    if (!isFine) throw mistake(`${argument}.values`, expected, values)
    for (const value of (values ?? []) as unknown[]) assertText(`${argument}.values`, value)
  }
}

/** Whether an operator takes values. */
const OPERATORS: ReadonlyMap<unknown, boolean> = new Map([
  ['In', true],
  ['NotIn', true],
  ['Exists', false],
  ['DoesNotExist', false],
])

export function assertListOptions(options: ListOptions): void {
  assertObject('options', options)
  const { limit } = options
  if (limit !== undefined) assertInteger('options.limit', limit, { min: 1, max: Number.MAX_SAFE_INTEGER })
  if (options.continue !== undefined) assertText('options.continue', options.continue)
}

export function assertPreconditions(conditions: Preconditions): void {
  assertObject('options', conditions)
  if (conditions.uid !== undefined) assertText('options.uid', conditions.uid)
  if (conditions.resourceVersion !== undefined) assertText('options.resourceVersion', conditions.resourceVersion)
}

export function assertWatchOptions(options: WatchOptions): void {
  assertObject('options', options)
  if (options.resourceVersion !== undefined) assertText('options.resourceVersion', options.resourceVersion)
}

export function assertDeleteOptions(options: DeleteOptions): void {
  assertPreconditions(options)
  const { propagation } = options
  if (propagation === undefined || PROPAGATIONS.includes(propagation)) return
  throw mistake('options.propagation', PROPAGATIONS.join(', '), propagation)
}

const PROPAGATIONS: readonly unknown[] = ['Background', 'Foreground', 'Orphan']

export function assertSubresource(options: WriteOptions): void {
  assertObject('options', options)
  const { subresource } = options
  if (subresource !== undefined && subresource !== 'status')
    throw mistake('options.subresource', "'status'", subresource)
}

export function assertObject(argument: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw mistake(argument, 'an object', value)
}

export function assertFunction(argument: string, value: unknown): void {
  if (typeof value !== 'function') throw mistake(argument, 'a function', value)
}

export function assertText(argument: string, value: unknown): void {
  if (typeof value !== 'string') throw mistake(argument, 'a text', value)
}

export function assertMatch(argument: string, value: unknown, pattern: RegExp, expected: string): void {
  if (!(typeof value === 'string' && pattern.test(value))) throw mistake(argument, expected, value)
}

export function assertInteger(argument: string, value: unknown, range: IntegerRange): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= range.min && value <= range.max) return
  throw mistake(argument, `a whole number from ${range.min} to ${range.max}`, value)
}

interface IntegerRange {
  readonly min: number
  readonly max: number
}

export function mistake(argument: string, expected: string, value: unknown): Error {
  return wrongArgument(OF, argument, expected, value)
}

/** What is called where only a method is: {@link within} names the function of a store. */
const OF = 'Store'

/** Makes a store. Its mistakes name the function that was called. */
export function within<T>(of: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!isIpamError(error, 'INVALID_ARGUMENT') || (error.context.function ?? OF) !== OF) throw error
    throw ipamError(INVALID_ARGUMENT, { ...error.context, function: of })
  }
}
