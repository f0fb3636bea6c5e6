import { argumentsWith, isOptions, type Place, placesOf, rightOf, wrongFor } from './argument-places.js'
import type { ArgumentType, Signature } from './argument-types.js'
import type { PublicCall } from './public-calls.js'
import { OwnError } from './wrong-values.js'

/**
 * Calls that are not made: with their right values they throw what they are given, or begin work
 * that has tests of its own.
 */
export const NOT_CALLED_BELOW =
  /ipam-kit\/errors |UnsettledError|SimulatedCrash|ProblemLog#report| dialects\.|AddressPool#(?:restore|stored)|FakeCloud|simulate|Conformance|neutronHandler/u

export interface MemberProblem {
  readonly call: string
  /** `options.ranges[]: a number` */
  readonly place: string
  readonly problem: string
}

interface MemberProblems {
  readonly places: number
  readonly untyped: readonly MemberProblem[]
  readonly nameless: readonly MemberProblem[]
  readonly misspelt: readonly MemberProblem[]
}

/**
 * What is wrong with the calls.
 *
 * @param parts one of so many values is tried at each place, another one at the next
 */
export async function memberProblems(
  calls: readonly PublicCall[],
  signatureOf: (name: string) => Signature | undefined,
  parts: number,
): Promise<MemberProblems> {
  const [untyped, nameless, misspelt]: [MemberProblem[], MemberProblem[], MemberProblem[]] = [[], [], []]
  let places = 0
  for (const { name, call } of calls) {
    const signature = signatureOf(name) as Signature
    for (const place of placesOf(signature)) {
      const at = pathOf(signature, place)
      const tried = wrongFor(place).filter((_, nth) => (nth + places) % parts === 0)
      places++
      for (const [what, make] of tried) {
        const error = await errorOf(call, argumentsWith(signature, place, make()))
        const problem = { call: name, place: `${at}: ${what}`, problem: `${error?.name}: ${error?.message}` }
        if (error !== undefined && error.name !== 'IpamError') untyped.push(problem)
        else if (error?.code === 'INVALID_ARGUMENT' && !(error.context?.function && error.context.argument)) {
          nameless.push(problem)
        }
      }
      if (!isOptions(place.type)) continue
      const wrong = misspeltOf(place.type)
      const error = await errorOf(call, argumentsWith(signature, place, { ...rightMembers(place.type), [wrong]: 1 }))
      if (error?.code === 'INVALID_ARGUMENT' && error.context?.argument?.endsWith(wrong)) continue
      misspelt.push({ call: name, place: `${at}.${wrong}`, problem: error?.message ?? 'it is taken' })
    }
  }
  return { places, untyped, nameless, misspelt }
}

interface SeenError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly context?: { readonly function?: string; readonly argument?: string }
}

/** How long a promise may take, in milliseconds. Nobody waits for what is right and has no end. */
const MOST_MS = 2_000

async function errorOf(call: PublicCall['call'], given: readonly unknown[]): Promise<SeenError | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const result = call(...given)
    if (result instanceof Promise) {
      const late = new Promise((resolve) => {
        timer = setTimeout(resolve, MOST_MS)
      })
      await Promise.race([result, late])
    }
    return undefined
  } catch (error) {
    return error instanceof OwnError ? undefined : (error as SeenError)
  } finally {
    clearTimeout(timer)
  }
}

function pathOf({ parameters }: Signature, { parameter, path }: Place): string {
  const steps = path.filter((step) => !step.startsWith('|'))
  return [parameters[parameter]!.name, ...steps].join('.').replaceAll('.[]', '[]')
}

function misspeltOf(type: ArgumentType): string {
  return `${type.members()[0]?.name ?? ''}x`
}

function rightMembers(type: ArgumentType): object {
  const members = type.members().map((member) => [member.name, rightOf(member)] as const)
  return Object.fromEntries(members.filter(([, value]) => value !== undefined))
}
