import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { parse, parseAllDocuments } from 'yaml'
import type { AnyObject } from '../servers/kube-api.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** What projects upstream and recordings of them are read from. It lies beside the checkout. */
export const SHARED = join(ROOT, '../shared')
const UPSTREAM = ['cluster-api', 'cluster-api-ipam-provider-in-cluster'].map((name) =>
  join(SHARED, 'upstream-crds', name),
)
const EXAMPLE = join(ROOT, 'docs/examples/in-cluster-controller')
export const MAIN = join(EXAMPLE, 'main.ts')
const ACCOUNT = { namespace: 'ipam-system', name: 'ipam-kit-in-cluster' }

/** Whose definitions the server has. */
export type Definitions = 'upstream' | 'generated'

/** A control plane with the kinds of Cluster API, and with what the example may do in it. */
export interface Ground {
  readonly server: RealKubernetes
  /** Of the service account of the example: with it, a request that its rules do not allow fails. */
  readonly kubeconfig: string
}

/** @param bare without kube-controller-manager */
export async function startGround(definitions: Definitions, { bare = false } = {}): Promise<Ground> {
  const blocks = [IPBlock, IPDomain, IPPool].map((model) => crdManifest(model))
  const server = await startKubernetes({ crds: [...definitionsOf(definitions), ...blocks], bare })
  try {
    for (const object of manifestsIn(readFileSync(join(EXAMPLE, 'rbac.yaml'), 'utf8'))) await server.apply(object)
    const kubeconfig = join(server.folder, 'account.kubeconfig')
    writeFileSync(kubeconfig, kubeconfigWith(server, await tokenOf(server)), { mode: 0o600 })
    return { server, kubeconfig }
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** Those of Cluster API itself, Cluster above all, are always its own. */
function definitionsOf(definitions: Definitions): readonly AnyObject[] {
  const upstream = UPSTREAM.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => manifestsIn(readFileSync(join(folder, name), 'utf8'))),
  )
  if (definitions === 'upstream') return upstream
  const ours = [IPAddressClaim, IPAddress, ...poolModels].map((model) => crdManifest(model))
  const names = new Set(ours.map(({ metadata }) => metadata.name))
  assert.equal(upstream.filter(({ metadata }) => names.has(metadata.name)).length, ours.length)
  return [...upstream.filter(({ metadata }) => !names.has(metadata.name)), ...ours]
}

function manifestsIn(text: string): readonly AnyObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as AnyObject)
}

async function tokenOf(server: RealKubernetes): Promise<string> {
  const path = `/api/v1/namespaces/${ACCOUNT.namespace}/serviceaccounts/${ACCOUNT.name}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200 } }
  const answer = await server.request<{ status: { token: string } }>('POST', path, { body })
  assert.equal(answer.status, 201)
  return answer.body.status.token
}

function kubeconfigWith(server: RealKubernetes, token: string): string {
  const config = parse(server.kubeconfig.text) as { users: { name: string; user: object }[] }
  return JSON.stringify({ ...config, users: config.users.map(({ name }) => ({ name, user: { token } })) }, null, 2)
}
