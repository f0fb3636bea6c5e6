import { MALFORMED_JSON } from '../errors/definitions.js'
import { failWith } from '../errors/failure.js'
import type { Failure, Result } from '../errors/index.js'
import { quote } from '../errors/quote.js'

/** A JSON object whose fields are not known yet. */
export type CniJson = { readonly [key: string]: unknown }

/** How deep a configuration may nest: code behind this check can recurse. */
const MAX_DEPTH = 100
/** How deep Go's encoding/json reads. */
const MAX_DEPTH_OF_GO = 10_000

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const SPACE = /[ \t\n\r]*/y
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Below it are control characters, which JSON escapes. */
const SPACE_UNIT = 0x20

/**
 * Parses JSON strictly (RFC 8259). A name that stands twice in one object is refused: Go takes the
 * last value, other parsers the first. O(length).
 */
export function parseJson(text: string, what: string): Result<unknown, 'MALFORMED_JSON'> {
  const { value, problem, oddity } = readJson(text)
  const found = oddity ?? problem
  return found === undefined ? { ok: true, value } : failWith(MALFORMED_JSON, { what, ...found })
}

/** A text as JSON. */
export interface JsonReading {
  /** `undefined` for a text that is no JSON. */
  readonly value?: unknown
  /** Why the text is no JSON, in the sentence of Go's encoding/json. */
  readonly problem?: JsonProblem | undefined
  /** What Go reads all the same: a name twice, or more than 100 levels. Comes before `problem`. */
  readonly oddity?: JsonProblem | undefined
}

/** The index of a character, and what is wrong there. */
export type JsonProblem = Omit<Failure<'MALFORMED_JSON'>['context'], 'what'>

/** Reads a text as Go's encoding/json does, and finds what {@link parseJson} refuses. O(length). */
export function readJson(text: string): JsonReading {
  const scanner = new Scanner(text)
  const problem = scanner.problem()
  const { oddity } = scanner
  return problem === undefined ? { value: JSON.parse(text), oddity } : { problem, oddity }
}

/** The value as a JSON object; `undefined` for anything else. */
export function asMap(value: unknown): CniJson | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as CniJson) : undefined
}

/** A member of an object, where `null` is a member that is not there, as in Go. */
export function memberOf(object: CniJson, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined
}

/** What stands in place of something else, in a word for a message. */
export function wordFor(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  const words: { readonly [type: string]: string } = {
    object: 'an object',
    string: 'a text',
    number: 'a number',
    boolean: 'a boolean',
  }
  return words[typeof value] ?? `a ${typeof value}`
}

/** A state machine over the text, which nests on a stack of its own. */
class Scanner {
  oddity: JsonProblem | undefined
  readonly #text: string
  #at = 0
  /** The names of each open object; `undefined` for an open list. */
  readonly #open: (Set<string> | undefined)[] = []

  constructor(text: string) {
    this.#text = text
  }

