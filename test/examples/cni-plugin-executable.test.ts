import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-executable-'))
const blob = join(folder, 'memory.blob')

beforeAll(async () => {
  const outfile = join(folder, 'executable.cjs')
  await build({
    entryPoints: [`${root}docs/examples/cni-plugin/executable.ts`],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    minify: true,
    outfile,
    tsconfig: `${root}tsconfig.json`,
  })
  const built = await run(['--snapshot-blob', blob, '--build-snapshot', outfile], {})
  expect(built).toEqual({ stdout: '', stderr: '' })
}, 60_000)

afterAll(() => rmSync(folder, { recursive: true }))

/** A process, with a text on its stdin. */
async function run(args: readonly string[], env: NodeJS.ProcessEnv, stdin = '') {
  const { PATH } = process.env
  const call = promisify(execFile)(process.execPath, args, { env: { PATH, ...env } })
  call.child.stdin?.end(stdin)
  const { stdout, stderr } = await call.catch((error: { readonly stdout: string; readonly stderr: string }) => error)
  return { stdout, stderr }
}

function config(kubeconfig: string): string {
  const ipam = { type: 'ipam-kit', range: '10.0.0.0/24', kubernetes: { kubeconfig } }
  return JSON.stringify({ cniVersion: '1.1.0', name: 'lab', type: 'macvlan', ipam })
}

// Node starts a single executable from the same memory.
test('a process that starts from the memory of the executable answers VERSION', async () => {
  const { stdout, stderr } = await run(['--snapshot-blob', blob], { CNI_COMMAND: 'VERSION' }, '{"cniVersion":"1.1.0"}')
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toMatchObject({
    cniVersion: '1.1.0',
    supportedVersions: expect.arrayContaining(['1.1.0']),
  })
})

test.each(['JSON', 'YAML'])('its ADD reads a kubeconfig of %s, and asks the API server for the pool', async (form) => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.writeHead(500).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kubeconfig = join(folder, form)
  const part = (name: string, value: object) => [{ name: 'x', [name]: value }]
  const text = JSON.stringify({
    clusters: part('cluster', { server: url }),
    users: part('user', {}),
    contexts: part('context', { cluster: 'x', user: 'x' }),
    'current-context': 'x',
  })
  // a comment makes YAML of it
  writeFileSync(kubeconfig, form === 'JSON' ? text : `# a node\n${text}`)
  const env = {
    CNI_COMMAND: 'ADD',
    CNI_CONTAINERID: 'c1',
    CNI_NETNS: '/var/run/netns/none',
    CNI_IFNAME: 'net1',
    CNI_PATH: '/opt/cni/bin',
    CNI_ARGS: 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=web',
  }
  const { stdout, stderr } = await run(['--snapshot-blob', blob], env, config(kubeconfig))
  server.close()
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toMatchObject({ code: 11 })
  expect(asked[0]).toMatch(/^GET \/apis\/ipam-kit\.dev\/v1alpha1\/ippools\//)
})
