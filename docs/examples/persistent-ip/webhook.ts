import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { definePlanner, type Watch } from 'ipam-kit/plan'
import { answerReview } from 'ipam-kit/provider/webhook'
import { Controller } from 'ipam-kit/run'
import { FlagError } from '../program/flags.js'
import type { ServiceParts } from '../program/program.js'
import { reviewListener } from '../program/reviews.js'
import type { WebhookWork } from './flags.js'

export interface WebhookOptions extends ServiceParts, WebhookWork {
  /** How often the certificate is read again, in milliseconds. Default 10,000. */
  readonly renewalMs?: number | undefined
}

const RENEWAL_MS = 10_000

/**
 * Serves the webhook that names claims in Pods, over HTTPS. Each process serves it, also while
 * another one leads: it watches what its rules look up, and an answer costs no request. The port is
 * open when all of that is known.
 *
 * @returns ends it
 */
export function serveWebhook(parts: WebhookOptions): () => Promise<void> {
  const { store, timers, onProblem, rules, watches, port } = parts
  const controller =
    watches.length === 0 ? undefined : new Controller({ ...{ store, timers, onProblem }, planners: [knowing(watches)] })
  const certificate = new RenewedCertificate(parts)
  const server = createServer(
    certificate.read(),
    reviewListener((review) => answerReview(review, controller?.objects ?? store, { rules })),
  )
  const run = controller?.run()
  const ended = new AbortController()
  const listens = listen(server, port, async () => {
    while (controller?.load.synced === false && !ended.signal.aborted) await sleep(50)
    return !ended.signal.aborted
  })
  const cancel = setInterval(() => certificate.renew(server), parts.renewalMs ?? RENEWAL_MS)
  return async () => {
    clearInterval(cancel)
    ended.abort()
    await listens
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
    controller?.stop()
    await run
  }
}

/** @throws FlagError as a rejection, if the port is in use */
async function listen(server: Server, port: number, isWanted: () => Promise<boolean>): Promise<void> {
  if (!(await isWanted())) return
  server.listen(port)
  await once(server, 'listening').catch((error: Error) => {
    throw new FlagError(`--webhook (${port}) cannot be served: ${error.message}`)
  })
}

/** Knows objects, and plans nothing. */
function knowing(watches: readonly Watch<KubeObject>[]) {
  const by = <T>(value: (watch: Watch<KubeObject>) => T) =>
    Object.fromEntries(watches.map((watch) => [watch.kind, value(watch)]))
  return definePlanner({
    name: 'webhook',
    watches: by((watch) => watch),
    wakes: by(() => () => []),
    plan: () => undefined,
  })
}

/** A certificate that a kubelet or cert-manager replaces before it expires. */
class RenewedCertificate {
  readonly #folder: string
  readonly #log: (text: string) => void
  #last = ''

  constructor({ folder, log }: Pick<WebhookOptions, 'folder' | 'log'>) {
    this.#folder = folder
    this.#log = log
  }

  /** @throws FlagError */
  read(): { readonly cert: string; readonly key: string } {
    try {
      const [cert, key] = ['tls.crt', 'tls.key'].map((name) => readFileSync(join(this.#folder, name), 'utf8'))
      this.#last = `${cert}${key}`
      return { cert: cert!, key: key! }
    } catch (error) {
      throw new FlagError(`--certificates (${this.#folder}): ${(error as Error).message}`)
    }
  }

  /** New connections have the new certificate. A pair that cannot be used leaves the last one. */
  renew(server: Server): void {
    const before = this.#last
    try {
      const pair = this.read()
      if (this.#last === before) return
      server.setSecureContext(pair)
      this.#log('the certificate of the webhook is renewed')
    } catch (error) {
      this.#log(`the certificate of the webhook stays: ${(error as Error).message}`)
    }
  }
}
