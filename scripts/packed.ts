// The package as a user gets it: `npm pack`, and an installation of that into an empty folder.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Packs the built tree and what it needs, installs the tarballs into an empty folder without a
 * network, runs `use` on that folder, and removes it.
 */
export function withPackage<T>(use: (dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), 'packed-'))
  try {
    const folders = ['.', ...neededBy('.').map((name) => `./node_modules/${name}`)]
    npm(root, 'pack', '--silent', '--ignore-scripts', '--pack-destination', dir, ...folders)
    const tarballs = readdirSync(dir).map((name) => `./${name}`)
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }))
    npm(dir, 'install', '--silent', '--offline', '--no-audit', '--no-fund', ...tarballs)
    return use(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Dependencies and peers of a package of this tree, and theirs. */
function neededBy(folder: string, found = new Set<string>()): string[] {
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(
    readFileSync(join(root, folder, 'package.json'), 'utf8'),
  )
  for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
    if (found.has(name)) continue
    found.add(name)
    neededBy(`node_modules/${name}`, found)
  }
  return [...found]
}

function npm(cwd: string, ...args: readonly string[]): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** A program, and the lines that it prints. */
export interface Program {
  readonly code: string
  readonly prints: readonly string[]
}

/** The programs of a page, each with what it prints according to the comments behind its lines. */
export function programsOf(markdown: string): Program[] {
  return [...markdown.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => ({
    code,
    prints: [...code.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, printed = '']) => printed),
  }))
}

/**
 * Runs the programs of the package's README, and a program that loads every entry, with each of
 * some commands. The programs are JavaScript as they stand. Answers what went wrong.
 */
export function runPrograms(dir: string, commands: readonly (readonly string[])[]): string[] {
  const readme = readFileSync(join(dir, 'node_modules/ipam-kit/README.md'), 'utf8')
  const programs = programsOf(readme)
  if (programs.length < 3 || programs.some(({ prints }) => prints.length === 0)) {
    return ['README.md has less than three programs that print something']
  }
  const files = [...programs, loadsEveryEntry(dir)].map(({ code, prints }, i) => {
    const file = join(dir, `program-${i + 1}.mjs`)
    writeFileSync(file, code)
    return { file, prints }
  })
  return commands.flatMap((command) => files.flatMap(({ file, prints }) => runProgram(dir, command, file, prints)))
}

/** The package by `import`, and where there is one by `require`. */
function loadsEveryEntry(dir: string): Program {
  const { exports: entries } = JSON.parse(readFileSync(join(dir, 'node_modules/ipam-kit/package.json'), 'utf8'))
  const names = Object.keys(entries)
    .filter((subpath) => !subpath.endsWith('.json'))
    .map((subpath) => `ipam-kit${subpath.slice(1)}`)
  const code = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
let loaded = 0
for (const name of ${JSON.stringify(names)}) {
  const [imported, required] = [await import(name), require(name)]
  if (Object.keys(imported).join() === Object.keys(required).filter((key) => key !== '__esModule').join()) loaded += 1
}
console.log(loaded)
`
  return { code, prints: [String(names.length)] }
}

function runProgram(
  dir: string,
  [command = '', ...args]: readonly string[],
  file: string,
  prints: readonly string[],
): string[] {
  const name = [command, ...args, file.slice(dir.length + 1)].join(' ')
  try {
    const output = execFileSync(command, [...args, file], {
      cwd: dir,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const expected = `${prints.join('\n')}\n`
    return output === expected ? [] : [`${name} prints\n${output}and not\n${expected}`]
  } catch (error) {
    return [`${name}: ${(error as Error).message}`]
  }
}
