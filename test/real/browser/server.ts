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

/** The content types of files by the end of their path. Other files are scripts. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html',
  css: 'text/css',
  json: 'application/json',
  svg: 'image/svg+xml',
}

/** Serves files, by their paths, on a free port of 127.0.0.1. */
export async function serve(files: Readonly<Record<string, string>>, policy = POLICY): Promise<PageServer> {
  const missing: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const text = Object.hasOwn(files, path) ? files[path] : undefined
    if (text === undefined) missing.push(path)
    response.writeHead(text === undefined ? 404 : 200, {
      'content-type': `${TYPES[path.split('.').at(-1)!] ?? 'text/javascript'}; charset=utf-8`,
      'content-security-policy': policy,
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
