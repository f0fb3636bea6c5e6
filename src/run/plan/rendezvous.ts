/**
 * A rank from 0 to 2^32 - 1 for a process and a key: the same each time, and unrelated between two
 * processes or two keys (rendezvous hashing). FNV-1a over the UTF-16 code units of both, mixed by
 * the finalizer of MurmurHash3. O(length).
 */
export function rankOf(process: string, key: string): number {
  let hash = 0x811c9dc5
  for (const text of [process, '\0', key]) {
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
