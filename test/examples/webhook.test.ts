import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, createServer as createPortHolder } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Authority, createAuthority } from '../setup/certificates.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PROGRAM = ['--import', 'tsx', '--import', './test/setup/use-fake-client-node.ts', 'docs/examples/webhook.ts']

const group = 'ipam.cluster.x-k8s.io'
const claim = (pool: string) => ({
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddressClaim',
  metadata: { name: 'web-0', namespace: 'lab' },
  spec: { poolRef: { apiGroup: group, kind: 'InClusterIPPool', name: pool } },
})
const pool = {
  apiVersion: `${group}/v1alpha2`,
  kind: 'InClusterIPPool',
  metadata: { name: 'blue', namespace: 'lab' },
  spec: { addresses: ['10.0.0.0/28'], prefix: 28, gateway: '10.0.0.1' },
}
const address = {
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddress',
  metadata: { name: 'web-0', namespace: 'lab', uid: 'a-1', resourceVersion: '5' },
  spec: { claimRef: { name: 'web-0' }, poolRef: claim('blue').spec.poolRef, address: '10.0.0.2', prefix: 28 },
}

function reviewOf(
  operation: 'UPDATE' | 'DELETE',
  object: object | null,
  oldObject: { kind: string; apiVersion: string },
) {
  const [, version] = oldObject.apiVersion.split('/')
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: '705ab4f5', kind: { group, version, kind: oldObject.kind }, operation, object, oldObject },
  }
}

describe('docs/examples/webhook.ts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-webhook-program-'))
  const kubeconfig = join(folder, 'kubeconfig')
  const env = { ...process.env, KUBECONFIG: kubeconfig, KUBERNETES_SERVICE_HOST: undefined }
  let authority: Authority
  let cluster: Server
  let program: ChildProcess
  let port = 0

  beforeAll(async () => {
    authority = await createAuthority('webhook-program')
    const { cert, key } = await authority.issue({ commonName: 'webhook' }, 'server')
    writeFileSync(join(folder, 'tls.crt'), cert)
    writeFileSync(join(folder, 'tls.key'), key)
    // an API server with one address
    const resources = [IPAddressClaim, IPAddress, ...poolModels].map(({ info: { kind } }) => ({ kind }))
    cluster = createServer((asked, response) => {
      const { pathname } = new URL(asked.url ?? '/', 'http://cluster')
      const items = pathname.endsWith('/ipaddresses') ? [address] : []
      const list = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '9' }, items }
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
      response.end(JSON.stringify(pathname.split('/').length <= 4 ? { resources } : list))
    })
    cluster.listen(0, '127.0.0.1')
    await once(cluster, 'listening')
    const server = `http://127.0.0.1:${(cluster.address() as AddressInfo).port}`
    const config = {
      'current-context': 'here',
      clusters: [{ name: 'here', cluster: { server } }],
      contexts: [{ name: 'here', context: { cluster: 'here' } }],
    }
    writeFileSync(kubeconfig, JSON.stringify(config))
    port = await freePort()
    program = spawn(process.execPath, [...PROGRAM, '--certificates', folder, '--port', String(port)], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(program.stdout!, 'data')
    expect(String(line)).toBe(`answers reviews on port ${port}\n`)
  }, 120_000)

  afterAll(() => {
    program?.kill('SIGKILL')
    cluster?.close()
    rmSync(folder, { recursive: true })
  })

  function post(body: string): Promise<{ readonly status: number; readonly text: string }> {
    return new Promise((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', ca: authority.cert, method: 'POST', agent: false })
      sent.once('error', reject).once('response', async (response) => {
        let text = ''
        for await (const part of response.setEncoding('utf8')) text += part
        resolve({ status: response.statusCode ?? 0, text })
      })
      sent.end(body)
    })
  }

  test('refuses a change of a claim', async () => {
    const { status, text } = await post(JSON.stringify(reviewOf('UPDATE', claim('red'), claim('blue'))))
    expect(status).toBe(200)
    const { response } = JSON.parse(text)
    expect(response).toMatchObject({ uid: '705ab4f5', allowed: false, status: { code: 403 } })
    expect(response.status.message).toContain('IPAddressClaim spec is immutable')
  })

  test('reads from the cluster what a rule looks up: a pool with an address is not deleted', async () => {
    const { text } = await post(JSON.stringify(reviewOf('DELETE', null, pool)))
    expect(JSON.parse(text).response).toMatchObject({ allowed: false })
    expect(text).toContain('Pool has IPAddresses allocated')
  })

  test('answers 400 to a body that is not JSON', async () => {
    expect((await post('{')).status).toBe(400)
  })

  test('ends on SIGTERM', async () => {
    const ended = once(program, 'exit')
    program.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })

  test.each([
    [['--port', '0'], /^--port \(0\) must be a port from 1 to 65535\n$/],
    [['--certificates', 'none'], /^--certificates \(none\): ENOENT/],
    [['--cert', 'x'], /^Unknown option '--cert'/],
  ])('ends with status 2 and one line for wrong flags: %j', async (flags, words) => {
    const { status, err } = await new Promise<{ status: unknown; err: string }>((resolve) => {
      execFile(process.execPath, [...PROGRAM, ...flags], { cwd: root, env }, (error, _, err) =>
        resolve({ status: error?.code ?? 0, err }),
      )
    })
    expect(status).toBe(2)
    expect(err).toMatch(words)
  })
})

async function freePort(): Promise<number> {
  const holder = createPortHolder().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  await new Promise((resolve) => holder.close(resolve))
  return port
}
