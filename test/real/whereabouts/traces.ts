import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { admitExample, type Example } from '../account.js'
import type { Recording } from '../differences.js'
import { paced } from '../pace.js'
import type { Depth, Report } from '../report.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { judge, readScript, record } from '../traces.js'
import { faultsIn } from './calls-in.js'
import { rulesFor } from './rules.js'

/** The recorded components of upstream. */
export const NAMES = [
  'whereabouts-cni',
  'whereabouts-reconciler',
  'whereabouts-podwatch',
  'whereabouts-nodeslice',
] as const

type Name = (typeof NAMES)[number]

/** The flags of our controllers for what each component of upstream does. */
const FLAGS: { readonly [N in Name]?: string } = {
  'whereabouts-reconciler': '--no-node-slices --no-claims --all-namespaces --grace 0',
  'whereabouts-podwatch': '--no-node-slices --no-claims --grace 0',
  'whereabouts-nodeslice': '--no-sweep',
}

/** One of how many cases of a script. */
const EVERY: { readonly [D in Depth]: { readonly [N in Name]: number } } = {
  full: { 'whereabouts-cni': 1, 'whereabouts-reconciler': 1, 'whereabouts-podwatch': 1, 'whereabouts-nodeslice': 1 },
  short: { 'whereabouts-cni': 10, 'whereabouts-reconciler': 8, 'whereabouts-podwatch': 6, 'whereabouts-nodeslice': 8 },
}

/** A Pod that reports other addresses is looked at twice, 1 s apart. */
const STARTUP_MS = 6000
/** Without a controller nothing changes after a step. */
const CNI_QUIET_MS = 50
/** Recorded were waits of up to 30 s. Here no plan waits. */
const LONGEST_WAIT_MS = 1000
/** Texts of errors and conditions differ. */
export const IGNORED = String.raw`\.message$|^(step \d+ )?stdout.*\.(msg|details)$|^\.Event/Service/kubernetes/`

export interface Replays {
  readonly server: RealKubernetes
  /** The bundled plugin. */
  readonly plugin: string
  /** The bundled controllers. */
  readonly controllers: string
  readonly example: Example
}

/** The plugin and the controllers go through what was done to those of upstream. */
export async function replays(report: Report, parts: Replays, depth: Depth): Promise<void> {
  for (const name of NAMES) {
    await report.test(`${name}.json ends as recorded`, async () => {
      const script = readScript(name)
      const only = script.cases.filter((_, index) => index % EVERY[depth][name] === 0).map(({ id }) => id)
      const ours = await recordingOf(parts, name, only)
      // where upstream is wrong, ours has to be right, and not only another one
      if (FLAGS[name] === undefined) assert.deepEqual(ours.cases.flatMap(faultsIn), [])
      return judge({ name, ours }, rulesFor(name), { ignored: IGNORED })
    })
  }
}

export async function recordingOf(parts: Replays, name: Name, only: readonly string[]): Promise<Recording> {
  const script = readScript(name)
  const flags = FLAGS[name]
  if (flags === undefined) {
    const drive = { name, script, only, controller: '', startupMs: 0, quietMs: CNI_QUIET_MS }
    return record(groundOfPlugin(parts), { ...drive, env: { WHEREABOUTS: executable(parts), TMPDIR: folderOf(parts) } })
  }
  const controller = `${process.execPath} ${parts.controllers} --metrics 0 ${flags}`
  const drive = { name, script, only, controller, startupMs: paced(STARTUP_MS), longestWaitMs: LONGEST_WAIT_MS }
  return record(await groundOfControllers(parts), drive)
}

async function groundOfControllers({ server, example }: Replays) {
  return { server, kubeconfig: await admitExample(server, example) }
}

/** The steps write the namespace and the user into a kubeconfig of this form. */
function groundOfPlugin({ server }: Replays) {
  const { folder, url } = server
  const [ca, cert, key] = ['ca.crt', 'admin.crt', 'admin.key'].map((file) => join(folder, file))
  const kubeconfig = join(folder, 'plugin.kubeconfig')
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    'current-context: c',
    'contexts: [{name: c, context: {cluster: c, user: u}}]',
    `clusters: [{name: c, cluster: {server: "${url}", certificate-authority: "${ca}"}}]`,
    `users: [{name: u, user: {client-certificate: "${cert}", client-key: "${key}"}}]`,
  ]
  writeFileSync(kubeconfig, `${lines.join('\n')}\n`, { mode: 0o600 })
  return { server, kubeconfig }
}

/** The steps keep files there. */
function folderOf({ server }: Replays): string {
  const folder = join(server.folder, 'steps')
  mkdirSync(folder, { recursive: true })
  return folder
}

/** The plugin as a runtime finds it: a runtime sets no KUBECONFIG. */
function executable({ server, plugin }: Replays): string {
  const file = join(server.folder, 'whereabouts')
  writeFileSync(file, `#!/bin/sh\nunset KUBECONFIG\nexec "${process.execPath}" "${plugin}" "$@"\n`, { mode: 0o700 })
  return file
}
