import { chmodSync, copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** What is installed on a node. */
export interface Installation {
  /** The bundle (`.cjs`), or the single executable, in the image. */
  readonly plugin: string
  /** The folder of plugins of the node. */
  readonly bin: string
  /** The name that the runtime calls. */
  readonly name: string
  /** Flags of the plugin, as a shell reads them. */
  readonly args: string
}

/** Where a Pod finds its service account, and its API server. */
export interface ServiceAccount {
  readonly folder: string
  readonly host: string
  readonly port: string
}

/**
 * Copies the program and the script that calls it. The script has its name last, so that whatever a
 * runtime finds is whole.
 */
export function installPlugin({ plugin, bin, name, args }: Installation): void {
  mkdirSync(bin, { recursive: true })
  const isBundle = plugin.endsWith('.cjs')
  const program = isBundle ? `${name}.cjs` : `${name}.bin`
  replace(join(bin, program), (part) => {
    copyFileSync(plugin, part)
    chmodSync(part, 0o755)
  })
  // a runtime calls the plugin by its path: the program lies beside the script
  const script = `#!/bin/sh\nexec ${isBundle ? 'node ' : ''}"$(dirname "$0")/${program}" ${args} "$@"\n`
  replace(join(bin, name), (part) => writeFileSync(part, script, { mode: 0o755 }))
}

/**
 * Writes the kubeconfig of the service account, for root alone, unless the file has it already.
 *
 * @returns whether it was written
 */
export function renewKubeconfig(file: string, { folder, host, port }: ServiceAccount): boolean {
  const token = readFileSync(join(folder, 'token'), 'utf8').trim()
  const ca = readFileSync(join(folder, 'ca.crt')).toString('base64')
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  const part = (member: string, value: object) => [{ name: 'node', [member]: value }]
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: part('cluster', { server, 'certificate-authority-data': ca }),
    users: part('user', { token }),
    contexts: part('context', { cluster: 'node', user: 'node' }),
    'current-context': 'node',
  }
  const text = `${JSON.stringify(config)}\n`
  if (contentOf(file) === text) return false
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  replace(file, (beside) => writeFileSync(beside, text, { mode: 0o600 }))
  return true
}

/** Writes a file beside its place, and renames it: a reader finds the former one or this one. */
function replace(file: string, write: (part: string) => void): void {
  const part = join(dirname(file), `.${basename(file)}.${process.pid}`)
  rmSync(part, { force: true })
  try {
    write(part)
    renameSync(part, file)
  } finally {
    rmSync(part, { force: true })
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
