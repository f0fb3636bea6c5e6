import { refuseIn } from './refuse.js'

// Checks of arguments: each public function has the kinds of its arguments beside it, as plain
// data, which bundlers drop with the function. The types hold a kind against the TypeScript type of
// its argument.

/**
 * What a value has to be. A `?` after the word: it can also be `undefined`.
 *
 * - a word: `'text'`, `'number?'`
 * - an object: the kind of each member. Another member is refused: a misspelt option would do
 *   nothing. `['options?', members]` can be left out
 * - `['open', members]`: an object that can have other members, as those of Kubernetes
 * - `['list', kind]`, `['iterable', kind]`, `['record', kind]`: of each member. The members of an
 *   iterable are checked if it is a list
 * - `['one', { text: 1 }]`: one of these texts or numbers
 * - `['by', 'kind', { text: kind }]`: an object of a union, by the text of one member
 * - a test: a function of the value
 */
export type Kind =
  | string
  | Test<never>
  | Members
  | readonly [word: string, of: Kind | Choices]
  | readonly [word: string, by: string, cases: Members]

interface Members {
  readonly [name: string]: Kind
}

interface Choices {
  readonly [value: string]: 1
}

/** What was expected in place of a value; `undefined` for a right one. */
export type Test<T> = ((given: unknown) => string | undefined) & { readonly of?: (given: T) => void }

/** The kinds that an argument of a type can have. */
export type KindOf<T> = unknown extends T ? Kind : undefined extends T ? Of<Exclude<T, undefined>, '?'> : Of<T, ''>

type Of<T, Q extends string> =
  | (Q extends '' ? Test<T> : readonly ['is?', Test<T>])
  | ([T] extends [string]
      ? string extends T
        ? `text${Q}`
        : readonly [`one${Q}`, { readonly [V in T]: 1 }]
      : [T] extends [number]
        ? number extends T
          ? `number${Q}`
          : readonly [`one${Q}`, { readonly [V in T]: 1 }]
        : [T] extends [boolean]
          ? `flag${Q}`
          : [T] extends [bigint]
            ? `bigint${Q}`
            : [T] extends [AnyFunction]
              ? `function${Q}`
              : [T] extends [readonly (infer M)[]]
                ? `list${Q}` | readonly [`list${Q}`, KindOf<M>]
                : [T] extends [object]
                  ? [NotAnObject<T>] extends [never]
                    ? ObjectKind<T, Q>
                    : [T] extends [Iterable<infer M>]
                      ? `iterable${Q}` | readonly [`iterable${Q}`, KindOf<M>]
                      : `any${Q}`
                  : `any${Q}`)

type NotAnObject<T> = Extract<T, Iterable<unknown> | AnyFunction>

type AnyFunction = (...given: never[]) => unknown

type ObjectKind<T, Q extends string> =
  | `object${Q}`
  | { [D in keyof T & string]: string extends T[D] ? never : readonly [`by${Q}`, D, Cases<T, D>] }[keyof T & string]
  | readonly [`open${Q}`, { readonly [K in keyof T]?: KindOf<T[K]> }]
  | (string extends keyof T
      ? readonly [`record${Q}`, KindOf<T[keyof T]>]
      : Q extends ''
        ? { readonly [K in keyof T]-?: KindOf<T[K]> }
        : readonly ['options?', { readonly [K in keyof T]-?: KindOf<T[K]> }])

type Cases<T, D extends keyof T> = { readonly [V in T[D] & string]: KindOf<CaseOf<T, D, V>> }
type CaseOf<T, D extends keyof T, V> = T extends unknown ? (V extends T[D] ? T : never) : never

/**
 * The check at the start of a public function. O(members); O(n) for lists with a kind. Nothing is
 * allocated for right values.
 *
 * @param of the function as callers write it
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function check<T>(of: string, argument: string, given: T, kind: NoInfer<KindOf<T>>): void {
  const fault = faultOf(given, kind as Kind)
  if (fault !== undefined) refuseIn(of, `${argument}${fault.at}`, fault.expected, fault.given)
}

/** Where a value is not of a kind. */
interface Fault {
  /** Below the argument: `.ranges[1]` */
  readonly at: string
  readonly expected: string
  readonly given: unknown
}

