import { hashText } from '../../allocator/util/hashing.js'
import { SUBDOMAIN_PATTERN } from '../../crd/meta/dns-names.js'
import { check } from '../../errors/check.js'
import { INVALID_CLAIM_NAME } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { refuse } from '../../errors/refuse.js'

/** The longest name of a Kubernetes object, in characters. */
const MAX_NAME_LENGTH = 253

/** The length of a hash, with the dash before it. */
const HASH_LENGTH = 17

/**
 * A name of limited length: the name itself, or its beginning and a hash of all of it. The result
 * is deterministic. Two long names collide with a probability of about 1 in 2^64, and
 * {@link claimsFor} refuses two claims of one name. O(length).
 *
 * @param options `maxLength`: 18 to 253 characters, by default 253
 * @throws IpamError `INVALID_ARGUMENT`
 *
 * @example
 * boundedName('web-0-1') // 'web-0-1'
 * boundedName('a-machine-with-a-long-name-0-1', { maxLength: 26 }) // 'a-machine-46b5a871d506a9d8'
 */
export function boundedName(name: string, options: { readonly maxLength?: number | undefined } = {}): string {
  check('boundedName', 'name', name, 'text')
  check('boundedName', 'options', options, 'object')

  const { maxLength = MAX_NAME_LENGTH } = options
  if (!Number.isInteger(maxLength) || maxLength <= HASH_LENGTH || maxLength > MAX_NAME_LENGTH) {
    refuse('boundedName', 'maxLength', `a whole number from ${HASH_LENGTH + 1} to ${MAX_NAME_LENGTH}`, maxLength)
  }
  if (name.length <= maxLength) return name
  // a part of a name may not end in a dash or a dot
  const start = name.slice(0, maxLength - HASH_LENGTH).replace(/[-.]+$/, '')
  return `${start}-${hex(hashText(name))}${hex(hashText(`#${name}`))}`
}

const SUBDOMAIN = /* @__PURE__ */ new RegExp(SUBDOMAIN_PATTERN)

/**
 * The rule of an API server for the name of an object: a DNS subdomain of RFC 1123.
 *
 * @throws IpamError `INVALID_CLAIM_NAME`
 */
export function assertClaimName(name: string): void {
  const problem = nameProblem(name)
  if (problem !== undefined) throw ipamError(INVALID_CLAIM_NAME, { name: String(name), problem })
}

function nameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'it is no text'
  if (name === '') return 'it is empty'
  if (name.length > MAX_NAME_LENGTH) return `it has ${name.length} characters, and ${MAX_NAME_LENGTH} are the most`
  if (SUBDOMAIN.test(name)) return undefined
  return 'an API server takes lower case letters, digits, "-" and ".", and each part between dots begins and ends with a letter or a digit'
}

function hex(hash: number): string {
  return (hash >>> 0).toString(16).padStart(8, '0')
}
