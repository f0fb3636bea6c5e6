import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { Body, Rules } from './case.js'
import { createAndRead } from './create-and-read.js'
import { deletions } from './deletions.js'
import { Bench, type ConformanceCase, type ConformanceOptions } from './harness.js'
import { lists } from './lists.js'
import { pages } from './pages.js'
import { watchedQueries } from './watched-queries.js'
import { watches } from './watches.js'
import { writers } from './writers.js'
import { patches, updates } from './writes.js'

const RULES: Rules = {
  ...createAndRead,
  ...updates,
  ...patches,
  ...deletions,
  ...lists,
  ...pages,
  ...watches,
  ...watchedQueries,
  ...writers,
}

/**
 * The rules of `Store` as named cases, for any test runner. Each case uses namespaces of its own,
 * so that cases can run concurrently, and on a server that is in use. It does not delete what it
 * created there.
 *
 * Skip a case with `unless` for a store with that capability. Skip no other case.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a `run` that is no DNS label of at most 20 characters
 * @example
 * import { memoryStore } from 'ipam-kit/store/memory'
 *
 * const store = memoryStore({ now: () => 0, kinds: conformanceKinds })
 * const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))
 * for (const { name, run } of storeConformance({ open: () => store, sleep })) await run() // or: test(name, run)
 */
export function storeConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  check('storeConformance', 'options', options, ['open', { open: 'function' }])

  const { run: id = 'run', open, createNamespace } = options
  if (!/^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/.test(id)) {
    refuse('storeConformance', 'options.run', 'a DNS label of at most 20 characters', id)
  }
  return Object.entries(RULES).map(([name, rule], index) => {
    const body: Body = typeof rule === 'function' ? rule : rule.run
    const run = async () => {
      const bench = new Bench(await open(), options, `ipam-kit-${id}-${index}`)
      await createNamespace?.(bench.namespace)
      await createNamespace?.(bench.otherNamespace)
      await body(bench)
    }
    return typeof rule === 'function' ? { name, run } : { name, unless: rule.unless, run }
  })
}

export { type ConformanceCase, type ConformanceOptions, conformanceKinds } from './harness.js'
