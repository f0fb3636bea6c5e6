// After a build: the package installs into the folder of `npm init -y` without a network. The
// programs of its README run there by the commands of its quick start and print what they say, and
// TypeScript accepts them. First programs of its examples print there what they print in this
// checkout, and so does its demo. Every link of its pages leads to a file of the package.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { relativeLinks } from './markdown-links.js'
import { outputOf, programsOf, runPrograms, withPackage } from './packed.js'

const root = fileURLToPath(new URL('..', import.meta.url))

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

/** The programs of the README as files that are ES modules in any folder. */
function programsIn(dir: string): string[] {
  return programsOf(readFileSync(join(dir, 'node_modules/ipam-kit/README.md'), 'utf8')).map(({ code }, i) => {
    writeFileSync(join(dir, `first-${i + 1}.mts`), code)
    return `first-${i + 1}.mts`
  })
}

function problemsOfTypes(dir: string): string[] {
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,dom']
  return compilers.flatMap((tsc) => {
    try {
      execFileSync(process.execPath, [tsc, ...options, ...programsIn(dir)], { cwd: dir, encoding: 'utf8' })
      return []
    } catch (error) {
      return [`TypeScript refuses a program of the README\n${(error as { readonly stdout: string }).stdout}`]
    }
  })
}

const TOOLS = ['tsx', 'typescript', '@types/node']

/** The commands of the quick start, on each program of the README. */
function problemsOfQuickStart(dir: string): string[] {
  const readme = readFileSync(join(dir, 'node_modules/ipam-kit/README.md'), 'utf8')
  const told = [...readme.matchAll(/^(?:npx|npm) .*$/gm)].map(([command]) => command)
  const install = `npm install --save-dev ${TOOLS.join(' ')}`
  const [run, check] = [
    told.find((line) => line.startsWith('npx tsx')),
    told.find((line) => line.startsWith('npx tsc')),
  ]
  if (!told.includes(install) || run === undefined || check === undefined)
    return [`README.md has no quick start: ${told}`]
  const programs = programsOf(readme)
  return programsIn(dir).flatMap((file, i) =>
    [run, check].flatMap((command) => {
      const [, tool = '', ...args] = command.replace('first.mts', file).split(' ')
      try {
        const output = outputOf(dir, [join(dir, 'node_modules/.bin', tool), ...args])
        const expected = command === run ? `${programs[i]?.prints.join('\n')}\n` : ''
        return output === expected ? [] : [`${command} of ${file} prints\n${output}and not\n${expected}`]
      } catch (error) {
        return [`${command} of ${file}: ${(error as Error).message}\n${(error as { stdout?: string }).stdout}`]
      }
    }),
  )
}

/** Examples of one file, one for each task of a first day. */
const FIRST = [
  ...['cidr', 'allocators', 'typed-writes', 'collect-garbage', 'consumer', 'floating-ips', 'in-cluster-blocks'],
  ...['network-view', 'node-ipam', 'persistent-ip-pods', 'service-addresses', 'write-a-provider'],
]

function problemsOfExamples(dir: string): string[] {
  return FIRST.flatMap((name) => {
    const file = `${name}.mts`
    writeFileSync(join(dir, file), readFileSync(join(dir, `node_modules/ipam-kit/docs/examples/${name}.ts`), 'utf8'))
    try {
      const output = outputOf(dir, [join(dir, 'node_modules/.bin/tsx'), file])
      const expected = outputOf(root, [process.execPath, '--import', 'tsx', `docs/examples/${name}.ts`])
      return output === expected && output !== '' ? [] : [`${name} prints\n${output}and in the checkout\n${expected}`]
    } catch (error) {
      return [`docs/examples/${name}.ts: ${(error as Error).message}`]
    }
  })
}

/** What `npm publish` says before it sends: all but the fields that package.json leaves to the owner. */
function problemsOfPublication(): string[] {
  const { status, stderr } = spawnSync('npm', ['publish', '--dry-run', '--ignore-scripts', '--offline'], {
    cwd: root,
    encoding: 'utf8',
  })
  const corrected = /auto-corrected|npm error/.test(stderr)
  return status === 0 && !corrected ? [] : [`npm publish --dry-run ends with ${status}\n${stderr.slice(-2000)}`]
}

/** What the demo needs beside the package. */
const DEMO_TOOLS = ['tsx', 'yaml']
const DEMO = 'docs/examples/demo/main.ts'

/** Runs of the demo: on its own manifests, on a file of the caller, and of a scenario without any. */
const DEMO_RUNS = [
  [],
  ['-f', 'own.yaml', '--delete', 'IPAddressClaim/office/printer-2'],
  ['--scenario', 'floating-ip'],
] as const

/** The demo prints what it prints in this checkout; its own manifests are in the package. */
function problemsOfDemo(dir: string): string[] {
  const own = 'docs/examples/manifests/05-runs-dry.yaml'
  writeFileSync(join(dir, 'own.yaml'), readFileSync(join(root, own), 'utf8'))
  return DEMO_RUNS.flatMap((args) => {
    const command = `npx tsx node_modules/ipam-kit/${DEMO} ${args.join(' ')}`.trimEnd()
    try {
      const output = outputOf(dir, [join(dir, 'node_modules/.bin/tsx'), `node_modules/ipam-kit/${DEMO}`, ...args])
      const here = args.map((arg) => (arg === 'own.yaml' ? own : arg))
      const expected = outputOf(root, [process.execPath, '--import', 'tsx', DEMO, ...here])
      const isSame = output.replaceAll('node_modules/ipam-kit/docs/', 'docs/') === expected
      return isSame && output !== '' ? [] : [`${command} prints\n${output}and in the checkout\n${expected}`]
    } catch (error) {
      const { message, stdout = '' } = error as { readonly message: string; readonly stdout?: string }
      return [`${command}: ${message}\n${stdout}`]
    }
  })
}

const problems = withPackage(
  (dir) => [
    ...problemsOfPublication(),
    ...problemsOfPages(join(dir, 'node_modules/ipam-kit')),
    ...runPrograms(dir, [[process.execPath]]),
    ...problemsOfTypes(dir),
    ...problemsOfQuickStart(dir),
    ...problemsOfExamples(dir),
    ...problemsOfDemo(dir),
  ],
  [...TOOLS, ...DEMO_TOOLS.filter((tool) => !TOOLS.includes(tool))],
)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`packed: installs, its programs, ${FIRST.length} examples and its demo run, its links lead somewhere`)
