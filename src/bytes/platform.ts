// UTF-8 and Base64 as every platform has them. The language has no types for them; no other file
// names what only a platform has.

declare const TextEncoder: new () => { encode(text: string): Uint8Array }
declare const TextDecoder: new (
  label: 'utf-8',
  options: { readonly fatal: true; readonly ignoreBOM: true },
) => { decode(bytes: Uint8Array): string }
declare const atob: (text: string) => string
declare const btoa: (binary: string) => string

/** Codes that `String.fromCharCode` is given at once. */
const CHUNK = 4096

/** A text in UTF-8; half a surrogate pair becomes the replacement character. */
export function toUtf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/**
 * The text of bytes, all of it: a byte order mark is a character. `undefined` if they are not
 * UTF-8.
 */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    // anything else: the text is longer than a text can be
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Base64 with padding (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let i = 0; i < bytes.length; i += CHUNK) {
    // takes the bytes as they are, where a spread would walk an iterator
    parts.push(Reflect.apply(String.fromCharCode, undefined, bytes.subarray(i, i + CHUNK)))
  }
  return btoa(parts.join(''))
}

/** The bytes of a text; `undefined` if it is not what {@link toBase64} writes. */
export function fromBase64(text: string): Uint8Array | undefined {
  const binary = binaryOf(text)
  // spaces, missing padding, and bits that no byte has: the platform takes them
  if (binary === undefined || btoa(binary) !== text) return undefined
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

function binaryOf(text: string): string | undefined {
  try {
    return atob(text)
  } catch {
    return undefined
  }
}
