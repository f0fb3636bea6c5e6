// The texts that the API server allows as names and keys. Each check gives the problem, or
// undefined.

import { KIND_PATTERN, SUBDOMAIN_PATTERN } from './dns-names.js'
import { groupOf, type ObjectRef } from './object.js'

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const SUBDOMAIN = /* @__PURE__ */ new RegExp(SUBDOMAIN_PATTERN, 'u')
const KEY_NAME = /^([A-Za-z0-9][-\w.]*)?[A-Za-z0-9]$/
const KIND = /* @__PURE__ */ new RegExp(KIND_PATTERN, 'u')
const VERSION = /^[a-z]([-a-z0-9]*[a-z0-9])?$/

/** The characters of IPv6 text, and at least one colon. */
const IPV6_TEXT = /^(?=.*:)[0-9a-f.:]{2,45}$/

const MAX_LABEL = 63
const MAX_SUBDOMAIN = 253

/** A DNS-1123 subdomain: the name of an object. */
export function subdomainProblem(text: string): string | undefined {
  if (text.length > MAX_SUBDOMAIN) return `must be at most ${MAX_SUBDOMAIN} characters`
  if (SUBDOMAIN.test(text)) return undefined
  return "must be a lowercase RFC 1123 subdomain: lower case alphanumeric characters, '-' or '.', first and last alphanumeric"
}

/**
 * The name of an object of a kind. Kubernetes takes DNS-1123 subdomains, and for IPAddress of
 * networking.k8s.io the text of an address, which has colons for IPv6.
 */
export function objectNameProblem(text: string, { apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>) {
  const isAddress = kind === 'IPAddress' && groupOf(apiVersion) === 'networking.k8s.io' && IPV6_TEXT.test(text)
  return isAddress ? undefined : subdomainProblem(text)
}

/** Whether some kind of object can have this name. */
export function isObjectName(text: string): boolean {
  return IPV6_TEXT.test(text) || subdomainProblem(text) === undefined
}

/** A DNS-1123 label: the name of a namespace. */
export function labelProblem(text: string): string | undefined {
  if (text.length > MAX_LABEL) return `must be at most ${MAX_LABEL} characters`
  if (LABEL.test(text)) return undefined
  return "must be a lowercase RFC 1123 label: lower case alphanumeric characters or '-', first and last alphanumeric"
}

/** `name` or `prefix/name`: a key of labels and annotations, a finalizer. */
export function qualifiedNameProblem(text: string): string | undefined {
  const slash = text.indexOf('/')
  const name = text.slice(slash + 1)
  if (slash >= 0) {
    const problem = subdomainProblem(text.slice(0, slash))
    if (problem !== undefined) return `prefix part ${problem}`
  }
  if (name.length > MAX_LABEL) return `name part must be at most ${MAX_LABEL} characters`
  if (KEY_NAME.test(name)) return undefined
  return "name part must consist of alphanumeric characters, '-', '_' or '.', first and last alphanumeric"
}

/** The value of a label. */
export function labelValueProblem(text: string): string | undefined {
  if (text.length > MAX_LABEL) return `must be at most ${MAX_LABEL} characters`
  if (text === '' || KEY_NAME.test(text)) return undefined
  return "must consist of alphanumeric characters, '-', '_' or '.', first and last alphanumeric"
}

/** `v1` or `group/v1`. */
export function apiVersionProblem(text: string): string | undefined {
  const slash = text.indexOf('/')
  const version = text.slice(slash + 1)
  const groupIsFine = slash < 0 || subdomainProblem(text.slice(0, slash)) === undefined
  return groupIsFine && version.length <= MAX_LABEL && VERSION.test(version)
    ? undefined
    : 'must be a version or group/version'
}

export function kindProblem(text: string): string | undefined {
  return text.length <= MAX_LABEL && KIND.test(text) ? undefined : 'must be the name of a kind'
}
