import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A certificate and its private key, both PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface Authority extends Certificate {
  issue(subject: Subject, use: 'client' | 'server'): Certificate
}

export interface Subject {
  readonly commonName: string
  readonly organization?: string
}

/**
 * A certificate authority that exists for a test run. What it issues for a server is for localhost
 * and 127.0.0.1.
 */
export function createAuthority(commonName: string): Authority {
  const subject = nameOf({ commonName })
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = { name: subject, key: keys.privateKey }
  return {
    cert: certificate({ subject, issuer, publicKey: keys.publicKey, extensions: forAuthority() }),
    key: pemOf(keys.privateKey),
    issue(who, use) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const extensions = use === 'client' ? forClient() : forServer()
      return { cert: certificate({ subject: nameOf(who), issuer, publicKey, extensions }), key: pemOf(privateKey) }
    },
  }
}

/** A pair of keys for signing tokens, both PEM. */
export function createKeyPair(): { readonly publicKey: string; readonly privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { publicKey: publicKey.export({ type: 'spki', format: 'pem' }) as string, privateKey: pemOf(privateKey) }
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

// X.509 version 3 (RFC 5280, section 4.1), in DER.

interface Parts {
  readonly subject: Buffer
  readonly issuer: { readonly name: Buffer; readonly key: KeyObject }
  readonly publicKey: KeyObject
  readonly extensions: readonly Buffer[]
}

const VALID_DAYS = 30

function certificate({ subject, issuer, publicKey, extensions }: Parts): string {
  const serial = randomBytes(16)
  // positive, and no zero in front
  serial[0] = (serial[0]! & 0x3f) | 0x40
  const now = Date.now()
  const ecdsaWithSha256 = sequence(oid(1, 2, 840, 10045, 4, 3, 2))
  const body = sequence(
    der(0xa0, der(INTEGER, Buffer.of(2))),
    der(INTEGER, serial),
    ecdsaWithSha256,
    issuer.name,
    sequence(time(now - 3_600_000), time(now + VALID_DAYS * 86_400_000)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const whole = sequence(body, ecdsaWithSha256, bits(0, sign('sha256', body, issuer.key)))
  const lines = whole.toString('base64').match(/.{1,64}/g)!
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function nameOf({ commonName, organization }: Subject): Buffer {
  const part = (type: number, value: string) =>
    der(0x31, sequence(oid(2, 5, 4, type), der(UTF8_STRING, Buffer.from(value))))
  return sequence(...(organization === undefined ? [] : [part(10, organization)]), part(3, commonName))
}

const CRITICAL = der(0x01, Buffer.of(0xff))
const keyUsage = (unused: number, flags: number) => extension(15, CRITICAL, bits(unused, Buffer.of(flags)))
const extendedKeyUsage = (purpose: number) => extension(37, sequence(oid(1, 3, 6, 1, 5, 5, 7, 3, purpose)))

function forAuthority(): Buffer[] {
  return [extension(19, CRITICAL, sequence(CRITICAL)), keyUsage(1, 0x06)]
}

function forClient(): Buffer[] {
  return [keyUsage(7, 0x80), extendedKeyUsage(2)]
}

function forServer(): Buffer[] {
  const names = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)))
  return [keyUsage(7, 0x80), extendedKeyUsage(1), extension(17, names)]
}

function extension(type: number, ...parts: readonly Buffer[]): Buffer {
  const value = parts.at(-1)!
  return sequence(oid(2, 5, 29, type), ...parts.slice(0, -1), der(0x04, value))
}

const INTEGER = 0x02
const UTF8_STRING = 0x0c

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

function bits(unused: number, value: Buffer): Buffer {
  return der(0x03, Buffer.of(unused), value)
}

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${digits}Z`))
}

function oid(first: number, second: number, ...others: readonly number[]): Buffer {
  const bytes = others.flatMap((value) => {
    const groups = [value & 127]
    for (let rest = value >> 7; rest > 0; rest >>= 7) groups.unshift((rest & 127) | 128)
    return groups
  })
  return der(0x06, Buffer.of(first * 40 + second, ...bytes))
}
