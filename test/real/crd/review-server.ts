import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import { answerReview, type ReviewReader } from '../../../src/provider/webhook/index.js'
import { createAuthority } from '../../setup/certificates.js'

/** The webhooks of the kinds of Cluster API and of our own, on 127.0.0.1. */
export interface ReviewServer {
  readonly url: string
  /** PEM in base64. */
  readonly caBundle: string
  /** How many reviews of each path were answered. */
  readonly answered: { [path: string]: number }
  close(): Promise<void>
}

export async function startReviewServer(reader: ReviewReader): Promise<ReviewServer> {
  const authority = await createAuthority('ipam-kit-test-reviews')
  const { cert, key } = await authority.issue({ commonName: 'reviews' }, 'server')
  const answered: { [path: string]: number } = {}
  const server = createServer({ cert, key }, async (request, response) => {
    const [path = '/'] = (request.url ?? '/').split('?')
    try {
      const answer = await answerReview(JSON.parse(await textOf(request)), reader)
      answered[path] = (answered[path] ?? 0) + 1
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the webhooks have no port')
  return {
    url: `https://127.0.0.1:${address.port}`,
    caBundle: Buffer.from(authority.cert).toString('base64'),
    answered,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part
  return text
}
