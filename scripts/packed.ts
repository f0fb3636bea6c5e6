// The package as a user gets it: `npm pack`, and an installation of that into an empty folder.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Packs the built tree, `tools` of node_modules, and what both need, installs the tarballs into a
 * folder that `npm init -y` has made, without a network, runs `use` on that folder, and removes it.
 */
export function withPackage<T>(use: (dir: string) => T, tools: readonly string[] = []): T {
  const parent = mkdtempSync(join(tmpdir(), 'packed-'))
  try {
    const dir = join(parent, 'first')
    const tarballs = join(parent, 'tarballs')
    for (const folder of [dir, tarballs]) mkdirSync(folder)
    const found = new Set<string>()
    for (const name of tools) addWithNeeded(name, found)
    for (const name of neededBy('.')) addWithNeeded(name, found)
    const folders = ['.', ...[...found].map((name) => `./node_modules/${name}`)]
    npm(root, 'pack', '--silent', '--ignore-scripts', '--pack-destination', tarballs, ...folders)
    npm(dir, 'init', '-y')
    const names = readdirSync(tarballs).map((name) => `../tarballs/${name}`)
    npm(dir, 'install', '--silent', '--offline', '--no-audit', '--no-fund', ...names)
    return use(dir)
  } finally {
    rmSync(parent, { recursive: true, force: true })
  }
}

/** A package of node_modules, and the packages that it needs there. */
function addWithNeeded(name: string, found: Set<string>): void {
  if (found.has(name)) return
  found.add(name)
  for (const each of neededBy(`node_modules/${name}`)) addWithNeeded(each, found)
}

/** The names of dependencies and peers, and of the optional packages that this platform has. */
function neededBy(folder: string): string[] {
  const {
    dependencies = {},
    peerDependencies = {},
    optionalDependencies = {},
  } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  const optional = Object.keys(optionalDependencies).filter((name) => existsSync(join(root, 'node_modules', name)))
  return [
    ...Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !(name in optionalDependencies)),
    ...optional,
  ]
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

/** What a program prints that is run in a folder. */
export function outputOf(dir: string, [command = '', ...args]: readonly string[]): string {
  return execFileSync(command, args, {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function runProgram(dir: string, command: readonly string[], file: string, prints: readonly string[]): string[] {
  const name = [...command, file.slice(dir.length + 1)].join(' ')
  try {
    const output = outputOf(dir, [...command, file])
    const expected = `${prints.join('\n')}\n`
    return output === expected ? [] : [`${name} prints\n${output}and not\n${expected}`]
  } catch (error) {
    return [`${name}: ${(error as Error).message}`]
  }
}
