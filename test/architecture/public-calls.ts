import { fileURLToPath, pathToFileURL } from 'node:url'
import { entries } from './entries.js'
import { instances } from './public-instances.js'

/** One thing to call: an exported function, a member of a namespace, a class or its method. */
export interface PublicCall {
  /** `ipam-kit/cidr Address.key` */
  readonly name: string
  readonly parameters: readonly string[]
  readonly call: (...given: unknown[]) => unknown
}

type AnyFunction = (...given: unknown[]) => unknown
type AnyClass = new (...given: readonly unknown[]) => object

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Everything that the entries of package.json export and that can be called, each once. */
export async function publicCalls(): Promise<PublicCall[]> {
  const calls: PublicCall[] = []
  const seen = new Set<unknown>()
  // the root entry has the others as namespaces
  for (const { specifier, source } of entries().reverse()) {
    const module: object = await import(/* @vite-ignore */ pathToFileURL(`${root}${source}`).href)
    for (const [name, value] of Object.entries(module)) add(calls, seen, `${specifier} ${name}`, value, undefined)
  }
  return calls
}

function add(calls: PublicCall[], seen: Set<unknown>, name: string, value: unknown, self: unknown): void {
  if (seen.has(value)) return
  if (typeof value === 'function') {
    seen.add(value)
    if (/^class\b/u.test(String(value))) addClass(calls, seen, name, value as unknown as AnyClass)
    else
      calls.push({
        name,
        parameters: parametersOf(value),
        call: (...given) => (value as AnyFunction).apply(self, given),
      })
  } else if (isNamespace(value)) {
    seen.add(value)
    for (const [member, inner] of Object.entries(value)) {
      if (typeof inner === 'function' || isNamespace(inner)) add(calls, seen, `${name}.${member}`, inner, value)
    }
  }
}

function addClass(calls: PublicCall[], seen: Set<unknown>, name: string, made: AnyClass): void {
  const call = (...given: unknown[]) => new made(...given)
  calls.push({ name: `new ${name}`, parameters: parametersOf(made), call })
  for (const member of Object.getOwnPropertyNames(made)) {
    const value: unknown = Object.getOwnPropertyDescriptor(made, member)?.value
    if (typeof value === 'function' && member !== 'prototype') add(calls, seen, `${name}.${member}`, value, made)
  }
  const instance = instances[name.split(' ')[1] as string]
  if (instance === undefined) return
  for (const [member, value] of Object.entries(instance())) {
    if (typeof value !== 'function') continue
    const call = (...given: unknown[]) => (instance() as Record<string, AnyFunction>)[member]!(...given)
    calls.push({ name: `${name}#${member}`, parameters: parametersOf(value), call })
  }
  for (
    let type: object = made.prototype;
    type !== Object.prototype && type !== Error.prototype;
    type = Object.getPrototypeOf(type)
  ) {
    for (const member of Object.getOwnPropertyNames(type)) {
      const value: unknown = Object.getOwnPropertyDescriptor(type, member)?.value
      if (typeof value !== 'function' || member === 'constructor') continue
      calls.push({
        name: `${name}#${member}`,
        parameters: parametersOf(value),
        call: (...given) => (value as AnyFunction).apply(instance(), given),
      })
    }
  }
}

function isNamespace(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** The names of the parameters, as the source has them; a pattern is named by its place. */
function parametersOf(callable: object): string[] {
  const text = String(callable)
  const start = /^class\b/u.test(text) ? text.search(/\bconstructor\s*\(/u) : 0
  if (start < 0) return ['spec']
  const names: string[] = []
  let depth = 0
  let name = ''
  for (const character of text.slice(text.indexOf('(', start))) {
    if (')]}'.includes(character)) depth--
    if (depth === 0 || (depth === 1 && character === ',')) {
      if (name.trim() !== '') names.push(name.trim())
      name = ''
    } else name += character
    if ('([{'.includes(character)) depth++
    if (depth === 0) break
    if (names.length > 0 && depth === 1 && character === '(') name = ''
  }
  return names.map((one, place) => /^\.*(\w+)/u.exec(one.replace(/^\(/u, ''))?.[1] ?? `argument${place}`)
}
