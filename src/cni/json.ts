import { type Failure, fail, type Result } from '../errors/index.js'
import { quote } from '../errors/quote.js'

/** A JSON object whose fields are not known yet. */
export type CniJson = { readonly [key: string]: unknown }

/** How deep a configuration may nest: code behind this check can recurse. */
const MAX_DEPTH = 100

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const SPACE = /[ \t\n\r]*/y
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Below it are control characters, which JSON escapes. */
const SPACE_UNIT = 0x20
const WORD = /true|false|null/y

/**
 * Parses JSON strictly (RFC 8259). A name that stands twice in one object is refused: Go takes the
 * last value, other parsers the first. O(length).
 */
export function parseJson(text: string, what: string): Result<unknown, 'MALFORMED_JSON'> {
  const problem = new Scanner(text).problem()
  if (problem !== undefined) return fail('MALFORMED_JSON', { what, ...problem })
  return { ok: true, value: JSON.parse(text) }
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
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  return { object: 'a map', string: 'a text', number: 'a number', boolean: 'a boolean' }[typeof value as string] ?? 'it'
}

type Problem = Omit<Failure<'MALFORMED_JSON'>['context'], 'what'>

/** A state machine over the text, which nests on a stack of its own. */
class Scanner {
  readonly #text: string
  #at = 0
  /** The names of each open object; `undefined` for an open list. */
  readonly #open: (Set<string> | undefined)[] = []

  constructor(text: string) {
    this.#text = text
  }

  /** The first problem of the text. */
  problem(): Problem | undefined {
    for (;;) {
      const problem = this.#value()
      if (problem !== undefined) return problem
      if (this.#open.length === 0) break
    }
    this.#take(SPACE)
    return this.#at < this.#text.length ? this.#here('something follows the value') : undefined
  }

  /** One value without what is in it, then everything up to the beginning of the next value. */
  #value(): Problem | undefined {
    this.#take(SPACE)
    const character = this.#text[this.#at]
    if (character === '{' || character === '[') {
      if (this.#open.length === MAX_DEPTH) return this.#here(`it nests deeper than ${MAX_DEPTH} levels`)
      this.#at++
      this.#open.push(character === '{' ? new Set() : undefined)
      this.#take(SPACE)
      const isEmpty = this.#text[this.#at] === (character === '{' ? '}' : ']')
      if (isEmpty) return this.#afterValue()
      return character === '{' ? this.#name() : undefined
    }
    if (this.#string() === undefined && this.#take(NUMBER) === undefined && this.#take(WORD) === undefined) {
      return this.#here('no value')
    }
    return this.#afterValue()
  }

  /** What closes, up to the comma before the next value. */
  #afterValue(): Problem | undefined {
    while (this.#open.length > 0) {
      const names = this.#open.at(-1)
      this.#take(SPACE)
      const character = this.#text[this.#at]
      if (character === ',') {
        this.#at++
        return names === undefined ? undefined : this.#name()
      }
      if (character !== (names === undefined ? ']' : '}')) {
        return this.#here(`neither a comma nor the end of the ${names === undefined ? 'list' : 'object'}`)
      }
      this.#at++
      this.#open.pop()
    }
    return undefined
  }

  #name(): Problem | undefined {
    this.#take(SPACE)
    const begin = this.#at
    const text = this.#string()
    if (text === undefined) return this.#here('no name of a member')
    const name = JSON.parse(text) as string
    const names = this.#open.at(-1) as Set<string>
    if (names.has(name)) return { position: begin, problem: `the name ${quote(name)} stands twice in one object` }
    names.add(name)
    this.#take(SPACE)
    if (this.#text[this.#at] !== ':') return this.#here('no colon behind a name')
    this.#at++
    return undefined
  }

  /** A text with its quotes. A pattern over all of it would run out of stack for long texts. */
  #string(): string | undefined {
    const text = this.#text
    const begin = this.#at
    if (text[begin] !== '"') return undefined
    for (let at = begin + 1; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit === QUOTE) {
        this.#at = at + 1
        return text.slice(begin, this.#at)
      }
      if (unit === BACKSLASH) {
        ESCAPE.lastIndex = at
        const found = ESCAPE.exec(text)
        if (found === null) break
        at += found[0].length - 1
      } else if (unit < SPACE_UNIT) break
    }
    return undefined
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #here(problem: string): Problem {
    const isEnd = this.#at >= this.#text.length
    return { position: this.#at, problem: isEnd ? 'it ends too early' : problem }
  }
}
