import { readFileSync } from 'node:fs'

/** Where upstream looks for the flat file, after `configuration_path`. */
const PLACES = ['/etc/kubernetes/cni/net.d', '/etc/cni/net.d', '/host/etc/cni/net.d'].map(
  (folder) => `${folder}/whereabouts.d/whereabouts.conf`,
)

/**
 * The text of the flat file, `whereabouts.conf`; `absent`: no place has one.
 *
 * @throws Error for a file that cannot be read
 */
export function readFlatFile(configurationPath: unknown): string {
  const first = typeof configurationPath === 'string' && configurationPath !== '' ? [configurationPath] : []
  for (const place of [...first, ...PLACES]) {
    try {
      return readFileSync(place, 'utf8')
    } catch (error) {
      const { code } = error as { readonly code?: unknown }
      if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    }
  }
  return 'absent'
}
