import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}docs/guides/cni-plugin.md`, 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-guide-'))
const run = promisify(execFile)

afterAll(() => rmSync(folder, { recursive: true }))

/** The blocks of commands of a section. Those in bash are scripts and commands of a node. */
function commandsIn(heading: string, language = 'sh'): readonly string[] {
  const section = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const blocks = section.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))
  return [...blocks].map(([, text = '']) => text.trimEnd())
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
  expectAnswer((await shell(add)).stdout)
}, 60_000)

/** The answer of the page to the ADD without a cluster. */
function expectAnswer(stdout: string): void {
  const [, answer] = /It answers `(.*)`/.exec(page) ?? []
  const hasSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined
  if (hasSqlite) expect(stdout).toBe(answer)
  else expect(JSON.parse(stdout)).toMatchObject({ code: 7, msg: expect.stringContaining('it needs Node 22.13') })
}

/** A text of a node, with its folders in that of the test. */
function onNode(text: string): string {
  return text.replaceAll(/\/opt\/cni\/bin\/|\/run\/ipam-kit\/|\/var\/lib\/cni\//g, `${folder}/`)
}

test('the scripts answer a runtime, alone and by the daemon', async () => {
  const [plain = '', ...others] = commandsIn('Install the plugin', 'bash')
  const [daemon = '', shim = '', ...more] = commandsIn('Run a daemon', 'bash')
  expect([others, more]).toEqual([[], []])
  const [add = ''] = commandsIn('Without a cluster')
  const [network = '', call = ''] = add.split(/(?<=^EOF\n)/m)
  await shell(network)
  const env = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }
  const callBy = async (script: string) => {
    const file = join(folder, 'script')
    writeFileSync(file, `${onNode(script)}\n`)
    chmodSync(file, 0o755)
    expect(call).toContain('node image/ipam-kit.cjs')
    expectAnswer((await shell(call.replace('node image/ipam-kit.cjs', file))).stdout)
  }
  await callBy(plain)
  // without a daemon it falls back
  await callBy(shim)
  mkdirSync(join(folder, 'run'), { recursive: true })
  const running = spawn('sh', ['-c', `exec ${onNode(daemon)}`], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(running, 'exit')
  const [line] = await Promise.race([once(running.stdout!, 'data'), ended])
  expect(String(line)).toContain(join(folder, 'socket'))
  await callBy(shim.replace(' --fallback thin', ''))
  running.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
}, 60_000)

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