  /** The first character that is no JSON. */
  problem(): JsonProblem | undefined {
    let found = this.#value()
    while (found === undefined && this.#open.length > 0) found = this.#afterValue()
    if (found !== undefined) return found
    return this.#peek() === undefined ? undefined : this.#wrong('after top-level value')
  }

  /** A value up to its end, or up to the first value in it. */
  #value(): JsonProblem | undefined {
    for (;;) {
      const first = this.#peek()
      if (first !== '{' && first !== '[') return this.#scalar(first)
      if (this.#open.length === MAX_DEPTH) this.#note(this.#at, `it nests deeper than ${MAX_DEPTH} levels`)
      this.#at++
      this.#open.push(first === '{' ? new Set() : undefined)
      if (this.#open.length > MAX_DEPTH_OF_GO) return { position: this.#at, problem: 'exceeded max depth' }
      if (this.#peek() === (first === '{' ? '}' : ']')) {
        this.#at++
        this.#open.pop()
        return undefined
      }
      const found = first === '{' ? this.#name() : undefined
      if (found !== undefined) return found
    }
  }

  /** What comes after a value in an object or a list. */
  #afterValue(): JsonProblem | undefined {
    const isObject = this.#open.at(-1) !== undefined
    const next = this.#peek()
    if (next === (isObject ? '}' : ']')) {
      this.#at++
      this.#open.pop()
      return undefined
    }
    if (next !== ',') return this.#wrong(isObject ? 'after object key:value pair' : 'after array element')
    this.#at++
    return (isObject ? this.#name() : undefined) ?? this.#value()
  }

  #name(): JsonProblem | undefined {
    if (this.#peek() !== '"') return this.#wrong('looking for beginning of object key string')
    const begin = this.#at
    const found = this.#string()
    if (found !== undefined) return found
    const name = JSON.parse(this.#text.slice(begin, this.#at)) as string
    const names = this.#open.at(-1) as Set<string>
    if (names.has(name)) this.#note(begin, `the name ${quote(name)} stands twice in one object`)
    names.add(name)
    if (this.#peek() !== ':') return this.#wrong('after object key')
    this.#at++
    return undefined
  }

  #scalar(first: string | undefined): JsonProblem | undefined {
    if (first === '"') return this.#string()
    if (first === 't') return this.#literal('true')
    if (first === 'f') return this.#literal('false')
    if (first === 'n') return this.#literal('null')
    if (first !== undefined && /[-0-9]/.test(first)) return this.#number()
    return this.#wrong('looking for beginning of value')
  }

  /** A text with its quotes. A pattern over all of it would run out of stack for long texts. */
  #string(): JsonProblem | undefined {
    const text = this.#text
    for (this.#at++; this.#at < text.length; this.#at++) {
      const unit = text.charCodeAt(this.#at)
      if (unit === QUOTE) {
        this.#at++
        return undefined
      }
      if (unit < SPACE_UNIT) return this.#wrong('in string literal')
      const found = unit === BACKSLASH ? this.#escape() : undefined
      if (found !== undefined) return found
    }
    return this.#wrong('in string literal')
  }

  /** A backslash and what it escapes, up to its last character. */
  #escape(): JsonProblem | undefined {
    const escaped = this.#text[++this.#at]
    if (escaped !== 'u') {
      return escaped !== undefined && '"\\/bfnrt'.includes(escaped) ? undefined : this.#wrong('in string escape code')
    }
    for (let digit = 0; digit < 4; digit++) {
      const isHex = /[0-9a-fA-F]/.test(this.#text[++this.#at] ?? '')
      if (!isHex) return this.#wrong('in \\u hexadecimal character escape')
    }
    return undefined
  }

  #literal(word: string): JsonProblem | undefined {
    for (const expected of word) {
      if (this.#text[this.#at] !== expected) return this.#wrong(`in literal ${word} (expecting '${expected}')`)
      this.#at++
    }
    return undefined
  }

  /** The pattern takes as much as is a number: what is missing after it is its fault. */
  #number(): JsonProblem | undefined {
    const taken = this.#take(NUMBER)
    if (taken === '') {
      this.#at++
      return this.#wrong('in numeric literal')
    }
    const next = this.#text[this.#at]
    if (next === '.' && !/[.eE]/.test(taken)) {
      this.#at++
      return this.#wrong('after decimal point in numeric literal')
    }
    if ((next === 'e' || next === 'E') && !/[eE]/.test(taken)) {
      this.#at++
      if (/[+-]/.test(this.#text[this.#at] ?? '')) this.#at++
      return this.#wrong('in exponent of numeric literal')
    }
    return undefined
  }

  /** The next character that is no white space. */
  #peek(): string | undefined {
    this.#take(SPACE)
    return this.#text[this.#at]
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #note(position: number, problem: string): void {
    this.oddity ??= { position, problem }
  }

  #wrong(where: string): JsonProblem {
    const character = this.#text[this.#at]
    if (character === undefined) return { position: this.#text.length, problem: 'unexpected end of JSON input' }
    return { position: this.#at, problem: `invalid character ${goCharacter(character)} ${where}` }
  }
}

/** A character as Go quotes it: of one beyond ASCII, Go names the first byte. */
function goCharacter(character: string): string {
  if (character === "'") return "'\\''"
  if (character === '"') return `'"'`
  const code = character.charCodeAt(0)
  if (code < 0x80) return `'${JSON.stringify(character).slice(1, -1)}'`
  const byte = code < 0x800 ? 0xc0 | (code >> 6) : 0xe0 | (code >> 12)
  return `'${String.fromCharCode(code >= 0xd800 && code < 0xdc00 ? 0xf0 : byte)}'`
}