function faultOf(given: unknown, kind: Kind): Fault | undefined {
  if (typeof kind === 'string') return faultOfWord(given, kind)
  if (typeof kind === 'function') return faultOfTest(given, kind)
  if (!isTuple(kind)) return faultOfMembers(given, kind, true)
  const word = kind[0]
  if (given === undefined && word.endsWith('?')) return undefined
  switch (word) {
    case 'is?':
      return faultOfTest(given, kind[1] as Test<never>)
    case 'one':
    case 'one?':
      return isChoice(given, kind[1] as Choices) ? undefined : fault(`one of ${Object.keys(kind[1]).join(', ')}`, given)
    case 'by':
    case 'by?':
      return faultOfCase(given, kind[1] as string, kind[2] as Members)
    case 'list':
    case 'list?':
      return faultOfWord(given, word) ?? faultOfEach(given as readonly unknown[], kind[1] as Kind)
    case 'iterable':
    case 'iterable?':
      return faultOfWord(given, word) ?? (Array.isArray(given) ? faultOfEach(given, kind[1] as Kind) : undefined)
    case 'record':
    case 'record?':
      return faultOfWord(given, 'object') ?? faultOfValues(given as object, kind[1] as Kind)
    default:
      return faultOfMembers(given, kind[1] as Members, word === 'options?')
  }
}

const WORDS: { readonly [word: string]: readonly [expected: string, is: (given: unknown) => boolean] } = {
  text: ['a text', (given) => typeof given === 'string'],
  number: ['a number', (given) => typeof given === 'number' && !Number.isNaN(given)],
  flag: ['true or false', (given) => typeof given === 'boolean'],
  bigint: ['a bigint', (given) => typeof given === 'bigint'],
  function: ['a function', (given) => typeof given === 'function'],
  object: ['an object', isObject],
  list: ['a list', Array.isArray],
  iterable: ['a list', (given) => typeof given === 'object' && given !== null && Symbol.iterator in given],
  any: ['a value', () => true],
}

function faultOfWord(given: unknown, word: string): Fault | undefined {
  if (given === undefined && word.endsWith('?')) return undefined
  const [expected, is] = (WORDS[word] ?? WORDS[word.slice(0, -1)]) as (typeof WORDS)[string]
  return is(given) ? undefined : fault(expected, given)
}

function faultOfTest(given: unknown, test: Test<never>): Fault | undefined {
  const expected = test(given)
  return expected === undefined ? undefined : fault(expected, given)
}

function faultOfEach(given: readonly unknown[], kind: Kind): Fault | undefined {
  for (let index = 0; index < given.length; index++) {
    const found = faultOf(given[index], kind)
    if (found !== undefined) return below(`[${index}]`, found)
  }
  return undefined
}

function faultOfValues(given: object, kind: Kind): Fault | undefined {
  for (const name of Object.keys(given)) {
    const found = faultOf((given as { readonly [name: string]: unknown })[name], kind)
    if (found !== undefined) return below(`.${name}`, found)
  }
  return undefined
}

function faultOfMembers(given: unknown, members: Members, isClosed: boolean): Fault | undefined {
  if (!isObject(given)) return fault('an object', given)
  for (const name in members) {
    const found = faultOf(given[name], members[name] as Kind)
    if (found !== undefined) return below(`.${name}`, found)
  }
  // also what is `undefined`: its name is wrong
  if (isClosed) {
    for (const name in given) {
      if (!Object.hasOwn(members, name)) {
        return below(`.${name}`, fault(`one of ${Object.keys(members).join(', ')}`, given[name]))
      }
    }
  }
  return undefined
}

function faultOfCase(given: unknown, by: string, cases: Members): Fault | undefined {
  if (!isObject(given)) return fault('an object', given)
  const found = given[by]
  if (typeof found === 'string' && Object.hasOwn(cases, found)) return faultOf(given, cases[found] as Kind)
  return below(`.${by}`, fault(`one of ${Object.keys(cases).join(', ')}`, found))
}

function fault(expected: string, given: unknown): Fault {
  return { at: '', expected, given }
}

function below(step: string, { at, expected, given }: Fault): Fault {
  return { at: `${step}${at}`, expected, given }
}

function isTuple(kind: Members | readonly unknown[]): kind is readonly [string, Kind | Choices, Members?] {
  return Array.isArray(kind)
}

function isChoice(given: unknown, choices: Choices): boolean {
  return (typeof given === 'string' || typeof given === 'number') && Object.hasOwn(choices, given)
}

/** Whether a value is an object and not an array. */
export function isObject(given: unknown): given is { readonly [name: string]: unknown } {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}
