/** Nesting that is read, as in Go's encoding/json. */
const MOST_NESTED = 10_000

/**
 * A JSON text as a value. The problem of a text that does not parse is the sentence of Go's
 * encoding/json, which upstream answers. O(n).
 */
export function readJsonText(text: string): JsonReading {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return { ok: false, ...new Scanner(text).problem() }
  }
}

/** A value, or where and why a text is no JSON. */
export type JsonReading = { readonly ok: true; readonly value: unknown } | ({ readonly ok: false } & Problem)

interface Problem {
  readonly position: number
  readonly problem: string
}

/** Finds the first character that is no JSON. */
class Scanner {
  readonly #text: string
  #at = 0
  /** The brackets that are open. */
  readonly #open: ('{' | '[')[] = []

  constructor(text: string) {
    this.#text = text
  }

  problem(): Problem {
    let found = this.#value()
    while (found === undefined && this.#open.length > 0) found = this.#afterValue()
    if (found !== undefined) return found
    const rest = this.#peek()
    if (rest !== undefined) return this.#wrong('after top-level value')
    return { position: this.#text.length, problem: 'unexpected end of JSON input' }
  }

  /** A value up to its end, or up to the first value in it. */
  #value(): Problem | undefined {
    for (;;) {
      const first = this.#peek()
      if (first === '{' || first === '[') {
        this.#at++
        this.#open.push(first)
        if (this.#open.length > MOST_NESTED) return { position: this.#at, problem: 'exceeded max depth' }
        if (this.#peek() === (first === '{' ? '}' : ']')) {
          this.#at++
          this.#open.pop()
          return undefined
        }
        const found = first === '{' ? this.#key() : undefined
        if (found !== undefined) return found
        continue
      }
      return this.#scalar(first)
    }
  }

  /** What comes after a value in an object or a list. */
  #afterValue(): Problem | undefined {
    const inner = this.#open.at(-1)
    const next = this.#peek()
    if (next === (inner === '{' ? '}' : ']')) {
      this.#at++
      this.#open.pop()
      return undefined
    }
    if (next !== ',') return this.#wrong(inner === '{' ? 'after object key:value pair' : 'after array element')
    this.#at++
    return (inner === '{' ? this.#key() : undefined) ?? this.#value()
  }

  #key(): Problem | undefined {
    if (this.#peek() !== '"') return this.#wrong('looking for beginning of object key string')
    const found = this.#string()
    if (found !== undefined) return found
    if (this.#peek() !== ':') return this.#wrong('after object key')
    this.#at++
    return undefined
  }

  #scalar(first: string | undefined): Problem | undefined {
    if (first === '"') return this.#string()
    if (first === 't') return this.#literal('true')
    if (first === 'f') return this.#literal('false')
    if (first === 'n') return this.#literal('null')
    if (first !== undefined && /[-0-9]/.test(first)) return this.#number()
    return this.#wrong('looking for beginning of value')
  }

  #string(): Problem | undefined {
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] as string
      if (character === '"') {
        this.#at++
        return undefined
      }
      if (character < ' ') return this.#wrong('in string literal')
      if (character !== '\\') continue
      this.#at++
      const escaped = this.#text[this.#at]
      if (escaped === 'u') {
        for (let digit = 0; digit < 4; digit++) {
          this.#at++
          if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? '')) return this.#wrong('in \\u hexadecimal character escape')
        }
      } else if (escaped === undefined || !'"\\/bfnrt'.includes(escaped)) return this.#wrong('in string escape code')
    }
    return this.#ended()
  }

  #literal(word: string): Problem | undefined {
    for (const expected of word) {
      if (this.#text[this.#at] !== expected) return this.#wrong(`in literal ${word} (expecting '${expected}')`)
      this.#at++
    }
    return undefined
  }

  #number(): Problem | undefined {
    if (this.#text[this.#at] === '-') this.#at++
    if (!this.#isDigit()) return this.#wrong('in numeric literal')
    if (this.#text[this.#at] === '0') this.#at++
    else this.#digits()
    if (this.#text[this.#at] === '.') {
      this.#at++
      if (!this.#isDigit()) return this.#wrong('after decimal point in numeric literal')
      this.#digits()
    }
    if (/[eE]/.test(this.#text[this.#at] ?? '')) {
      this.#at++
      if (/[+-]/.test(this.#text[this.#at] ?? '')) this.#at++
      if (!this.#isDigit()) return this.#wrong('in exponent of numeric literal')
      this.#digits()
    }
    return undefined
  }

  #isDigit(): boolean {
    return /[0-9]/.test(this.#text[this.#at] ?? '')
  }

  #digits(): void {
    while (this.#isDigit()) this.#at++
  }

  /** The next character that is no white space. */
  #peek(): string | undefined {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '')) this.#at++
    return this.#text[this.#at]
  }

  #wrong(where: string): Problem {
    const character = this.#text[this.#at]
    if (character === undefined) return this.#ended()
    return { position: this.#at, problem: `invalid character ${goCharacter(character)} ${where}` }
  }

  #ended(): Problem {
    return { position: this.#text.length, problem: 'unexpected end of JSON input' }
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
