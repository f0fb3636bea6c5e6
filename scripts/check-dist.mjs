// After a build: the exports map, the built files and src/ agree, every entry loads by import and
// by require(), and the built code asks for nothing but its own files, zod, ip-address (in one
// file) and (in testing) fast-check.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { exports: exportMap } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const problems = []

const files = (folder, suffix) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith(suffix))
    : []

const sources = files('src', '.ts').map((path) => path.slice(0, -'.ts'.length))
const modules = files('dist', '.js').map((path) => path.slice(0, -'.js'.length))
const declarations = files('dist', '.d.ts').map((path) => path.slice(0, -'.d.ts'.length))

const missing = (from, to, what) => {
  const known = new Set(to)
  for (const name of from) if (!known.has(name)) problems.push(`${name}: ${what}`)
}
missing(sources, modules, 'has no .js in dist/ (npm run build)')
missing(sources, declarations, 'has no .d.ts in dist/ (npm run build)')
missing(modules, sources, 'is in dist/ and not in src/ (npm run build)')

const targets = new Set()
for (const [subpath, target] of Object.entries(exportMap)) {
  for (const file of typeof target === 'string' ? [target] : Object.values(target)) {
    targets.add(file)
    if (!existsSync(join(root, file))) problems.push(`exports["${subpath}"]: ${file} does not exist`)
  }
}
for (const name of modules.filter((path) => /(^|\/)index$/.test(path))) {
  for (const file of [`./dist/${name}.js`, `./dist/${name}.d.ts`]) {
    if (!targets.has(file)) problems.push(`${file} is built and not in the exports map`)
  }
}

const specifiers = /(?:^|[\s;}])(?:import|export)\b[^'"`;]*?from\s*["']([^"']+)["']|^import\s*["']([^"']+)["']/gm
for (const name of modules) {
  const path = join(root, 'dist', `${name}.js`)
  for (const [, from, bare] of readFileSync(path, 'utf8').matchAll(specifiers)) {
    const specifier = from ?? bare
    const allowed =
      specifier === 'zod' ||
      (specifier === 'ip-address' && name === 'cidr/forms/ip-address') ||
      (specifier === 'fast-check' && name.startsWith('testing/'))
    if (specifier.startsWith('.') ? !existsSync(resolve(dirname(path), specifier)) : !allowed) {
      problems.push(`${relative(root, path)} imports ${specifier}`)
    }
  }
}

if (problems.length === 0) {
  const require = createRequire(import.meta.url)
  for (const subpath of Object.keys(exportMap)) {
    const specifier = `ipam-kit${subpath.slice(1)}`
    try {
      // By its name: Node resolves a package's own name through its exports map.
      if (!subpath.endsWith('.json')) await import(specifier)
      require(specifier)
    } catch (error) {
      problems.push(`${specifier} does not load: ${error.message}`)
    }
  }
}

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`dist: ${modules.length} modules, ${Object.keys(exportMap).length} entries, all load`)
