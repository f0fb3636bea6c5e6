import { refuseIn } from './refuse.js'

// Checks of arguments at the start of public functions. `of` is the function as callers write it.
// Each check throws IpamError `INVALID_ARGUMENT`.

export function assertObject(of: string, argument: string, given: unknown, expected = 'an object'): void {
  if (!isObject(given)) refuseIn(of, argument, expected, given)
}

/** Whether a value is an object and not an array. */
export function isObject(given: unknown): given is { readonly [name: string]: unknown } {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

/** An object with metadata, as Kubernetes objects have. O(1): sorts call it for each comparison. */
export function assertKube(of: string, argument: string, given: unknown): void {
  const metadata = (given as { readonly metadata?: unknown } | undefined)?.metadata
  if (typeof metadata !== 'object' || metadata === null) {
    refuseIn(of, argument, 'a Kubernetes object, with metadata', given)
  }
}

export function assertString(of: string, argument: string, given: unknown): void {
  if (typeof given !== 'string') refuseIn(of, argument, 'a text', given)
}

export function assertFunction(of: string, argument: string, given: unknown): void {
  if (typeof given !== 'function') refuseIn(of, argument, 'a function', given)
}

export function assertNumber(of: string, argument: string, given: unknown): void {
  if (typeof given !== 'number' || Number.isNaN(given)) refuseIn(of, argument, 'a number', given)
}

export function assertList(of: string, argument: string, given: unknown): void {
  if (!Array.isArray(given)) refuseIn(of, argument, 'a list', given)
}

/** A list whose members are objects. O(n). */
export function assertObjects(of: string, argument: string, given: unknown): void {
  if (!Array.isArray(given)) refuseIn(of, argument, 'a list of objects', given)
  for (const one of given) assertObject(of, `${argument}[]`, one)
}

/** A list of texts. O(n). */
export function assertStrings(of: string, argument: string, given: unknown): void {
  if (!Array.isArray(given)) refuseIn(of, argument, 'a list of texts', given)
  for (const one of given) assertString(of, `${argument}[]`, one)
}

/**
 * An object without members that its type does not have: a misspelt option would do nothing.
 * O(members)
 *
 * @param names all members of the type
 */
export function assertNames(
  of: string,
  argument: string,
  given: object,
  names: { readonly [name: string]: true },
): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue
    refuseIn(
      of,
      `${argument}.${name}`,
      `one of ${Object.keys(names).join(', ')}`,
      (given as { [name: string]: unknown })[name],
    )
  }
}

/** An object that `for` can iterate over. A text is refused. */
export function assertIterable(of: string, argument: string, given: unknown): void {
  if (typeof given !== 'object' || typeof (given as Iterable<unknown> | null)?.[Symbol.iterator] !== 'function') {
    refuseIn(of, argument, 'a list', given)
  }
}

/** The type of a member of an argument. */
export type Part = 'text' | 'number' | 'object' | 'list' | 'objects' | 'function' | 'iterable'

const PARTS: { readonly [P in Part]: readonly [expected: string, is: (given: unknown) => boolean] } = {
  text: ['a text', (given) => typeof given === 'string'],
  number: ['a number', (given) => typeof given === 'number' && !Number.isNaN(given)],
  object: ['an object', isObject],
  list: ['a list', Array.isArray],
  objects: ['a list of objects', (given) => Array.isArray(given) && given.every(isObject)],
  function: ['a function', (given) => typeof given === 'function'],
  iterable: [
    'a list',
    (given) => isObjectLike(given) && typeof (given as Iterable<unknown>)[Symbol.iterator] === 'function',
  ],
}

/** An object that has at least these members. O(members); O(n) for a list of objects. */
export function assertParts(
  of: string,
  argument: string,
  given: unknown,
  parts: { readonly [name: string]: Part },
): void {
  assertObject(of, argument, given)
  // `for in` makes no list: planners check each object that they read
  for (const name in parts) {
    const member = (given as { readonly [name: string]: unknown })[name]
    const [expected, is] = PARTS[parts[name] as Part]
    if (!is(member)) refuseIn(of, `${argument}.${name}`, expected, member)
  }
}

function isObjectLike(given: unknown): boolean {
  return typeof given === 'object' && given !== null
}
