import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { admitExample, exampleNamed, manifestsIn, SHARED } from '../account.js'
import type { AnyObject } from '../servers/kube-api.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'

const UPSTREAM = ['cluster-api', 'cluster-api-ipam-provider-in-cluster'].map((name) =>
  join(SHARED, 'upstream-crds', name),
)
const EXAMPLE = exampleNamed('in-cluster-controller', 'ipam-kit-in-cluster')
export const MAIN = EXAMPLE.main

/** Whose definitions the server has. */
export type Definitions = 'upstream' | 'generated'

/** A control plane with the kinds of Cluster API, and with what the example may do in it. */
export interface Ground {
  readonly server: RealKubernetes
  /**
   * Of the service account of the example: with it, a request that its rules do not allow fails.
   */
  readonly kubeconfig: string
}

/** @param bare without kube-controller-manager */
export async function startGround(definitions: Definitions, { bare = false } = {}): Promise<Ground> {
  const blocks = [IPBlock, IPDomain, IPPool].map((model) => crdManifest(model))
  const server = await startKubernetes({ crds: [...definitionsOf(definitions), ...blocks], bare })
  try {
    return { server, kubeconfig: await admitExample(server, EXAMPLE) }
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
