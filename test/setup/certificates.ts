import 'reflect-metadata'
import { generateKeyPairSync, webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralNames,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** A certificate and its private key, both PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface Authority extends Certificate {
  issue(subject: Subject, use: 'client' | 'server'): Promise<Certificate>
}

export interface Subject {
  readonly commonName: string
  readonly organization?: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const VALID_DAYS = 30

/**
 * A certificate authority that exists for a test run. What it issues for a server is for localhost
 * and 127.0.0.1.
 */
export async function createAuthority(commonName: string): Promise<Authority> {
  const name = nameOf({ commonName })
  const keys = await newKeys()
  const signing = { ...validity(), signingAlgorithm: ALGORITHM }
  const usage = new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true)
  const extensions = [new BasicConstraintsExtension(true, undefined, true), usage]
  const own = await X509CertificateGenerator.createSelfSigned({ ...signing, name, keys, extensions })
  return {
    cert: own.toString('pem'),
    key: await pemOf(keys.privateKey),
    async issue(subject, use) {
      const { publicKey, privateKey } = await newKeys()
      const issued = await X509CertificateGenerator.create({
        ...signing,
        subject: nameOf(subject),
        issuer: name,
        publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([use === 'client' ? ExtendedKeyUsage.clientAuth : ExtendedKeyUsage.serverAuth]),
          ...(use === 'server' ? [new SubjectAlternativeNameExtension(HOSTS)] : []),
        ],
      })
      return { cert: issued.toString('pem'), key: await pemOf(privateKey) }
    },
  }
}

const HOSTS: JsonGeneralNames = [
  { type: 'dns', value: 'localhost' },
  { type: 'ip', value: '127.0.0.1' },
]

/** A pair of keys for signing tokens, both PEM. */
export function createKeyPair(): { readonly publicKey: string; readonly privateKey: string } {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  return PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')
}

/** From an hour ago: clocks differ. */
function validity() {
  const now = Date.now()
  return { notBefore: new Date(now - 3_600_000), notAfter: new Date(now + VALID_DAYS * 86_400_000) }
}

function nameOf({ commonName, organization }: Subject): JsonName {
  return [...(organization === undefined ? [] : [{ O: [organization] }]), { CN: [commonName] }]
}
