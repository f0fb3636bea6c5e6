import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readKubeconfig } from '../../docs/examples/cni-plugin/kubeconfig.js'
import { cniPlugin, type PluginOptions } from '../../docs/examples/cni-plugin/plugin.js'
import { attachmentFolder } from '../../docs/examples/cni-plugin/record.js'
import { serve } from '../../docs/examples/cni-plugin/serve.js'
import { COMMON_FLAGS, parseFlags } from '../../docs/examples/program/flags.js'
import { FLAGS, plannersOf } from '../../docs/examples/whereabouts-controller/flags.js'

const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-whereabouts-'))
const asked: string[] = []
let server: Server
let kubeconfig: string

beforeAll(async () => {
  // an API server that has none of the objects, and refuses each write
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const code = request.method === 'GET' ? 404 : 403
    const details = { group: 'whereabouts.cni.cncf.io', kind: 'ippools', name: '10.0.0.0-24' }
    const body = {
      details,
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code,
      reason: code === 404 ? 'NotFound' : 'Forbidden',
    }
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ ...body, message: 'no' }))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  kubeconfig = fileOf('kubeconfig', blockKubeconfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

function fileOf(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

/** As upstream writes it on each node. */
function blockKubeconfig(url: string): string {
  return `# Kubeconfig file
apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: ${url}
users:
- name: whereabouts
  user:
    token: "secret"
contexts:
- name: whereabouts-context
  context:
    cluster: local
    user: whereabouts
    namespace: pools
current-context: whereabouts-context
`
}

async function call(
  command: string,
  options: Partial<PluginOptions> = {},
  given: { ipam?: object; netns?: string } = {},
) {
  asked.length = 0
  const { ipam = { range: '10.0.0.0/24' }, netns = '/var/run/netns/none' } = given
  const config = { cniVersion: '1.1.0', name: 'lab', type: 'macvlan', ipam: { type: 'whereabouts', ...ipam } }
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: 'c1',
    CNI_NETNS: netns,
    CNI_IFNAME: 'net1',
    CNI_PATH: '/opt/cni/bin',
    CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=office;K8S_POD_NAME=web-0',
  }
  const plugin = cniPlugin({ nodeName: 'node-a', kubeconfig, ...options })
  const { stdout, exitCode } = await serve(plugin, {
    env,
    stdin: Readable.from([Buffer.from(JSON.stringify(config))]),
    limits: { maxBytes: 10_000, timeoutMs: 5000 },
  })
  const { code, msg } = stdout === '' ? {} : JSON.parse(stdout)
  return { exitCode, code, msg }
}

describe('the plugin', () => {
  test('netns-own: the network namespace of the plugin itself is refused before anything is asked for', async () => {
    expect(await call('ADD', {}, { netns: '/proc/self/ns/net' })).toMatchObject({ exitCode: 1, code: 8 })
    expect(asked).toEqual([])
    await call('ADD', { allowsOwnNamespace: true }, { netns: '/proc/self/ns/net' })
    expect(asked.length).toBeGreaterThan(0)
  })

  test('pools are those of the namespace of the kubeconfig', async () => {
    await call('DEL')
    expect(asked).toEqual(['GET /apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/pools/ippools/10.0.0.0-24'])
  })

  test('a server that refuses the row fails the ADD', async () => {
    const { exitCode, code } = await call('ADD')
    expect([exitCode, code]).toEqual([1, 11])
  })

  test('DEL of what is not there succeeds; without a server it fails, or succeeds as upstream', async () => {
    expect(await call('DEL')).toEqual({ exitCode: 0, code: undefined })
    const away = { kubeconfig: fileOf('away', blockKubeconfig('http://127.0.0.1:1')) }
    expect(await call('DEL', away)).toMatchObject({ exitCode: 1, code: 11 })
    const upstream = {
      range: '10.0.0.0/24',
      kubernetes: { kubeconfig: away.kubeconfig },
      configuration_path: fileOf('whereabouts.conf', '{}'),
    }
    expect(await call('DEL', { rules: 'upstream' }, { ipam: upstream })).toEqual({ exitCode: 0, code: undefined })
    expect((await call('ADD', { rules: 'upstream' }, { ipam: upstream })).code).toBe(999)
  })

  test('no kubeconfig, and one that cannot be read, are errors of the configuration', async () => {
    expect((await call('ADD', { kubeconfig: undefined })).code).toBe(7)
    expect((await call('ADD', { kubeconfig: join(folder, 'none') })).code).toBe(7)
    expect((await call('ADD', {}, { ipam: { range: 'x' } })).code).toBe(7)
  })

  test('an ADD has its record before its row, and a DEL that has succeeded removes it', async () => {
    const record = attachmentFolder(join(folder, 'record'))
    await call('ADD', { record })
    expect(record.of('lab').map(({ containerId, ifname }) => `${containerId} ${ifname}`)).toEqual(['c1 net1'])
    expect(record.of('other')).toEqual([])
    await call('DEL', { record })
    expect(record.of('lab')).toEqual([])
  })
})

describe('a network in a file', () => {
  const range = '10.0.0.0/24'
  test.each<[string, object, string]>([
    ['a relative name', { sqlite: 'ipam.db' }, 'ipam.sqlite: is not the absolute path of a file'],
    ['a list', { sqlite: [] }, 'ipam.sqlite: is not the absolute path of a file'],
    ['a kubeconfig', { sqlite: '/x/ipam.db', kubernetes: {} }, 'ipam.kubernetes: has no meaning beside ipam.sqlite'],
    ['pools of blocks', { sqlite: '/x/ipam.db', pools: ['a'] }, 'ipam.pools: has no meaning beside ipam.sqlite'],
    ['the type of upstream', { sqlite: '/x/ipam.db', type: 'whereabouts' }, 'ipam.sqlite: needs the type ipam-kit'],
  ])('refuses %s', async (_, ipam, problem) => {
    const { code, msg } = await call('ADD', {}, { ipam: { type: 'ipam-kit', range, ...ipam } })
    expect([code, msg]).toEqual([7, expect.stringContaining(problem)])
  })
})

describe('readKubeconfig', () => {
  test('reads blocks, flow form and files beside it', async () => {
    const { url, namespace, headers } = await readKubeconfig(fileOf('block', blockKubeconfig('https://10.0.0.1:6443/')))
    expect({ url, namespace, headers }).toEqual({
      url: 'https://10.0.0.1:6443',
      namespace: 'pools',
      headers: { authorization: 'Bearer secret' },
    })
    fileOf('token', 'from a file\n')
    const flow = `current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://h", certificate-authority-data: ${Buffer.from('PEM').toString('base64')}}}]
users: [{name: u, user: {as: limited, tokenFile: token}}]
`
    const read = await readKubeconfig(fileOf('flow', flow))
    expect([read.namespace, read.ca]).toEqual(['', 'PEM'])
    expect(read.headers).toEqual({ authorization: 'Bearer from a file', 'impersonate-user': 'limited' })
  })

  test('names what is missing', async () => {
    const read = (text: string) => readKubeconfig(fileOf('bad', text))
    await expect(read('current-context: c')).rejects.toThrow('contexts has no c')
    await expect(read('')).rejects.toThrow('contexts has no undefined')
    const program = blockKubeconfig('https://h').replace('token: "secret"', 'exec: {command: login}')
    await expect(read(program)).rejects.toThrow('a program that gives credentials is not supported')
  })

  test('refuses credentials that other users can read', async () => {
    const inline = fileOf('readable', blockKubeconfig('https://h'))
    chmodSync(inline, 0o640)
    await expect(readKubeconfig(inline)).rejects.toThrow('readable: other users can read its credentials')
    const beside = fileOf('beside', blockKubeconfig('https://h').replace('token: "secret"', 'tokenFile: open-token'))
    chmodSync(fileOf('open-token', 'secret'), 0o604)
    await expect(readKubeconfig(beside)).rejects.toThrow('open-token: other users can read its credentials')
  })

  test.each(['token: secret\n  x: [', '{"token": secret', '\tsecret'])('no message has a part of %j', async (text) => {
    const message = await readKubeconfig(fileOf('broken', text)).then(String, String)
    expect(message).toMatch(/broken: it is not YAML$/)
  })
})

describe('the flags of the whereabouts controllers', () => {
  const planned = (...args: readonly string[]) =>
    plannersOf(parseFlags({ ...COMMON_FLAGS, ...FLAGS }, args), { WHEREABOUTS_NAMESPACE: 'pools' }).map(
      ({ name }) => name,
    )

  test('all of them work, unless a flag says otherwise', () => {
    expect(planned()).toEqual(['whereabouts-sweep', 'whereabouts-node-slices'])
    expect(planned('--no-sweep')).toEqual(['whereabouts-node-slices'])
    expect(() => planned('--no-sweep', '--no-node-slices')).toThrow('nothing to do')
    expect(() => planned('--completed-pods', 'drop')).toThrow('--completed-pods (drop) is keep or free')
    expect(() => planned('--grace', '-1')).toThrow()
  })
})
