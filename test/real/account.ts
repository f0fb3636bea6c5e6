import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments } from 'yaml'
import type { AnyObject } from './servers/kube-api.js'
import type { RealKubernetes } from './servers/kubernetes.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What projects upstream and recordings of them are read from. It lies beside the checkout. */
export const SHARED = join(ROOT, '../shared')

/** A program of docs/examples, with what it may do. */
export interface Example {
  readonly main: string
  readonly rbac: string
  /** The name of its service account, which is in the namespace ipam-system. */
  readonly account: string
}

export function exampleNamed(folder: string, account: string): Example {
  const path = join(ROOT, 'docs/examples', folder)
  return { main: join(path, 'main.ts'), rbac: join(path, 'rbac.yaml'), account }
}

/**
 * Gives the service account of an example its rights.
 *
 * @returns the file of a kubeconfig of that account: with it, a request that the rules do not allow
 * fails
 */
export async function admitExample(server: RealKubernetes, { rbac, account }: Example): Promise<string> {
  for (const object of manifestsIn(readFileSync(rbac, 'utf8'))) await server.apply(object)
  const kubeconfig = join(server.folder, `${account}.kubeconfig`)
  writeFileSync(kubeconfig, kubeconfigWith(server, await tokenOf(server, account)), { mode: 0o600 })
  return kubeconfig
}

export function manifestsIn(text: string): readonly AnyObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as AnyObject)
}

async function tokenOf(server: RealKubernetes, account: string): Promise<string> {
  const path = `/api/v1/namespaces/ipam-system/serviceaccounts/${account}/token`
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200 } }
  const answer = await server.request<{ status: { token: string } }>('POST', path, { body })
  assert.equal(answer.status, 201)
  return answer.body.status.token
}

function kubeconfigWith(server: RealKubernetes, token: string): string {
  const config = parse(server.kubeconfig.text) as { users: { name: string; user: object }[] }
  return JSON.stringify({ ...config, users: config.users.map(({ name }) => ({ name, user: { token } })) }, null, 2)
}
