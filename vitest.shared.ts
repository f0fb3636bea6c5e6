import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('./src', import.meta.url))

/**
 * `ipam-kit` and `ipam-kit/<entry>` are the sources, so that tests read like a user's code and need
 * no build.
 */
export const alias = [
  { find: /^ipam-kit$/, replacement: `${src}/index.ts` },
  { find: /^ipam-kit\/(?!package\.json$)(.+)$/, replacement: `${src}/$1/index.ts` },
]

export const include = ['test/**/*.test.ts', 'test/**/*.prop.ts']
export const exclude = ['test/real/**', '**/node_modules/**']
export const setupFiles = ['test/setup/fast-check.ts']
