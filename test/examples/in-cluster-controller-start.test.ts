import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isDeep } from '../setup/depth.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
let folder = ''
const servers: Server[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'controller-'))
})

afterAll(async () => {
  for (const server of servers) server.close()
  await rm(folder, { recursive: true })
})

/** A server on a port of its own. */
async function serve(answer: (path: string) => { readonly status?: number; readonly body: string }): Promise<number> {
  const server = createServer((request, response) => {
    const { status = 200, body } = answer(new URL(request.url ?? '/', 'http://x').pathname)
    response.writeHead(status, { connection: 'close' }).end(body)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, resolve))
  return (server.address() as AddressInfo).port
}

const KINDS = [
  'Cluster',
  'IPAddressClaim',
  'IPAddress',
  'InClusterIPPool',
  'GlobalInClusterIPPool',
  'InClusterPrefixPool',
  'GlobalInClusterPrefixPool',
  'Event',
  'Lease',
]

/** An API server that has these kinds, in every version, and no objects. */
function cluster(kinds: readonly string[] = KINDS): Promise<number> {
  return serve((path) => {
    const isDiscovery = path.split('/').length <= 4
    const list = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' }, items: [] }
    return { body: JSON.stringify(isDiscovery ? { resources: kinds.map((kind) => ({ kind })) } : list) }
  })
}

const kubeconfig = (port: number, context = 'here') =>
  JSON.stringify({
    'current-context': context,
    clusters: [{ name: 'here', cluster: { server: `http://127.0.0.1:${port}` } }],
    contexts: [{ name: 'here', context: { cluster: 'here' } }],
  })

let files = 0

/**
 * Runs the program as a user does, with a kubeconfig of this text and a client that is installed.
 */
async function start(text: string, ...flags: readonly string[]) {
  const file = join(folder, `kubeconfig-${files++}`)
  await writeFile(file, text)
  return startWith(file, ...flags)
}

function startWith(KUBECONFIG: string, ...flags: readonly string[]) {
  const client = ['--import', 'tsx', '--import', './test/setup/use-fake-client-node.ts']
  const command = [...client, 'docs/examples/in-cluster-controller/main.ts', '--metrics', '0', ...flags]
  const env = { ...process.env, KUBECONFIG, KUBERNETES_SERVICE_HOST: undefined }
  return new Promise<{ readonly status: unknown; readonly out: string; readonly err: string }>((resolve) => {
    execFile(process.execPath, command, { cwd: root, env, timeout: 120_000 }, (error, out, err) => {
      resolve({ status: error?.code ?? error?.signal ?? 0, out, err })
    })
  })
}

/** The program that cannot start says so in one line, without a stack, and with status 1. */
async function expectLine(ended: ReturnType<typeof start>, words: RegExp) {
  const { status, out, err } = await ended
  expect(err).toMatch(/^\d{4}-\S+Z [^\n]+\n$/)
  expect(err.slice(err.indexOf(' ') + 1, -1)).toMatch(words)
  expect(err).not.toMatch(/ at \S+ \(|node:internal/)
  expect([status, out]).toEqual([1, ''])
}

/** A port without a listener. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe.concurrent('the in-cluster controller ends with one line and status 1', () => {
  test('when the port of the metrics is in use', async () => {
    const port = await serve(() => ({ body: '' }))
    const words = new RegExp(`^metrics cannot be served on port ${port}: listen EADDRINUSE: address already in use`)
    await expectLine(start(kubeconfig(await cluster()), '--metrics', `${port}`), words)
  })

  test('when kinds are missing, and names each', async () => {
    const port = await cluster(KINDS.filter((kind) => !['IPAddress', 'Lease'].includes(kind)))
    const words =
      /^the API server does not have these kinds: ipam\.cluster\.x-k8s\.io\/v1beta2 IPAddress \(ipaddresses\) coordination\.k8s\.io\/v1 Lease \(leases\)$/
    await expectLine(start(kubeconfig(port)), words)
  })

  const more: readonly [string, () => ReturnType<typeof start>, RegExp][] = [
    [
      'when the port is in use and it would be elected',
      async () => {
        const port = await serve(() => ({ body: '' }))
        return start(kubeconfig(await cluster()), '--leader-elect', '--metrics', `${port}`)
      },
      /^metrics cannot be served on port \d+: listen EADDRINUSE/,
    ],
    [
      'when the kubeconfig is broken, and names the file',
      () => start('clusters: [{name: here\n  contexts'),
      /^kubernetes cannot be opened: the kubeconfig cannot be read: \S+kubeconfig-\d+: .*at line \d+/,
    ],
    [
      'when the server is away, and says where',
      async () => start(kubeconfig(await freePort())),
      /^kubernetes cannot be opened: .*ECONNREFUSED 127\.0\.0\.1:\d+$/,
    ],
    ['when the kubeconfig is empty', () => start(''), /the kubeconfig cannot be read: \S+kubeconfig-\d+: /],
    ['when the kubeconfig is a folder', () => startWith(folder), /the kubeconfig cannot be read: \S+: EISDIR/],
    [
      'when the kubeconfig has no such context',
      () => start(kubeconfig(1, 'there')),
      /^kubernetes cannot be opened: the kubeconfig has no current context; its contexts: here$/,
    ],
    [
      'when the cluster of the context is missing',
      () => start(JSON.stringify({ ...JSON.parse(kubeconfig(1)), clusters: [] })),
      /^kubernetes cannot be opened: No active cluster!$/,
    ],
    [
      'when the server refuses',
      async () => start(kubeconfig(await serve(() => ({ status: 403, body: 'no\nno' })))),
      /^kubernetes cannot be opened: GET \/apis\/\S+: 403 no no$/,
    ],
    [
      'when the server is no API server',
      async () => start(kubeconfig(await serve(() => ({ body: '<html>\n</html>\n' })))),
      /^kubernetes cannot be opened: .*JSON/,
    ],
  ]
  test.each(isDeep ? more : [])('%s', async (_, ended, words) => {
    await expectLine(ended(), words)
  })
})
