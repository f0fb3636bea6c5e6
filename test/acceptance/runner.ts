import { isDeepStrictEqual } from 'node:util'
import { type Answer, type GivenCase, isRecord } from './answer.js'
import type { Deviation } from './deviations.js'

/** A case file as it was read. */
export interface CaseFile {
  /** Without `.json`. */
  readonly name: string
  readonly text: string
}

/** What became of a question: its answer, or why there is none. */
export type Reply = Answer | { readonly kind: 'broke'; readonly problem: string }

/**
 * Puts a case to the adapter of a file. Never rejects, and comes back whatever the adapter does.
 */
export type Ask = (file: string, given: GivenCase) => Promise<Reply>

export interface Suite {
  readonly files: readonly CaseFile[]
  /** Names of the files that have an adapter. */
  readonly covered: ReadonlySet<string>
  readonly ask: Ask
  readonly deviations: readonly Deviation[]
}

export type CaseResult = { readonly id: string; readonly name: string } & (
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly problem: string; readonly details?: CaseDetails | undefined }
  | { readonly kind: 'unsupported'; readonly what: string; readonly details: CaseDetails }
  /** The case is about a part of its file that is yet to be built. */
  | { readonly kind: 'notBuilt'; readonly built: string; readonly details: CaseDetails }
  | { readonly kind: 'deviation'; readonly rules: readonly string[]; readonly details: CaseDetails }
)

export interface CaseDetails {
  readonly input: unknown
  /** What we are held to: where a rule applies, the expectation after it. */
  readonly expected: unknown
  /** What the file says, where a rule says something else. */
  readonly inFile?: unknown
  readonly got?: unknown
}

export type FileResult =
  | { readonly kind: 'ran'; readonly name: string; readonly cases: readonly CaseResult[] }
  /** No adapter yet. */
  | { readonly kind: 'uncovered'; readonly name: string; readonly caseCount: number }

/**
 * Runs every case of every file, one after the other. What is wrong with a file or a case is part
 * of the result, never thrown.
 */
export async function runFiles(suite: Suite): Promise<FileResult[]> {
  const results: FileResult[] = []
  for (const file of suite.files) results.push(await runFile(file, suite))
  return results
}

/**
 * Whether anything is wrong: a case that failed, or one that the adapter of its file does not know.
 * What is yet to be built, a file or a part of one, is not.
 */
export function isRed(results: readonly FileResult[]): boolean {
  return results.some(
    (file) => file.kind === 'ran' && file.cases.some(({ kind }) => kind === 'failed' || kind === 'unsupported'),
  )
}

async function runFile({ name, text }: CaseFile, suite: Suite): Promise<FileResult> {
  const cases = readCases(text)
  if (typeof cases === 'string') {
    return { kind: 'ran', name, cases: [{ kind: 'failed', id: '(file)', name, problem: cases }] }
  }
  if (!suite.covered.has(name)) return { kind: 'uncovered', name, caseCount: cases.length }
  const rules = suite.deviations.filter((rule) => rule.file === name)
  const results: CaseResult[] = []
  for (const [index, json] of cases.entries()) results.push(await runCase(name, json, index, rules, suite.ask))
  return { kind: 'ran', name, cases: results }
}

/** The cases of a file, or what is wrong with it. */
function readCases(text: string): readonly unknown[] | string {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return `not JSON: ${messageOf(error)}`
  }
  if (!isRecord(json) || !Array.isArray(json.cases)) return 'no list of cases'
  return json.cases.length === 0 ? 'not one case' : json.cases
}

/** What a file says in place of an expectation of ours that is theirs. */
const SAME = 'same as upstream'

async function runCase(
  file: string,
  json: unknown,
  index: number,
  rules: readonly Deviation[],
  ask: Ask,
): Promise<CaseResult> {
  const fallback = { id: `#${index + 1}`, name: '' }
  if (!isRecord(json)) return { ...fallback, kind: 'failed', problem: 'the case is not an object' }
  const { id, case: title, source, note, why, input, expect, expectOurs, expectUpstream, ...fields } = json
  const names = { id: typeof id === 'string' ? id : fallback.id, name: typeof title === 'string' ? title : '' }
  // where a file has both, ours counts
  const ours = expectOurs === SAME ? expectUpstream : expectOurs
  const inFile = Object.hasOwn(json, 'expectOurs') ? ours : expect
  if (inFile === undefined) return { ...names, kind: 'failed', problem: 'the case expects nothing' }

  const ruled = applyRules(rules, input, inFile)
  if ('problem' in ruled) return { ...names, kind: 'failed', problem: ruled.problem }
  const { expected, applied } = ruled
  const details: CaseDetails = { input, expected, ...(applied.length === 0 ? {} : { inFile }) }
  const reply = await ask(file, { input, expect: expected, fields })
  if (reply.kind === 'broke') return { ...names, kind: 'failed', problem: reply.problem, details }
  if (reply.kind === 'unsupported') return { ...names, kind: 'unsupported', what: reply.what, details }
  if (reply.kind === 'notBuilt') return { ...names, kind: 'notBuilt', built: reply.built, details }
  const answer = { ...details, got: reply.got }
  if (!isDeepStrictEqual(reply.got, expected)) {
    return { ...names, kind: 'failed', problem: 'another answer', details: answer }
  }
  return applied.length === 0
    ? { ...names, kind: 'passed' }
    : { ...names, kind: 'deviation', rules: applied, details: answer }
}

/** The expectation after the rules, and the ids of those that made a difference to it. */
function applyRules(
  rules: readonly Deviation[],
  input: unknown,
  inFile: unknown,
): { readonly expected: unknown; readonly applied: readonly string[] } | { readonly problem: string } {
  let expected = inFile
  const applied: string[] = []
  for (const rule of rules) {
    try {
      if (!rule.applies(input)) continue
      const ours = rule.expect(input, expected)
      if (!isDeepStrictEqual(ours, expected)) applied.push(rule.id)
      expected = ours
    } catch (error) {
      return { problem: `the rule ${rule.id} threw: ${messageOf(error)}` }
    }
  }
  return { expected, applied }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
