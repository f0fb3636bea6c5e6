import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}docs/guides/cni-plugin.md`, 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-guide-'))
const run = promisify(execFile)

afterAll(() => rmSync(folder, { recursive: true }))

/** The blocks of commands of a section. */
function commandsIn(heading: string): readonly string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text.trimEnd())
}

/** Runs commands of the page. They keep files in the folder of the test. */
async function shell(command: string): Promise<{ readonly stdout: string }> {
  const text = command.replaceAll('image/', `${folder}/`).replaceAll('/tmp/ipam-kit/', `${folder}/`)
  // a failure has one JSON text on stdout, too
  return run('sh', ['-c', text], { cwd: root }).catch((error: { readonly stdout: string }) => error)
}

test('the commands build a program that answers a runtime, also without a cluster', async () => {
  const [build = '', version = '', ...more] = commandsIn('Build the plugin')
  expect([build.split('\n')[0], more]).toEqual(['npm ci', []])
  await shell(build.replace('npm ci\n', ''))
  const { cniVersion, supportedVersions } = JSON.parse((await shell(version)).stdout)
  expect([cniVersion, supportedVersions.includes('1.1.0')]).toEqual(['1.1.0', true])
  const [add = ''] = commandsIn('Without a cluster')
  const { stdout } = await shell(add)
  const [, answer] = /It answers `(.*)`/.exec(page) ?? []
  const hasSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined
  if (hasSqlite) expect(stdout).toBe(answer)
  else expect(JSON.parse(stdout)).toMatchObject({ code: 7, msg: expect.stringContaining('it needs Node 22.13') })
}, 60_000)

test('the flags are those of the program', () => {
  const program = readFileSync(`${root}docs/examples/cni-plugin/main.ts`, 'utf8')
  const [, names = ''] = /const FLAGS = \{([\s\S]*?)\} as const/.exec(program) ?? []
  const wanted = [...names.matchAll(/(\w+): \{ type: 'string' \}/g)].map(([, name]) => `--${name}`)
  expect(wanted.length).toBeGreaterThan(2)
  expect([...page.matchAll(/^\| `(--[a-z-]+)[^`]*` \|/gm)].map(([, flag]) => flag)).toEqual(wanted)
})

test('the manifests exist, and the program that installs is built', async () => {
  const [, manifest = ''] = /kubectl apply -f (\S+?)`/.exec(page) ?? []
  const [build = '', apply = ''] = (commandsIn('Install the plugin')[0] ?? '').split('\n')
  const [, kustomization = ''] = /^kubectl apply -k (\S+)$/.exec(apply) ?? []
  expect([manifest, `${kustomization}/kustomization.yaml`].map((file) => existsSync(root + file))).toEqual([true, true])
  await shell(build)
  // without flags it says which are needed
  const asked = await run(process.execPath, [join(folder, 'install.mjs')]).catch(({ code, stderr }) => [code, stderr])
  expect(asked).toEqual([2, '--plugin, --bin and --kubeconfig are needed\n'])
})
