import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { blockAdd, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import { LEASE, runTask } from 'ipam-kit/run'
import { parse } from 'yaml'
import { admitExample, exampleNamed, manifestsIn } from '../account.js'
import { bundle } from '../bundle.js'
import { ControllerProcess } from '../controller/process.js'
import type { Report } from '../report.js'
import { installClients } from '../servers/install.js'
import { findProgram, run, waitFor } from '../servers/tools.js'
import { EXAMPLES, type Ground } from './ground.js'

export const CONTROLLERS = exampleNamed('whereabouts-controller', 'ipam-kit-whereabouts')
const SECONDS = 120
const RANGE = '10.70.0.0/24'
const POOL = 'whereabouts.10.70.0.0-24'
const LEASE_OF_UPSTREAM = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/whereabouts'
const DEFINITIONS = '/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions'

/** What a folder of docs/examples installs is created by an API server that is strict. */
export async function manifests(report: Report, { server }: Ground): Promise<void> {
  const folders = readdirSync(EXAMPLES).filter((name) => existsSync(join(EXAMPLES, name, 'kustomization.yaml')))
  await report.test(`the manifests of ${folders.join(', ')} are valid`, async () => {
    let count = 0
    for (const folder of folders) {
      const read = (file: string) => readFileSync(join(EXAMPLES, folder, file), 'utf8')
      const { resources } = parse(read('kustomization.yaml')) as { readonly resources: readonly string[] }
      for (const object of resources.flatMap((file) => manifestsIn(read(file)))) {
        await server.apply(object, { strict: true })
        count++
      }
    }
    return `${count} objects`
  })
}

const GUIDES = ['cni-plugin', 'whereabouts'].map((name) => join(EXAMPLES, '..', 'guides', `${name}.md`))

/** The commands of kubectl in the guides, run by it. */
export async function guides(report: Report, { server }: Ground): Promise<void> {
  await report.test('the commands of kubectl in the guides succeed', async () => {
    if (findProgram('kubectl') === undefined) throw new Error('no kubectl here: install it, and put it on the PATH')
    const lines = GUIDES.flatMap((guide) => readFileSync(guide, 'utf8').match(/(?<=^|`)kubectl [^`\n]+/gm) ?? [])
    const { apiVersion, kind } = LEASE
    await server.apply({ apiVersion, kind, metadata: { namespace: 'kube-system', name: 'whereabouts' }, spec: {} })
    const env = { KUBECONFIG: server.kubeconfig.path }
    for (const line of lines) await run('sh', ['-euc', line], { cwd: join(EXAMPLES, '../..'), env, seconds: 120 })
    assert.equal((await server.request('GET', LEASE_OF_UPSTREAM)).status, 404)
    return `${lines.length} commands`
  })
}

/** The program of the controllers, with the flags of its Deployment, on networks of blocks. */
export async function controllers(report: Report, { server, store }: Ground): Promise<void> {
  await installClients()
  const program = await bundle(CONTROLLERS.main, 'whereabouts-controller-of-blocks')
  const kubeconfig = await admitExample(server, CONTROLLERS)
  const deployment = parse(readFileSync(join(EXAMPLES, 'whereabouts-controller', 'deployment.yaml'), 'utf8'))
  const args: readonly string[] = deployment.spec.template.spec.containers[0].args
  const flags = args.filter((arg) => !arg.startsWith('--metrics'))
  const process = new ControllerProcess(program, kubeconfig, [...flags, '--sweep-after', '1', '--empty-after', '1'])
  const explain = () => process.lines.slice(-20).join('\n')
  const until = async (what: string, isSo: (pool: KubeObject | undefined, rows: number) => boolean) => {
    const { apiVersion, kind } = IPPool.info
    const ref: ObjectRef = { apiVersion, kind, name: POOL }
    await waitFor(
      async () => {
        const pool = await store.get(ref)
        const blocks = unwrap(await store.list(IPBlock.info)).items.map((block) => IPBlock.parse(block))
        const rows = blocks.flatMap(({ spec }) => (spec.pool === POOL ? Object.values(spec.rows) : []))
        return (
          isSo(pool.ok ? pool.value : undefined, rows.filter(({ state }) => state === undefined).length) || undefined
        )
      },
      { seconds: SECONDS, else: what, explain },
    )
  }
  const config = { cniVersion: '1.1.0', name: 'swept', type: 'macvlan', ipam: { type: 'ipam-kit', range: RANGE } }
  const path = `${DEFINITIONS}/swept`
  try {
    await report.test('the controllers make the pool of a network on blocks, and sweep it', async () => {
      const metadata = { name: 'swept' }
      const body = { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', metadata }
      const made = await server.request('POST', DEFINITIONS, {
        body: { ...body, spec: { config: JSON.stringify(config) } },
      })
      assert.equal(made.status, 201)
      await until(
        'the pool is not ready',
        (pool) => pool !== undefined && IPPool.parse(pool).status?.domainUID !== undefined,
      )
      const network = unwrap(readBlockNetwork(config))
      // no Pod has this uid
      const pod = { podNamespace: 'default', podName: 'gone', podUid: 'gone', containerId: 'gone', ifname: 'net1' }
      const added = await runTask(blockAdd({ network, ...pod, nodeName: 'node-a' }), store, { now: Date.now })
      assert(added.kind === 'done' && added.outcome.kind === 'allocated', JSON.stringify(added))
      await until('the row of a Pod that does not exist stays', (_, rows) => rows === 0)
      assert.equal((await server.request('DELETE', path)).status, 200)
      await until('the pool of a deleted network stays', (pool) => pool === undefined || isRetired(pool))
      return undefined
    })
  } finally {
    assert.equal(await process.stop(), 0, explain())
  }
}

/** It is deleted a minute after that, when no task that has read it can give an address. */
function isRetired({ metadata, spec }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined || (spec as { readonly disabled?: boolean }).disabled === true
}
