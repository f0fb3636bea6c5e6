import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADAPTERS, type Adapter, type AdapterResults, type CaseResult } from '../test/real/conformance.js'

const MARKS: { readonly [Result in CaseResult]: string } = { passed: '✓', failed: '**failed**', 'left out': '–' }

const RECORDED = '## Recorded with'

/**
 * Reads what `npm run test:real -- --results FOLDER` has written.
 *
 * @throws Error if a store is missing, or a case on one of them
 */
export function readResults(folder: string): readonly AdapterResults[] {
  const results = (Object.keys(ADAPTERS) as Adapter[]).map((adapter) => readOne(folder, adapter))
  const cases = casesOf(results)
  for (const one of results) {
    const missing = cases.filter((name) => one.cases[name] === undefined)
    if (missing.length > 0) throw new Error(`${one.adapter} has no ${missing.join(', ')}`)
  }
  return results
}

function readOne(folder: string, adapter: Adapter): AdapterResults {
  const file = join(folder, `${adapter}.json`)
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as AdapterResults
  } catch (error) {
    throw new Error(`no results of ${ADAPTERS[adapter]}: ${(error as Error).message}`)
  }
}

/** The page docs/reference/stores.md: every case of the conformance suite on every store. */
export function renderStoresDoc(results: readonly AdapterResults[]): string {
  const names = casesOf(results)
  const groups = [...new Set(names.map((name) => parted(name).group))]
  return [
    '# Stores: every rule on every engine',
    '',
    'Made from runs of the conformance suite of `ipam-kit/testing` on real servers and files: `npm run test:real -- --results FOLDER`, on Node 20 and',
    'Node 24, then `npm run docs:stores -- FOLDER`. CI makes it anew and compares. ✓ passed; – left out, because the store does by itself what the',
    'case says that it does not: an API server removes dependents with its own collector.',
    '',
    'Which store for what, and what each needs: [guide](../guides/stores.md).',
    '',
    ...table(
      ['store', 'passed', 'left out', 'failed'],
      results.map(({ adapter, cases }) => [
        ADAPTERS[adapter],
        ...(['passed', 'left out', 'failed'] as const).map((result) => String(count(cases, result))),
      ]),
    ),
    '',
    ...groups.flatMap((group) => [
      `## ${group}`,
      '',
      ...table(
        ['', ...results.map(({ adapter }) => adapter)],
        names
          .filter((name) => parted(name).group === group)
          .map((name) => [parted(name).rule, ...results.map(({ cases }) => MARKS[cases[name] ?? 'failed'])]),
      ),
      '',
    ]),
    RECORDED,
    '',
    ...results.map(({ adapter, versions, node }) => `- ${ADAPTERS[adapter]}: ${versions}; Node ${node}`),
    '',
  ].join('\n')
}

/**
 * What is wrong with the page or the runs: cases that have failed, also if the page says so, and a
 * page that says something else.
 */
export function problemsIn(results: readonly AdapterResults[], page: string): readonly string[] {
  const problems = results.flatMap(({ adapter, cases }) => {
    const failed = Object.keys(cases).filter((name) => cases[name] === 'failed')
    return failed.map((name) => `failed: ${adapter}: ${name}`)
  })
  if (saysTheSame(page, renderStoresDoc(results))) return problems
  return [...problems, 'docs/reference/stores.md is not what the runs say: npm run docs:stores -- FOLDER']
}

/** Whether two pages say the same, whatever they were recorded with. */
export function saysTheSame(page: string, other: string): boolean {
  return rulesOf(page) === rulesOf(other)
}

function rulesOf(page: string): string {
  return page.split(RECORDED)[0] as string
}

function casesOf(results: readonly AdapterResults[]): readonly string[] {
  return [...new Set(results.flatMap(({ cases }) => Object.keys(cases)))]
}

/** `watch: several see the same` */
function parted(name: string): { readonly group: string; readonly rule: string } {
  const [, group = '', rule = ''] = /^([^:]+): (.*)$/s.exec(name) ?? []
  return { group, rule }
}

function count(cases: AdapterResults['cases'], wanted: CaseResult): number {
  return Object.values(cases).filter((result) => result === wanted).length
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : ':---:'))), ...rows.map(line)]
}
