// After a build: the package installs into an empty folder without a network, the programs of its
// README run there and print what they say, TypeScript accepts them, and every link of its pages
// leads to a file of the package.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { relativeLinks } from './markdown-links.js'
import { programsOf, runPrograms, withPackage } from './packed.js'

/** The compilers that users have: 7, and 5.9, whose API the tools of this project use. */
const compilers = ['typescript-7', 'typescript'].map((name) =>
  fileURLToPath(new URL(`../node_modules/${name}/bin/tsc`, import.meta.url)),
)

function problemsOfPages(folder: string): string[] {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  return pages.flatMap((page) => {
    const links = relativeLinks(readFileSync(join(folder, page), 'utf8'))
    // a registry shows the README, and no file beside it
    const dead = page === 'README.md' ? links : links.filter((link) => !existsSync(join(folder, dirname(page), link)))
    return dead.map((link) => `${page} links to ${link}, which a reader of the package does not have`)
  })
}

function problemsOfTypes(dir: string): string[] {
  const programs = programsOf(readFileSync(join(dir, 'node_modules/ipam-kit/README.md'), 'utf8'))
  const files = programs.map(({ code }, i) => {
    writeFileSync(join(dir, `typed-${i + 1}.ts`), code)
    return `typed-${i + 1}.ts`
  })
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,dom']
  return compilers.flatMap((tsc) => {
    try {
      execFileSync(process.execPath, [tsc, ...options, ...files], { cwd: dir, encoding: 'utf8' })
      return []
    } catch (error) {
      return [`TypeScript refuses a program of the README\n${(error as { readonly stdout: string }).stdout}`]
    }
  })
}

const problems = withPackage((dir) => [
  ...problemsOfPages(join(dir, 'node_modules/ipam-kit')),
  ...runPrograms(dir, [[process.execPath]]),
  ...problemsOfTypes(dir),
])
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log('packed: installs, its programs run, its links lead somewhere')
