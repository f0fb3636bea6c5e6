import { setTimeout as sleep } from 'node:timers/promises'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import type { OpenStore } from './backend.js'
import { type ClientLimits, smallClient } from './client.js'
import { type KubeServer, readKubeconfig } from './kubeconfig.js'

/**
 * As upstream, whose ADD takes up to 2 minutes: a runtime ends the process some time after that.
 */
export const CALL_LIMITS = { requestMs: 30_000, totalMs: 110_000 }

/**
 * The API server of a kubeconfig, for one call of the plugin.
 *
 * @throws IpamError `INVALID_CNI_CONFIG` for a file that is missing, or cannot be read
 */
export async function openApiServer(
  kubeconfig: string | undefined,
  kinds: readonly KindInfo[],
  limits: ClientLimits = CALL_LIMITS,
): Promise<OpenStore> {
  const server = await serverOf(kubeconfig)
  const client = smallClient(server, limits)
  const store = kubernetesStore(client, { sleep, kinds })
  return { store, namespace: server.namespace || undefined, close: () => client.close() }
}

/** @throws IpamError `INVALID_CNI_CONFIG` */
export async function serverOf(file: string | undefined): Promise<KubeServer> {
  const path = 'ipam.kubernetes.kubeconfig'
  if (file === undefined) {
    return unwrap(fail('INVALID_CNI_CONFIG', { path, problem: 'it is missing, and so is KUBECONFIG' }))
  }
  try {
    return await readKubeconfig(file)
  } catch (error) {
    return unwrap(fail('INVALID_CNI_CONFIG', { path, problem: (error as Error).message }))
  }
}
