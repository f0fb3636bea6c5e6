import type { PublicCall } from './public-calls.js'
import { rightValue } from './public-instances.js'
import { problemOf, WRONG } from './wrong-values.js'

/** Calls that are not made, and why. */
export const NOT_CALLED: readonly (readonly [those: RegExp, why: string])[] = [
  [/^ipam-kit\/errors registry\./u, 'messages: `describe` calls them with the context of their code'],
  [/ dialects\./u, 'members of a dialect: planners call them with their own objects'],
  [/ AddressPool#(?:restore|stored)$/u, 'protected: not in the types of the package'],
  [/^ipam-kit\/errors (?:ok|fail|failure)$/u, 'make a result of anything: NaN is a right value of one'],
]

/**
 * Parameters that only a noun is right for: an answer to a text would be an answer about another
 * address.
 */
const NOUNS =
  /^(?:address|prefix|range|set|left|right|outer|inner|from|to|member|within|other|taken|router|extent|owner)$/u
/** Nouns that have a default. */
const OPTIONAL = ['Nat64.embed/prefix', 'Nat64.extract/prefix', 'PrefixTree#nextFree/from']
const STRICT = /^(?:new )?ipam-kit\/(?:cidr|cidr\/forms|allocator) /u

/** The calls of one function: each wrong value in each position, alone and in all of them. */
export async function problemsOf({ name, parameters, call }: PublicCall): Promise<string[]> {
  const problems: string[] = []
  const right = parameters.map((parameter) => rightValue(name, parameter))
  for (const [what, make] of Object.entries(WRONG)) {
    for (const [place, parameter] of parameters.entries()) {
      // undefined is what a parameter with a default is given
      const isStrict = STRICT.test(name) && NOUNS.test(parameter) && !isOptional(name, parameter)
      const given = right.map((value, at) => (at === place ? make() : value))
      const problem = await problemOf(() => call(...given), { isStrict })
      if (problem !== undefined) problems.push(`${name}(${parameter}: ${what}) ${problem}`)
    }
    const problem = await problemOf(() => call(...parameters.map(make)), { isStrict: false })
    if (problem !== undefined) problems.push(`${name}(all: ${what}) ${problem}`)
  }
  return problems
}

function isOptional(name: string, parameter: string): boolean {
  return OPTIONAL.some((one) => name.endsWith(one.split('/')[0]!) && parameter === one.split('/')[1])
}
