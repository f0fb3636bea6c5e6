import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Scripts of this very server, an icon without content, and nothing else: no code from text, no
 * other host.
 */
const POLICY = "default-src 'none'; script-src 'self'; img-src data:"

export interface PageServer {
  readonly url: string
  /** What was asked for and is not there. */
  readonly missing: readonly string[]
  close(): Promise<void>
}

/**
 * Serves files, by their paths, on a free port of 127.0.0.1: HTML if the path says so, scripts
 * otherwise.
 */
export async function serve(files: Readonly<Record<string, string>>): Promise<PageServer> {
  const missing: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const text = Object.hasOwn(files, path) ? files[path] : undefined
    if (text === undefined) missing.push(path)
    response.writeHead(text === undefined ? 404 : 200, {
      'content-type': `text/${path.endsWith('.html') ? 'html' : 'javascript'}; charset=utf-8`,
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    response.end(text)
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, missing, close }
}
