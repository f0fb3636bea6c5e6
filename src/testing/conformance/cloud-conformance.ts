import type { CloudFacts } from '../../provider/external/cloud.js'
import { CloudBench, type CloudUnderTest } from './cloud-bench.js'
import { cloudRules } from './cloud-rules.js'
import type { ConformanceCase } from './harness.js'

export interface CloudConformanceOptions {
  readonly facts: CloudFacts
  /** Makes a cloud for one case: its lists show at once what was changed. */
  readonly open: () => CloudUnderTest | Promise<CloudUnderTest>
  /** Whether `operator.inject` is there. Default false: the cases that need it are left out. */
  readonly hasTroubles?: boolean | undefined
}

/**
 * The rules of `Cloud` as named cases, for any test runner: what a pool of external addresses expects of a cloud with
 * these facts.
 *
 * @example
 * for (const { name, run } of cloudConformance({ facts, open })) test(name, run)
 */
export function cloudConformance(options: CloudConformanceOptions): readonly ConformanceCase[] {
  const { facts, open, hasTroubles = false } = options
  const rules = Object.entries(cloudRules).filter(([, rule]) => {
    return (rule.if?.(facts) ?? true) && (hasTroubles || rule.needs === undefined)
  })
  return rules.map(([name, rule]) => ({ name, run: async () => rule.run(await CloudBench.open(await open())) }))
}

export type { CloudOperator, CloudUnderTest } from './cloud-bench.js'
