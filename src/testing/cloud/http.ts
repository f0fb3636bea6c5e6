import type { Json } from '../../crd/meta/object.js'
import type { CloudRequest, CloudResponse } from '../../provider/openstack/neutron/request.js'
import type { FakeCloudError, FakeCloudErrorCode } from './troubles.js'

/** A request whose URL, header names and body are read. */
export interface ParsedRequest {
  readonly method: CloudRequest['method']
  /** Without query; parts are as they were sent. */
  readonly path: string
  readonly query: ReadonlyMap<string, readonly string[]>
  /** By name in lower case. */
  readonly headers: { readonly [name: string]: string | undefined }
  /** `undefined`: it is not JSON. */
  readonly body: unknown
}

export function parseRequest({ method, url, headers, body }: CloudRequest): ParsedRequest {
  const [path = '', query = ''] = url.replace(/^\w+:\/\/[^/]*/u, '').split('?')
  const members = new Map<string, string[]>()
  for (const part of query.split('&').filter((it) => it !== '')) {
    const [name = '', value = ''] = part.split('=').map(decodeURIComponent)
    members.set(name, [...(members.get(name) ?? []), value])
  }
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { method, path, query: members, headers: Object.fromEntries(lower), body: bodyOf(body) }
}

function bodyOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/** An answer; `null`: without a body. */
export function json(status: number, body: Json, headers: CloudResponse['headers'] = {}): CloudResponse {
  if (body === null) return { status, headers, text: '' }
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, text: JSON.stringify(body) }
}

/** The status and the type by which Neutron tells each error. */
const ERRORS: { readonly [code in FakeCloudErrorCode]: readonly [status: number, type: string] } = {
  noAnswer: [504, 'HTTPGatewayTimeout'],
  quota: [409, 'OverQuota'],
  networkFull: [400, 'ExternalIpAddressExhausted'],
  denied: [403, 'PolicyNotAuthorized'],
  rateLimited: [429, 'TooManyRequests'],
  unavailable: [503, 'ServiceUnavailable'],
  notFound: [404, 'FloatingIPNotFound'],
  networkNotFound: [404, 'NetworkNotFound'],
  inUse: [409, 'FloatingIPPortAlreadyAssociated'],
  attached: [409, 'Conflict'],
  outside: [500, 'HTTPInternalServerError'],
  revision: [412, 'RevisionNumberConstraintFailed'],
  invalid: [400, 'BadRequest'],
}

export function errorResponse({ code, message, retryAfterSeconds }: FakeCloudError): CloudResponse {
  const [status, type] = ERRORS[code]
  const headers: CloudResponse['headers'] =
    retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }
  return json(status, { NeutronError: { type, message, detail: '' } }, headers)
}
