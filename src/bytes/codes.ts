/** Codes that `String.fromCharCode` is given at once. */
const CHUNK = 4096

/** The text of some UTF-16 code units. */
export function textOf(codes: Uint8Array | Uint16Array): string {
  const parts: string[] = []
  for (let i = 0; i < codes.length; i += CHUNK) {
    // takes the codes as they are, where a spread would walk an iterator
    parts.push(Reflect.apply(String.fromCharCode, undefined, codes.subarray(i, i + CHUNK)))
  }
  return parts.join('')
}
