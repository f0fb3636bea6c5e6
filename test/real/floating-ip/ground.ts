import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { OpenStackFloatingIPPool, OpenStackServer } from 'ipam-kit/crd/openstack'
import { admitExample, exampleNamed, manifestsIn, SHARED } from '../account.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'

const EXAMPLE = exampleNamed('floating-ip-controller', 'ipam-kit-floating-ip')
export const MAIN = EXAMPLE.main

/**
 * A control plane with the kinds of Cluster API and of OpenStack, and with what the example may do
 * in it.
 */
export interface Ground {
  readonly server: RealKubernetes
  readonly kubeconfig: string
}

export async function startGround(): Promise<Ground> {
  const folder = join(SHARED, 'upstream-crds', 'cluster-api')
  const upstream = readdirSync(folder).flatMap((name) => manifestsIn(readFileSync(join(folder, name), 'utf8')))
  const ours = [OpenStackFloatingIPPool, OpenStackServer].map((model) => crdManifest(model))
  const controllerFlags = ['--kube-api-qps=1000', '--kube-api-burst=1000']
  const server = await startKubernetes({ crds: [...upstream, ...ours], controllerFlags })
  try {
    return { server, kubeconfig: await admitExample(server, EXAMPLE) }
  } catch (error) {
    await server.stop()
    throw error
  }
}
