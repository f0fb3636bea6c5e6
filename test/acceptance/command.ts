import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { adapterProcess } from './adapter-process.js'
import { adapters, allocatorLevel } from './adapters/index.js'
import { deviations } from './deviations.js'
import { report } from './report.js'
import { type CaseFile, isRed, messageOf, runFiles } from './runner.js'

const usage = 'usage: npm run acceptance -- [--dir DIR] [--file NAME] [--verbose]'
const TIME_LIMIT_MS = 20_000
const defaultDir = fileURLToPath(new URL('../../../shared/acceptance', import.meta.url))

/** Where the lines of a command go. */
export interface Lines {
  log(line: string): void
  error(line: string): void
}

/**
 * @returns the exit code: 1 for anything that is wrong with the cases, 2 for a command line that is
 * not understood
 */
export async function acceptance(argv: readonly string[], { log, error }: Lines): Promise<number> {
  let options: ReturnType<typeof optionsOf>
  try {
    options = optionsOf(argv)
  } catch (mistake) {
    error(`${messageOf(mistake)}\n${usage}`)
    return 2
  }
  const folder = statSync(options.dir, { throwIfNoEntry: false })
  if (folder === undefined) {
    log(`acceptance: there is no folder ${options.dir}: nothing to run`)
    return 0
  }
  if (!folder.isDirectory()) {
    error(`acceptance: ${options.dir} is not a folder`)
    return 1
  }
  const files = filesIn(options.dir).filter(({ name }) => options.file === undefined || name === options.file)
  if (files.length === 0) {
    error(`acceptance: no file ${options.file ?? '*'}.json in ${options.dir}`)
    return 1
  }

  const { ask, close } = adapterProcess({
    adapters: new URL('./adapters/index.ts', import.meta.url),
    timeLimitMs: TIME_LIMIT_MS,
  })
  const results = await runFiles({ files, covered: new Set(Object.keys(adapters)), ask, deviations })
  close()
  for (const line of report(results, { verbose: options.verbose, allocatorLevel })) log(line)
  return isRed(results) ? 1 : 0
}

function optionsOf(argv: readonly string[]) {
  const { values } = parseArgs({
    args: [...argv],
    options: { dir: { type: 'string' }, file: { type: 'string' }, verbose: { type: 'boolean', default: false } },
  })
  return {
    dir: values.dir === undefined ? defaultDir : resolve(values.dir),
    file: values.file?.replace(/\.json$/, ''),
    verbose: values.verbose,
  }
}

/**
 * The case files of a folder in order. One that cannot be read comes without text, and so fails
 * like any broken one.
 */
function filesIn(dir: string): CaseFile[] {
  const names = readdirSync(dir).filter((name) => name.endsWith('.json'))
  return names.sort().map((name) => ({ name: name.slice(0, -'.json'.length), text: read(join(dir, name)) }))
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return messageOf(error)
  }
}
