// After a build: the exports map, the built files and src/ agree, every entry loads by import and
// by require(), and the built code asks for nothing but its own files, zod, ip-address (in one
// file) and (in testing/arbitraries) fast-check. The bundled entries need the packages that their modules need,
// and what two entries export is one thing in both.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { exports: exportMap } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const problems = []

const files = (folder, suffix) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith(suffix))
    : []

const sources = files('src', '.ts').map((path) => path.slice(0, -'.ts'.length))
const built = files('dist', '.js').map((path) => path.slice(0, -'.js'.length))
const modules = built.filter((path) => !path.startsWith('bundle/'))
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

const specifiers = /^(?:import|export)\b[^'"`;]*?from\s*["']([^"']+)["']|^import\s*["']([^"']+)["']/gm
const importsOf = (path) => [...readFileSync(path, 'utf8').matchAll(specifiers)].map(([, from, bare]) => from ?? bare)
const pathOf = (name) => join(root, 'dist', `${name}.js`)
for (const name of modules) {
  const path = pathOf(name)
  for (const specifier of importsOf(path)) {
    const allowed =
      specifier === 'zod' ||
      (specifier === 'ip-address' && name === 'cidr/forms/ip-address') ||
      (specifier === 'fast-check' && name === 'testing/arbitraries/index')
    if (specifier.startsWith('.') ? !existsSync(resolve(dirname(path), specifier)) : !allowed) {
      problems.push(`${relative(root, path)} imports ${specifier}`)
    }
  }
}

/** The most files that an entry loads: each takes some tenths of a millisecond. */
const MAX_FILES = 64
function filesOf(path, seen = new Set()) {
  if (seen.has(path)) return seen
  seen.add(path)
  for (const specifier of importsOf(path))
    if (specifier.startsWith('.')) filesOf(resolve(dirname(path), specifier), seen)
  return seen
}
const packagesOf = (paths) => [...paths].flatMap(importsOf).filter((specifier) => !specifier.startsWith('.'))
const sorted = (names) => [...new Set(names)].sort().join(' ')
const withBundle = Object.values(exportMap).filter((target) => typeof target !== 'string')
if (problems.length === 0) {
  const known = new Map()
  for (const { module, default: bundle } of withBundle) {
    const [needed, loaded] = [module, bundle].map((file) => sorted(packagesOf(filesOf(join(root, file)))))
    if (needed !== loaded) problems.push(`${bundle} loads the packages "${loaded}", its modules "${needed}"`)
    const files = filesOf(join(root, bundle)).size
    if (files > MAX_FILES) problems.push(`${bundle} loads ${files} files, at most ${MAX_FILES} are expected`)
    const [own, bundled] = await Promise.all(
      [module, bundle].map((file) => import(pathToFileURL(join(root, file)).href)),
    )
    for (const [name, value] of Object.entries(own)) {
      if (typeof value !== 'object' && typeof value !== 'function') continue
      if ((known.get(value) ?? bundled[name]) !== bundled[name]) problems.push(`${bundle} has a ${name} of its own`)
      known.set(value, bundled[name])
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
