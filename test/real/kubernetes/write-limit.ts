import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../../../src/crd/meta/object.js'
import { type KubernetesClient, kubernetesStore } from '../../../src/store/kubernetes/index.js'
import type { Store } from '../../../src/store/store.js'
import { conformanceKinds } from '../../../src/testing/index.js'
import { paced } from '../pace.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { waitFor } from '../servers/tools.js'
import { startWebhook } from './webhook.js'

const GROUP = 'conformance.ipam-kit.dev'
/** What the store gives a write. */
const LIMIT_SECONDS = paced(1)
/** How long a webhook takes to allow a write: longer than the limit. */
const SLOW_MS = 3000 * LIMIT_SECONDS
/** Until it must have been done, if it ever is. */
const REST_MS = 1500 * LIMIT_SECONDS

/**
 * Of two writes that a webhook takes its time over, the one with a limit is given up and never
 * done; the other one is done.
 */
export async function checkWriteLimit(
  server: RealKubernetes,
  client: KubernetesClient,
  namespace: string,
): Promise<undefined> {
  const limited = kubernetesStore(client, { sleep, kinds: conformanceKinds, writeTimeoutSeconds: LIMIT_SECONDS })
  const unlimited = kubernetesStore(client, { sleep, kinds: conformanceKinds })
  const labels = { webhook: 'slow' }
  const webhook = await startWebhook(GROUP, labels, { allowsAfterMs: SLOW_MS })
  const self = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${webhook.configuration.metadata.name}`
  const create = async (store: Store, name: string) => {
    const object: KubeObject = {
      apiVersion: `${GROUP}/v1`,
      kind: 'ConformancePool',
      metadata: { namespace, name, labels },
    }
    const answer = await store.create(object)
    return answer.ok ? 'ok' : answer.failure.code
  }
  const comes = async (store: Store, name: string) => {
    const found = await store.get({ apiVersion: `${GROUP}/v1`, kind: 'ConformancePool', namespace, name })
    return found.ok
  }
  try {
    await server.apply(webhook.configuration)
    let round = 0
    await waitFor(async () => (await create(limited, `asked-${round++}`)) !== 'ok' || undefined, {
      seconds: 30,
      else: 'the webhook is not asked',
    })
    const codes = await Promise.all([create(limited, 'limited'), create(unlimited, 'unlimited')])
    assert.deepEqual(codes, ['STORE_OUTCOME_UNKNOWN', 'ok'])
    await sleep(REST_MS)
    assert.deepEqual([await comes(limited, 'limited'), await comes(unlimited, 'unlimited')], [false, true])
  } finally {
    await server.request('DELETE', self)
    await webhook.close()
  }
}
