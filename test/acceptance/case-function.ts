import * as z from 'zod'
import { type Answer, type GivenCase, unsupported } from './answer.js'
import { MOST_MENDED, mend } from './read-input.js'

/**
 * What a file can ask of each function that it names: input and expectation to an answer. An input
 * that does not fit throws its `ZodError`, and is read as Go reads it.
 */
export interface CaseFunctions {
  readonly [name: string]: (input: unknown, expect: unknown) => Answer | Promise<Answer>
}

/** Puts a case to the function that it names. */
export async function answerFunction({ input, expect, fields }: GivenCase, functions: CaseFunctions): Promise<Answer> {
  const name = String(fields.function)
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined
  if (known === undefined) return unsupported(`function ${name}`)
  let given = input
  for (let mended = 0; ; mended++) {
    try {
      return await known(given, expect)
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error
      const next = mended < MOST_MENDED ? mend(given, error.issues) : undefined
      if (next === undefined) return unsupported(`input: ${z.prettifyError(error)}`)
      given = next.input
    }
  }
}
