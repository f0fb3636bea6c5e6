import type { CaseDetails, CaseResult, FileResult } from './runner.js'

export interface ReportOptions {
  /** Also the input, the expectation and the answer of every case that did not simply pass. */
  readonly verbose: boolean
  /** Files whose systems are not built: printed apart, since they prove less. Left out: none. */
  readonly allocatorLevel?: ReadonlySet<string> | undefined
}

/**
 * The results as lines of text: one for each file, below it what is wrong, and at the end the
 * total.
 */
export function report(
  results: readonly FileResult[],
  { verbose, allocatorLevel = new Set() }: ReportOptions,
): string[] {
  const linesOfFile = (file: FileResult) =>
    file.kind === 'uncovered'
      ? [`${file.name}.json: not covered yet (${file.caseCount} cases)`]
      : [`${file.name}.json: ${tally(file.cases)}`, ...file.cases.flatMap((result) => linesOf(result, verbose))]
  const apart = results.filter(({ name }) => allocatorLevel.has(name))
  const lines = results.filter((file) => !apart.includes(file)).flatMap(linesOfFile)
  if (apart.length === 0) return [...lines, totalOf('total', results)]
  const title = 'allocator level: their systems are not built, cases run on cidr and allocator'
  return [...lines, title, ...apart.flatMap(linesOfFile), totalOf('total', results), totalOf('allocator level', apart)]
}

function totalOf(name: string, results: readonly FileResult[]): string {
  const ran = results.flatMap((file) => (file.kind === 'ran' ? [file.cases] : []))
  const uncovered = results.flatMap((file) => (file.kind === 'uncovered' ? [file.caseCount] : []))
  const total = `${name}: ${tally(ran.flat())} in ${ran.length} files`
  if (uncovered.length === 0) return total
  return `${total}; ${uncovered.length} files not covered yet (${uncovered.reduce((sum, count) => sum + count, 0)} cases)`
}

/**
 * What is not built of a file counts as unsupported, and is said besides: it alone makes no run
 * red.
 */
function tally(cases: readonly CaseResult[]): string {
  const count = (kind: CaseResult['kind']) => cases.filter((result) => result.kind === kind).length
  const notBuilt = count('notBuilt')
  const failed = `${count('failed')} failed, ${count('unsupported') + notBuilt} unsupported`
  const line = `${count('passed')} passed, ${failed}, ${count('deviation')} deviations of ${cases.length}`
  return notBuilt === 0 ? line : `${line} (${notBuilt} not built yet)`
}

function linesOf(result: CaseResult, verbose: boolean): string[] {
  const name = result.name === '' ? result.id : `${result.id} (${oneLine(result.name)})`
  const details = verbose && 'details' in result && result.details !== undefined ? detailsOf(result.details) : []
  switch (result.kind) {
    case 'passed':
      return []
    case 'failed':
      return [`  failed: ${name}: ${oneLine(result.problem)}`, ...details]
    case 'unsupported':
      return [`  unsupported: ${name}: ${oneLine(result.what)}`, ...details]
    case 'notBuilt':
      return verbose ? [`  not built yet: ${name}: only ${oneLine(result.built)} is`, ...details] : []
    case 'deviation':
      return verbose ? [`  deviation: ${name}: ${result.rules.join(', ')}`, ...details] : []
  }
}

function detailsOf(details: CaseDetails): string[] {
  const lines = [`    input:    ${toText(details.input)}`]
  if ('inFile' in details) lines.push(`    in file:  ${toText(details.inFile)}`)
  lines.push(`    expected: ${toText(details.expected)}`)
  if ('got' in details) lines.push(`    got:      ${toText(details.got)}`)
  return lines
}

/** JSON, with what JSON cannot say still visible. */
function toText(value: unknown): string {
  const shown = (_: string, inner: unknown) =>
    typeof inner === 'bigint' ? `${inner}n` : inner === undefined ? '(undefined)' : inner
  return JSON.stringify(value, shown) ?? String(value)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
