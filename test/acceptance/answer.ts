import { isIpamError } from 'ipam-kit/errors'

/**
 * What an adapter is given of a case: neither its id nor its name, so that none can be treated on
 * its own.
 */
export interface GivenCase {
  readonly input: unknown
  /**
   * What the case asks for. Its keys, and lists such as "which of these", are the question; its
   * values are never the answer.
   */
  readonly expect: unknown
  /**
   * Whatever else the case has, such as `function` in the files that do not have it in the input.
   */
  readonly fields: { readonly [field: string]: unknown }
}

/** What an adapter answers: the result in the form of the expectation, or why there is none. */
export type Answer =
  | { readonly kind: 'answered'; readonly got: unknown }
  /** Which word of the case it does not know. */
  | { readonly kind: 'unsupported'; readonly what: string }
  /** Which part of the file it knows; the case is about another, which is yet to be built. */
  | { readonly kind: 'notBuilt'; readonly built: string }

/**
 * Translates the input of a case to calls of the public API, and their results to the form of its
 * expectation. Nothing more.
 */
export type Adapter = (given: GivenCase) => Answer | Promise<Answer>

/** What can be asked after a call, by key: the answer to each, or the answers one level deeper. */
export interface Answers {
  readonly [key: string]: ((asked: unknown) => unknown) | Answers
}

export function answered(got: unknown): Answer {
  return { kind: 'answered', got }
}

export function unsupported(what: string): Answer {
  return { kind: 'unsupported', what }
}

/**
 * An adapter for which a typed failure that the library throws is the result of the case. Any other
 * exception stays the end of the adapter.
 */
export function refusalsAnswered(adapter: Adapter): Adapter {
  return async (given) => {
    try {
      return await adapter(given)
    } catch (error) {
      if (!isIpamError(error)) throw error
      return refusedWith(given.expect, error.message)
    }
  }
}

/**
 * Answers what a case asks for, key by key. A key that is not among the answers is reported, never
 * left out.
 */
export function answerKeys(expect: unknown, answers: Answers, path = 'expect'): Answer {
  if (!isRecord(expect)) return unsupported(`${path} that is not an object`)
  const got: { [key: string]: unknown } = {}
  for (const [key, asked] of Object.entries(expect)) {
    const known = Object.hasOwn(answers, key) ? answers[key] : undefined
    if (known === undefined) return unsupported(`${path}.${key}`)
    if (typeof known === 'function') {
      got[key] = known(asked)
      continue
    }
    const inner = answerKeys(asked, known, `${path}.${key}`)
    if (inner.kind !== 'answered') return inner
    got[key] = inner.got
  }
  return answered(got)
}

/**
 * The answer where the library refuses the input. A case that asks for no more than an error gets
 * no more than that.
 */
export function refused(expect: unknown, message: string): Answer {
  return answered({ error: isRecord(expect) && expect.error === true ? true : message })
}

/**
 * As {@link refused}, where a case may also ask how the sentence begins (`errorPrefix`) or what it
 * has in it (`contains`). It answers what is asked of the error, and nothing else.
 */
export function refusedWith(expect: unknown, sentence: string): Answer {
  const answers: { readonly [key: string]: (asked: unknown) => unknown } = {
    error: (asked) => (asked === true ? true : sentence),
    errorPrefix: (asked) => (sentence.startsWith(String(asked)) ? asked : sentence),
    contains: (asked) => those(asked, (text) => sentence.includes(text)),
  }
  const asked = isRecord(expect) ? Object.entries(expect).filter(([key]) => Object.hasOwn(answers, key)) : []
  if (asked.length === 0) return answered({ error: sentence })
  return answered(Object.fromEntries(asked.map(([key, value]) => [key, answers[key]?.(value)])))
}

/** The bound that was asked for, where a value keeps to it; else the value. */
export function within(asked: unknown, value: number): unknown {
  return typeof asked === 'number' && value <= asked ? asked : value
}

/** Those of the values asked for that have a property; of a single value itself, or `null`. */
export function those(asked: unknown, has: (text: string) => boolean): unknown {
  if (Array.isArray(asked)) return asked.filter((value) => has(String(value)))
  return has(String(asked)) ? asked : null
}

/** Which of the parts asked for are in a text, or not. */
export function partAnswers(text: string): Answers {
  return {
    mustNotContain: (asked) => those(asked, (part) => !text.includes(part)),
    mustContain: (asked) => those(asked, (part) => text.includes(part)),
  }
}

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
