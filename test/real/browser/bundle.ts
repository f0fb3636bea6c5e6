import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Where the page finds ipam-kit/cidr: as a module, and as a classic script that sets a global
 * variable.
 */
export const MODULE = '/cidr.js'
export const CLASSIC = '/cidr-classic.js'

export interface Bundle {
  readonly code: string
  /** The files that it is made of. */
  readonly inputs: readonly string[]
}

/** ipam-kit/cidr alone as one file. */
export function bundleCidr(format: 'esm' | 'iife'): Promise<Bundle> {
  const name = format === 'iife' ? { globalName: 'ipamKitCidr' } : {}
  return bundle({ entryPoints: ['src/cidr/index.ts'], format, ...name })
}

/**
 * A script of ./page as one file; what it imports from ipam-kit/cidr it gets from {@link MODULE}.
 */
export function bundlePage(script: string): Promise<Bundle> {
  return bundle({
    entryPoints: [`test/real/browser/page/${script}.ts`],
    format: 'esm',
    alias: { 'ipam-kit/cidr': MODULE },
    external: [MODULE],
  })
}

async function bundle(options: BuildOptions): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...options,
    absWorkingDir: root,
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  return { code: outputFiles![0]!.text, inputs: Object.keys(metafile!.inputs) }
}

const FOREIGN: Readonly<Record<string, RegExp>> = {
  'node:': /\bnode:/,
  'require(': /\brequire\s*\(/,
  // "from" is also the name of an argument, in quotes
  'an import of another file': /\bimport\s*[("'{*]|(?<!["'])\bfrom\s*["']/,
  zod: /zod/i,
  process: /\bprocess\b/,
  Buffer: /\bBuffer\b/,
  'code from text': /\beval\s*\(|\bFunction\s*\(/,
}

/** What a bundle for the browser has of Node or of others, by name. */
export function foreignIn(code: string): string[] {
  return Object.keys(FOREIGN).filter((name) => FOREIGN[name]!.test(code))
}
