import { scripts, signatures } from './calls.js'
import { encode, encodeError } from './encode.js'
import { type Entry, type Sample, samplesOf } from './samples.js'

/** A call, and what it returned or threw as a value for JSON. */
export interface Answer {
  readonly call: string
  readonly answer: unknown
}

/**
 * Calls everything that calls.ts names, and looks at every constant that is exported. Always in the
 * same order.
 */
export function answersOf(cidr: Entry): Answer[] {
  const samples = samplesOf(cidr)
  const exported = publicNames(cidr)
  const answers: Answer[] = []
  for (const [name, lists] of Object.entries(signatures)) {
    const called = exported[name] as (...args: readonly unknown[]) => unknown
    for (const args of lists.flatMap((kinds) => combinations(kinds.map((kind) => samples[kind])))) {
      const call = `${name}(${args.map((sample) => sample.name).join(', ')})`
      answers.push({ call, answer: answerOf(() => called(...args.map(({ value }) => value))) })
    }
  }
  for (const [call, script] of Object.entries(scripts)) {
    answers.push({ call, answer: answerOf(() => script(cidr, samples)) })
  }
  for (const [call, value] of Object.entries(exported)) {
    if (typeof value !== 'function') answers.push({ call, answer: encode(value) })
  }
  return answers
}

/** Everything that is exported: `Address.parse`, `RangeSet.empty`, `PrefixMap`. */
export function publicNames(cidr: Entry): Record<string, unknown> {
  const names: Record<string, unknown> = {}
  for (const [noun, exported] of Object.entries(cidr)) {
    if (typeof exported === 'function') names[noun] = exported
    else for (const [name, value] of Object.entries(exported)) names[`${noun}.${name}`] = value
  }
  return names
}

function answerOf(call: () => unknown): unknown {
  try {
    return encode(call())
  } catch (error) {
    return encodeError(error)
  }
}

function combinations(lists: readonly (readonly Sample[])[]): Sample[][] {
  return lists.reduce<Sample[][]>((all, list) => all.flatMap((some) => list.map((each) => [...some, each])), [[]])
}
