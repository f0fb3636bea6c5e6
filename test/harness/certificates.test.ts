import { X509Certificate } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { type ConnectionOptions, connect, createServer, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Authority, type Certificate, createAuthority } from '../setup/certificates.js'

let authority: Authority
let serving: Certificate
let server: ReturnType<typeof createServer>

beforeAll(async () => {
  authority = await createAuthority('test')
  serving = await authority.issue({ commonName: 'server' }, 'server')
  server = createServer({ ...serving, ca: authority.cert, requestCert: true, rejectUnauthorized: true }, (socket) => {
    const { O: organization, CN: name } = (socket as TLSSocket).getPeerCertificate().subject
    socket.on('error', () => {}).end(`${organization} ${name}`)
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterAll(() => new Promise((resolve) => server.close(resolve)))

/** What the server says to a client: its name. Nothing or an error: there is no connection. */
function said(options: ConnectionOptions): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const { port } = server.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', ca: authority.cert, ...options })
    socket.on('data', (data) => {
      text += data
    })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(`error ${error.code}`))
    socket.once('end', () => resolve(text))
  })
}

test('both sides know each other by certificates of one authority, and the server knows the name of the client', async () => {
  const client = await authority.issue({ commonName: 'admin', organization: 'system:masters' }, 'client')
  expect(await said(client)).toBe('system:masters admin')
  expect(await said({ ...client, servername: 'localhost' })).toBe('system:masters admin')
})

test('a certificate of another authority, or for another use, is not taken', async () => {
  const other = await createAuthority('test')
  const stranger = await other.issue({ commonName: 'admin' }, 'client')
  expect(await said(stranger)).toMatch(/^(error .*)?$/)
  expect(await said({ ...stranger, ca: other.cert })).toMatch(/^(error .*)?$/)
  expect(await said(serving)).toMatch(/^(error .*)?$/)
  expect(await said({})).toMatch(/^(error .*)?$/)
})

test('the certificates say what they are for, and for how long', () => {
  const own = new X509Certificate(authority.cert)
  expect(own.ca).toBe(true)
  const issued = new X509Certificate(serving.cert)
  expect(issued.ca).toBe(false)
  expect(issued.verify(own.publicKey)).toBe(true)
  expect(issued.checkHost('localhost')).toBe('localhost')
  expect(issued.checkIP('127.0.0.1')).toBe('127.0.0.1')
  const days = (Date.parse(issued.validTo) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(29)
  expect(days).toBeLessThanOrEqual(30)
})
