// After a build: the package, installed, on other platforms than the one that runs this: every entry
// loads, and the programs of its README print what they say. Each is taken from the npm registry.
import { runPrograms, withPackage } from './packed.js'

const RUNTIMES = [
  ...[20, 22, 24, 26].map((major) => ['npx', '-y', `node@${major}`]),
  ['npx', '-y', 'bun@1.4.5'],
  ['npx', '-y', 'deno@2.9.6', 'run', '--allow-read', '--allow-env', '--no-lock', '--node-modules-dir=manual'],
]

const problems = withPackage((dir) => runPrograms(dir, RUNTIMES))
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`runtimes: ${RUNTIMES.map(([, , name]) => name).join(', ')}`)
