import * as z from 'zod'
import { KIND_PATTERN, SUBDOMAIN_PATTERN } from '../meta/dns-names.js'
import { READ_AS } from '../meta/reader.js'
import { object, text } from '../meta/strict.js'

/** Names of objects and of API groups: DNS subdomains. */
const SUBDOMAIN = { minLength: 1, maxLength: 253, pattern: SUBDOMAIN_PATTERN } as const

/** A reference names something. */
const named = { reader: /* @__PURE__ */ z.string().min(1) }

const KIND = { minLength: 1, maxLength: 63, pattern: KIND_PATTERN } as const

/** A pool, as v1beta2 refers to it. */
export function poolReference(description: string) {
  return object(description, {
    apiGroup: text('API group of the pool, without a version.', SUBDOMAIN),
    kind: text('Kind of the pool.', KIND).register(READ_AS, named),
    name: text('Name of the pool.', SUBDOMAIN).register(READ_AS, named),
  })
}

/** An object of the same namespace, as v1beta2 refers to it. */
export function localReference(description: string) {
  return object(description, { name: text('Name of the object.', SUBDOMAIN).register(READ_AS, named) })
}

/** A pool, as the older versions refer to it. */
export function oldPoolReference(description: string) {
  const shape = {
    apiGroup: text('API group of the pool, without a version.').optional(),
    kind: text('Kind of the pool.'),
    name: text('Name of the pool.'),
  }
  return object(description, shape, { isAtomic: true })
}

/** An object of the same namespace, as the older versions refer to it. */
export function oldLocalReference(description: string) {
  return object(description, { name: text('Name of the object.').default('') }, { isAtomic: true })
}
