/** What an adapter is given of a case: neither its id nor its name, so that none can be treated on its own. */
export interface GivenCase {
  readonly input: unknown
  /** What the case asks for. Its keys, and lists such as "which of these", are the question; its values are never the answer. */
  readonly expect: unknown
  /** Whatever else the case has, such as `function` in the files that do not have it in the input. */
  readonly fields: { readonly [field: string]: unknown }
}

/** What an adapter answers: the result in the form of the expectation, or which word of the case it does not know. */
export type Answer =
  | { readonly kind: 'answered'; readonly got: unknown }
  | { readonly kind: 'unsupported'; readonly what: string }

/** Translates the input of a case to calls of the public API, and their results to the form of its expectation. Nothing more. */
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

/** Answers what a case asks for, key by key. A key that is not among the answers is reported, never left out. */
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
    if (inner.kind === 'unsupported') return inner
    got[key] = inner.got
  }
  return answered(got)
}

/** The answer where the library refuses the input. A case that asks for no more than an error gets no more than that. */
export function refused(expect: unknown, message: string): Answer {
  return answered({ error: isRecord(expect) && expect.error === true ? true : message })
}

/** Those of the values asked for that have a property; of a single value itself, or `null`. */
export function those(asked: unknown, has: (text: string) => boolean): unknown {
  if (Array.isArray(asked)) return asked.filter((value) => has(String(value)))
  return has(String(asked)) ? asked : null
}

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
