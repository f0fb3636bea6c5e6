import { readNameKey } from '../../crd/meta/object.js'
import { errorText } from '../../errors/cause.js'
import { check, type KindOf } from '../../errors/check.js'
import type { Failure } from '../../errors/index.js'
import { refuse, refuseIn } from '../../errors/refuse.js'
import type { ControllerProblem } from './controller.js'
import type { Timers } from './timers.js'

export interface ProblemLogOptions {
  readonly timers: Timers
  /** Takes one line, without a line break at its end. */
  readonly log: (line: string) => void
}

const PROBLEM_LOG_OPTIONS: KindOf<ProblemLogOptions> = { timers: 'object', log: 'function' }

/** How long a kind of problem is silent after its first line, and at most after later lines. */
const FIRST_QUIET_MS = 10_000
const LONGEST_QUIET_MS = 600_000
/** The number of kinds of problems that are distinguished. */
const MAX_KINDS = 100
/** By how much of a line it is told apart, and how much of it is logged, in characters. */
const MAX_COMPARED = 1_000
const MAX_LINE = 8_000

interface Folded {
  quietMs: number
  count: number
  last: string
  cancel: () => void
}

/**
 * Logs the problems of a controller without a flood: pass {@link report} as `onProblem` of a
 * `Controller`.
 *
 * The first problem of a kind is logged at once. Later ones are counted, and logged as one line
 * after 10 s, 20 s and so on, up to 10 minutes. A kind that was silent for that time begins again.
 * Problems are of one kind if the first 1,000 characters of their lines differ only in names of
 * objects and in numbers. Up to 100 kinds are distinguished. A line is cut at 8,000 characters.
 */
export class ProblemLog {
  readonly #timers: Timers
  readonly #log: (line: string) => void
  readonly #kinds = new Map<string, Folded>()

  /** @throws IpamError `INVALID_ARGUMENT` */
  constructor(options: ProblemLogOptions) {
    check('ProblemLog', 'options', options, PROBLEM_LOG_OPTIONS)
    const { timers, log } = options
    if (typeof timers?.after !== 'function') refuse('ProblemLog', 'timers', 'timers', timers)
    if (typeof log !== 'function') refuse('ProblemLog', 'log', 'a function', typeof log)
    this.#timers = timers
    this.#log = log
  }

  /** Logs a problem of a controller, or counts it. */
  readonly report = (problem: ControllerProblem): void => {
    check('ProblemLog.report', 'problem', problem, 'object')
    this.add(lineOf(problem), namesIn(problem))
  }

  /**
   * Logs a line about another part of the program, or counts it.
   *
   * @param names the names of objects, which differ between lines of one kind
   */
  add(line: string, names: readonly string[] = []): void {
    check('ProblemLog.add', 'line', line, 'text')
    check('ProblemLog.add', 'names', names, ['list', 'text'])
    this.#add(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line, names)
  }

  #add(line: string, names: readonly string[]): void {
    const kind = this.#kindOf(line, names)
    const known = this.#kinds.get(kind)
    if (known !== undefined) {
      known.count++
      known.last = line
      return
    }
    this.#log(line)
    const folded = { quietMs: FIRST_QUIET_MS, count: 0, last: '', cancel: () => {} }
    this.#kinds.set(kind, folded)
    this.#waitFor(kind, folded)
  }

  /** Logs what was counted, and begins again without a timer: before the end of the process. */
  flush(): void {
    for (const folded of this.#kinds.values()) {
      folded.cancel()
      this.#logCount(folded)
    }
    this.#kinds.clear()
  }

  #kindOf(line: string, names: readonly string[]): string {
    const longestFirst = names.filter((name) => name !== '').sort((left, right) => right.length - left.length)
    const text = longestFirst
      .reduce((rest, name) => rest.replaceAll(name, '*'), line.slice(0, MAX_COMPARED))
      // word by word: one expression for all of it would be quadratic
      .replace(/\w+/g, (word) => (NUMBER.test(word) ? '#' : word))
    return this.#kinds.has(text) || this.#kinds.size < MAX_KINDS ? text : 'other'
  }

  #waitFor(kind: string, folded: Folded): void {
    folded.cancel = this.#timers.after(folded.quietMs, () => {
      if (folded.count === 0) return void this.#kinds.delete(kind)
      this.#logCount(folded)
      folded.quietMs = Math.min(2 * folded.quietMs, LONGEST_QUIET_MS)
      this.#waitFor(kind, folded)
    })
  }

  #logCount(folded: Folded): void {
    const { count, last, quietMs } = folded
    if (count > 0) this.#log(`${count} more of this kind within ${quietMs / 1000} s, the last: ${last}`)
    folded.count = 0
  }
}

/** The parts that differ between problems of one kind: the key, and the names of objects in it. */
function namesIn(problem: ControllerProblem): readonly string[] {
  if (problem.kind === 'informer') return [problem.of.kind]
  const [, namespacedName = problem.key] = problem.key.split(' ')
  return [problem.key, namespacedName, readNameKey(namespacedName).name]
}

/** A number, or a group of a uid, which may have no digit. */
const NUMBER = /^(?:(?=\D*\d)[0-9a-f]+|[0-9a-f]{4})$/i

/** Anything can be thrown, also what throws when it is read. */
function stackOf(error: unknown): string | undefined {
  try {
    const stack: unknown = error instanceof Error ? error.stack : undefined
    return typeof stack === 'string' && stack !== '' ? stack : undefined
  } catch {
    return undefined
  }
}

const KINDS = 'informer, thrown, stalled, failed or unsettled'

/** A problem in one line. */
function lineOf(problem: ControllerProblem): string {
  switch (problem.kind) {
    case 'informer':
      return `${problem.of.kind} cannot be watched: ${(problem.failure as Failure).message}`
    case 'thrown': {
      const { key, error } = problem
      return `${key}: ${stackOf(error) ?? errorText(error)}`
    }
    case 'stalled': {
      const { key, planner, keys, plans, forMs } = problem
      const seconds = Math.round(forMs / 1000)
      return problem.reason === 'waiting'
        ? `${key}: has waited for a plan for ${seconds} s; keys of ${planner} in the queue: ${keys}`
        : `${key}: no progress for ${seconds} s in ${plans} plans; keys of ${planner} without progress: ${keys}`
    }
    case 'failed':
    case 'unsettled':
      return `${problem.key}: ${problem.kind}: ${(problem.failure as Failure).message}`
    default:
      return refuseIn('ProblemLog.report', 'problem.kind', KINDS, (problem as { readonly kind: unknown }).kind)
  }
}
