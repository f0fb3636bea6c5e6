import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Entry {
  /** What a user imports: `ipam-kit/cidr`. */
  readonly specifier: string
  /** `src/cidr/index.ts` */
  readonly source: string
  readonly types: string
  readonly module: string
}

export type ExportMap = Readonly<Record<string, string | Readonly<Record<string, string>>>>

/** Entry -> export -> its kind, or the sorted members of a namespace. */
export type Surface = Record<string, Record<string, string | string[]>>

export const surfaceFile = new URL('./exports.snapshot.json', import.meta.url)

export function exportMap(): ExportMap {
  return JSON.parse(readFileSync(`${root}package.json`, 'utf8')).exports
}

/** The public entries, from package.json: the one list there is. */
export function entries(): Entry[] {
  return Object.entries(exportMap())
    .filter(([subpath]) => subpath !== './package.json')
    .map(([subpath, target]) => {
      const folder = subpath === '.' ? '' : `${subpath.slice(2)}/`
      const conditions = typeof target === 'string' ? { default: target } : target
      return {
        specifier: `ipam-kit${subpath.slice(1)}`,
        source: `src/${folder}index.ts`,
        types: conditions.types ?? '',
        module: conditions.default ?? '',
      }
    })
}

/** What the entry offers at run time, and of `types` the names that are not there at run time. */
export async function surfaceOf(entry: Entry, types: readonly string[]): Promise<Surface[string]> {
  const module: Record<string, unknown> = await import(/* @vite-ignore */ pathToFileURL(`${root}${entry.source}`).href)
  const values = Object.keys(module).sort()
  return Object.fromEntries([
    ...values.map((name) => [name, describe(module[name])]),
    ...types.filter((name) => !(name in module)).map((name) => [name, 'type']),
  ])
}

function describe(value: unknown): string | string[] {
  if (value === null) return 'null'
  if (typeof value === 'function')
    return /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'function'
  if (typeof value !== 'object') return typeof value
  // A module namespace (`export * as Prefix`) or a TypeScript one: an object that has functions as
  // members.
  const names = Object.keys(value).sort()
  const isNamespace = Object.prototype.toString.call(value) === '[object Module]' || isPlain(value)
  return isNamespace && names.some((name) => typeof Reflect.get(value, name) === 'function') ? names : 'object'
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
