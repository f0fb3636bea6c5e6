import { createServer } from 'node:https'
import { createAuthority } from '../../setup/certificates.js'

/** A validating webhook on 127.0.0.1. */
export interface Webhook {
  /** What registers it for an API server. It is asked about objects with this label only. */
  readonly configuration: {
    readonly apiVersion: string
    readonly kind: string
    readonly metadata: { readonly name: string }
    readonly webhooks: readonly object[]
  }
  close(): Promise<void>
}

export interface WebhookOptions {
  /** It allows everything, after this time. Left out: it denies everything, at once. */
  readonly allowsAfterMs?: number
}

/** Asked about the objects of a group that have a label. */
export async function startWebhook(
  group: string,
  label: { readonly [name: string]: string },
  { allowsAfterMs }: WebhookOptions = {},
): Promise<Webhook> {
  const authority = await createAuthority('ipam-kit-test-webhook')
  const { cert, key } = await authority.issue({ commonName: 'webhook' }, 'server')
  const server = createServer({ cert, key }, (request, response) => {
    let text = ''
    request.on('data', (more) => {
      text += more
    })
    request.on('end', () => {
      const { apiVersion, kind, request: review } = JSON.parse(text)
      const { uid } = review
      const isLate = allowsAfterMs !== undefined
      const verdict = isLate
        ? { uid, allowed: true }
        : { uid, allowed: false, status: { code: 403, message: 'not today' } }
      const body = JSON.stringify({ apiVersion, kind, response: verdict })
      const answer = () => response.setHeader('content-type', 'application/json').end(body)
      if (isLate) setTimeout(answer, allowsAfterMs)
      else answer()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the webhook has no port')
  const rule = { apiGroups: [group], apiVersions: ['*'], operations: ['*'], resources: ['*'] }
  return {
    configuration: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'never.ipam-kit.dev' },
      webhooks: [
        {
          name: 'never.ipam-kit.dev',
          clientConfig: {
            url: `https://127.0.0.1:${address.port}/`,
            caBundle: Buffer.from(authority.cert).toString('base64'),
          },
          rules: [rule],
          objectSelector: { matchLabels: label },
          failurePolicy: 'Fail',
          sideEffects: 'None',
          // the most that an API server takes
          timeoutSeconds: 30,
          admissionReviewVersions: ['v1'],
        },
      ],
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
